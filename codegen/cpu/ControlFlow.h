//===- ControlFlow.h - structured loops and branches on an IRBuilder ------===//

#ifndef BATON_CODEGEN_CPU_CONTROLFLOW_H
#define BATON_CODEGEN_CPU_CONTROLFLOW_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace baton::cpu {

/// Whether LLVM may unroll a loop.
enum class Unrolling { Allowed, Forbidden };

/// for (i = first; i < last; i += step) body(i), compared as signed. The
/// builder stands after the loop when this returns; `body` may add blocks.
void emitLoop(llvm::IRBuilderBase &builder, const llvm::Twine &name,
              llvm::Value *first, llvm::Value *last, llvm::Value *step,
              llvm::function_ref<void(llvm::Value *)> body,
              Unrolling unrolling = Unrolling::Allowed);

/// Runs `body` on what `take` gives, again and again, until that is `last` or
/// more.
void emitLoopWhileBelow(llvm::IRBuilderBase &builder, const llvm::Twine &name,
                        llvm::function_ref<llvm::Value *()> take,
                        llvm::Value *last,
                        llvm::function_ref<void(llvm::Value *)> body);

/// A nest of loops over the box [low, high), last dimension innermost. A box
/// of no dimensions has one point.
void emitLoopNest(llvm::IRBuilderBase &builder, const llvm::Twine &name,
                  llvm::ArrayRef<llvm::Value *> low,
                  llvm::ArrayRef<llvm::Value *> high,
                  llvm::function_ref<void(llvm::ArrayRef<llvm::Value *>)> body);

/// if (condition) body(). The builder stands behind it when this returns.
void emitIf(llvm::IRBuilderBase &builder, const llvm::Twine &name,
            llvm::Value *condition, llvm::function_ref<void()> body);

/// Row-major position of `index` in an array of `extents`, as i64.
llvm::Value *emitRowMajorIndex(llvm::IRBuilderBase &builder,
                               llvm::ArrayRef<llvm::Value *> index,
                               llvm::ArrayRef<int64_t> extents);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_CONTROLFLOW_H
