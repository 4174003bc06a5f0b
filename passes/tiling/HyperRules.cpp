//===- HyperRules.cpp - task grids of hyper-connections -------------------===//
//
// Every op's tasks are tiles of rows with all their streams: the maps of a row
// are functions of all of it. Only the gradient of what all rows share is one
// task.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/HyperRules.h"

#include "passes/tiling/RowPhase.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static int64_t streamsOf(const View &x) { return x.type.getDimension(1); }
static int64_t widthOf(const View &x) { return x.type.getDimension(2); }

/// Whether there are weights of how streams mix.
static int32_t mixes(const View &x, const View &weights) {
  return weights.type.getDimension(1) != streamsOf(x);
}

template <typename OpT> static void appendMixing(OpT op, RowPhase &phase) {
  phase.integer32(static_cast<int32_t>(op.getMixing()));
  phase.integer(op.getIterations());
  phase.real(op.getEpsilon());
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

static LogicalResult tile(model::HyperProjectOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getX()})))
    return failure();
  View x = tiler.viewOf(op.getX());
  RowPhase phase(op, "", {""}, tiler);
  phase.read(x);
  phase.parameter(op.getPhi(), "phi");
  phase.rows();
  phase.integer(streamsOf(x) * widthOf(x));
  phase.integer(op.getType().getDimension(1));
  phase.real(op.getEpsilon());
  return phase.call("hyper_project");
}

/// What maps, and their adjoint, are made of.
template <typename OpT>
static void appendMaps(OpT op, RowPhase &phase, Tiler &tiler) {
  phase.read(tiler.viewOf(op.getLogits()));
  phase.parameter(op.getScale(), "scale");
  phase.parameter(op.getBase(), "base");
  phase.rows();
  phase.integer(op.getStreams());
  appendMixing(op, phase);
}

static LogicalResult tile(model::HyperMapsOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getLogits()})))
    return failure();
  RowPhase phase(op, "", {""}, tiler);
  appendMaps(op, phase, tiler);
  return phase.call("hyper_maps");
}

static LogicalResult tile(model::HyperPreOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getX(), op.getWeights()})))
    return failure();
  View x = tiler.viewOf(op.getX());
  RowPhase phase(op, "", {""}, tiler);
  phase.read(x);
  phase.read(tiler.viewOf(op.getWeights()));
  phase.rows();
  phase.integer(streamsOf(x));
  phase.integer(widthOf(x));
  return phase.call("hyper_pre");
}

static LogicalResult tile(model::HyperPostOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getX(), op.getY(), op.getWeights()})))
    return failure();
  View x = tiler.viewOf(op.getX()), weights = tiler.viewOf(op.getWeights());
  RowPhase phase(op, "", {""}, tiler);
  phase.read(x);
  phase.read(tiler.viewOf(op.getY()));
  phase.read(weights);
  phase.rows();
  phase.integer(streamsOf(x));
  phase.integer(widthOf(x));
  phase.integer32(mixes(x, weights));
  return phase.call("hyper_post");
}

template <typename OpT> static void appendEnter(OpT op, RowPhase &phase) {
  phase.real(op.getNormEpsilon());
  appendMixing(op, phase);
}

template <typename OpT> static void appendParameters(OpT op, RowPhase &phase) {
  phase.parameter(op.getPhi(), "phi");
  phase.parameter(op.getScale(), "scale");
  phase.parameter(op.getBase(), "base");
}

static LogicalResult tile(model::HyperEnterOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getX()})))
    return failure();
  View x = tiler.viewOf(op.getX());
  RowPhase phase(op, "", {"", "maps"}, tiler);
  phase.read(x);
  appendParameters(op, phase);
  phase.rows();
  phase.integer(streamsOf(x));
  phase.integer(widthOf(x));
  appendEnter(op, phase);
  return phase.call("hyper_enter");
}

static LogicalResult tile(model::HyperTurnOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getX(), op.getY(), op.getWeights()})))
    return failure();
  View x = tiler.viewOf(op.getX()), weights = tiler.viewOf(op.getWeights());
  RowPhase phase(op, "", {"streams", "", "maps"}, tiler);
  phase.read(x);
  phase.read(tiler.viewOf(op.getY()));
  phase.read(weights);
  appendParameters(op, phase);
  phase.rows();
  phase.integer(streamsOf(x));
  phase.integer(widthOf(x));
  phase.integer32(mixes(x, weights));
  appendEnter(op, phase);
  return phase.call("hyper_turn");
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

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
static LogicalResult tile(model::HyperScaleGradientOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getDz(), op.getLogits()})))
    return failure();
  if (!tiler.training)
    return op.emitOpError() << "cannot be tiled: its program does not train";
  Trainable *target = targetOf(op, *tiler.training);
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
  Attribute adds = contribute(*target, phase, box, *tiler.training);
  operands.append({phase.count(plan.extent(dz.type.getDimension(0))),
                   phase.integer(op.getStreams()),
                   phase.integer32(static_cast<int32_t>(op.getMixing())),
                   adds});
  phase.call("hyper_scale_gradient", operands);
  return success();
}

std::optional<LogicalResult> tasks::tileHyper(Operation *op, Tiler &tiler) {
  return llvm::TypeSwitch<Operation *, std::optional<LogicalResult>>(op)
      .Case<model::HyperProjectOp, model::HyperMapsOp, model::HyperPreOp,
            model::HyperPostOp, model::HyperEnterOp, model::HyperTurnOp,
            model::ScaleRowsOp, model::HyperProjectGradientOp,
            model::HyperMapsGradientOp, model::HyperPreGradientOp,
            model::HyperPostGradientOp, model::HyperScaleGradientOp>(
          [&](auto typed) { return tile(typed, tiler); })
      .Default([](Operation *) { return std::nullopt; });
}
