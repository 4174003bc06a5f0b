//===- norm_gradient.cpp - adjoints of norms ------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/Norms.h"
#include "passes/tiling/Training.h"
#include "passes/tiling/Weights.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::NormStatisticsOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  View x = tiler.viewOf(op.getX());
  if (failed(expectRows(op, "x", x)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".statistics");
  View out = tiler.resultFor(op, name);
  NormTiles tiles(op, out.type, tiler);
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  Box in = tiles.tile(phase, x), box = tiles.tile(phase, out);
  phase.reads(x, in);
  phase.writes(out, box);
  phase.call("norm_statistics",
             {phase.address(out, box), phase.stride(out, 0),
              phase.address(x, in), phase.stride(x, 0), tiles.rows.count(phase),
              phase.integer(x.type.getShape().back()),
              phase.real(op.getEpsilon()),
              phase.integer32(op.getNorm() == model::Norm::layer)});
  return success();
}

static LogicalResult tile(model::NormInputGradientOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  View dy = tiler.viewOf(op.getDy()), x = tiler.viewOf(op.getX());
  View statistics = tiler.viewOf(op.getStatistics());
  if (failed(expectRows(op, "dy", dy)) || failed(expectRows(op, "x", x)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".input_gradient");
  View out = tiler.resultFor(op, name);
  NormTiles tiles(op, out.type, tiler);
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  Box box = tiles.tile(phase, out), sums = tiles.tile(phase, statistics);
  phase.reads(dy, box);
  phase.reads(x, box);
  phase.reads(statistics, sums);
  Attribute weight =
      vectorWeight(name + ".weight", op.getWeight(), tiler).all(phase);
  phase.writes(out, box);
  phase.call("norm_gradient",
             {phase.address(out, box), phase.stride(out, 0),
              phase.address(dy, box), phase.stride(dy, 0),
              phase.address(x, box), phase.stride(x, 0), weight,
              phase.address(statistics, sums), phase.stride(statistics, 0),
              tiles.rows.count(phase), phase.integer(x.type.getShape().back()),
              phase.integer32(op.getNorm() == model::Norm::layer)});
  return success();
}

static LogicalResult tile(model::NormWeightGradientOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  View dy = tiler.viewOf(op.getDy()), x = tiler.viewOf(op.getX());
  View statistics = tiler.viewOf(op.getStatistics());
  Trainable *target = targetOf(op, training);
  if (!target || failed(expectRows(op, "dy", dy)) ||
      failed(expectRows(op, "x", x)))
    return failure();
  unsigned last = x.type.getRank() - 1;
  int64_t heads = last == 2 ? x.type.getDimension(1) : 1;
  if (failed(expectAdjacentHeads(op, "dy", dy, heads)) ||
      failed(expectAdjacentHeads(op, "x", x, heads)))
    return failure();
  int64_t k = x.type.getDimension(last), tiles = ceilDiv(k, kSummedColumns);
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(nameOf(op) + ".weight_gradient"), op.getLoc(),
                 {plan.constant(tiles)}, {tiles});
  Box in = phase.whole(x), box = phase.whole(target->gradient);
  narrow(in, last, phase.coordinate(0), kSummedColumns);
  narrow(box, 0, phase.coordinate(0), kSummedColumns);
  phase.reads(dy, in);
  phase.reads(x, in);
  Attribute sums = readAll(phase, statistics);
  Attribute adds = contribute(*target, phase, box, training);
  phase.call("norm_weight_gradient",
             {phase.address(target->gradient, box), phase.null(),
              phase.address(dy, in), phase.stride(dy, 0), phase.address(x, in),
              phase.stride(x, 0), sums, phase.stride(statistics, 0),
              phase.count(plan.extent(x.type.getDimension(0))),
              phase.integer(heads), phase.integer(k),
              countOf(phase, 0, kSummedColumns, k), adds});
  return success();
}

void tasks::addNormGradient(TilingRules &rules) {
  rules.add<model::NormStatisticsOp>(tile);
  rules.add<model::NormInputGradientOp>(tile);
  rules.add<model::NormWeightGradientOp>(tile);
}
