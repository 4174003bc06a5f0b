//===- product.cpp - products of trained weights: adjoints of linears -----===//

#include "passes/tiling/rules/Rules.h"

#include "codegen/bodies/TaskCalls.h"
#include "passes/tiling/Linears.h"
#include "passes/tiling/Products.h"
#include "passes/tiling/Training.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// By the panels that the forward step reads, too.
static LogicalResult tileFrozen(model::LinearInputGradientOp op, View dy,
                                View out, const std::string &name,
                                Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  event::ParameterOp panels =
      tiler.panels(name + ".weight", op.getWeight(), /*alternating=*/false);
  ProductTiles tiles{
      RowTiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().linearRows)),
      tiler.columnsOf(op, plan.tiles().linearColumns),
      out.type.getDimension(1)};
  PhaseBuilder phase = tiles.phase(plan, name, op.getLoc());
  Box in = rowsOfTask(phase, dy, tiles.rows.size), box = tiles.tile(phase, out);
  phase.reads(dy, in);
  phase.writes(out, box);
  callTransposed(phase, {.out = phase.address(out, box),
                         .outStride = phase.stride(out, 0),
                         .a = phase.address(dy, in),
                         .aStride = phase.stride(dy, 0),
                         .panels = panels,
                         .first = phase.coordinate(1) * tiles.width,
                         .rows = tiles.rows.count(phase),
                         .columns = tiles.count(phase),
                         .depth = dy.type.getDimension(1),
                         .inputs = out.type.getDimension(1),
                         .width = tiles.width,
                         .rounding = gradientRounding(op, op.getWeight())});
  return success();
}

static LogicalResult tile(model::LinearInputGradientOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  View dy = tiler.viewOf(op.getDy());
  if (failed(expectRows(op, "dy", dy)))
    return failure();
  std::string name = plan.uniqueName(nameOf(op) + ".input_gradient");
  View out = tiler.resultFor(op, name);
  if (model::isFrozen(op.getWeight()))
    return tileFrozen(op, dy, out, name, tiler);
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

//===----------------------------------------------------------------------===//
// Each head by its own weight
//===----------------------------------------------------------------------===//

/// Columns of a head's tile, of about as many as usual: behind a head's last
/// column is the next head's first.
static int64_t columnsOfHead(int64_t usual, int64_t columns) {
  int64_t width = std::min(usual, columns);
  while (columns % width)
    --width;
  return width;
}

/// out = x by each head's part of a weight [heads, outputs, inputs], whose
/// dimension `narrowed` are out's columns: a task has rows, a head and some of
/// these.
static void tileHeads(Operation *op, const std::string &name, const View &x,
                      const View &out, Trainable &weight, unsigned narrowed,
                      Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  const int64_t heads = out.type.getDimension(1),
                columns = out.type.getDimension(2),
                width = columnsOfHead(
                    tiler.columnsOf(op, plan.tiles().linearColumns), columns),
                parts = columns / width;
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().linearRows));
  PhaseBuilder phase =
      plan.phase(name, op->getLoc(),
                 {tiles.extent, plan.constant(heads), plan.constant(parts)},
                 {tiles.capacity, heads, parts});
  Box in = rowsOfTask(phase, x, tiles.size),
      made = rowsOfTask(phase, out, tiles.size),
      panel = phase.whole(weight.weight);
  for (Box *box : {&in, &made})
    narrow(*box, 1, phase.coordinate(1), 1);
  narrow(made, 2, phase.coordinate(2), width);
  narrow(panel, 0, phase.coordinate(1), 1);
  narrow(panel, narrowed, phase.coordinate(2), width);
  phase.reads(x, in);
  phase.reads(weight.weight, panel);
  phase.writes(out, made);
  Matrix b = {phase.address(weight.weight, panel),
              phase.stride(weight.weight, 1), phase.integer(1)};
  callProduct(
      phase, weight.productFormat,
      {.out = phase.address(out, made),
       .outStride = phase.stride(out, 0),
       .a = {phase.address(x, in), phase.stride(x, 0), phase.integer(1)},
       .b = narrowed == 1 ? b.transposed() : b,
       .rows = tiles.count(phase),
       .columns = phase.integer(width),
       .depth = phase.integer(x.type.getDimension(2)),
       .width = width});
}

LogicalResult tasks::tileTrained(model::HeadLinearOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX());
  if (failed(expectRows(op, "x", x)))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name);
  tileHeads(op, name, x, out, tiler.training->trainable(op.getWeight()),
            /*narrowed=*/1, tiler);
  return success();
}

static LogicalResult tile(model::HeadLinearInputGradientOp op, Tiler &tiler,
                          Training &training) {
  View dy = tiler.viewOf(op.getDy());
  if (failed(expectRows(op, "dy", dy)))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op) + ".input_gradient");
  View out = tiler.resultFor(op, name);
  tileHeads(op, name, dy, out, training.trainable(op.getWeight()),
            /*narrowed=*/2, tiler);
  return success();
}

static LogicalResult tile(model::HeadLinearWeightGradientOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  View dy = tiler.viewOf(op.getDy()), x = tiler.viewOf(op.getX());
  Trainable *target = targetOf(op, training);
  if (!target || failed(expectRows(op, "dy", dy)) ||
      failed(expectRows(op, "x", x)))
    return failure();
  const View &out = target->gradient;
  const int64_t heads = out.type.getDimension(0), n = out.type.getDimension(1),
                k = out.type.getDimension(2),
                height = columnsOfHead(plan.tiles().linearColumns, n),
                width = columnsOfHead(
                    tiler.columnsOf(op, plan.tiles().linearColumns), k);
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(nameOf(op) + ".weight_gradient"), op.getLoc(),
                 {plan.constant(heads), plan.constant(n / height),
                  plan.constant(k / width)},
                 {heads, n / height, k / width});
  Box left = phase.whole(dy), right = phase.whole(x), box = phase.whole(out);
  narrow(left, 1, phase.coordinate(0), 1);
  narrow(left, 2, phase.coordinate(1), height);
  narrow(right, 1, phase.coordinate(0), 1);
  narrow(right, 2, phase.coordinate(2), width);
  narrow(box, 0, phase.coordinate(0), 1);
  narrow(box, 1, phase.coordinate(1), height);
  narrow(box, 2, phase.coordinate(2), width);
  phase.reads(dy, left);
  phase.reads(x, right);
  Attribute adds = contribute(*target, phase, box, training);
  phase.needsScratch(productScratch(width));
  phase.call(bodies::functionName("product_gradient", target->productFormat),
             {phase.address(out, box), phase.stride(out, 1),
              phase.address(dy, left), phase.integer(1), phase.stride(dy, 0),
              phase.address(x, right), phase.stride(x, 0), phase.integer(1),
              phase.null(), phase.integer(height), phase.integer(width),
              phase.count(plan.extent(dy.type.getDimension(0))), adds,
              phase.scratch(0)});
  return success();
}

void tasks::addProduct(TilingRules &rules) {
  rules.add<model::LinearInputGradientOp>(tile);
  rules.add<model::LinearWeightGradientOp>(tile);
  rules.add<model::HeadLinearInputGradientOp>(tile);
  rules.add<model::HeadLinearWeightGradientOp>(tile);
}
