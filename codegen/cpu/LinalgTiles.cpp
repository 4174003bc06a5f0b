//===- LinalgTiles.cpp - structured ops as tiles, and vectors of these ----===//

#include "codegen/cpu/LinalgTiles.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

void baton::cpu::tileAndPeel(RewriterBase &rewriter, linalg::LinalgOp op,
                             ArrayRef<int64_t> sizes) {
  if (llvm::all_of(sizes, [](int64_t size) { return size == 0; }))
    return;
  rewriter.setInsertionPoint(op);
  auto tiled = linalg::tileLinalgOp(
      rewriter, op, linalg::LinalgTilingOptions().setTileSizes(sizes));
  if (failed(tiled))
    return;
  rewriter.eraseOp(op);
  SmallVector<scf::ForOp> loops;
  for (Operation *loop : tiled->loops)
    loops.push_back(cast<scf::ForOp>(loop));
  linalg::peelLoops(rewriter, loops);
}

LogicalResult baton::cpu::lowerTransposes(Operation *function) {
  RewritePatternSet patterns(function->getContext());
  vector::populateVectorTransposeLoweringPatterns(
      patterns, vector::VectorTransformsOptions().setVectorTransposeLowering(
                    vector::VectorTransposeLowering::Shuffle16x16));
  return applyPatternsAndFoldGreedily(function, std::move(patterns));
}
