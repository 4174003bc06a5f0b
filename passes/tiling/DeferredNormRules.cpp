//===- DeferredNormRules.cpp - task grids of norms in two halves ----------===//

#include "passes/tiling/DeferredNormRules.h"

#include "passes/tiling/RowPhase.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static int64_t widthOf(Value x) {
  return cast<model::StepTensorType>(x.getType()).getDimension(1);
}

static LogicalResult tile(model::NormBeginOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getX()})))
    return failure();
  RowPhase phase(op, ".begin", {"", "squares"}, tiler);
  phase.read(tiler.viewOf(op.getX()));
  phase.parameter(op.getWeight(), "weight");
  phase.rows();
  phase.integer(widthOf(op.getX()));
  return phase.call("norm_begin");
}

static LogicalResult tile(model::NormEndOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getX(), op.getSquares()})))
    return failure();
  RowPhase phase(op, ".end", {""}, tiler);
  phase.read(tiler.viewOf(op.getX()));
  phase.read(tiler.viewOf(op.getSquares()));
  phase.rows();
  phase.integer(widthOf(op.getX()));
  phase.integer(op.getWidth());
  phase.real(op.getEpsilon());
  return phase.call("norm_end");
}

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
  phase.integer(widthOf(op.getX()));
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
  phase.integer(widthOf(op.getX()));
  phase.integer(op.getWidth());
  phase.real(op.getEpsilon());
  return phase.call("norm_end_gradient");
}

std::optional<LogicalResult> tasks::tileDeferredNorm(Operation *op,
                                                     Tiler &tiler) {
  return llvm::TypeSwitch<Operation *, std::optional<LogicalResult>>(op)
      .Case<model::NormBeginOp, model::NormEndOp, model::NormBeginGradientOp,
            model::NormEndGradientOp>(
          [&](auto typed) { return tile(typed, tiler); })
      .Default([](Operation *) { return std::nullopt; });
}
