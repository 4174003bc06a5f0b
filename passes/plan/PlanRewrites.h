//===- PlanRewrites.h - phases split, merged, dealt out -------------------===//
//
// What a schedule does to a plan between tile-tasks and derive-events. Events,
// memory and proof come afterwards, so nothing here can make a plan wrong and
// go unnoticed: it is refused here, or by event-verify.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PLAN_PLANREWRITES_H
#define BATON_PASSES_PLAN_PLANREWRITES_H

#include "dialects/Event/Event.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/Error.h"

namespace baton::tasks {

/// Writes down how many phases write each buffer that several do, or that
/// outlives the program.
void stateWriters(event::ProgramOp program);

/// Decides which worker runs which tile of phases: in turn where their work
/// grows with a coordinate, else in blocks; and the two by turns where
/// neighbours of at most `fewTasks` tasks each do not depend on one another.
void dealOutByWork(llvm::ArrayRef<event::PhaseOp> phases, int64_t fewTasks);

/// Cuts a phase in two along one coordinate, before tile `at`: the earlier
/// tiles become a phase of their own in front of the others. The extent along
/// that coordinate has to be a number.
llvm::Expected<std::pair<event::PhaseOp, event::PhaseOp>>
splitPhase(mlir::RewriterBase &rewriter, event::PhaseOp phase,
           unsigned dimension, int64_t at);

/// Makes one phase of several neighbours with the same grid: a task does the
/// work of their tasks at the same coordinates, in order. Values that one task
/// of the later phases reads must be made by the same task of the earlier ones,
/// or by none of them.
llvm::Expected<event::PhaseOp>
mergePhases(mlir::RewriterBase &rewriter,
            llvm::ArrayRef<event::PhaseOp> phases);

} // namespace baton::tasks

#endif // BATON_PASSES_PLAN_PLANREWRITES_H
