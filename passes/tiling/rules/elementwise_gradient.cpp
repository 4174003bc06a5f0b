//===- elementwise_gradient.cpp - adjoints of what is element-wise --------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/tiling/Places.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::GateGradientOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  View dy = tiler.viewOf(op.getDy()), x = tiler.viewOf(op.getX()),
       gate = tiler.viewOf(op.getGate());
  int64_t heads = x.type.getDimension(1), width = x.type.getDimension(2);
  for (auto [what, view] :
       {std::pair<StringRef, View>{"dy", dy}, {"x", x}, {"the gate", gate}})
    if (failed(expectRows(op, what, view)) ||
        failed(expectAdjacentHeads(op, what, view, heads)))
      return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".gate_gradient");
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  auto tile = [&](const View &view) {
    Box box = phase.whole(view);
    narrow(box, 0, phase.coordinate(0), tiles.size);
    return box;
  };
  SmallVector<Attribute> operands;
  appendWrite(phase, out, tile(out), operands);
  for (const View &view : {dy, x, gate})
    appendRead(phase, view, tile(view), operands);
  operands.append({tiles.count(phase), phase.integer(heads),
                   phase.integer(width),
                   phase.integer(gate.type.getRank() == 3 ? width : 1)});
  phase.call("gate_gradient", operands);
  return success();
}

static LogicalResult tile(model::ActivateGradientOp op, Tiler &tiler) {
  return tileElementwise(op, tiler, ".gradient");
}

static LogicalResult tile(model::SoftmaxGradientOp op, Tiler &tiler) {
  return tileRowsOf(op, "softmax_gradient", tiler);
}

void tasks::addElementwiseGradient(TilingRules &rules) {
  rules.add<model::ActivateGradientOp>(tile);
  rules.add<model::SoftmaxGradientOp>(tile);
  rules.add<model::GateGradientOp>(tile);
}
