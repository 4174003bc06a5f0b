//===- deferred_norm.cpp - norms in two halves ----------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/RowPhase.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::NormBeginOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getX()})))
    return failure();
  RowPhase phase(op, ".begin", {"", "squares"}, tiler);
  phase.read(tiler.viewOf(op.getX()));
  phase.parameter(op.getWeight(), "weight");
  phase.rows();
  phase.integer(model::typeOf(op.getX()).getDimension(1));
  return phase.call("norm_begin");
}

static LogicalResult tile(model::NormEndOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getX(), op.getSquares()})))
    return failure();
  RowPhase phase(op, ".end", {""}, tiler);
  phase.read(tiler.viewOf(op.getX()));
  phase.read(tiler.viewOf(op.getSquares()));
  phase.rows();
  phase.integer(model::typeOf(op.getX()).getDimension(1));
  phase.integer(op.getWidth());
  phase.real(op.getEpsilon());
  return phase.call("norm_end");
}

/// A task reads of x what it writes.
static bool isScaled(model::NormEndOp op, OpOperand &operand) {
  return &op.getXMutable() == &operand;
}

void tasks::addDeferredNorm(TilingRules &rules) {
  rules.add<model::NormBeginOp>(tile);
  rules.add<model::NormEndOp>(tile);
  rules.mayWriteOver<model::NormEndOp>(isScaled);
}
