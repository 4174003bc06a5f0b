//===- experts.cpp - rows to experts and back -----------------------------===//
//
// Each expert's places are a segment of all, which bounds say when the step has
// routed its rows. A task of a grouped product has an expert and some columns:
// one whose segment is empty only notifies. Segments are apart, and all of them
// are all places, so that nobody waits for who goes where. Where ranks have
// some of the experts each, the last segment is of the others, and no task's.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "codegen/bodies/TaskCalls.h"
#include "passes/collectives/RankPlaces.h"
#include "passes/tiling/Linears.h"
#include "passes/tiling/Places.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

// Each expert's panels are its own.
static_assert(model::kExpertOutputs % kPanel == 0);

static LogicalResult tile(model::RouteOp op, Tiler &tiler) {
  View logits = tiler.viewOf(op.getLogits());
  if (failed(expectRows(op, "the logits", logits)))
    return failure();
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op));
  View experts =
           tiler.bufferFor(op.getExperts(), plan.uniqueName(name + ".experts")),
       weights =
           tiler.bufferFor(op.getWeights(), plan.uniqueName(name + ".weights"));
  RowTiles tiles(tiler, logits.type, tiler.rowsOf(op, plan.tiles().plainRows));
  PhaseBuilder phase =
      plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  auto rowsOf = [&](const View &view) {
    return rowsOfTask(phase, view, tiles.size);
  };
  phase.reads(logits, rowsOf(logits));
  Weight bias = vectorWeight(name + ".bias", op.getBias(), tiler);
  Attribute allBias = bias.all(phase);
  phase.writes(experts, rowsOf(experts));
  phase.writes(weights, rowsOf(weights));
  phase.call("route_rows",
             {phase.address(experts, rowsOf(experts)), phase.stride(experts, 0),
              phase.address(weights, rowsOf(weights)), phase.stride(weights, 0),
              phase.address(logits, rowsOf(logits)), phase.stride(logits, 0),
              allBias, tiles.count(phase),
              phase.integer(experts.type.getDimension(1)),
              phase.integer(logits.type.getDimension(1)),
              phase.integer32(static_cast<int32_t>(op.getScoring())),
              phase.integer32(op.getNormalize()), phase.real(op.getFactor()),
              phase.integer(op.getGroups()), phase.integer(op.getGroupsOfRow()),
              phase.integer32(op.getBestTwo())});
  return success();
}

static LogicalResult tile(model::DispatchOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op));
  View experts = tiler.viewOf(op.getExperts());
  if (failed(expectRows(op, "the experts", experts)))
    return failure();
  const int64_t k = experts.type.getDimension(1), count = op.countExperts();
  model::ShardAttr own;
  if (op.getAxes())
    own = tiler.places->expertsOf(op);
  auto table = [&](Value value, const char *what, AffineExpr end,
                   event::TableProperty property) {
    View view =
        plan.places(plan.uniqueName(name + what), typeOf(value), op.getLoc());
    event::TableOp made = plan.table(view, 0, end, property, op.getLoc());
    if (own && property == event::TableProperty::partition)
      made.setSegments(own.getExtent());
    tiler.views[value] = view;
    return view;
  };
  AffineExpr places = plan.extent(model::kRows) * k;
  View bounds = table(op.getBounds(), ".bounds", places + 1,
                      event::TableProperty::partition),
       choices = byPlace(table(op.getChoices(), ".choices", places,
                               event::TableProperty::distinct)),
       placeOf = byPlace(table(op.getPlaces(), ".places", places,
                               event::TableProperty::distinct));
  PhaseBuilder phase = plan.phase(name, op.getLoc(), {plan.constant(1)}, {1});
  Box all = phase.whole(experts), ends = phase.whole(bounds),
      placed = allPlaces(phase, choices, k);
  phase.reads(experts, all);
  phase.writes(bounds, ends);
  phase.writes(choices, placed);
  phase.writes(placeOf, placed);
  SmallVector<Attribute> operands = {phase.address(bounds, ends),
                                     phase.address(choices, placed),
                                     phase.address(placeOf, placed),
                                     phase.address(experts, all),
                                     phase.stride(experts, 0),
                                     phase.count({phase.rows()}),
                                     phase.integer(k),
                                     phase.integer(count)};
  if (!own) {
    phase.call("dispatch_rows", operands);
    return success();
  }
  operands.push_back(tiler.places->read(phase, own));
  phase.call("dispatch_rows_part", operands);
  return success();
}

/// A task gathers rows of as many places as go into a tile; where a rank has
/// some of the experts only, those of one of its own.
static LogicalResult tile(model::GatherOp op, Tiler &tiler) {
  View x = tiler.viewOf(op.getX());
  if (failed(expectRows(op, "x", x)))
    return failure();
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op));
  tiler.views[op.getResult()] =
      plan.places(name, typeOf(op.getResult()), op.getLoc());
  View out = byPlace(tiler.viewOf(op.getResult())),
       choices = byPlace(tiler.viewOf(op.getChoices()));
  const int64_t k = typeOf(op.getChoices()).getDimension(1);
  PlaceTiles tiles(op, name, model::segmentsOf(op.getResult()), k, tiler);
  PhaseBuilder &phase = tiles.phase;
  Box all = phase.whole(x), made = tiles.of(out), chosen = tiles.of(choices);
  phase.reads(x, all);
  phase.reads(choices, chosen);
  phase.writes(out, made);
  phase.call("gather_rows", {phase.address(out, made), phase.stride(out, 0),
                             phase.address(x, all), phase.stride(x, 0),
                             phase.address(choices, chosen), tiles.count(),
                             phase.count({phase.rows()}), phase.integer(k),
                             phase.integer(x.type.getDimension(1))});
  return success();
}

namespace {
/// A task's expert and columns, of a product of places.
struct GroupedProduct {
  View x, out;
  int64_t width, columns;
  PhaseBuilder phase;
  Box in, made;
  Attribute rows;
  /// Of its first column among those of all experts.
  AffineExpr column;
  /// Of a vector of theirs, or null.
  Attribute part(event::ParameterOp vector) {
    return vector ? phase.weight(vector, column) : phase.null();
  }

  GroupedProduct(Operation *op, const View &x, Value bounds, int64_t usual,
                 Tiler &tiler, const std::string &name);
};
} // namespace

static int64_t countExperts(Value bounds) {
  return bounds.getDefiningOp<model::Segments>().countExperts();
}

/// x by place, as products with `weight` read it: rounded in a phase of its own
/// where they round, a task for each expert's places, so that an expert's
/// products wait for its own rows only.
template <typename OpT>
static View readPlaces(OpT op, Value weight, Tiler &tiler,
                       const std::string &name) {
  View x = byPlace(tiler.viewOf(op.getX()));
  const StringRef rounding = inputRounding(op, weight);
  if (rounding.empty())
    return x;
  auto type = typeOf(op.getX());
  const int64_t depth = type.getDimension(2);
  const RoundedRows rows(rounding, depth);
  std::string made = tiler.plan.uniqueName(name + ".rounded");
  View out = byPlace(tiler.plan.places(
      made,
      type.withShape({type.getDimension(0), type.getDimension(1), rows.width}),
      op.getLoc()));
  const int64_t experts = countExperts(op.getBounds());
  PhaseBuilder phase = tiler.plan.phase(
      made, op.getLoc(), {tiler.plan.constant(experts)}, {experts});
  AffineExpr expert = phase.coordinate(0);
  SmallVector<AffineExpr> ends =
      phase.entries(tiler.viewOf(op.getBounds()), {expert, expert + 1});
  auto segment = [&](int64_t columns) {
    return Box{{ends[0], phase.constant(0)},
               {ends[1], phase.constant(columns)}};
  };
  Box in = segment(depth), rounded = segment(rows.width);
  phase.reads(x, in);
  phase.writes(out, rounded);
  phase.call(rows.body,
             {phase.address(out, rounded), phase.stride(out, 0),
              phase.address(x, in), phase.stride(x, 0),
              phase.count({ends[1] - ends[0]}), phase.integer(depth)});
  return out;
}

GroupedProduct::GroupedProduct(Operation *op, const View &x, Value boundsValue,
                               int64_t usual, Tiler &tiler,
                               const std::string &name)
    : x(x), out(byPlace(tiler.viewOf(op->getResult(0)))),
      width(tiler.columnsOf(op, usual)), columns(out.type.getDimension(1)),
      phase(tiler.plan.phase(
          name, op->getLoc(),
          {tiler.plan.constant(countExperts(boundsValue)),
           tiler.plan.constant(ceilDiv(columns, width))},
          {countExperts(boundsValue), ceilDiv(columns, width)})) {
  AffineExpr expert = phase.coordinate(0), tile = phase.coordinate(1);
  SmallVector<AffineExpr> ends =
      phase.entries(tiler.viewOf(boundsValue), {expert, expert + 1});
  in = {{ends[0], phase.constant(0)},
        {ends[1], phase.constant(x.type.getDimension(1))}};
  made = {{ends[0], tile * width}, {ends[1], (tile + 1) * width}};
  rows = phase.count({ends[1] - ends[0]});
  column = expert * columns + tile * width;
  phase.reads(x, in);
}

/// Of all experts one behind the other, or null.
static event::ParameterOp biasOf(Value bias, const std::string &name,
                                 Tiler &tiler) {
  return bias ? tiler.vector(name, bias) : event::ParameterOp();
}

static LogicalResult tile(model::GroupedLinearOp op, Tiler &tiler) {
  if (tiler.training)
    return tileTrained(op, tiler);
  std::string name = tiler.plan.uniqueName(nameOf(op));
  tiler.views[op.getResult()] =
      tiler.plan.places(name, typeOf(op.getResult()), op.getLoc());
  event::ParameterOp panels =
      tiler.panels(name + ".weight", op.getWeight(), /*alternating=*/false);
  event::ParameterOp bias = biasOf(op.getBias(), name + ".bias", tiler);
  View x = readPlaces(op, op.getWeight(), tiler, name);
  GroupedProduct product(op, x, op.getBounds(),
                         tiler.plan.tiles().linearColumns, tiler, name);
  PhaseBuilder &phase = product.phase;
  phase.writes(product.out, product.made);
  const StringRef rounding = inputRounding(op, op.getWeight());
  const int64_t depth = typeOf(op.getX()).getDimension(2);
  SmallVector<Attribute> operands = {
      phase.address(product.out, product.made), phase.stride(product.out, 0),
      phase.address(product.x, product.in), phase.stride(product.x, 0)};
  if (readsExactRows(rounding)) {
    View exact = byPlace(tiler.viewOf(op.getX()));
    Box rows = product.in;
    rows.high[1] = phase.constant(depth);
    phase.reads(exact, rows);
    operands.append({phase.address(exact, rows), phase.stride(exact, 0)});
  }
  operands.append(
      {phase.weight(panels, panels.getFormAttr().getOffset(product.column)),
       product.part(bias), phase.null(), phase.integer(0), product.rows,
       phase.integer(depth), countOf(phase, 1, product.width, product.columns),
       phase.integer32(static_cast<int32_t>(model::Activation::identity))});
  phase.call(Weight(panels).bodyFor((rounding + "linear").str()), operands);
  return success();
}

static LogicalResult tile(model::GroupedGatedLinearOp op, Tiler &tiler) {
  if (failed(expectOneFormat(op, op.getGate())))
    return failure();
  std::string name = tiler.plan.uniqueName(nameOf(op));
  tiler.views[op.getResult()] =
      tiler.plan.places(name, typeOf(op.getResult()), op.getLoc());
  event::ParameterOp panels = tiler.panels(
      name + ".weight", {op.getGate(), op.getUp()}, /*alternating=*/true);
  event::ParameterOp gateBias =
                         biasOf(op.getGateBias(), name + ".gate_bias", tiler),
                     upBias = biasOf(op.getUpBias(), name + ".up_bias", tiler);
  View x = readPlaces(op, op.getGate(), tiler, name);
  GroupedProduct product(op, x, op.getBounds(),
                         bodies::gatedColumns(tiler.plan.tiles().linearColumns),
                         tiler, name);
  PhaseBuilder &phase = product.phase;
  phase.writes(product.out, product.made);
  const std::string body =
      (inputRounding(op, op.getGate()) + "gated_linear").str();
  phase.call(
      Weight(panels).bodyFor(body),
      {phase.address(product.out, product.made), phase.stride(product.out, 0),
       phase.address(product.x, product.in), phase.stride(product.x, 0),
       phase.weight(panels, panels.getFormAttr().getOffset(product.column)),
       product.part(gateBias), product.part(upBias), product.rows,
       phase.integer(typeOf(op.getX()).getDimension(2)),
       countOf(phase, 1, product.width, product.columns),
       phase.integer32(static_cast<int32_t>(op.getActivation()))});
  return success();
}

static LogicalResult tile(model::CombineOp op, Tiler &tiler) {
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View out = tiler.resultFor(op, name), weights = tiler.viewOf(op.getWeights());
  if (failed(expectRows(op, "the weights", weights)))
    return failure();
  View x = byPlace(tiler.viewOf(op.getX())),
       places = tiler.viewOf(op.getPlaces());
  const int64_t k = weights.type.getDimension(1);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  PhaseBuilder phase =
      tiler.plan.phase(name, op.getLoc(), {tiles.extent}, {tiles.capacity});
  Box all = ownPlaces(phase, x, k, op.getBounds(), tiler),
      made = rowsOfTask(phase, out, tiles.size),
      own = rowsOfTask(phase, places, tiles.size),
      weight = rowsOfTask(phase, weights, tiles.size);
  phase.reads(x, all);
  phase.reads(places, own);
  phase.reads(weights, weight);
  phase.writes(out, made);
  phase.call("combine_rows",
             {phase.address(out, made), phase.stride(out, 0),
              phase.address(x, all), phase.stride(x, 0),
              phase.address(places, own), phase.address(weights, weight),
              phase.stride(weights, 0), tiles.count(phase),
              phase.count({all.high[0]}), phase.integer(k),
              phase.integer(out.type.getDimension(1))});
  return success();
}

void tasks::addExperts(TilingRules &rules) {
  rules.add<model::RouteOp>(tile);
  rules.add<model::DispatchOp>(tile);
  rules.add<model::GatherOp>(tile);
  rules.add<model::GroupedLinearOp>(tile);
  rules.add<model::GroupedGatedLinearOp>(tile);
  rules.add<model::CombineOp>(tile);
}
