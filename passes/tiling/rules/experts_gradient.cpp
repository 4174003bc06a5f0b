//===- experts_gradient.cpp - adjoints of rows to experts and back --------===//
//
// Products of places by weights that train, and their adjoints, are products of
// an expert's segment: experts.cpp says why these are apart. A weight's
// gradient is one chain over its expert's places; an expert that no row has
// adds nothing.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "codegen/bodies/TaskCalls.h"
#include "passes/tiling/Places.h"
#include "passes/tiling/Products.h"
#include "passes/tiling/Training.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// A task's expert and columns, of a product of places by a weight that trains:
/// the grid is experts by tiles of columns.
struct TrainedColumns {
  View x, out;
  int64_t width, columns;
  PhaseBuilder phase;
  /// The expert's places of x, which the task reads, and its tile of out.
  Box in, made;
  /// How many places these are.
  mlir::Attribute rows;

  TrainedColumns(mlir::Operation *op, mlir::Value bounds, const View &x,
                 const View &out, int64_t usual, Tiler &tiler,
                 const std::string &name);

  mlir::AffineExpr expert() const { return phase.coordinate(0); }
  mlir::AffineExpr firstColumn() const { return phase.coordinate(1) * width; }
  mlir::Attribute count() { return countOf(phase, 1, width, columns); }
};
} // namespace

static int64_t countSegments(Value bounds) {
  return bounds.getDefiningOp<model::Segments>().countExperts();
}

TrainedColumns::TrainedColumns(Operation *op, Value bounds, const View &x,
                               const View &out, int64_t usual, Tiler &tiler,
                               const std::string &name)
    : x(x), out(out), width(tiler.columnsOf(op, usual)),
      columns(out.type.getDimension(1)),
      phase(
          tiler.plan.phase(name, op->getLoc(),
                           {tiler.plan.constant(countSegments(bounds)),
                            tiler.plan.constant(ceilDiv(columns, width))},
                           {countSegments(bounds), ceilDiv(columns, width)})) {
  SmallVector<AffineExpr> ends =
      phase.entries(tiler.viewOf(bounds), {expert(), expert() + 1});
  in = {{ends[0], phase.constant(0)},
        {ends[1], phase.constant(x.type.getDimension(1))}};
  made = {{ends[0], firstColumn()}, {ends[1], firstColumn() + width}};
  rows = phase.count({ends[1] - ends[0]});
  phase.reads(x, in);
}

/// A task's part of its expert's weight, [outputs, inputs], of which one is
/// narrowed to its columns.
static Matrix readWeight(TrainedColumns &columns, const View &weight,
                         unsigned narrowed) {
  PhaseBuilder &phase = columns.phase;
  Box box = phase.whole(weight);
  narrow(box, 0, columns.expert(), 1);
  narrow(box, narrowed, phase.coordinate(1), columns.width);
  phase.reads(weight, box);
  return {phase.address(weight, box), phase.stride(weight, 1),
          phase.integer(1)};
}

/// `weight` is the product's right-hand side, `bias` has a number for each
/// column, or is null.
static void callGrouped(TrainedColumns &columns, StringRef format,
                        const Matrix &weight, Attribute bias = {}) {
  PhaseBuilder &phase = columns.phase;
  phase.writes(columns.out, columns.made);
  callProduct(phase, format,
              {.out = phase.address(columns.out, columns.made),
               .outStride = phase.stride(columns.out, 0),
               .a = {phase.address(columns.x, columns.in),
                     phase.stride(columns.x, 0), phase.integer(1)},
               .b = weight,
               .rows = columns.rows,
               .columns = columns.count(),
               .depth = phase.integer(columns.x.type.getDimension(1)),
               .width = columns.width,
               .bias = bias});
}

/// A task's part of its expert's bias.
static Attribute readBias(TrainedColumns &columns, Value bias, Tiler &tiler) {
  if (!bias)
    return {};
  PhaseBuilder &phase = columns.phase;
  const View &view = tiler.training->trainable(bias).weight;
  Box box = phase.whole(view);
  narrow(box, 0, columns.expert(), 1);
  narrow(box, 1, phase.coordinate(1), columns.width);
  phase.reads(view, box);
  return phase.address(view, box);
}

LogicalResult tasks::tileTrained(model::GroupedLinearOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = placesFor(op.getResult(), name, tiler);
  Trainable &weight = tiler.training->trainable(op.getWeight());
  TrainedColumns columns(op, op.getBounds(), byPlace(tiler.viewOf(op.getX())),
                         out, tiler.plan.tiles().linearColumns, tiler, name);
  Matrix rows = readWeight(columns, weight.weight, 1);
  callGrouped(columns, weight.productFormat, rows.transposed(),
              readBias(columns, op.getBias(), tiler));
  return success();
}

static LogicalResult tile(model::GroupedLinearInputGradientOp op, Tiler &tiler,
                          Training &training) {
  std::string name = tiler.plan.uniqueName(nameOf(op) + ".input_gradient");
  View out = placesFor(op.getResult(), name, tiler);
  Trainable &weight = training.trainable(op.getWeight());
  TrainedColumns columns(op, op.getBounds(), byPlace(tiler.viewOf(op.getDy())),
                         out, tiler.plan.tiles().linearColumns, tiler, name);
  callGrouped(columns, weight.productFormat,
              readWeight(columns, weight.weight, 2));
  return success();
}

static LogicalResult tile(model::GroupedLinearWeightGradientOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  Trainable *target = targetOf(op, training);
  if (!target)
    return failure();
  View dy = byPlace(tiler.viewOf(op.getDy())),
       x = byPlace(tiler.viewOf(op.getX()));
  const View &out = target->gradient;
  int64_t experts = out.type.getDimension(0), n = out.type.getDimension(1),
          k = out.type.getDimension(2);
  int64_t height = plan.tiles().linearColumns,
          width = tiler.columnsOf(op, plan.tiles().linearColumns);
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(nameOf(op) + ".weight_gradient"), op.getLoc(),
                 {plan.constant(experts), plan.constant(ceilDiv(n, height)),
                  plan.constant(ceilDiv(k, width))},
                 {experts, ceilDiv(n, height), ceilDiv(k, width)});
  AffineExpr expert = phase.coordinate(0);
  SmallVector<AffineExpr> ends =
      phase.entries(tiler.viewOf(op.getBounds()), {expert, expert + 1});
  auto segment = [&](unsigned d, int64_t size) {
    AffineExpr first = phase.coordinate(d) * size;
    return Box{{ends[0], first}, {ends[1], first + size}};
  };
  Box box = phase.whole(out);
  narrow(box, 0, expert, 1);
  narrow(box, 1, phase.coordinate(1), height);
  narrow(box, 2, phase.coordinate(2), width);
  Matrix a = readMatrix(phase, dy, segment(1, height)).transposed(),
         b = readMatrix(phase, x, segment(2, width));
  Attribute adds = contribute(*target, phase, box, training);
  phase.needsScratch(productScratch(width));
  phase.call(bodies::functionName("product_gradient", target->productFormat),
             {phase.address(out, box), phase.stride(out, 1), a.pointer, a.first,
              a.second, b.pointer, b.first, b.second, phase.null(),
              countOf(phase, 1, height, n), countOf(phase, 2, width, k),
              phase.count({ends[1] - ends[0]}), adds, phase.scratch(0)});
  return success();
}

static LogicalResult tile(model::GroupedBiasGradientOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  Trainable *target = targetOf(op, training);
  if (!target)
    return failure();
  View dy = byPlace(tiler.viewOf(op.getDy()));
  const View &out = target->gradient;
  const int64_t experts = out.type.getDimension(0),
                n = out.type.getDimension(1),
                tiles = ceilDiv(n, kSummedColumns);
  PhaseBuilder phase = plan.phase(
      plan.uniqueName(nameOf(op) + ".bias_gradient"), op.getLoc(),
      {plan.constant(experts), plan.constant(tiles)}, {experts, tiles});
  AffineExpr expert = phase.coordinate(0),
             first = phase.coordinate(1) * kSummedColumns;
  SmallVector<AffineExpr> ends =
      phase.entries(tiler.viewOf(op.getBounds()), {expert, expert + 1});
  Box in{{ends[0], first}, {ends[1], first + kSummedColumns}},
      box = phase.whole(out);
  narrow(box, 0, expert, 1);
  narrow(box, 1, phase.coordinate(1), kSummedColumns);
  phase.reads(dy, in);
  Attribute adds = contribute(*target, phase, box, training);
  phase.call("sum_rows", {phase.address(out, box), phase.address(dy, in),
                          phase.stride(dy, 0), phase.count({ends[1] - ends[0]}),
                          countOf(phase, 1, kSummedColumns, n), adds});
  return success();
}

static LogicalResult tile(model::ClampedSwigluGateGradientOp op, Tiler &tiler) {
  return tileElementwise(op, tiler, ".gate_gradient");
}

static LogicalResult tile(model::ClampedSwigluUpGradientOp op, Tiler &tiler) {
  return tileElementwise(op, tiler, ".up_gradient");
}

//===----------------------------------------------------------------------===//
// The router, and the ways to experts and back
//===----------------------------------------------------------------------===//

static LogicalResult tile(model::RouteGradientOp op, Tiler &tiler) {
  View dy = tiler.viewOf(op.getDy()), logits = tiler.viewOf(op.getLogits()),
       experts = tiler.viewOf(op.getExperts());
  for (auto [what, view] : {std::pair<StringRef, View>{"dy", dy},
                            {"the logits", logits},
                            {"the experts", experts}})
    if (failed(expectRows(op, what, view)))
      return failure();
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op) + ".gradient");
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  SmallVector<Attribute> operands;
  appendWrite(phase, out, rowsOfTask(phase, out, tiles.size), operands);
  for (const View &view : {dy, logits, experts})
    appendRead(phase, view, rowsOfTask(phase, view, tiles.size), operands);
  operands.append(
      {tiles.count(phase), phase.integer(experts.type.getDimension(1)),
       phase.integer(logits.type.getDimension(1)),
       phase.integer32(static_cast<int32_t>(op.getScoring())),
       phase.integer32(op.getNormalize()), phase.real(op.getFactor())});
  phase.call("route_rows_gradient", operands);
  return success();
}

static LogicalResult tile(model::GatherGradientOp op, Tiler &tiler) {
  View dy = byPlace(tiler.viewOf(op.getDy())),
       places = tiler.viewOf(op.getPlaces());
  const int64_t k = places.type.getDimension(1);
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op) + ".gradient");
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  SmallVector<Attribute> operands;
  Box all = ownPlaces(phase, dy, k, op.getBounds(), tiler),
      own = rowsOfTask(phase, places, tiles.size);
  appendWrite(phase, out, rowsOfTask(phase, out, tiles.size), operands);
  appendRead(phase, dy, all, operands);
  phase.reads(places, own);
  operands.append({phase.address(places, own), tiles.count(phase),
                   phase.count({all.high[0]}), phase.integer(k),
                   phase.integer(out.type.getDimension(1))});
  phase.call("gather_rows_gradient", operands);
  return success();
}

static LogicalResult tile(model::CombineInputGradientOp op, Tiler &tiler) {
  View dy = tiler.viewOf(op.getDy()), weights = tiler.viewOf(op.getWeights()),
       choices = byPlace(tiler.viewOf(op.getChoices()));
  if (failed(expectRows(op, "dy", dy)) ||
      failed(expectRows(op, "the weights", weights)))
    return failure();
  const int64_t k = weights.type.getDimension(1);
  std::string name = tiler.plan.uniqueName(nameOf(op) + ".input_gradient");
  View out = placesFor(op.getResult(), name, tiler);
  PlaceTiles tiles(op, name, model::segmentsOf(op.getResult()), k, tiler);
  PhaseBuilder &phase = tiles.phase;
  SmallVector<Attribute> operands;
  Box chosen = tiles.of(choices);
  appendWrite(phase, out, tiles.of(out), operands);
  appendRead(phase, dy, phase.whole(dy), operands);
  appendRead(phase, weights, phase.whole(weights), operands);
  phase.reads(choices, chosen);
  operands.append({phase.address(choices, chosen), tiles.count(),
                   phase.count({phase.rows()}), phase.integer(k),
                   phase.integer(dy.type.getDimension(1))});
  phase.call("combine_rows_gradient", operands);
  return success();
}

static LogicalResult tile(model::CombineWeightGradientOp op, Tiler &tiler) {
  View dy = tiler.viewOf(op.getDy()), x = byPlace(tiler.viewOf(op.getX())),
       places = tiler.viewOf(op.getPlaces());
  if (failed(expectRows(op, "dy", dy)))
    return failure();
  const int64_t k = places.type.getDimension(1);
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op) + ".weight_gradient");
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  SmallVector<Attribute> operands;
  Box all = ownPlaces(phase, x, k, op.getBounds(), tiler),
      own = rowsOfTask(phase, places, tiles.size);
  appendWrite(phase, out, rowsOfTask(phase, out, tiles.size), operands);
  appendRead(phase, dy, rowsOfTask(phase, dy, tiles.size), operands);
  appendRead(phase, x, all, operands);
  phase.reads(places, own);
  operands.append({phase.address(places, own), tiles.count(phase),
                   phase.count({all.high[0]}), phase.integer(k),
                   phase.integer(dy.type.getDimension(1))});
  phase.call("combine_weights_gradient", operands);
  return success();
}

void tasks::addExpertsGradient(TilingRules &rules) {
  rules.add<model::RouteGradientOp>(tile);
  rules.add<model::GatherGradientOp>(tile);
  rules.add<model::CombineInputGradientOp>(tile);
  rules.add<model::CombineWeightGradientOp>(tile);
  rules.add<model::GroupedLinearInputGradientOp>(tile);
  rules.add<model::GroupedLinearWeightGradientOp>(tile);
  rules.add<model::GroupedBiasGradientOp>(tile);
  rules.add<model::ClampedSwigluGateGradientOp>(tile);
  rules.add<model::ClampedSwigluUpGradientOp>(tile);
}
