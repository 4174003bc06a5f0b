//===- matmul.cpp - a product of matrices for each head -------------------===//
//
// Attention as it is written before fusion. Where a program decodes, a task has
// all columns of its rows; where it trains, either factor may be a transpose,
// and rows see all rows of a step, so that tasks have tiles of columns too.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/Products.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

namespace {
/// Tiles of rows, for each head; with a width also of columns.
struct MatmulTiles {
  int64_t heads, m, n, height, width;

  MatmulTiles(model::MatmulOp op, model::StepTensorType type, Tiler &tiler)
      : heads(type.getDimension(0)), m(type.getDimension(1)),
        n(type.getDimension(2)) {
    const TileSizes &sizes = tiler.plan.tiles();
    height =
        tiler.rowsOf(op, tiler.training ? sizes.linearRows : sizes.plainRows);
    width = 0;
    // A head's elements are few, and the next head's lie behind them.
    if (tiler.training)
      width = model::isSymbol(n) ? tiler.columnsOf(op, sizes.linearColumns) : n;
  }

  PhaseBuilder phase(PlanBuilder &plan, const std::string &name,
                     Location location) const {
    SmallVector<AffineExpr> grid = {plan.extent(m).ceilDiv(height),
                                    plan.constant(heads)};
    SmallVector<int64_t> capacity = {ceilDiv(plan.bound(m), height), heads};
    if (width) {
      grid.push_back(plan.extent(n).ceilDiv(width));
      capacity.push_back(ceilDiv(plan.bound(n), width));
    }
    return plan.phase(name, location, grid, capacity);
  }
  Attribute rows(PhaseBuilder &phase) const {
    return phase.count({phase.constant(height),
                        phase.extent(m) - phase.coordinate(0) * height});
  }
  Attribute columns(PhaseBuilder &phase) const {
    if (!width)
      return phase.count(phase.extent(n));
    return phase.count(
        {phase.constant(width), phase.extent(n) - phase.coordinate(2) * width});
  }
};

/// What a task reads and writes.
struct MatmulTask {
  View lhs, rhs, out;
  Box left, right, result;
  Attribute rows, columns, depth;

  MatmulTask(model::MatmulOp op, const View &out, const MatmulTiles &tiles,
             PhaseBuilder &phase, Tiler &tiler)
      : lhs(tiler.viewOf(op.getLhs())), rhs(tiler.viewOf(op.getRhs())),
        out(out), left(phase.whole(lhs)), right(phase.whole(rhs)),
        result(phase.whole(out)), rows(tiles.rows(phase)),
        columns(tiles.columns(phase)),
        depth(phase.count(phase.extent(lhs.type.getDimension(2)))) {
    for (Box *box : {&left, &result})
      narrow(*box, 1, phase.coordinate(0), tiles.height);
    for (Box *box : {&left, &right, &result})
      narrow(*box, 0, phase.coordinate(1), 1);
    if (tiles.width)
      for (Box *box : {&right, &result})
        narrow(*box, 2, phase.coordinate(2), tiles.width);
  }
};
} // namespace

/// By the body for all columns of rows.
static LogicalResult callForColumns(model::MatmulOp op, PhaseBuilder &phase,
                                    const MatmulTask &task) {
  const View &lhs = task.lhs, &rhs = task.rhs, &out = task.out;
  if (failed(expectContiguous(op, "lhs", lhs)) ||
      failed(expectStride(op, "lhs", lhs, 1)) ||
      failed(expectStride(op, "rhs", rhs, 1)) ||
      failed(expectStride(op, "rhs", rhs, 2)))
    return failure();
  phase.reads(lhs, task.left);
  phase.reads(rhs, task.right);
  phase.writes(out, task.result);
  phase.call("matmul",
             {phase.address(out, task.result), phase.stride(out, 1),
              phase.address(lhs, task.left), phase.stride(lhs, 1),
              phase.address(rhs, task.right), phase.stride(rhs, 2),
              phase.stride(rhs, 1), task.rows, task.columns, task.depth});
  return success();
}

/// One of the last two dimensions is contiguous: as it is, or transposed.
static FailureOr<Matrix> readFactor(Operation *op, StringRef what,
                                    PhaseBuilder &phase, const View &view,
                                    const Box &tile) {
  bool isTransposed = view.fixedStrideOf(2) != 1;
  if (isTransposed && view.fixedStrideOf(1) != 1)
    return op->emitOpError() << "cannot be tiled: neither of the last two "
                                "dimensions of "
                             << what << " is contiguous in its buffer";
  unsigned other = isTransposed ? 2 : 1;
  if (failed(expectStride(op, what, view, other)))
    return failure();
  phase.reads(view, tile);
  Matrix matrix{phase.address(view, tile), phase.stride(view, other),
                phase.integer(1)};
  return isTransposed ? matrix.transposed() : matrix;
}

/// By the body of products.
static LogicalResult callForTiles(model::MatmulOp op, PhaseBuilder &phase,
                                  const MatmulTask &task, int64_t width) {
  const View &out = task.out;
  if (failed(expectContiguous(op, "the result", out)) ||
      failed(expectStride(op, "the result", out, 1)))
    return failure();
  FailureOr<Matrix> a = readFactor(op, "lhs", phase, task.lhs, task.left);
  FailureOr<Matrix> b = readFactor(op, "rhs", phase, task.rhs, task.right);
  if (failed(a) || failed(b))
    return failure();
  phase.writes(out, task.result);
  callProduct(phase, "f32",
              {.out = phase.address(out, task.result),
               .outStride = phase.stride(out, 1),
               .a = *a,
               .b = *b,
               .rows = task.rows,
               .columns = task.columns,
               .depth = task.depth,
               .width = width});
  return success();
}

static LogicalResult tile(model::MatmulOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  MatmulTiles tiles(op, out.type, tiler);
  PhaseBuilder phase = tiles.phase(tiler.plan, name, op.getLoc());
  MatmulTask task(op, out, tiles, phase, tiler);
  return tiler.training ? callForTiles(op, phase, task, tiles.width)
                        : callForColumns(op, phase, task);
}

void tasks::addMatmul(TilingRules &rules) { rules.add<model::MatmulOp>(tile); }
