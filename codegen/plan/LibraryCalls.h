//===- LibraryCalls.h - calls of the task library in task bodies ----------===//
//
// What all targets make of event.library_call, and of temporaries, before they
// part:
//
// - A call becomes a func.call of the library's function: memrefs where that
//   takes pointers, indices where it takes counts, strides and positions. A
//   memref made of nothing (builtin.unrealized_conversion_cast) is null.
//   Linears of arguments that are panels call what reads panels.
// - A temporary becomes a part of the scratch that the call of the body passes:
//   a memref made of that, an offset in bytes and its sizes. Each stays memory
//   of its own, as far as structured ops can tell, until placeTemporaries().
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_PLAN_LIBRARYCALLS_H
#define BATON_CODEGEN_PLAN_LIBRARYCALLS_H

#include "dialects/Event/Event.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace baton::plan {

/// On functions whose last argument is scratch.
constexpr llvm::StringLiteral kScratchAttribute = "event.scratch";

/// Of the function of `body`. `declarations` gets those of the library's
/// functions. With `checked`, sizes that are to be one size are asserted to be.
mlir::LogicalResult expandLibraryCalls(mlir::func::FuncOp function,
                                       event::BodyOp body,
                                       mlir::OpBuilder &declarations,
                                       bool checked);

/// Temporaries as views of the scratch.
std::unique_ptr<mlir::Pass> createPlaceTemporariesPass();

/// Whether a value stands for a null pointer.
bool isNull(mlir::Value memref);

} // namespace baton::plan

#endif // BATON_CODEGEN_PLAN_LIBRARYCALLS_H
