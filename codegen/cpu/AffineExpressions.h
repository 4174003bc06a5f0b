//===- AffineExpressions.h - affine maps as LLVM instructions -------------===//

#ifndef BATON_CODEGEN_CPU_AFFINEEXPRESSIONS_H
#define BATON_CODEGEN_CPU_AFFINEEXPRESSIONS_H

#include "mlir/IR/AffineMap.h"
#include "llvm/IR/IRBuilder.h"

namespace baton::cpu {

/// The values that a map's dimensions and symbols stand for, all i64.
struct AffineOperands {
  llvm::ArrayRef<llvm::Value *> dimensions;
  llvm::ArrayRef<llvm::Value *> symbols;
};

/// `expression` as i64. Divisions round as affine expressions say, also for
/// negative numerators: floordiv down, ceildiv up, and mod is never negative.
/// Divisors are positive.
llvm::Value *emitAffine(llvm::IRBuilderBase &builder,
                        mlir::AffineExpr expression,
                        const AffineOperands &operands);

/// The results of `map`.
llvm::SmallVector<llvm::Value *> emitAffine(llvm::IRBuilderBase &builder,
                                            mlir::AffineMap map,
                                            const AffineOperands &operands);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_AFFINEEXPRESSIONS_H
