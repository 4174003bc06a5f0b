//===- PlanOracle.h - judges a plan by trying one step out ----------------===//
//
// The counterpart of event-verify that shares nothing with it: no relations,
// no chains of waits, no classification of how buffers overlap. One step is
// instantiated task by task and element by element, with addresses in bytes,
// and every question is answered by running it:
//
// - order: task x comes before task t in every execution if and only if t never
//   starts when x never ends, each task on a worker of its own. Waits only ask
//   for counts that grow, so that one greedy run per x decides it, whatever the
//   counts are.
// - deadlock: one worker runs the tasks in ascending rank and may not block;
//   then no number of workers does. With an explicit schedule, its lists run.
// - races: of two tasks that touch a byte, one writing, the one of lower rank
//   comes before the other.
// - tables: a step has one instance of each, drawn at random among those that
//   the table's range and property allow; where a task writes the table, one
//   for each iteration.
// - values: in ascending rank, every byte read was last written for the element
//   that is meant, by the task that wrote it last as if no buffers shared
//   bytes. A second step of one row follows, which reads what states have
//   gained. What persists in a program that trains has views of several shapes,
//   so that of it a byte must only have been written through one of them last.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_PASSES_PROOF_PLANORACLE_H
#define BATON_TEST_PASSES_PROOF_PLANORACLE_H

#include "dialects/Event/Event.h"

#include <optional>
#include <string>

namespace baton::test {

/// The symbols of one step.
struct Step {
  int64_t rows, past, outputs;
};

enum class FaultKind {
  bounds,
  deadlock,
  race,
  value,
  /// No values are what a table is declared to hold; not told.
  noInstance
};

struct Fault {
  FaultKind kind;
  /// The tasks and the buffer at fault.
  std::string message;
};

/// The first fault of a step with tables drawn from `seed`, or nothing. The
/// program passes the dialect's
/// verifier; the step lies in its ranges. Of explicit schedules, only one for
/// just these symbols counts; order is not judged if all are for others.
std::optional<Fault> findFault(event::ProgramOp program, Step step,
                               unsigned seed = 0);

} // namespace baton::test

#endif // BATON_TEST_PASSES_PROOF_PLANORACLE_H
