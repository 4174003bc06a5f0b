//===- hyper_gradient.cpp - adjoints of hyper-connections -----------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/Training.h"
#include "passes/tiling/rules/HyperPieces.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::ScaleRowsOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getX(), op.getStatistics()})))
    return failure();
  RowPhase phase(op, ".scaled", {""}, tiler);
  phase.read(tiler.viewOf(op.getX()));
  phase.read(tiler.viewOf(op.getStatistics()));
  phase.rows();
  phase.integer(op.getType().getDimension(1));
  return phase.call("scale_rows");
}

static LogicalResult tile(model::HyperProjectGradientOp op, Tiler &tiler) {
  if (failed(expectRows(
          op, tiler, {op.getDy(), op.getX(), op.getY(), op.getStatistics()})))
    return failure();
  View x = tiler.viewOf(op.getX()), y = tiler.viewOf(op.getY());
  RowPhase phase(op, ".gradient", {""}, tiler);
  phase.read(tiler.viewOf(op.getDy()));
  phase.read(x);
  phase.parameter(op.getPhi(), "phi");
  phase.read(y);
  phase.read(tiler.viewOf(op.getStatistics()));
  phase.rows();
  phase.integer(streamsOf(x) * widthOf(x));
  phase.integer(y.type.getDimension(1));
  return phase.call("hyper_project_gradient");
}

static LogicalResult tile(model::HyperMapsGradientOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getDy(), op.getLogits()})))
    return failure();
  RowPhase phase(op, ".gradient", {"", "sums"}, tiler);
  phase.read(tiler.viewOf(op.getDy()));
  appendMaps(op, phase, tiler);
  return phase.call("hyper_maps_gradient");
}

static LogicalResult tile(model::HyperPreGradientOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getDy(), op.getX(), op.getWeights()})))
    return failure();
  View x = tiler.viewOf(op.getX());
  RowPhase phase(op, ".gradient", {"", "weights"}, tiler);
  phase.read(tiler.viewOf(op.getDy()));
  phase.read(x);
  phase.read(tiler.viewOf(op.getWeights()));
  phase.rows();
  phase.integer(streamsOf(x));
  phase.integer(widthOf(x));
  return phase.call("hyper_pre_gradient");
}

static LogicalResult tile(model::HyperPostGradientOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler,
                        {op.getDx(), op.getX(), op.getY(), op.getWeights()})))
    return failure();
  View x = tiler.viewOf(op.getX()), weights = tiler.viewOf(op.getWeights());
  RowPhase phase(op, ".gradient", {"", "made", "weights"}, tiler);
  phase.read(tiler.viewOf(op.getDx()));
  phase.read(x);
  phase.read(tiler.viewOf(op.getY()));
  phase.read(weights);
  phase.rows();
  phase.integer(streamsOf(x));
  phase.integer(widthOf(x));
  phase.integer32(mixes(x, weights));
  return phase.call("hyper_post_gradient");
}

/// A handful of numbers that sum over everything: one task.
static LogicalResult tile(model::HyperScaleGradientOp op, Tiler &tiler,
                          Training &training) {
  if (failed(expectRows(op, tiler, {op.getDz(), op.getLogits()})))
    return failure();
  Trainable *target = targetOf(op, training);
  if (!target)
    return failure();
  View dz = tiler.viewOf(op.getDz()), logits = tiler.viewOf(op.getLogits());
  PlanBuilder &plan = tiler.plan;
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(nameOf(op) + ".scale_gradient"), op.getLoc(),
                 {plan.constant(1)}, {1});
  SmallVector<Attribute> operands;
  Box box = phase.whole(target->gradient);
  operands.push_back(phase.address(target->gradient, box));
  appendRead(phase, dz, phase.whole(dz), operands);
  appendRead(phase, logits, phase.whole(logits), operands);
  Attribute adds = contribute(*target, phase, box, training);
  operands.append({phase.count(plan.extent(dz.type.getDimension(0))),
                   phase.integer(op.getStreams()),
                   phase.integer32(static_cast<int32_t>(op.getMixing())),
                   adds});
  phase.call("hyper_scale_gradient", operands);
  return success();
}

void tasks::addHyperGradient(TilingRules &rules) {
  rules.add<model::ScaleRowsOp>(tile);
  rules.add<model::HyperProjectGradientOp>(tile);
  rules.add<model::HyperMapsGradientOp>(tile);
  rules.add<model::HyperPreGradientOp>(tile);
  rules.add<model::HyperPostGradientOp>(tile);
  rules.add<model::HyperScaleGradientOp>(tile);
}
