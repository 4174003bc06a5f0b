//===- ExplicitSchedule.h - proof of one list schedule -------------------===//

#ifndef BATON_PASSES_PROOF_EXPLICITSCHEDULE_H
#define BATON_PASSES_PROOF_EXPLICITSCHEDULE_H

#include "passes/proof/HappensBefore.h"

namespace baton::tasks {

/// Checks the step that a schedule lists, task by task: the workers' lists and
/// the waits together have no cycle, no event word is counted up by one
/// iteration before the one before has finished with it, and vector clocks over
/// the workers order every two tasks that conflict in the order of their ranks.
/// Takes the counts and shapes of event tensors for right. Adds the number of
/// ordered accesses to `checked`; reports what is wrong at the schedule.
mlir::LogicalResult verifySchedule(event::ScheduleOp schedule,
                                   HappensBefore &plan, int64_t &checked);

} // namespace baton::tasks

#endif // BATON_PASSES_PROOF_EXPLICITSCHEDULE_H
