//===- Places.cpp - values by the places of rows with experts -------------===//

#include "passes/tiling/Places.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

bool tasks::isOfPlaces(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<
          model::GatherOp, model::GroupedLinearOp, model::GroupedGatedLinearOp,
          model::GroupedLinearInputGradientOp, model::CombineInputGradientOp>(
          op))
    return true;
  return isa_and_nonnull<model::Elementwise, model::ActivateGradientOp>(op) &&
         llvm::any_of(op->getOperands(),
                      [](Value operand) { return isOfPlaces(operand); });
}

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

View tasks::placesFor(Value result, StringRef name, Tiler &tiler) {
  View view = tiler.destinations.lookup(result);
  if (!view.buffer)
    view = tiler.plan.places(name, typeOf(result), result.getLoc());
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

PlaceTiles::PlaceTiles(Operation *op, int64_t k, Tiler &tiler)
    : size(tiler.rowsOf(op, tiler.plan.tiles().plainRows)),
      places(tiler.plan.extent(model::kRows) * k),
      capacity(ceilDiv(tiler.plan.bound(model::kRows) * k, size)) {}

PhaseBuilder PlaceTiles::phase(const std::string &name, Location location,
                               PlanBuilder &plan) const {
  return plan.phase(name, location, {places.ceilDiv(size)}, {capacity});
}

Attribute PlaceTiles::count(PhaseBuilder &phase) const {
  return phase.count(
      {phase.constant(size), places - phase.coordinate(0) * size});
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
  PlaceTiles tiles(op, type.getDimension(1), tiler);
  PhaseBuilder phase = tiles.phase(name, op->getLoc(), tiler.plan);
  Box box = rowsOfTask(phase, out, tiles.size);
  SmallVector<Attribute> operands = {phase.address(out, box),
                                     phase.stride(out, 0)};
  for (const View &input : inputs)
    appendRead(phase, byPlace(input), box, operands);
  phase.writes(out, box);
  operands.append({tiles.count(phase), phase.integer(type.getDimension(2))});
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
