//===- hyper.cpp - hyper-connections --------------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/rules/HyperPieces.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

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

/// All streams of its rows are what a task reads and what it writes.
template <typename OpT> static bool isStreams(OpT op, OpOperand &operand) {
  return &op.getXMutable() == &operand;
}

void tasks::addHyper(TilingRules &rules) {
  rules.add<model::HyperProjectOp>(tile);
  rules.add<model::HyperMapsOp>(tile);
  rules.add<model::HyperPreOp>(tile);
  rules.add<model::HyperPostOp>(tile);
  rules.add<model::HyperEnterOp>(tile);
  rules.add<model::HyperTurnOp>(tile);
  rules.mayWriteOver<model::HyperPostOp>(isStreams);
  rules.mayWriteOver<model::HyperTurnOp>(isStreams);
}
