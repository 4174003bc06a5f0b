//===- Reasons.h - why a plan is as it is, in words -----------------------===//
//
// Every sentence is read off the plan, or is a remark of a pass: nothing is
// said of a phase that its accesses, waits, calls and storages do not show.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_EXPLAIN_REASONS_H
#define BATON_COMPILER_EXPLAIN_REASONS_H

#include "compiler/Diagnostics.h"
#include "compiler/TargetDescription.h"
#include "compiler/explain/Costs.h"
#include "compiler/explain/Machine.h"

#include <string>
#include <vector>

namespace baton::explain {

using Sentences = std::vector<std::string>;

/// Which ops became this phase, what its body does besides, and what fusion
/// passes remarked of these ops. Sets `used` for remarks that it takes.
Sentences fusionReasons(event::PhaseOp phase,
                        llvm::ArrayRef<compiler::Remark> remarks,
                        std::vector<bool> &used);

/// Place in rank order, what it waits for, what it may overlap with, what it
/// needs no wait for, and whose bytes it takes over.
Sentences orderReasons(event::ProgramOp program, event::PhaseOp phase);

/// For each coordinate of a phase that others wait for: whether its event
/// tensor keeps or counts it, and which phases are why.
Sentences eventReasons(event::ProgramOp program, event::PhaseOp phase);

/// How a phase's work is dealt out to workers in one iteration.
struct Balance {
  int64_t tasks = 0;
  /// The most tasks that one worker has.
  int64_t rounds = 0;
  unsigned busyWorkers = 0;
  /// Microseconds of the worker with most to do, and of the mean one.
  double longest = 0, mean = 0;

  /// The share of all workers' time in which they have work.
  double busy() const { return longest > 0 ? mean / longest : 0; }
};

Balance balanceOf(event::PhaseOp phase, const Step &step, const PhaseCost &cost,
                  const Machine &machine);

/// Size of a tile and what it comes from, weights for each task, and how tasks
/// fall onto workers. `target` is null when the plan was given as it is.
Sentences tileReasons(event::PhaseOp phase, const Step &step,
                      const PhaseCost &cost, const Balance &balance,
                      const Machine &machine,
                      const compiler::TargetDescription *target);

/// Words and counts of a phase's event tensor at a step.
std::string eventWords(event::ProgramOp program, event::PhaseOp phase,
                       const Step &step);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_REASONS_H
