//===- softmax.cpp - softmax and masks ------------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Weights.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// Rows of sequences see what `positions` say, and `hidden` elsewhere.
static LogicalResult tileSequenceMask(Operation *op, Value x, Value positions,
                                      int64_t window,
                                      const llvm::APFloat &hidden,
                                      Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View places = tiler.viewOf(positions);
  return tileRows(op, name, "mask_sequences", tiler.viewOf(x),
                  tiler.resultFor(op, name), tiler,
                  [&](PhaseBuilder &phase, const RowTiles &tiles,
                      SmallVectorImpl<Attribute> &operands) {
                    Box box = rowsOfTask(phase, places, tiles.size);
                    phase.reads(places, box);
                    operands.append(
                        {phase.address(places, box),
                         phase.count(phase.coordinate(0) * tiles.size),
                         phase.integer(window), phase.real(hidden)});
                  });
}

static LogicalResult tile(model::MaskOp op, Tiler &tiler) {
  if (Value positions = op.getPositions())
    return tileSequenceMask(
        op, op.getX(), positions, op.getWindow(),
        llvm::APFloat::getLargest(llvm::APFloat::IEEEsingle(),
                                  /*Negative=*/true),
        tiler);
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View x = tiler.viewOf(op.getX());
  return tileRows(op, name, "mask_causal", x, tiler.resultFor(op, name), tiler,
                  [&](PhaseBuilder &phase, const RowTiles &tiles,
                      SmallVectorImpl<Attribute> &operands) {
                    operands.push_back(phase.count(
                        phase.past() + phase.coordinate(0) * tiles.size));
                    operands.push_back(phase.integer(op.getWindow()));
                  });
}

static LogicalResult tile(model::MaskGradientOp op, Tiler &tiler) {
  return tileSequenceMask(op, op.getDy(), op.getPositions(), op.getWindow(),
                          llvm::APFloat(0.0f), tiler);
}

static LogicalResult tile(model::SoftmaxOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  Weight sinks = vectorWeight(name + ".sinks", op.getSinks(), tiler);
  return tileRows(op, name, "softmax", tiler.viewOf(op.getX()),
                  tiler.resultFor(op, name), tiler,
                  [&](PhaseBuilder &phase, const RowTiles & /*tiles*/,
                      SmallVectorImpl<Attribute> &operands) {
                    // Behind the tile of rows a task's coordinate is its head.
                    operands.push_back(sinks.tile(phase, 1, 1));
                  });
}

void tasks::addSoftmax(TilingRules &rules) {
  rules.add<model::MaskOp>(tile);
  rules.add<model::MaskGradientOp>(tile);
  rules.add<model::SoftmaxOp>(tile);
}
