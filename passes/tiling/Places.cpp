//===- Places.cpp - values by the places of rows with experts -------------===//

#include "passes/tiling/Places.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

bool tasks::isOfPlaces(const View &view) {
  if (!view.buffer || view.type.getRank() != 3 || view.map.getNumResults() != 2)
    return false;
  MLIRContext *context = view.map.getContext();
  AffineExpr place = getAffineDimExpr(0, context) * view.type.getDimension(1) +
                     getAffineDimExpr(1, context);
  return view.map.getResult(0) == place &&
         view.map.getResult(1) == getAffineDimExpr(2, context);
}

View tasks::byPlace(const View &view) {
  MLIRContext *context = view.map.getContext();
  event::BufferOp buffer = view.buffer;
  const auto rank = static_cast<unsigned>(buffer.getCapacity().size());
  SmallVector<int64_t> shape = {model::kRows};
  if (rank > 1)
    shape.push_back(view.type.getShape().back());
  SmallVector<AffineExpr> index;
  for (unsigned d = 0; d < rank; ++d)
    index.push_back(getAffineDimExpr(d, context));
  return {view.buffer, view.type.withShape(shape),
          AffineMap::get(rank, event::kStepSymbols, index, context)};
}

/// Makes zeros of a value of places.
static void clear(Operation *op, const std::string &name, const View &view,
                  Tiler &tiler) {
  PlaceTiles tiles(op, name, /*segments=*/{},
                   typeOf(op->getResult(0)).getDimension(1), tiler);
  PhaseBuilder &phase = tiles.phase;
  Box box = tiles.of(view);
  phase.writes(view, box);
  phase.call("clear", {phase.address(view, box),
                       tiles.count(view.type.getDimension(1))});
}

View tasks::placesFor(Value result, StringRef name, Tiler &tiler) {
  View view = tiler.destinations.lookup(result);
  model::Segments segments = model::segmentsOf(result);
  if (!view.buffer)
    view = tiler.plan.places(name, typeOf(result), result.getLoc());
  else if (segments && segments.hasOthers())
    clear(result.getDefiningOp(),
          tiler.plan.uniqueName((name + ".clear").str()), byPlace(view), tiler);
  tiler.views[result] = view;
  return byPlace(view);
}

AffineExpr tasks::countPlaces(PhaseBuilder &phase, int64_t k) {
  return phase.rows() * k;
}

Box tasks::allPlaces(PhaseBuilder &phase, const View &view, int64_t k) {
  Box box{{phase.constant(0)}, {countPlaces(phase, k)}};
  if (view.type.getRank() > 1) {
    box.low.push_back(phase.constant(0));
    box.high.push_back(phase.constant(view.type.getDimension(1)));
  }
  return box;
}

Box tasks::ownPlaces(PhaseBuilder &phase, const View &view, int64_t k,
                     Value bounds, Tiler &tiler) {
  Box box = allPlaces(phase, view, k);
  if (bounds)
    box.high[0] = phase.entries(
        tiler.viewOf(bounds),
        {phase.constant(
            bounds.getDefiningOp<model::Segments>().countExperts())})[0];
  return box;
}

static PhaseBuilder beginPlaces(const std::string &name, Operation *op,
                                model::Segments segments, int64_t k,
                                int64_t size, PlanBuilder &plan) {
  if (segments && segments.hasOthers()) {
    const int64_t experts = segments.countExperts();
    return plan.phase(name, op->getLoc(), {plan.constant(experts)}, {experts});
  }
  return plan.phase(name, op->getLoc(),
                    {(plan.extent(model::kRows) * k).ceilDiv(size)},
                    {ceilDiv(plan.bound(model::kRows) * k, size)});
}

PlaceTiles::PlaceTiles(Operation *op, const std::string &name,
                       model::Segments segments, int64_t k, Tiler &tiler)
    : phase(beginPlaces(name, op, segments, k,
                        tiler.rowsOf(op, tiler.plan.tiles().plainRows),
                        tiler.plan)),
      size(tiler.rowsOf(op, tiler.plan.tiles().plainRows)),
      places(tiler.plan.extent(model::kRows) * k) {
  AffineExpr expert = phase.coordinate(0);
  if (segments && segments.hasOthers())
    ends = phase.entries(tiler.viewOf(segments.getSegmentBounds()),
                         {expert, expert + 1});
}

Box PlaceTiles::of(const View &view) {
  Box box = rowsOfTask(phase, view, size);
  if (!ends.empty()) {
    box.low[0] = ends[0];
    box.high[0] = ends[1];
  }
  return box;
}

Attribute PlaceTiles::count(int64_t width) {
  if (!ends.empty())
    return phase.count({(ends[1] - ends[0]) * width});
  return phase.count({phase.constant(size * width),
                      (places - phase.coordinate(0) * size) * width});
}

LogicalResult tasks::tilePlaces(Operation *op, const std::string &name,
                                StringRef callee, ArrayRef<View> inputs,
                                Tiler &tiler, ArrayRef<Attribute> more) {
  for (const View &input : inputs)
    if (!isOfPlaces(input))
      return op->emitOpError()
             << "cannot be tiled: of what it reads some is by places of "
                "experts, and some by rows";
  model::StepTensorType type = typeOf(op->getResult(0));
  View out = placesFor(op->getResult(0), name, tiler);
  PlaceTiles tiles(op, name, model::segmentsOf(op->getResult(0)),
                   type.getDimension(1), tiler);
  PhaseBuilder &phase = tiles.phase;
  Box box = tiles.of(out);
  SmallVector<Attribute> operands = {phase.address(out, box),
                                     phase.stride(out, 0)};
  for (const View &input : inputs)
    appendRead(phase, byPlace(input), box, operands);
  phase.writes(out, box);
  operands.append({tiles.count(), phase.integer(type.getDimension(2))});
  operands.append(more.begin(), more.end());
  phase.call(callee, operands);
  return success();
}

LogicalResult tasks::tileElementwise(model::Elementwise op, Tiler &tiler,
                                     StringRef suffix) {
  std::string name = tiler.plan.uniqueName(nameOf(op) + suffix.str());
  SmallVector<View> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(tiler.viewOf(operand));
  if (llvm::any_of(inputs, [](const View &view) { return isOfPlaces(view); }))
    return tilePlaces(op, name, op.getBody(), inputs, tiler,
                      op.getBodyNumbers());
  return tileRows(op, name, op.getBody(), inputs, tiler.resultFor(op, name),
                  tiler,
                  [&](PhaseBuilder &, const RowTiles &,
                      SmallVectorImpl<Attribute> &operands) {
                    operands.append(op.getBodyNumbers());
                  });
}
