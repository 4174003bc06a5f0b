//===- StepProof.h - the programs of a step fit together -----------------===//
//
// A step is a sequence of programs, on each rank its own. PlanVerifier proves
// each program by itself; what is left is between them:
//
// - Storages. What outlives a program in one of them is no other's to use
//   freely (StepValues.cpp).
// - Order. Messages and exchanges of all ranks find one another, and no set of
//   ranks waits for itself (StepOrder.cpp).
// - Values. What a program reads of a persistent buffer was written by an
//   earlier task of the step, by the runtime at the border before the program,
//   or is carried from the step before (StepValues.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_PASSES_PROOF_STEPPROOF_H
#define BATON_PASSES_PROOF_STEPPROOF_H

#include "passes/proof/StepSequence.h"

namespace baton::tasks {

/// Proves what is between the module's programs, each of which is proved, or
/// reports what is wrong at the op at fault.
mlir::LogicalResult verifyStep(mlir::ModuleOp module);

/// Storages of one name are one memory in all programs.
mlir::LogicalResult verifyStorages(mlir::ModuleOp module);
/// No rank waits for ever for the others of its step.
mlir::LogicalResult verifyOrder(const StepSequences &step);
/// Everything that a rank's programs read is there.
mlir::LogicalResult verifyValues(const StepSequence &sequence);

} // namespace baton::tasks

#endif // BATON_PASSES_PROOF_STEPPROOF_H
