//===- Contractions.cpp - products of matrices in task bodies, vectorised -===//
//
// A tile of eight rows by sixteen columns stays in registers for sixteen steps
// of depth; what is left of the rows goes one by one. What is left of the other
// dimensions is a reduction like others (Reductions.h).
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Contractions.h"

#include "codegen/cpu/LinalgTiles.h"
#include "dialects/Event/BodyProducts.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using baton::event::BodyProduct;
using baton::event::isFromOutside;
using baton::event::productOf;

static constexpr int64_t kRows = 8, kLanes = 16;

/// Whether a dimension is a tile's.
static bool isSmall(int64_t extent) {
  return !ShapedType::isDynamic(extent) && extent <= kLanes;
}

namespace {

template <typename Derived>
class FunctionPass : public PassWrapper<Derived, OperationPass<func::FuncOp>> {
public:
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<affine::AffineDialect, linalg::LinalgDialect,
                    math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }

protected:
  SmallVector<linalg::LinalgOp> products() {
    SmallVector<linalg::LinalgOp> ops;
    this->getOperation().walk([&](linalg::LinalgOp op) {
      if (productOf(op))
        ops.push_back(op);
    });
    return ops;
  }
};

/// Cuts products into tiles of so many rows, kLanes columns, and kLanes of
/// depth, and peels what is left. Dimensions that are small already stay.
struct TileProducts : FunctionPass<TileProducts> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TileProducts)
  StringRef getArgument() const override { return "tile-products"; }

  explicit TileProducts(int64_t rows) : rows(rows) {}

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : products()) {
      BodyProduct product = *productOf(op);
      SmallVector<int64_t> extents = op.getStaticLoopRanges(), sizes(3, 0);
      for (auto [dimension, size] : {std::pair(product.row, rows),
                                     {product.column, kLanes},
                                     {product.depth, kLanes}})
        if (!isSmall(extents[dimension]))
          sizes[dimension] = size;
      baton::cpu::tileAndPeel(rewriter, op, sizes);
    }
  }

  int64_t rows;
};

/// One tile of fixed sizes, as vectors.
class VectorTile {
public:
  VectorTile(RewriterBase &rewriter, linalg::LinalgOp op)
      : rewriter(rewriter), op(op), product(*productOf(op)),
        extents(op.getStaticLoopRanges()) {}

  void emit();

private:
  Value index(int64_t value) {
    return rewriter.create<arith::ConstantIndexOp>(op.getLoc(), value);
  }
  Value transposed(Value matrix) {
    return rewriter.create<vector::TransposeOp>(op.getLoc(), matrix,
                                                ArrayRef<int64_t>{1, 0});
  }
  Type elementOf(Value value) const {
    return getElementTypeOrSelf(value.getType());
  }
  Value read(OpOperand *operand, unsigned first);
  Value compute(Value value, unsigned first);

  RewriterBase &rewriter;
  linalg::LinalgOp op;
  BodyProduct product;
  SmallVector<int64_t> extents;
  llvm::DenseMap<Value, Value> computed;
};

/// Vectorises products of fixed sizes.
struct VectoriseProducts : FunctionPass<VectoriseProducts> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VectoriseProducts)
  StringRef getArgument() const override { return "vectorise-products"; }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : products()) {
      SmallVector<int64_t> extents = op.getStaticLoopRanges();
      if (!llvm::all_of(extents, isSmall))
        continue;
      rewriter.setInsertionPoint(op);
      VectorTile(rewriter, op).emit();
      rewriter.eraseOp(op);
    }
    if (failed(baton::cpu::lowerTransposes(getOperation())))
      return signalPassFailure();
  }
};

} // namespace

/// An operand as a matrix of dimension `first` by depth, whichever comes first
/// in memory.
Value VectorTile::read(OpOperand *operand, unsigned first) {
  Location location = op.getLoc();
  const bool isSwapped =
      op.getMatchingIndexingMap(operand).getDimPosition(0) != first;
  SmallVector<int64_t> shape = {extents[first], extents[product.depth]};
  if (isSwapped)
    std::swap(shape[0], shape[1]);
  Type element = elementOf(operand->get());
  Value matrix = rewriter.create<arith::ConstantOp>(
      location, rewriter.getZeroAttr(VectorType::get(shape, element)));
  for (int64_t i = 0; i < shape[0]; ++i) {
    Value line = rewriter.create<vector::LoadOp>(
        location, VectorType::get({shape[1]}, element), operand->get(),
        ValueRange{index(i), index(0)});
    matrix = rewriter.create<vector::InsertOp>(location, line, matrix, i);
  }
  return isSwapped ? transposed(matrix) : matrix;
}

/// What the region computes of inputs that have dimension `first`.
Value VectorTile::compute(Value value, unsigned first) {
  if (Value result = computed.lookup(value))
    return result;
  auto type = VectorType::get({extents[first], extents[product.depth]},
                              value.getType());
  auto spread = [&](Value number) -> Value {
    return rewriter.create<vector::BroadcastOp>(op.getLoc(), type, number);
  };
  Value result;
  Operation *maker = value.getDefiningOp();
  if (isFromOutside(op, value)) {
    result = spread(value);
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    result = read(op.getDpsInputOperand(argument.getArgNumber()), first);
  } else if (matchPattern(maker, m_Constant())) {
    result = spread(rewriter.clone(*maker)->getResult(0));
  } else {
    SmallVector<Value> operands;
    for (Value operand : maker->getOperands())
      operands.push_back(compute(operand, first));
    result = rewriter
                 .create(maker->getLoc(), maker->getName().getIdentifier(),
                         operands, {type}, maker->getAttrs())
                 ->getResult(0);
  }
  return computed[value] = result;
}

void VectorTile::emit() {
  Location location = op.getLoc();
  Value rows = compute(product.left, product.row);
  computed.clear();
  Value columns = transposed(compute(product.right, product.column));
  Value out = op.getDpsInitOperand(0)->get();
  auto lanes = VectorType::get({extents[product.column]}, elementOf(out));
  SmallVector<Value> sums;
  for (int64_t row = 0; row < extents[product.row]; ++row)
    sums.push_back(rewriter.create<vector::LoadOp>(
        location, lanes, out, ValueRange{index(row), index(0)}));
  for (int64_t depth = 0; depth < extents[product.depth]; ++depth) {
    Value column = rewriter.create<vector::ExtractOp>(location, columns, depth);
    for (auto [row, chain] : llvm::enumerate(sums)) {
      Value element = rewriter.create<vector::ExtractOp>(
          location, rows, ArrayRef<int64_t>{int64_t(row), depth});
      chain = rewriter.create<math::FmaOp>(
          location,
          rewriter.create<vector::BroadcastOp>(location, lanes, element),
          column, chain);
    }
  }
  for (auto [row, chain] : llvm::enumerate(sums))
    rewriter.create<vector::StoreOp>(location, chain, out,
                                     ValueRange{index(int64_t(row)), index(0)});
}

void baton::cpu::addContractions(OpPassManager &functions) {
  functions.addPass(std::make_unique<TileProducts>(kRows));
  functions.addPass(createCanonicalizerPass());
  // What peeling left of the rows, with all of its columns and depth.
  functions.addPass(std::make_unique<TileProducts>(1));
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(std::make_unique<VectoriseProducts>());
}
