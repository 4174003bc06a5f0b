//===- Reductions.cpp - reductions in task bodies, vectorised -------------===//
//
// What has the reduced dimension last in memory comes as sixteen rows of
// sixteen steps, which are transposed; what has the lanes last, a step at a
// time; what has one of the two only, once.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Reductions.h"

#include "codegen/cpu/LinalgTiles.h"
#include "dialects/Event/BodyProducts.h"
#include "dialects/Event/Event.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <algorithm>

using namespace mlir;
using namespace baton;
using baton::event::isContiguous;
using baton::event::rootOf;

static constexpr int64_t kLanes = 16, kSteps = 16;

namespace {
/// Dimensions of an op that reduces: the one whose indices are lanes, and the
/// one that it reduces over.
struct Reduction {
  unsigned lane, step;
};
} // namespace

/// Whether the last dimension of what an operand is, in memory, is this one.
static bool endsIn(AffineMap map, unsigned dimension) {
  if (map.getNumResults() == 0)
    return false;
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  return last && last.getPosition() == dimension;
}

/// Whether vectors of an operand can be had without a load for each element of
/// each step.
static bool isReadable(linalg::LinalgOp op, OpOperand &operand,
                       const Reduction &reduction) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!map.isProjectedPermutation() ||
      !isa<MemRefType>(operand.get().getType()))
    return false;
  if (!map.isFunctionOfDim(reduction.lane) ||
      !map.isFunctionOfDim(reduction.step))
    return true;
  return isContiguous(operand.get()) &&
         (endsIn(map, reduction.lane) || endsIn(map, reduction.step));
}

static std::optional<Reduction> reductionOf(linalg::LinalgOp op) {
  if (!isa<linalg::GenericOp>(*op) || !op.hasPureBufferSemantics() ||
      op.getNumReductionLoops() != 1 || op.getNumParallelLoops() == 0)
    return std::nullopt;
  for (Operation &inside : op->getRegion(0).front().without_terminator())
    if (!OpTrait::hasElementwiseMappableTraits(&inside) &&
        !inside.hasTrait<OpTrait::ConstantLike>())
      return std::nullopt;
  SmallVector<unsigned> steps, parallel;
  op.getReductionDims(steps);
  op.getParallelDims(parallel);
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    // An element is one lane's.
    if (!isa<MemRefType>(output.get().getType()) ||
        !map.isProjectedPermutation() ||
        map.getNumResults() != parallel.size() || map.isFunctionOfDim(steps[0]))
      return std::nullopt;
    // What is written may not be read in another order.
    for (OpOperand &other : op->getOpOperands())
      if (&other != &output && isa<MemRefType>(other.get().getType()) &&
          rootOf(other.get()) == rootOf(output.get()))
        return std::nullopt;
  }
  // Operands whose vectors are loads before those that are transposed.
  auto gathered = [&](unsigned lane) {
    return llvm::count_if(op->getOpOperands(), [&](OpOperand &operand) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      return map.isFunctionOfDim(lane) && !endsIn(map, lane);
    });
  };
  std::sort(parallel.begin(), parallel.end(), [&](unsigned a, unsigned b) {
    return std::pair(gathered(a), a) < std::pair(gathered(b), b);
  });
  for (unsigned lane : parallel) {
    Reduction reduction{lane, steps[0]};
    if (llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
          return isReadable(op, operand, reduction);
        }))
      return reduction;
  }
  return std::nullopt;
}

namespace {

class ReductionPass
    : public PassWrapper<ReductionPass, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReductionPass)
  StringRef getArgument() const override { return "vectorise-reductions"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<affine::AffineDialect, arith::ArithDialect,
                linalg::LinalgDialect, math::MathDialect, memref::MemRefDialect,
                scf::SCFDialect, vector::VectorDialect>();
  }

  void runOnOperation() override;

private:
  SmallVector<linalg::LinalgOp> reductions();
};

/// One tile: kLanes lanes by kSteps steps, one index of other dimensions.
class LaneTile {
public:
  LaneTile(RewriterBase &rewriter, linalg::LinalgOp op)
      : rewriter(rewriter), op(op), reduction(*reductionOf(op)),
        location(op.getLoc()) {}

  void emit();

private:
  Value index(int64_t value) {
    return rewriter.create<arith::ConstantIndexOp>(location, value);
  }
  VectorType lanesOf(Type element) {
    return VectorType::get({kLanes}, element);
  }
  /// Indices of an operand's element.
  SmallVector<Value> at(OpOperand &operand, int64_t lane, int64_t step);
  Value loadLanes(OpOperand &operand, int64_t step);
  void storeLanes(OpOperand &operand, Value lanes);
  /// An operand at each step.
  SmallVector<Value> loadSteps(OpOperand &operand);

  RewriterBase &rewriter;
  linalg::LinalgOp op;
  Reduction reduction;
  Location location;
};

} // namespace

SmallVector<Value> LaneTile::at(OpOperand &operand, int64_t lane,
                                int64_t step) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> indices;
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    const unsigned dimension = map.getDimPosition(i);
    indices.push_back(index(dimension == reduction.lane   ? lane
                            : dimension == reduction.step ? step
                                                          : 0));
  }
  return indices;
}

/// A lane's element for each lane.
Value LaneTile::loadLanes(OpOperand &operand, int64_t step) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  VectorType type = lanesOf(getElementTypeOrSelf(operand.get().getType()));
  if (!map.isFunctionOfDim(reduction.lane))
    return rewriter.create<vector::BroadcastOp>(
        location, type,
        rewriter.create<memref::LoadOp>(location, operand.get(),
                                        at(operand, 0, step)));
  if (endsIn(map, reduction.lane) && isContiguous(operand.get()))
    return rewriter.create<vector::LoadOp>(location, type, operand.get(),
                                           at(operand, 0, step));
  Value lanes =
      rewriter.create<arith::ConstantOp>(location, rewriter.getZeroAttr(type));
  for (int64_t lane = 0; lane < kLanes; ++lane)
    lanes = rewriter.create<vector::InsertOp>(
        location,
        rewriter.create<memref::LoadOp>(location, operand.get(),
                                        at(operand, lane, step)),
        lanes, lane);
  return lanes;
}

void LaneTile::storeLanes(OpOperand &operand, Value lanes) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (endsIn(map, reduction.lane) && isContiguous(operand.get())) {
    rewriter.create<vector::StoreOp>(location, lanes, operand.get(),
                                     at(operand, 0, 0));
    return;
  }
  for (int64_t lane = 0; lane < kLanes; ++lane)
    rewriter.create<memref::StoreOp>(
        location, rewriter.create<vector::ExtractOp>(location, lanes, lane),
        operand.get(), at(operand, lane, 0));
}

SmallVector<Value> LaneTile::loadSteps(OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!map.isFunctionOfDim(reduction.step))
    return SmallVector<Value>(kSteps, loadLanes(operand, 0));
  SmallVector<Value> steps;
  if (!map.isFunctionOfDim(reduction.lane) || endsIn(map, reduction.lane)) {
    for (int64_t step = 0; step < kSteps; ++step)
      steps.push_back(loadLanes(operand, step));
    return steps;
  }
  Type element = getElementTypeOrSelf(operand.get().getType());
  auto type = VectorType::get({kLanes, kSteps}, element);
  Value matrix =
      rewriter.create<arith::ConstantOp>(location, rewriter.getZeroAttr(type));
  for (int64_t lane = 0; lane < kLanes; ++lane)
    matrix = rewriter.create<vector::InsertOp>(
        location,
        rewriter.create<vector::LoadOp>(location,
                                        VectorType::get({kSteps}, element),
                                        operand.get(), at(operand, lane, 0)),
        matrix, lane);
  matrix = rewriter.create<vector::TransposeOp>(location, matrix,
                                                ArrayRef<int64_t>{1, 0});
  for (int64_t step = 0; step < kSteps; ++step)
    steps.push_back(rewriter.create<vector::ExtractOp>(location, matrix, step));
  return steps;
}

void LaneTile::emit() {
  Block &block = op->getRegion(0).front();
  const int64_t inputs = op.getNumDpsInputs();
  SmallVector<SmallVector<Value>> read;
  for (OpOperand *input : op.getDpsInputOperands())
    read.push_back(loadSteps(*input));
  SmallVector<Value> sums;
  for (OpOperand &output : op.getDpsInitsMutable())
    sums.push_back(loadLanes(output, 0));
  for (int64_t step = 0; step < kSteps; ++step) {
    IRMapping copies;
    for (auto [i, argument] : llvm::enumerate(block.getArguments()))
      copies.map(argument,
                 int64_t(i) < inputs ? read[i][step] : sums[i - inputs]);
    // One number for all lanes, from outside of the op.
    auto spread = [&](Value value) -> Value {
      if (Value copy = copies.lookupOrNull(value))
        return copy;
      return rewriter.create<vector::BroadcastOp>(
          location, lanesOf(value.getType()), value);
    };
    for (Operation &inside : block.without_terminator()) {
      if (matchPattern(&inside, m_Constant())) {
        Value constant = rewriter.clone(inside)->getResult(0);
        copies.map(inside.getResult(0),
                   rewriter.create<vector::BroadcastOp>(
                       location, lanesOf(constant.getType()), constant));
        continue;
      }
      SmallVector<Value> operands;
      SmallVector<Type> types;
      for (Value operand : inside.getOperands())
        operands.push_back(spread(operand));
      for (Type type : inside.getResultTypes())
        types.push_back(lanesOf(type));
      Operation *copy =
          rewriter.create(inside.getLoc(), inside.getName().getIdentifier(),
                          operands, types, inside.getAttrs());
      copies.map(inside.getResults(), copy->getResults());
    }
    for (auto [sum, value] :
         llvm::zip(sums, block.getTerminator()->getOperands()))
      sum = spread(value);
  }
  for (auto [output, sum] : llvm::zip(op.getDpsInitsMutable(), sums))
    storeLanes(output, sum);
}

SmallVector<linalg::LinalgOp> ReductionPass::reductions() {
  SmallVector<linalg::LinalgOp> ops;
  getOperation().walk([&](linalg::LinalgOp op) {
    if (reductionOf(op))
      ops.push_back(op);
  });
  return ops;
}

/// Cuts a reduction into tiles, where a dimension is not as small already.
static void tile(RewriterBase &rewriter, linalg::LinalgOp op,
                 SmallVector<int64_t> sizes) {
  for (auto [size, extent] : llvm::zip(sizes, op.getStaticLoopRanges()))
    if (size == extent)
      size = 0;
  cpu::tileAndPeel(rewriter, op, sizes);
}

/// Whether an op has kLanes lanes, and one index of other parallel dimensions.
static bool hasLanes(linalg::LinalgOp op) {
  const Reduction reduction = *reductionOf(op);
  for (auto [dimension, extent] : llvm::enumerate(op.getStaticLoopRanges()))
    if (dimension != reduction.step &&
        extent != (dimension == reduction.lane ? kLanes : 1))
      return false;
  return true;
}

void ReductionPass::runOnOperation() {
  IRRewriter rewriter(&getContext());
  // Sizes of peeled tiles become constants.
  OpPassManager cleaning(func::FuncOp::getOperationName());
  cleaning.addPass(createCanonicalizerPass());
  auto clean = [&] { return runPipeline(cleaning, getOperation()); };
  for (linalg::LinalgOp op : reductions()) {
    const Reduction reduction = *reductionOf(op);
    SmallVector<int64_t> sizes(op.getNumLoops(), 1);
    sizes[reduction.lane] = kLanes;
    sizes[reduction.step] = 0;
    tile(rewriter, op, sizes);
  }
  if (failed(clean()))
    return signalPassFailure();
  // What has fewer lanes keeps its loop over all steps.
  for (linalg::LinalgOp op : reductions()) {
    if (!hasLanes(op))
      continue;
    SmallVector<int64_t> sizes(op.getNumLoops(), 0);
    sizes[reductionOf(op)->step] = kSteps;
    tile(rewriter, op, sizes);
  }
  if (failed(clean()))
    return signalPassFailure();
  for (linalg::LinalgOp op : reductions()) {
    if (!hasLanes(op) ||
        op.getStaticLoopRanges()[reductionOf(op)->step] != kSteps)
      continue;
    rewriter.setInsertionPoint(op);
    LaneTile(rewriter, op).emit();
    rewriter.eraseOp(op);
  }
  if (failed(cpu::lowerTransposes(getOperation())))
    signalPassFailure();
}

void baton::cpu::addReductions(OpPassManager &functions) {
  functions.addPass(std::make_unique<ReductionPass>());
}
