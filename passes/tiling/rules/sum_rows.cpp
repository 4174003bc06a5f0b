//===- sum_rows.cpp - sums over rows, the adjoint of a bias ---------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Training.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::BiasGradientOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  View dy = tiler.viewOf(op.getDy());
  Trainable *target = targetOf(op, training);
  if (!target || failed(expectRows(op, "dy", dy)))
    return failure();
  int64_t n = dy.type.getDimension(1), tiles = ceilDiv(n, kSummedColumns);
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(nameOf(op) + ".bias_gradient"), op.getLoc(),
                 {plan.constant(tiles)}, {tiles});
  Box in = phase.whole(dy), box = phase.whole(target->gradient);
  narrow(in, 1, phase.coordinate(0), kSummedColumns);
  narrow(box, 0, phase.coordinate(0), kSummedColumns);
  phase.reads(dy, in);
  Attribute adds = contribute(*target, phase, box, training);
  phase.call("sum_rows", {phase.address(target->gradient, box),
                          phase.address(dy, in), phase.stride(dy, 0),
                          phase.count(plan.extent(dy.type.getDimension(0))),
                          countOf(phase, 0, kSummedColumns, n), adds});
  return success();
}

void tasks::addSumRows(TilingRules &rules) {
  rules.add<model::BiasGradientOp>(tile);
}
