//===- gated_linear.cpp - gated linears -----------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "codegen/bodies/TaskCalls.h"
#include "passes/tiling/Linears.h"
#include "passes/tiling/Products.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

static LogicalResult tile(model::GatedLinearOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX());
  if (failed(expectLinearInput(op, x)))
    return failure();
  if (tiler.training)
    return op.emitOpError() << "cannot be tiled: where weights train, it is "
                               "two linears and what comes behind them";
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  const TileSizes &sizes = tiler.plan.tiles();
  ProductTiles tiles{
      RowTiles(tiler, out.type, tiler.rowsOf(op, sizes.linearRows)),
      tiler.columnsOf(op, bodies::gatedColumns(sizes.linearColumns)),
      out.type.getDimension(1)};
  if (failed(expectOneFormat(op, op.getGate())))
    return failure();
  event::ParameterOp panels = tiler.panels(
      name + ".weight", {op.getGate(), op.getUp()}, /*alternating=*/true);

  PhaseBuilder phase = tiles.phase(tiler.plan, name, op.getLoc());
  auto input =
      readLinearInput(op, op.getGate(), phase, x, tiles.rows, name, tiler);
  if (failed(input))
    return failure();
  Box box = tiles.tile(phase, out);
  phase.writes(out, box);
  Weight gateBias = vectorWeight(name + ".gate_bias", op.getGateBias(), tiler),
         upBias = vectorWeight(name + ".up_bias", op.getUpBias(), tiler);
  AffineExpr column = phase.coordinate(1) * tiles.width;
  phase.call(Weight(panels).bodyFor(
                 (inputRounding(op, op.getGate()) + "gated_linear").str()),
             {phase.address(out, box), phase.stride(out, 0), input->pointer,
              input->stride,
              phase.weight(panels, panels.getFormAttr().getOffset(column)),
              gateBias.tile(phase, 1, tiles.width),
              upBias.tile(phase, 1, tiles.width), tiles.rows.count(phase),
              phase.integer(typeOf(op.getX()).getDimension(1)),
              tiles.count(phase),
              phase.integer32(static_cast<int32_t>(op.getActivation()))});
  return success();
}

void tasks::addGatedLinear(TilingRules &rules) {
  rules.add<model::GatedLinearOp>(tile);
}
