//===- preference_loss.cpp - the loss of pairs of answers -----------------===//
//
// A pair may have any number of rows, and begin in any of them: one task, which
// has all rows of the step, and little to do for each.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/RowPhase.h"
#include "passes/tiling/TilingPieces.h"

#include "runtime/step_sequence.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::PreferenceLossOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  View losses = tiler.viewOf(op.getLosses()),
       weights = tiler.viewOf(op.getWeights()),
       preferences = tiler.viewOf(op.getPreferences());
  std::string name = plan.uniqueName(nameOf(op));
  // The runtime reads what is said of each pair.
  Builder builder(plan.context());
  View results = plan.persistent(
      plan.uniqueName(StringRef(step_pairs.data(), step_pairs.size())),
      model::typeOf(op.getResults()), 1, StringAttr(),
      builder.getDictionaryAttr(
          builder.getNamedAttr("role", builder.getStringAttr("output"))),
      op.getLoc());
  tiler.views[op.getResults()] = results;
  View gradient =
      tiler.bufferFor(op.getGradient(), plan.uniqueName(name + ".gradient"));
  PhaseBuilder phase = plan.phase(name, op.getLoc(), {plan.constant(1)}, {1});
  SmallVector<Attribute> operands;
  appendWrite(phase, results, phase.whole(results), operands);
  phase.writes(gradient, phase.whole(gradient));
  operands.append({phase.address(gradient, phase.whole(gradient)),
                   readAll(phase, losses), readAll(phase, weights),
                   readAll(phase, preferences), phase.count({phase.rows()})});
  phase.call("preference_loss", operands);
  return success();
}

static LogicalResult tile(model::WeighRowsOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX()), factors = tiler.viewOf(op.getFactors());
  if (failed(expectContiguous(op, "x", x)))
    return failure();
  RowPhase phase(op, ".weighed", {""}, tiler);
  phase.read(x);
  phase.read(factors);
  phase.rows();
  phase.integer(countColumns(x));
  return phase.call("weigh_rows");
}

static bool mayWriteOverX(model::WeighRowsOp op, OpOperand &operand) {
  return operand == op.getXMutable();
}

void tasks::addPreferenceLoss(TilingRules &rules) {
  rules.add<model::PreferenceLossOp>(tile);
  rules.add<model::WeighRowsOp>(tile);
  rules.mayWriteOver<model::WeighRowsOp>(mayWriteOverX);
}
