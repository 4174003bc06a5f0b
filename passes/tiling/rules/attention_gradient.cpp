//===- attention_gradient.cpp - adjoints of attention ---------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/RowPhase.h"
#include "passes/tiling/SequenceTiles.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::AttentionDeltaOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  View dy = tiler.viewOf(op.getDy()), y = tiler.viewOf(op.getY());
  int64_t heads = dy.type.getDimension(1);
  for (auto [what, view] : {std::pair<StringRef, View>{"dy", dy}, {"y", y}})
    if (failed(expectRows(op, what, view)) ||
        failed(expectAdjacentHeads(op, what, view, heads)))
      return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".delta");
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box in = phase.whole(dy), box = phase.whole(out);
  narrow(in, 0, phase.coordinate(0), tiles.size);
  narrow(box, 0, phase.coordinate(0), tiles.size);
  SmallVector<Attribute> operands;
  appendWrite(phase, out, box, operands);
  appendRead(phase, dy, in, operands);
  appendRead(phase, y, in, operands);
  operands.append({tiles.count(phase), phase.integer(heads),
                   phase.integer(dy.type.getDimension(2))});
  phase.call("attention_delta", operands);
  return success();
}

static LogicalResult tile(model::AttentionSinkGradientOp op, Tiler &tiler) {
  View delta = tiler.viewOf(op.getDelta()),
       statistics = tiler.viewOf(op.getStatistics());
  const int64_t heads = delta.type.getDimension(1);
  for (auto [what, view] : {std::pair<StringRef, View>{"delta", delta},
                            {"the statistics", statistics}})
    if (failed(expectRows(op, what, view)) ||
        failed(expectAdjacentHeads(op, what, view, heads)))
      return failure();
  RowPhase phase(op, ".sink_gradient", {""}, tiler);
  phase.read(delta);
  phase.read(statistics);
  phase.parameter(op.getSinks(), "sinks");
  phase.rows();
  phase.integer(heads);
  return phase.call("attention_sink_gradient");
}

/// As appendRead, for a part that a body counts from the step's first row on.
static void appendReadFromFirst(PhaseBuilder &phase, const View &view,
                                const Box &box,
                                SmallVectorImpl<Attribute> &operands) {
  phase.reads(view, box);
  Box whole = box;
  whole.low[0] = phase.constant(0);
  operands.append({phase.address(view, whole), phase.stride(view, 0)});
}

static LogicalResult tile(model::AttentionQueryGradientOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  SequenceTiles tiles(op, tiler);
  View dy = tiler.viewOf(op.getDy());
  if (failed(expectHeads(op, tiles, tiler)) ||
      failed(expectRows(op, "dy", dy)) ||
      failed(expectAdjacentHeads(op, "dy", dy, tiles.group)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".query_gradient");
  View q = tiler.viewOf(op.getQ()), k = tiler.viewOf(op.getK()),
       v = tiler.viewOf(op.getV()), delta = tiler.viewOf(op.getDelta()),
       statistics = tiler.viewOf(op.getStatistics()),
       positions = tiler.viewOf(op.getPositions());
  View out = tiler.resultFor(op, name);
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  SmallVector<Attribute> operands;
  appendWrite(phase, out, tiles.tile(phase, out), operands);
  appendRead(phase, dy, tiles.tile(phase, dy), operands);
  appendRead(phase, q, tiles.tile(phase, q), operands);
  appendRead(phase, k, tiles.before(phase, k), operands);
  appendRead(phase, v, tiles.before(phase, v), operands);
  appendRead(phase, delta, tiles.tile(phase, delta), operands);
  appendRead(phase, statistics, tiles.tile(phase, statistics), operands);
  appendPlaces(tiles, phase, positions, operands);
  appendForm(op, tiles, phase, operands);
  phase.call("attention_query_gradient", operands);
  return success();
}

static LogicalResult tile(model::AttentionKeyValueGradientOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  SequenceTiles tiles(op, tiler);
  View dy = tiler.viewOf(op.getDy());
  if (failed(expectHeads(op, tiles, tiler)) ||
      failed(expectRows(op, "dy", dy)) ||
      failed(expectAdjacentHeads(op, "dy", dy, tiles.group)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".key_value_gradient");
  View q = tiler.viewOf(op.getQ()), k = tiler.viewOf(op.getK()),
       v = tiler.viewOf(op.getV()), delta = tiler.viewOf(op.getDelta()),
       statistics = tiler.viewOf(op.getStatistics()),
       positions = tiler.viewOf(op.getPositions());
  View keys = tiler.bufferFor(op.getKeys(), name);
  View values =
      tiler.bufferFor(op.getValues(), plan.uniqueName(name + ".values"));
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  SmallVector<Attribute> operands;
  appendWrite(phase, keys, tiles.tile(phase, keys), operands);
  appendWrite(phase, values, tiles.tile(phase, values), operands);
  for (const View &view : {dy, q})
    appendReadFromFirst(phase, view, tiles.after(phase, view), operands);
  for (const View &view : {k, v})
    appendReadFromFirst(phase, view, tiles.tile(phase, view), operands);
  for (const View &view : {delta, statistics})
    appendReadFromFirst(phase, view, tiles.after(phase, view), operands);
  operands.append({readAll(phase, positions), phase.count(tiles.first(phase)),
                   tiles.rows.count(phase),
                   phase.count(plan.extent(model::kRows))});
  appendForm(op, tiles, phase, operands);
  phase.call("attention_key_value_gradient", operands);
  return success();
}

void tasks::addAttentionGradient(TilingRules &rules) {
  rules.add<model::AttentionDeltaOp>(tile);
  rules.add<model::AttentionSinkGradientOp>(tile);
  rules.add<model::AttentionQueryGradientOp>(tile);
  rules.add<model::AttentionKeyValueGradientOp>(tile);
}
