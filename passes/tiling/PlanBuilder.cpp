//===- PlanBuilder.cpp - writes event programs for tiling rules ----------===//

#include "passes/tiling/PlanBuilder.h"

#include "dialects/Event/LayerFormats.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

PhaseBuilder::PhaseBuilder(PlanBuilder &plan, StringRef name, Location location,
                           ArrayRef<AffineExpr> grid,
                           ArrayRef<int64_t> capacity)
    : plan(plan) {
  OpBuilder::InsertionGuard guard(plan.builder);
  plan.builder.setInsertionPointToEnd(&plan.segment.getBody().front());
  phase = plan.builder.create<event::PhaseOp>(
      location, plan.builder.getStringAttr(name),
      AffineMapAttr::get(
          AffineMap::get(0, event::kStepSymbols, grid, plan.context())),
      plan.builder.getDenseI64ArrayAttr(capacity),
      plan.builder.getArrayAttr({}), plan.builder.getArrayAttr({}),
      event::NotifyAttr(),
      event::DistributionAttr::get(plan.context(),
                                   event::Distribution::blocked),
      /*separate=*/DenseI64ArrayAttr(), /*prefetch=*/IntegerAttr(),
      /*ahead=*/UnitAttr(), /*condition=*/event::ConditionAttr());
  phase.getBody().emplaceBlock();
}

AffineMap PhaseBuilder::map(ArrayRef<AffineExpr> results) const {
  event::PhaseOp op = phase;
  return simplifyAffineMap(AffineMap::get(op.getMapRank(), event::kStepSymbols,
                                          results, plan.context()));
}

AffineExpr PhaseBuilder::coordinate(unsigned d) const {
  return getAffineDimExpr(d, plan.context());
}
AffineExpr PhaseBuilder::constant(int64_t value) const {
  return plan.constant(value);
}
AffineExpr PhaseBuilder::rows() const { return plan.symbol(event::kRows); }
AffineExpr PhaseBuilder::past() const { return plan.symbol(event::kPast); }
AffineExpr PhaseBuilder::outputs() const {
  return plan.symbol(event::kOutputs);
}

AffineExpr PhaseBuilder::extent(int64_t dimension) const {
  return plan.extent(dimension);
}

Box PhaseBuilder::whole(const View &view) const {
  Box box;
  for (int64_t dimension : view.type.getShape()) {
    box.low.push_back(constant(0));
    box.high.push_back(plan.extent(dimension));
  }
  return box;
}

SmallVector<AffineExpr> PhaseBuilder::entries(const View &table,
                                              ArrayRef<AffineExpr> indices) {
  const auto rank = static_cast<unsigned>(phase.getRank());
  SmallVector<Attribute> named;
  SmallVector<AffineExpr> numbers;
  for (AffineExpr index : indices) {
    numbers.push_back(coordinate(rank + named.size()));
    named.push_back(event::AddressAttr::get(
        plan.context(), FlatSymbolRefAttr::get(table.buffer),
        AffineMap::get(rank, event::kStepSymbols, index, plan.context())));
  }
  phase.setEntriesAttr(plan.builder.getArrayAttr(named));
  for (AffineExpr index : indices)
    reads(table, {{index}, {index + 1}});
  return numbers;
}

void PhaseBuilder::runsWhen(const View &table, AffineExpr low, int64_t count,
                            int64_t last, int64_t unit) {
  event::PhaseOp op = phase;
  AffineExpr high = low + count;
  auto ofTask = [&](ArrayRef<AffineExpr> places) {
    return AffineMap::get(op.getRank(), event::kStepSymbols, places,
                          plan.context());
  };
  phase.setConditionAttr(event::ConditionAttr::get(
      plan.context(), FlatSymbolRefAttr::get(table.buffer), ofTask({low}),
      ofTask({high, constant(last)}), unit));
  reads(table, {{low}, {high + 1}});
}

void PhaseBuilder::access(bool write, const View &view, const Box &tile,
                          const AccessDetails &details) {
  Box box = view.boxOf(tile);
  SmallVector<Attribute> accesses(phase.getAccesses().getValue());
  FlatSymbolRefAttr condition;
  if (details.condition)
    condition =
        FlatSymbolRefAttr::get(event::BufferOp(details.condition->buffer));
  accesses.push_back(event::AccessAttr::get(
      plan.context(), write, FlatSymbolRefAttr::get(view.buffer), map(box.low),
      map(box.high), details.beyond, details.may, condition));
  phase.setAccessesAttr(plan.builder.getArrayAttr(accesses));
}

void PhaseBuilder::reads(const View &view, const Box &tile,
                         AccessDetails details) {
  access(/*write=*/false, view, tile, details);
}
void PhaseBuilder::writes(const View &view, const Box &tile,
                          AccessDetails details) {
  access(/*write=*/true, view, tile, details);
}

bool PhaseBuilder::isWritten(const View &view, const Box &tile) {
  Box box = view.boxOf(tile);
  auto written = event::AccessAttr::get(plan.context(), /*write=*/true,
                                        FlatSymbolRefAttr::get(view.buffer),
                                        map(box.low), map(box.high));
  return llvm::is_contained(event::PhaseOp(phase).getAccesses(),
                            Attribute(written));
}

Attribute PhaseBuilder::address(const View &view, const Box &tile) const {
  return event::AddressAttr::get(plan.context(),
                                 FlatSymbolRefAttr::get(view.buffer),
                                 map(view.indexOf(tile.low)));
}

Attribute PhaseBuilder::stride(const View &view, unsigned dimension) const {
  return event::StrideAttr::get(plan.context(),
                                FlatSymbolRefAttr::get(view.buffer),
                                *view.stepsOf(dimension));
}

Attribute PhaseBuilder::weight(event::ParameterOp parameter,
                               AffineExpr offset) const {
  return event::WeightAttr::get(plan.context(),
                                FlatSymbolRefAttr::get(parameter), map(offset));
}

Attribute PhaseBuilder::count(ArrayRef<AffineExpr> least) const {
  return event::CountAttr::get(plan.context(), map(least));
}

Attribute PhaseBuilder::integer(int64_t value) const {
  return plan.builder.getI64IntegerAttr(value);
}
Attribute PhaseBuilder::integer32(int32_t value) const {
  return plan.builder.getI32IntegerAttr(value);
}
Attribute PhaseBuilder::real(const APFloat &value) const {
  return FloatAttr::get(Float32Type::get(plan.context()), value);
}
Attribute PhaseBuilder::scratch(int64_t offset) const {
  return event::ScratchAttr::get(plan.context(), offset);
}
Attribute PhaseBuilder::null() const {
  return event::NullAttr::get(plan.context());
}

void PhaseBuilder::call(StringRef callee, ArrayRef<Attribute> operands,
                        bool invariant) {
  OpBuilder::InsertionGuard guard(plan.builder);
  plan.builder.setInsertionPointToEnd(&phase.getBody().front());
  plan.builder.create<event::CallOp>(
      phase.getLoc(), plan.builder.getStringAttr(callee),
      plan.builder.getArrayAttr(operands),
      invariant ? plan.builder.getUnitAttr() : UnitAttr());
}

void PhaseBuilder::isAwaitedWhole() {
  phase.setSeparateAttr(plan.builder.getDenseI64ArrayAttr({}));
}

void PhaseBuilder::isAhead() { phase.setAheadAttr(plan.builder.getUnitAttr()); }

void PhaseBuilder::needsScratch(int64_t bytes) {
  plan.scratchBytes = std::max(plan.scratchBytes, bytes);
}

void PhaseBuilder::advance(const View &logits) {
  OpBuilder::InsertionGuard guard(plan.builder);
  plan.builder.setInsertionPointToEnd(&phase.getBody().front());
  plan.builder.create<event::AdvanceOp>(phase.getLoc(),
                                        FlatSymbolRefAttr::get(logits.buffer));
}

event::TransferAttr PhaseBuilder::transfer(const View &send,
                                           const View &receive,
                                           AffineExpr elements,
                                           AffineExpr part) const {
  auto count = [&](AffineExpr number) {
    return AffineMap::get(0, event::kStepSymbols, number);
  };
  return event::TransferAttr::get(
      plan.context(), FlatSymbolRefAttr::get(send.buffer),
      FlatSymbolRefAttr::get(receive.buffer), count(elements), count(part));
}

void PhaseBuilder::exchange(event::ExchangeKind kind, ArrayAttr axes,
                            StringRef purpose,
                            ArrayRef<event::TransferAttr> transfers,
                            ArrayAttr tables) {
  OpBuilder::InsertionGuard guard(plan.builder);
  plan.builder.setInsertionPointToEnd(&phase.getBody().front());
  SmallVector<Attribute> tensors(transfers.begin(), transfers.end());
  plan.builder.create<event::ExchangeOp>(
      phase.getLoc(), kind, axes, plan.builder.getStringAttr(purpose),
      plan.builder.getArrayAttr(tensors), tables);
}

void PhaseBuilder::message(event::MessageDirection direction,
                           ArrayRef<View> tensors, event::MessagePeer peer,
                           StringAttr axis, StringRef channel) {
  SmallVector<Attribute> names;
  for (const View &tensor : tensors) {
    access(direction == event::MessageDirection::receive, tensor, whole(tensor),
           {});
    names.push_back(FlatSymbolRefAttr::get(tensor.buffer));
  }
  OpBuilder::InsertionGuard guard(plan.builder);
  plan.builder.setInsertionPointToEnd(&phase.getBody().front());
  plan.builder.create<event::MessageOp>(
      phase.getLoc(), direction, plan.builder.getArrayAttr(names), peer, axis,
      plan.builder.getStringAttr(channel));
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

PlanBuilder::PlanBuilder(event::ProgramOp program, const TileSizes &sizes)
    : program(program), builder(program.getContext()), sizes(sizes) {
  builder.setInsertionPointToStart(&program.getBody().front());
}

AffineExpr PlanBuilder::constant(int64_t value) const {
  return getAffineConstantExpr(value, context());
}
AffineExpr PlanBuilder::symbol(event::StepSymbol symbol) const {
  return getAffineSymbolExpr(symbol, context());
}

/// Ranks cut rows in blocks of these, so that parts begin on a cache line
/// whatever the width is. Those behind the last row are zeros.
static constexpr int64_t kRowBlock = 16;

static AffineExpr partOfRows(AffineExpr rows, int64_t parts) {
  return rows.ceilDiv(parts * kRowBlock) * kRowBlock;
}

AffineExpr PlanBuilder::extent(int64_t dimension) const {
  switch (dimension) {
  case model::kRows:
    return symbol(event::kRows);
  case model::kKv:
    return isTraining ? symbol(event::kRows)
                      : symbol(event::kPast) + symbol(event::kRows);
  case model::kOutputs:
    return symbol(event::kOutputs);
  default:
    if (int64_t parts = model::countRowParts(dimension))
      return partOfRows(symbol(event::kRows), parts);
    return constant(dimension);
  }
}

int64_t PlanBuilder::bound(int64_t dimension) const {
  event::ProgramOp op = program;
  switch (dimension) {
  case model::kRows:
    return op.getMaxRows();
  case model::kKv:
    return op.getMaxSeq();
  case model::kOutputs:
    return op.getMaxOutputs();
  default:
    if (int64_t parts = model::countRowParts(dimension))
      return llvm::divideCeil(op.getMaxRows(), parts * kRowBlock) * kRowBlock;
    return dimension;
  }
}

event::SegmentOp PlanBuilder::beginSegment(StringRef name, int64_t repeat,
                                           Location location, bool reverse) {
  OpBuilder atEnd = OpBuilder::atBlockEnd(&program.getBody().front());
  bool first = !segment;
  segment = atEnd.create<event::SegmentOp>(
      location, atEnd.getStringAttr(name), atEnd.getI64IntegerAttr(repeat),
      reverse ? atEnd.getUnitAttr() : UnitAttr());
  segment.getBody().emplaceBlock();
  // Declarations go before all segments.
  if (first)
    builder.setInsertionPoint(segment);
  return segment;
}

std::string PlanBuilder::uniqueName(StringRef base) {
  std::string name = base.str();
  for (unsigned suffix = 2; !names.insert(name).second; ++suffix)
    name = (base + "." + Twine(suffix)).str();
  return name;
}

PhaseBuilder PlanBuilder::phase(StringRef name, Location location,
                                ArrayRef<AffineExpr> grid,
                                ArrayRef<int64_t> capacity) {
  return PhaseBuilder(*this, name, location, grid, capacity);
}

event::BufferOp PlanBuilder::buffer(StringRef name, const Shape &shape,
                                    Location location) {
  SmallVector<int64_t> strides(shape.strides);
  if (strides.empty()) {
    strides.assign(shape.capacity.size(), 1);
    for (size_t i = strides.size() - 1; i-- > 0;)
      strides[i] = strides[i + 1] * shape.capacity[i + 1];
  }
  return builder.create<event::BufferOp>(
      location, builder.getStringAttr(name),
      event::BufferKindAttr::get(context(), shape.kind),
      TypeAttr::get(shape.element),
      AffineMapAttr::get(
          AffineMap::get(0, event::kStepSymbols, shape.extents, context())),
      builder.getDenseI64ArrayAttr(shape.capacity),
      builder.getDenseI64ArrayAttr(strides),
      shape.storage ? FlatSymbolRefAttr::get(shape.storage)
                    : FlatSymbolRefAttr(),
      builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(shape.layers),
      builder.getI64IntegerAttr(shape.layerStride), /*ring=*/UnitAttr(),
      builder.getI64IntegerAttr(shape.interleave),
      builder.getI64IntegerAttr(shape.interleaveColumns), shape.slots,
      builder.getI64IntegerAttr(shape.page),
      builder.getI64IntegerAttr(shape.pageStride), event::CarryAttr(),
      /*writers=*/IntegerAttr(), shape.description);
}

/// Every index as it is.
static AffineMap identity(unsigned rank, MLIRContext *context) {
  SmallVector<AffineExpr> index;
  for (unsigned d = 0; d < rank; ++d)
    index.push_back(getAffineDimExpr(d, context));
  return AffineMap::get(rank, event::kStepSymbols, index, context);
}

View PlanBuilder::transient(StringRef name, model::StepTensorType type,
                            Location location, int64_t layers) {
  ArrayRef<int64_t> shape = type.getShape();
  if (shape.size() == 1 && !model::isSymbol(shape[0])) {
    // Bodies take a vector's elements behind one another: one row.
    Shape vector{event::BufferKind::transient, type.getElementType()};
    vector.extents = {constant(1), constant(shape[0])};
    vector.capacity = {1, shape[0]};
    vector.layers = layers;
    return {buffer(name, vector, location), type,
            AffineMap::get(1, event::kStepSymbols,
                           {constant(0), getAffineDimExpr(0, context())},
                           context())};
  }
  // Whether the other dimensions have a fixed size.
  unsigned row = rowDimension(type).value_or(0);
  bool flat = true;
  for (auto [i, dimension] : llvm::enumerate(shape))
    flat &= i == row || !model::isSymbol(dimension);
  Shape made{event::BufferKind::transient, type.getElementType()};
  made.extents = {extent(shape[row])};
  made.capacity = {bound(shape[row])};
  SmallVector<AffineExpr> index = {getAffineDimExpr(row, context())};
  AffineExpr column = constant(0);
  int64_t width = 1;
  for (auto [i, dimension] : llvm::enumerate(shape)) {
    if (i == row)
      continue;
    width *= bound(dimension);
    if (flat) {
      column = column * dimension + getAffineDimExpr(i, context());
      continue;
    }
    made.extents.push_back(extent(dimension));
    made.capacity.push_back(bound(dimension));
    index.push_back(getAffineDimExpr(i, context()));
  }
  if (flat) {
    made.extents.push_back(constant(width));
    made.capacity.push_back(width);
    index.push_back(column);
  }
  made.layers = layers;
  return {buffer(name, made, location), type,
          AffineMap::get(shape.size(), event::kStepSymbols, index, context())};
}

View PlanBuilder::places(StringRef name, model::StepTensorType type,
                         Location location, int64_t layers) {
  ArrayRef<int64_t> shape = type.getShape();
  Shape made{event::BufferKind::transient, type.getElementType()};
  // Places of the rows, one behind the other; of bounds, these themselves.
  AffineExpr index = getAffineDimExpr(0, context());
  int64_t each = 1;
  if (shape.size() > 1) {
    each = shape[1];
    index = index * each + getAffineDimExpr(1, context());
  }
  made.extents = {extent(shape[0]) * each};
  made.capacity = {bound(shape[0]) * each};
  // The segment of an expert that no row has may lie behind the last place;
  // the gradient of its weight is a sum that begins there.
  if (isTraining && shape.size() > 2)
    ++made.capacity[0];
  SmallVector<AffineExpr> indices = {index};
  if (shape.size() > 2) {
    made.extents.push_back(constant(shape[2]));
    made.capacity.push_back(shape[2]);
    indices.push_back(getAffineDimExpr(2, context()));
  }
  made.layers = layers;
  return {
      buffer(name, made, location), type,
      AffineMap::get(shape.size(), event::kStepSymbols, indices, context())};
}

View PlanBuilder::state(StringRef name, model::StepTensorType type,
                        int64_t layers, int64_t interleave, int64_t columns,
                        Location location) {
  int64_t positions = llvm::alignTo(bound(model::kKv), interleave);
  int64_t heads = type.getDimension(1), width = type.getDimension(2);
  Shape made{event::BufferKind::state, type.getElementType()};
  made.extents = {extent(model::kKv), constant(heads), constant(width)};
  made.capacity = {positions, heads, width};
  made.strides = {width, positions * width, interleave};
  made.layers = layers;
  made.layerStride = heads * positions * width;
  made.interleave = interleave;
  made.interleaveColumns = columns;
  return {buffer(name, made, location), type, identity(3, context())};
}

View PlanBuilder::persistent(StringRef name, model::StepTensorType type,
                             int64_t layers, StringAttr storage,
                             DictionaryAttr description, Location location) {
  Shape made{event::BufferKind::persistent, type.getElementType()};
  int64_t elements = 1;
  for (int64_t dimension : type.getShape()) {
    made.extents.push_back(extent(dimension));
    made.capacity.push_back(bound(dimension));
    elements *= bound(dimension);
  }
  made.layers = layers;
  made.layerStride = layers > 1 ? elements : 0;
  made.storage = storage;
  made.description = description;
  return {buffer(name, made, location), type,
          identity(type.getRank(), context())};
}

View PlanBuilder::layerOf(const View &view, int64_t layer) {
  event::BufferOp all = view.buffer;
  auto one = cast<event::BufferOp>(builder.clone(*all));
  one.setSymName(uniqueName((all.getSymName() + ".layer").str()));
  one.setOffset(int64_t(all.getOffset()) +
                all.getCopy(layer) * int64_t(all.getLayerStride()));
  one.setLayers(1);
  one.setLayerStride(0);
  one.setRing(false);
  one.removeDescriptionAttr();
  View made = view;
  made.buffer = one;
  return made;
}

View PlanBuilder::kept(StringRef name, model::StepTensorType type,
                       int64_t layers, DictionaryAttr description,
                       Location location, bool isOfPlaces) {
  View view = isOfPlaces ? places(name, type, location, layers)
                         : transient(name, type, location, layers);
  view.buffer.setKind(event::BufferKind::persistent);
  view.buffer.setDescriptionAttr(description);
  return view;
}

View PlanBuilder::received(StringRef name, int64_t rows, int64_t columns,
                           int64_t layers, Location location,
                           ArrayRef<AffineExpr> extents, Type element) {
  if (!element)
    element = builder.getF32Type();
  Shape made{event::BufferKind::transient, element};
  made.extents = {constant(rows), constant(columns)};
  if (!extents.empty())
    made.extents.assign(extents.begin(), extents.end());
  made.capacity = {rows, columns};
  made.layers = layers;
  made.layerStride = layers > 1 ? rows * columns : 0;
  made.storage = storage(
      (name + "_memory").str(),
      layers * rows * columns * element.getIntOrFloatBitWidth() / 8, location);
  return {buffer(uniqueName(name), made, location),
          model::StepTensorType::get(context(), {rows, columns}, element),
          identity(2, context())};
}

StringAttr PlanBuilder::storage(StringRef name, int64_t bytes,
                                Location location, bool isReserved) {
  std::string unique = isReserved ? name.str() : uniqueName(name);
  builder.create<event::StorageOp>(location, unique, bytes);
  return builder.getStringAttr(unique);
}

View PlanBuilder::blocks(StringRef name, int64_t heads, int64_t width,
                         Location location) {
  int64_t blocks = llvm::divideCeil(bound(model::kKv), kAttentionBlock);
  auto type = model::StepTensorType::get(
      context(), {model::kRows, heads, blocks, width}, builder.getF32Type());
  Shape made{event::BufferKind::transient, type.getElementType()};
  made.extents = {extent(model::kRows), constant(heads),
                  extent(model::kKv).ceilDiv(kAttentionBlock), constant(width)};
  made.capacity = {bound(model::kRows), heads, blocks, width};
  return {buffer(name, made, location), type, identity(4, context())};
}

View PlanBuilder::pagedState(StringRef name, model::StepTensorType type,
                             int64_t layers, int64_t interleave,
                             int64_t columns, const View &slots,
                             Location location) {
  int64_t heads = type.getDimension(1), width = type.getDimension(2);
  Shape made{event::BufferKind::state, type.getElementType()};
  made.extents = {extent(model::kRows), constant(heads), constant(width)};
  made.capacity = {bound(model::kRows), heads, width};
  made.strides = {width, model::kPagePositions * width, interleave};
  made.layers = layers;
  made.layerStride = heads * model::kPagePositions * width;
  made.interleave = interleave;
  made.interleaveColumns = columns;
  made.slots = FlatSymbolRefAttr::get(slots.buffer);
  made.page = model::kPagePositions;
  made.pageStride = layers * made.layerStride;
  return {buffer(name, made, location), type, identity(3, context())};
}

event::TableOp PlanBuilder::table(const View &view, int64_t low,
                                  AffineExpr high,
                                  event::TableProperty property,
                                  Location location) {
  auto bound = [&](AffineExpr value) {
    return AffineMapAttr::get(AffineMap::get(0, event::kStepSymbols, value));
  };
  return builder.create<event::TableOp>(
      location, FlatSymbolRefAttr::get(view.buffer), bound(constant(low)),
      bound(high), event::TablePropertyAttr::get(context(), property),
      /*segments=*/IntegerAttr());
}

View PlanBuilder::tokens(Location location) {
  Shape made{event::BufferKind::input, builder.getI32Type()};
  made.extents = {extent(model::kKv)};
  made.capacity = {bound(model::kKv)};
  // Seen by the program as [rows]: the step's own tokens come after the past.
  return {
      buffer(uniqueName("tokens"), made, location),
      model::StepTensorType::get(context(), {model::kRows},
                                 builder.getI32Type()),
      AffineMap::get(1, event::kStepSymbols,
                     {getAffineDimExpr(0, context()) + symbol(event::kPast)},
                     context())};
}

event::ParameterOp PlanBuilder::parameter(StringRef name, Type element,
                                          int64_t layers,
                                          event::WeightForm form,
                                          const WeightSources &sources,
                                          Location location) {
  auto made = builder.create<event::ParameterOp>(
      location, builder.getStringAttr(name), TypeAttr::get(element),
      builder.getI64IntegerAttr(layers), form, sources.parts,
      sources.firstLayer, sources.layerStep);
  if (sources.layerFormats)
    made->setAttr(event::kLayerFormats, sources.layerFormats);
  return made;
}
