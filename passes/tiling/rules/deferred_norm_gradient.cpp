//===- deferred_norm_gradient.cpp - adjoints of norms in two halves -------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/RowPhase.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::NormBeginGradientOp op, Tiler &tiler) {
  SmallVector<Value> rows = {op.getX()};
  for (Value gradient : {op.getScaledGradient(), op.getSquaresGradient()})
    if (gradient)
      rows.push_back(gradient);
  if (failed(expectRows(op, tiler, rows)))
    return failure();
  RowPhase phase(op, ".gradient", {""}, tiler);
  phase.read(tiler.viewOf(op.getX()));
  phase.parameter(op.getWeight(), "weight");
  for (Value gradient : {op.getScaledGradient(), op.getSquaresGradient()})
    if (gradient)
      phase.read(tiler.viewOf(gradient));
    else
      phase.nothing();
  phase.rows();
  phase.integer(model::typeOf(op.getX()).getDimension(1));
  return phase.call("norm_begin_gradient");
}

static LogicalResult tile(model::NormEndGradientOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getDy(), op.getX(), op.getSquares()})))
    return failure();
  RowPhase phase(op, ".squares_gradient", {""}, tiler);
  phase.read(tiler.viewOf(op.getDy()));
  phase.read(tiler.viewOf(op.getX()));
  phase.read(tiler.viewOf(op.getSquares()));
  phase.rows();
  phase.integer(model::typeOf(op.getX()).getDimension(1));
  phase.integer(op.getWidth());
  phase.real(op.getEpsilon());
  return phase.call("norm_end_gradient");
}

void tasks::addDeferredNormGradient(TilingRules &rules) {
  rules.add<model::NormBeginGradientOp>(tile);
  rules.add<model::NormEndGradientOp>(tile);
}
