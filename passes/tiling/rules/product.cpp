//===- product.cpp - products of trained weights: adjoints of linears -----===//

#include "passes/tiling/rules/Rules.h"

#include "codegen/bodies/TaskCalls.h"
#include "passes/tiling/Products.h"
#include "passes/tiling/Training.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

static LogicalResult tile(model::LinearInputGradientOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  View dy = tiler.viewOf(op.getDy());
  if (failed(expectRows(op, "dy", dy)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".input_gradient");
  View out = tiler.resultFor(op, name);
  Trainable &weight = training.trainable(op.getWeight());
  int64_t n = dy.type.getDimension(1), k = out.type.getDimension(1);
  ProductTiles tiles{
      RowTiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().linearRows)),
      tiler.columnsOf(op, plan.tiles().linearColumns), k};
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  Box panel = phase.whole(weight.weight), box = tiles.tile(phase, out);
  narrow(panel, 1, phase.coordinate(1), tiles.width);
  Matrix a = readMatrix(phase, dy, rowsOfTask(phase, dy, tiles.rows.size));
  Matrix b = readMatrix(phase, weight.weight, panel);
  phase.writes(out, box);
  callProduct(phase, weight.productFormat,
              {.out = phase.address(out, box),
               .outStride = phase.stride(out, 0),
               .a = a,
               .b = b,
               .rows = tiles.rows.count(phase),
               .columns = tiles.count(phase),
               .depth = phase.integer(n),
               .width = tiles.width});
  return success();
}

static LogicalResult tile(model::LinearWeightGradientOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  View dy = tiler.viewOf(op.getDy()), x = tiler.viewOf(op.getX());
  Trainable *target = targetOf(op, training);
  if (!target || failed(expectRows(op, "dy", dy)) ||
      failed(expectRows(op, "x", x)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".weight_gradient");
  const View &out = target->gradient;
  int64_t n = dy.type.getDimension(1), k = x.type.getDimension(1);
  int64_t height = plan.tiles().linearColumns;
  int64_t width = tiler.columnsOf(op, plan.tiles().linearColumns);
  PhaseBuilder phase = plan.phase(
      name, op.getLoc(),
      {plan.constant(ceilDiv(n, height)), plan.constant(ceilDiv(k, width))},
      {ceilDiv(n, height), ceilDiv(k, width)});
  Box left = phase.whole(dy), right = phase.whole(x), box = phase.whole(out);
  narrow(left, 1, phase.coordinate(0), height);
  narrow(right, 1, phase.coordinate(1), width);
  narrow(box, 0, phase.coordinate(0), height);
  narrow(box, 1, phase.coordinate(1), width);
  Matrix a = readMatrix(phase, dy, left).transposed();
  Matrix b = readMatrix(phase, x, right);
  Attribute adds = contribute(*target, phase, box, training);
  phase.needsScratch(productScratch(width));
  phase.call(bodies::functionName("product_gradient", target->productFormat),
             {phase.address(out, box), phase.stride(out, 0), a.pointer, a.first,
              a.second, b.pointer, b.first, b.second, phase.null(),
              countOf(phase, 0, height, n), countOf(phase, 1, width, k),
              phase.count(plan.extent(dy.type.getDimension(0))), adds,
              phase.scratch(0)});
  return success();
}

void tasks::addProduct(TilingRules &rules) {
  rules.add<model::LinearInputGradientOp>(tile);
  rules.add<model::LinearWeightGradientOp>(tile);
}
