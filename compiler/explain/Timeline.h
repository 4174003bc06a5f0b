//===- Timeline.h - when each task of a step runs -------------------------===//

#ifndef BATON_COMPILER_EXPLAIN_TIMELINE_H
#define BATON_COMPILER_EXPLAIN_TIMELINE_H

#include "compiler/explain/Costs.h"
#include "compiler/explain/Machine.h"

#include <vector>

namespace baton::explain {

/// Microseconds from the step's begin. `begin` is before the task's waits,
/// `ready` after them.
struct TaskRun {
  unsigned worker, phase, iteration;
  int64_t task;
  double begin, ready, end;
};

struct Timeline {
  unsigned workers = 0;
  double microseconds = 0;
  std::vector<TaskRun> runs;
};

/// Which worker runs each of a phase's tasks, in order.
std::vector<unsigned> workersOf(event::PhaseOp phase, const Step &step,
                                unsigned workers);

/// How long each task runs by itself: every worker has its share of the
/// machine's bandwidth and peak, and bytes that several tasks read come from
/// memory once.
struct TaskTime {
  /// With the invariant calls, and without them.
  double first, again;
};
std::vector<TaskTime> taskTimes(const PhaseCost &cost, const Machine &machine);

/// Runs a step's tasks in ascending rank on as many workers as the machine has;
/// a task starts when its worker is free and its events have come.
Timeline simulate(event::ProgramOp program, const Step &step,
                  llvm::ArrayRef<PhaseCost> costs, const Machine &machine);

/// What a phase has to do with a step's length, in all iterations together.
struct PhaseTime {
  /// How much later its last task ends than all of lower rank: sums up to the
  /// step.
  double wall = 0;
  /// Of all workers: in tasks, and waiting for their events.
  double busy = 0, waiting = 0;
};

std::vector<PhaseTime> phaseTimes(const Timeline &timeline,
                                  event::ProgramOp program);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_TIMELINE_H
