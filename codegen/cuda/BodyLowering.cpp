//===- BodyLowering.cpp - task bodies that users wrote, as loops ----------===//

#include "codegen/cuda/BodyLowering.h"

#include "codegen/plan/BodyFunctions.h"
#include "codegen/plan/LibraryCalls.h"
#include "dialects/Event/Event.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace baton;

/// Whether every element is written by one point of the parallel dimensions,
/// and read by that point alone. Different arguments of a body are different
/// memory: a task writes nothing that it reads through another buffer.
static bool isParallel(linalg::LinalgOp op) {
  for (Operation &inside : op->getRegion(0).front())
    if (!isMemoryEffectFree(&inside))
      return false;
  SmallVector<unsigned> dimensions;
  op.getParallelDims(dimensions);
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    if (!map.isProjectedPermutation() ||
        llvm::any_of(dimensions, [&](unsigned dimension) {
          return !map.isFunctionOfDim(dimension);
        }))
      return false;
    for (OpOperand &other : op->getOpOperands()) {
      if (&other == &output || !isa<MemRefType>(other.get().getType()) ||
          event::rootOf(other.get()) != event::rootOf(output.get()))
        continue;
      if (other.get() != output.get() ||
          op.getMatchingIndexingMap(&other) != map)
        return false;
    }
  }
  return !dimensions.empty();
}

namespace {

/// Structured ops as loops, those over provably parallel dimensions as such.
struct LinalgToProvedLoops
    : public PassWrapper<LinalgToProvedLoops, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LinalgToProvedLoops)
  StringRef getArgument() const override { return "linalg-to-proved-loops"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, arith::ArithDialect,
                    memref::MemRefDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      auto loops = isParallel(op)
                       ? linalg::linalgOpToParallelLoops(rewriter, op)
                       : linalg::linalgOpToLoops(rewriter, op);
      if (failed(loops)) {
        op->emitOpError("cannot be lowered to loops");
        return signalPassFailure();
      }
      rewriter.eraseOp(op);
    }
  }
};

} // namespace

/// As for the CPU (codegen/cpu/Bodies.cpp), as far as loops and arithmetic.
void cuda::addBodyLowering(PassManager &manager) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(plan::createFuseProductsPass());
  functions.addPass(std::make_unique<LinalgToProvedLoops>());
  functions.addPass(createConvertVectorToSCFPass());
  functions.addPass(createLowerAffinePass());
  functions.addPass(plan::createApproximateFunctionsPass());
  functions.addPass(plan::createPlaceTemporariesPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
}
