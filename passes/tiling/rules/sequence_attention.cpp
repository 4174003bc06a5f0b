//===- sequence_attention.cpp - attention within sequences ----------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/SequenceTiles.h"
#include "passes/tiling/Weights.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::SequenceAttentionOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  SequenceTiles tiles(op, tiler);
  if (failed(expectHeads(op, tiles, tiler)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op));
  View q = tiler.viewOf(op.getQ()), k = tiler.viewOf(op.getK()),
       v = tiler.viewOf(op.getV()), positions = tiler.viewOf(op.getPositions());
  View out = tiler.resultFor(op, name);
  View statistics = tiler.bufferFor(op.getStatistics(),
                                    plan.uniqueName(name + ".statistics"));
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  SmallVector<Attribute> operands;
  appendWrite(phase, out, tiles.tile(phase, out), operands);
  appendWrite(phase, statistics, tiles.tile(phase, statistics), operands);
  appendRead(phase, q, tiles.tile(phase, q), operands);
  appendRead(phase, k, tiles.before(phase, k), operands);
  appendRead(phase, v, tiles.before(phase, v), operands);
  appendPlaces(tiles, phase, positions, operands);
  appendForm(op, tiles, phase, operands);
  // Heads of a task lie behind one another, and so do their sinks.
  Weight sinks = vectorWeight(name + ".sinks", op.getSinks(), tiler);
  operands.insert(operands.end() - 1, sinks.tile(phase, 1, tiles.group));
  phase.call("sequence_attention", operands);
  return success();
}

void tasks::addSequenceAttention(TilingRules &rules) {
  rules.add<model::SequenceAttentionOp>(tile);
}
