//===- router_loss.cpp - losses and loads of routers ----------------------===//
//
// Sums go through the layers in one buffer, a tile of rows after another. Only
// the shares of experts are of all rows, behind the last layer: no task adds to
// what another one has written.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/RowPhase.h"
#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Training.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

static LogicalResult tile(model::RouterBeginOp op, Tiler &tiler) {
  RowPhase phase(op, "", {""}, tiler);
  phase.rows();
  phase.integer(typeOf(op.getSums()).getDimension(1));
  return phase.call("router_begin");
}

static LogicalResult tile(model::RouterSumsOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler,
                        {op.getSums(), op.getLogits(), op.getExperts()})))
    return failure();
  RowPhase phase(op, "", {""}, tiler);
  for (Value value : {op.getSums(), op.getLogits(), op.getExperts()})
    phase.read(tiler.viewOf(value));
  phase.rows();
  phase.integer(typeOf(op.getExperts()).getDimension(1));
  phase.integer(typeOf(op.getLogits()).getDimension(1));
  return phase.call("router_sums");
}

static LogicalResult tile(model::RouterSumsGradientOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getDy(), op.getLogits()})))
    return failure();
  RowPhase phase(op, ".gradient", {""}, tiler);
  phase.read(tiler.viewOf(op.getDy()));
  phase.read(tiler.viewOf(op.getLogits()));
  phase.rows();
  phase.integer(typeOf(op.getLogits()).getDimension(1));
  return phase.call("router_sums_gradient");
}

/// [experts]: the share of the step's rows that each was chosen for.
static View tileShares(model::RouterLossOp op, const std::string &name,
                       int64_t experts, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  View sums = tiler.viewOf(op.getSums()),
       weights = tiler.viewOf(op.getWeights());
  View shares = plan.transient(
      plan.uniqueName(name + ".shares"),
      model::StepTensorType::get(plan.context(), {experts},
                                 Float32Type::get(plan.context())),
      op.getLoc());
  int64_t tiles = ceilDiv(experts, kSummedColumns);
  PhaseBuilder phase = plan.phase(plan.uniqueName(name + ".share"), op.getLoc(),
                                  {plan.constant(tiles)}, {tiles});
  Box out = phase.whole(shares), in = phase.whole(sums),
      rows = phase.whole(weights);
  narrow(out, 0, phase.coordinate(0), kSummedColumns);
  // How often they were chosen stands behind what has a gradient.
  int64_t first = model::gradientsOfRouterSums(experts);
  in.low[1] = phase.coordinate(0) * kSummedColumns + first;
  in.high[1] = in.low[1] + kSummedColumns;
  phase.reads(sums, in);
  phase.reads(weights, rows);
  phase.writes(shares, out);
  phase.call("expert_shares",
             {phase.address(shares, out), phase.address(sums, in),
              phase.stride(sums, 0), phase.address(weights, rows),
              phase.count({phase.rows()}),
              countOf(phase, 0, kSummedColumns, experts),
              phase.integer(op.getLayersAttr().getInt())});
  return shares;
}

static LogicalResult tile(model::RouterLossOp op, Tiler &tiler) {
  if (failed(expectRows(op, tiler, {op.getSums()})))
    return failure();
  PlanBuilder &plan = tiler.plan;
  View loss = tiler.viewOf(op.getLoss()), sums = tiler.viewOf(op.getSums()),
       weights = tiler.viewOf(op.getWeights());
  int64_t experts = model::expertsOfRouterSums(sums.type.getDimension(1));
  std::string name = plan.uniqueName(nameOf(op));
  View shares = tileShares(op, name, experts, tiler);
  View losses = tiler.bufferFor(op.getLosses(), name),
       dsums =
           tiler.bufferFor(op.getDsums(), plan.uniqueName(name + ".gradient"));
  RowTiles tiles(tiler, losses.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  auto rowsOf = [&](const View &view) {
    return rowsOfTask(phase, view, tiles.size);
  };
  SmallVector<Attribute> operands;
  appendWrite(phase, losses, rowsOf(losses), operands);
  appendWrite(phase, dsums, rowsOf(dsums), operands);
  appendRead(phase, loss, rowsOf(loss), operands);
  Box used = rowsOf(sums);
  used.high[1] = phase.constant(model::gradientsOfRouterSums(experts));
  appendRead(phase, sums, used, operands);
  phase.reads(weights, rowsOf(weights));
  operands.append({phase.address(weights, rowsOf(weights)),
                   readAll(phase, shares), tiles.count(phase),
                   phase.integer(experts),
                   phase.integer(op.getLayersAttr().getInt()),
                   phase.real(op.getBalance()), phase.real(op.getZ())});
  phase.call("router_loss", operands);
  return success();
}

/// A task counts the rows of some experts.
static LogicalResult tile(model::RouterLoadsOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  View experts = tiler.viewOf(op.getExperts());
  Trainable *target = targetOf(op, training);
  if (!target || failed(expectRows(op, "the experts", experts)))
    return failure();
  const int64_t count = target->gradient.type.getDimension(0),
                tiles = ceilDiv(count, kSummedColumns);
  PhaseBuilder phase = plan.phase(plan.uniqueName(nameOf(op)), op.getLoc(),
                                  {plan.constant(tiles)}, {tiles});
  Box box = phase.whole(target->gradient);
  narrow(box, 0, phase.coordinate(0), kSummedColumns);
  Attribute all = readAll(phase, experts);
  Attribute adds = contribute(*target, phase, box, training);
  phase.call("router_loads",
             {phase.address(target->gradient, box), all,
              phase.stride(experts, 0), phase.count({phase.rows()}),
              phase.integer(experts.type.getDimension(1)),
              phase.count(phase.coordinate(0) * kSummedColumns),
              countOf(phase, 0, kSummedColumns, count), adds});
  return success();
}

/// A task reads of the sums what it writes.
static bool mayWriteOverSums(model::RouterSumsOp op, OpOperand &operand) {
  return operand == op.getSumsMutable();
}

void tasks::addRouterLoss(TilingRules &rules) {
  rules.add<model::RouterBeginOp>(tile);
  rules.add<model::RouterSumsOp>(tile);
  rules.add<model::RouterSumsGradientOp>(tile);
  rules.add<model::RouterLossOp>(tile);
  rules.add<model::RouterLoadsOp>(tile);
  rules.mayWriteOver<model::RouterSumsOp>(mayWriteOverSums);
}
