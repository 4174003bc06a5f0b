//===- AffineExpressions.cpp - affine maps as LLVM instructions -----------===//

#include "codegen/cpu/AffineExpressions.h"

#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

/// The greatest integer not above left / right, for right > 0. LLVM's division
/// rounds to zero: one too many when the remainder is negative.
static Value *emitFloorDivision(IRBuilderBase &builder, Value *left,
                                Value *right) {
  Value *quotient = builder.CreateSDiv(left, right);
  Value *remainder = builder.CreateSRem(left, right);
  Value *negative = builder.CreateICmpSLT(remainder, builder.getInt64(0));
  return builder.CreateSub(quotient,
                           builder.CreateZExt(negative, builder.getInt64Ty()));
}

/// The least integer not below left / right, for right > 0.
static Value *emitCeilingDivision(IRBuilderBase &builder, Value *left,
                                  Value *right) {
  Value *quotient = builder.CreateSDiv(left, right);
  Value *remainder = builder.CreateSRem(left, right);
  Value *positive = builder.CreateICmpSGT(remainder, builder.getInt64(0));
  return builder.CreateAdd(quotient,
                           builder.CreateZExt(positive, builder.getInt64Ty()));
}

/// left - right * floor(left / right), for right > 0.
static Value *emitModulo(IRBuilderBase &builder, Value *left, Value *right) {
  Value *remainder = builder.CreateSRem(left, right);
  Value *negative = builder.CreateICmpSLT(remainder, builder.getInt64(0));
  return builder.CreateSelect(negative, builder.CreateAdd(remainder, right),
                              remainder);
}

Value *baton::cpu::emitAffine(IRBuilderBase &builder,
                              mlir::AffineExpr expression,
                              const AffineOperands &operands) {
  if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(expression))
    return builder.getInt64(constant.getValue());
  if (auto dimension = mlir::dyn_cast<mlir::AffineDimExpr>(expression))
    return operands.dimensions[dimension.getPosition()];
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expression))
    return operands.symbols[symbol.getPosition()];

  auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(expression);
  Value *left = emitAffine(builder, binary.getLHS(), operands);
  Value *right = emitAffine(builder, binary.getRHS(), operands);
  switch (binary.getKind()) {
  case mlir::AffineExprKind::Add:
    return builder.CreateAdd(left, right);
  case mlir::AffineExprKind::Mul:
    return builder.CreateMul(left, right);
  case mlir::AffineExprKind::FloorDiv:
    return emitFloorDivision(builder, left, right);
  case mlir::AffineExprKind::CeilDiv:
    return emitCeilingDivision(builder, left, right);
  case mlir::AffineExprKind::Mod:
    return emitModulo(builder, left, right);
  default:
    llvm_unreachable("every binary affine expression is one of the above");
  }
}

SmallVector<Value *> baton::cpu::emitAffine(IRBuilderBase &builder,
                                            mlir::AffineMap map,
                                            const AffineOperands &operands) {
  SmallVector<Value *> results;
  for (mlir::AffineExpr expression : map.getResults())
    results.push_back(emitAffine(builder, expression, operands));
  return results;
}
