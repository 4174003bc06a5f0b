//===- BodyFunctions.h - task bodies that users wrote, as functions -------===//
//
// What all targets make of `event.body` before they part: functions of loops,
// memory accesses and plain arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_PLAN_BODYFUNCTIONS_H
#define BATON_CODEGEN_PLAN_BODYFUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace baton::plan {

/// A module with a function baton_task_<name> for each event.body of `source`,
/// in their order; null when there is none, or no source. Behind them stand
/// declarations of what they call of the task library (LibraryCalls.h), where
/// `checked` says whether to assert that sizes fit. Fails as compileBodies().
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
makeBodyFunctions(mlir::ModuleOp source, bool checked = false);

/// Sums of products in structured ops as chains of fused multiply-adds: of all
/// targets, so that those that vectorise them have the others' bits. Named ops
/// that add something up become general ones.
std::unique_ptr<mlir::Pass> createFuseProductsPass();

/// Functions such as exp as arithmetic, which loops of vectors can hold, and
/// which has the same bits on all targets; a call of a library per element has
/// neither.
std::unique_ptr<mlir::Pass> createApproximateFunctionsPass();

/// Runs `compile` on the bodies of `source`. Where it fails, the first error
/// that it emitted says why, in one line.
llvm::Error compileBodies(mlir::ModuleOp source,
                          llvm::function_ref<mlir::LogicalResult()> compile);

} // namespace baton::plan

#endif // BATON_CODEGEN_PLAN_BODYFUNCTIONS_H
