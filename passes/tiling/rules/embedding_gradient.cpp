//===- embedding_gradient.cpp - the adjoint of an embedding ---------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/collectives/RankPlaces.h"
#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Training.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::EmbeddingGradientOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  View dy = tiler.viewOf(op.getDy()), indices = tiler.viewOf(op.getIndices());
  Trainable *target = targetOf(op, training);
  if (!target || failed(expectRows(op, "dy", dy)))
    return failure();
  const View &out = target->gradient;
  int64_t k = dy.type.getDimension(1), tiles = ceilDiv(k, kSummedColumns);
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(nameOf(op) + ".table_gradient"), op.getLoc(),
                 {plan.constant(tiles)}, {tiles});
  Box in = phase.whole(dy), box = phase.whole(out);
  narrow(in, 1, phase.coordinate(0), kSummedColumns);
  narrow(box, 1, phase.coordinate(0), kSummedColumns);
  phase.reads(dy, in);
  Attribute rows = readAll(phase, indices);
  Attribute adds = contribute(*target, phase, box, training);
  SmallVector<Attribute> operands = {phase.address(out, box),
                                     phase.stride(out, 0),
                                     phase.address(dy, in),
                                     phase.stride(dy, 0),
                                     rows,
                                     phase.count(plan.extent(model::kRows)),
                                     countOf(phase, 0, kSummedColumns, k),
                                     phase.integer(out.type.getDimension(0)),
                                     phase.real(op.getMultiplier()),
                                     adds};
  model::ShardAttr shard;
  for (Operation *user : op->getUsers())
    if (auto gradient = dyn_cast<model::GradientOp>(user))
      shard = RankPlaces::tokensOf(gradient.getParameter());
  if (shard)
    operands.push_back(tiler.places->read(phase, shard));
  phase.call(shard ? "embedding_gradient_part" : "embedding_gradient",
             operands);
  return success();
}

void tasks::addEmbeddingGradient(TilingRules &rules) {
  rules.add<model::EmbeddingGradientOp>(tile);
}
