//===- preference_loss.cpp - the loss of pairs of answers -----------------===//
//
// A pair may have any number of rows, and begin in any of them: one task, which
// has all rows of the step, and little to do for each.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/TilingPieces.h"

#include "runtime/step_sequence.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// A number for each row, behind one another, as bodies take weights of rows: a
/// transient buffer may lie among the rows of a wider one.
static View numbersFor(Value result, StringRef name, Tiler &tiler) {
  View view =
      tiler.plan.persistent(name, model::typeOf(result), 1, StringAttr(),
                            DictionaryAttr(), result.getLoc());
  tiler.views[result] = view;
  return view;
}

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
      numbersFor(op.getGradient(), plan.uniqueName(name + ".gradient"), tiler);
  PhaseBuilder phase = plan.phase(name, op.getLoc(), {plan.constant(1)}, {1});
  SmallVector<Attribute> operands;
  appendWrite(phase, results, phase.whole(results), operands);
  phase.writes(gradient, phase.whole(gradient));
  operands.push_back(phase.address(gradient, phase.whole(gradient)));
  appendRead(phase, losses, phase.whole(losses), operands);
  operands.append({readAll(phase, weights), readAll(phase, preferences),
                   phase.count({phase.rows()})});
  phase.call("preference_loss", operands);
  return success();
}

static LogicalResult tile(model::WeighRowsOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX()), factors = tiler.viewOf(op.getFactors());
  const bool isWide = x.type.getRank() > 1;
  if (isWide && failed(expectContiguous(op, "x", x)))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op) + ".weighed");
  View out = isWide ? tiler.bufferFor(op.getResult(), name)
                    : numbersFor(op.getResult(), name, tiler);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  PhaseBuilder phase =
      tiler.plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  auto rowsOf = [&](const View &view) {
    return rowsOfTask(phase, view, tiles.size);
  };
  SmallVector<Attribute> operands, inputs;
  appendRead(phase, x, rowsOf(x), inputs);
  appendRead(phase, factors, rowsOf(factors), inputs);
  appendWrite(phase, out, rowsOf(out), operands);
  operands.append(inputs);
  operands.append({tiles.count(phase), phase.integer(countColumns(x))});
  phase.call("weigh_rows", operands);
  return success();
}

/// A task reads of x what it writes.
static bool mayWriteOverX(model::WeighRowsOp op, OpOperand &operand) {
  return operand == op.getXMutable() && model::typeOf(op.getX()).getRank() > 1;
}

void tasks::addPreferenceLoss(TilingRules &rules) {
  rules.add<model::PreferenceLossOp>(tile);
  rules.add<model::WeighRowsOp>(tile);
  rules.mayWriteOver<model::WeighRowsOp>(mayWriteOverX);
}
