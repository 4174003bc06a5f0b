//===- magnitude.cpp - rows of adapted weights with trained lengths -------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/Products.h"
#include "passes/tiling/RowPhase.h"
#include "passes/tiling/Training.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

/// Outputs whose squares are one task's.
static constexpr int64_t kSquaredOutputs = 2 * kPanel;

static LogicalResult tile(model::AdaptedSquaresOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  if (!model::isFrozen(op.getWeight()))
    return op.emitOpError() << "cannot be tiled: its weight trains";
  const std::string name = plan.uniqueName(nameOf(op) + ".squares");
  View out = tiler.resultFor(op, name);
  const int64_t outputs = typeOf(op.getWeight()).getDimension(0),
                inputs = typeOf(op.getWeight()).getDimension(1),
                rank = typeOf(op.getDown()).getDimension(0),
                tiles = ceilDiv(outputs, kSquaredOutputs);
  event::ParameterOp panels =
      tiler.panels(name + ".weight", op.getWeight(), /*alternating=*/false);
  const View &down = training.trainable(op.getDown()).weight,
             &up = training.trainable(op.getUp()).weight;
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {plan.constant(tiles)}, {tiles});
  Box box = phase.whole(out), rows = phase.whole(up);
  narrow(box, 0, phase.coordinate(0), kSquaredOutputs);
  narrow(rows, 0, phase.coordinate(0), kSquaredOutputs);
  Matrix a = readMatrix(phase, down, phase.whole(down)),
         b = readMatrix(phase, up, rows);
  phase.writes(out, box);
  phase.needsScratch(squaresScratch(kSquaredOutputs, rank));
  phase.call(Weight(panels).bodyFor("adapted_squares"),
             {phase.address(out, box),
              phase.weight(panels, panels.getFormAttr().getOffset(
                                       phase.coordinate(0) * kSquaredOutputs)),
              a.pointer, a.first, b.pointer, b.first,
              phase.real(op.getFactor()),
              countOf(phase, 0, kSquaredOutputs, outputs), phase.integer(rank),
              phase.integer(inputs), phase.scratch(0)});
  return success();
}

static LogicalResult tile(model::MagnitudeOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getX()})))
    return failure();
  RowPhase phase(op, ".scaled", {""}, tiler);
  phase.read(tiler.viewOf(op.getX()));
  phase.parameter(op.getMagnitude(), "magnitude");
  phase.parameter(op.getSquares(), "squares");
  phase.parameter(op.getBias(), "bias");
  phase.rows();
  phase.integer(typeOf(op.getX()).getDimension(1));
  return phase.call("magnitude");
}

static LogicalResult tile(model::MagnitudeGradientOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  View dy = tiler.viewOf(op.getDy()), x = tiler.viewOf(op.getX());
  Trainable *target = targetOf(op, training);
  if (!target || failed(expectRows(op, "dy", dy)) ||
      failed(expectRows(op, "x", x)))
    return failure();
  const int64_t outputs = x.type.getDimension(1),
                tiles = ceilDiv(outputs, kSummedColumns);
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(nameOf(op) + ".magnitude_gradient"),
                 op.getLoc(), {plan.constant(tiles)}, {tiles});
  Box in = phase.whole(x), box = phase.whole(target->gradient);
  narrow(in, 1, phase.coordinate(0), kSummedColumns);
  narrow(box, 0, phase.coordinate(0), kSummedColumns);
  phase.reads(dy, in);
  phase.reads(x, in);
  Attribute squares = vectorWeight("squares", op.getSquares(), tiler)
                          .tile(phase, 0, kSummedColumns);
  Attribute adds = contribute(*target, phase, box, training);
  phase.call("magnitude_gradient",
             {phase.address(target->gradient, box), phase.address(dy, in),
              phase.stride(dy, 0), phase.address(x, in), phase.stride(x, 0),
              squares, phase.count(plan.extent(x.type.getDimension(0))),
              countOf(phase, 0, kSummedColumns, outputs), adds});
  return success();
}

/// A task reads of x what it writes.
static bool isScaled(model::MagnitudeOp op, OpOperand &operand) {
  return &op.getXMutable() == &operand;
}

void tasks::addMagnitude(TilingRules &rules) {
  rules.add<model::AdaptedSquaresOp>(tile);
  rules.add<model::MagnitudeOp>(tile);
  rules.add<model::MagnitudeGradientOp>(tile);
  rules.mayWriteOver<model::MagnitudeOp>(isScaled);
}
