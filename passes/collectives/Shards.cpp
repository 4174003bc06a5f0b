//===- Shards.cpp - what a rank keeps of a parameter's state --------------===//

#include "passes/collectives/Shards.h"

#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Training.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// As many parts as a tensor can be cut into, about, if it is small.
static constexpr int64_t kFewestBlocks = 32;

/// Elements of a block, at most, and of a row of it.
static constexpr int64_t kBlockElements = 16384, kBlockColumns = 1024;

/// Blocks begin on a cache line.
static constexpr int64_t kAligned = 16;

static int64_t blockSize(int64_t elements, int64_t unit) {
  int64_t size = llvm::alignTo(ceilDiv(elements, kFewestBlocks), kAligned);
  if (size > kBlockColumns)
    size =
        std::min<int64_t>(kBlockElements, llvm::alignTo(size, kBlockColumns));
  return llvm::alignTo(size, unit);
}

Blocks::Blocks(int64_t elements, CutUnit unit)
    : elements(elements), size(blockSize(elements, unit.elements)),
      columns(std::min(size, kBlockColumns)), count(ceilDiv(elements, size)) {}

/// Of so many indices every rank has the next ones.
static DictionaryAttr cut(int64_t extent, ArrayAttr axes,
                          ArrayRef<NamedAttribute> more = {}) {
  Builder builder(axes.getContext());
  NamedAttrList shard(more);
  shard.set("dimension", builder.getI64IntegerAttr(0));
  shard.set("extent", builder.getI64IntegerAttr(extent));
  shard.set("axes", axes);
  return shard.getDictionary(axes.getContext());
}

void Shard::describe(NamedAttrList &description, ArrayRef<int64_t> shape,
                     int64_t granularity, ArrayAttr outer) const {
  Builder builder(axes.getContext());
  SmallVector<int64_t> units;
  for (int64_t rank = 0; rank < ranks; ++rank)
    units.push_back(std::clamp<int64_t>(blocks.count - rank * count, 0, count));
  SmallVector<Attribute> shards;
  if (outer)
    llvm::append_range(shards, outer);
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  shards.push_back(
      cut(elements, axes,
          {builder.getNamedAttr("granularity",
                                builder.getI64IntegerAttr(granularity)),
           builder.getNamedAttr("units", builder.getI64ArrayAttr(units)),
           builder.getNamedAttr("flat", builder.getI64ArrayAttr(shape))}));
  description.set("shards", builder.getArrayAttr(shards));
  description.set("shape", builder.getI64ArrayAttr({count * granularity}));
  description.set("layers", builder.getI64IntegerAttr(trainable->layers));
}

void Shard::describe(NamedAttrList &description,
                     ArrayRef<int64_t> shape) const {
  describe(description, shape, blocks.size,
           shape.size() == 2 ? trainable->shards : trainable->ownShards);
}

View Shard::inRows(const View &view, int64_t columns) const {
  MLIRContext *context = view.map.getContext();
  AffineExpr row = getAffineDimExpr(0, context),
             column = getAffineDimExpr(1, context);
  View result = view;
  result.type = view.type.withShape({part() / columns, columns});
  // The part's elements lie behind one another.
  result.map = view.map.compose(AffineMap::get(
      2, 0, {getAffineConstantExpr(0, context), row * columns + column},
      context));
  return result;
}

View Shards::place(ArrayAttr axes, int64_t ranks, Location location) {
  auto [entry, isNew] = places.try_emplace(axes);
  if (isNew) {
    Builder builder(plan.context());
    auto type =
        model::StepTensorType::get(plan.context(), {2}, builder.getI32Type());
    entry->second = plan.persistent(
        plan.uniqueName("place"), type, 1, StringAttr(),
        builder.getDictionaryAttr(
            {builder.getNamedAttr("role", builder.getStringAttr("places")),
             builder.getNamedAttr("places",
                                  builder.getArrayAttr({cut(ranks, axes)}))}),
        location);
    entry->second.buffer.setCarry(event::Carry::kept);
  }
  return entry->second;
}

/// A row of [rows, count * size] as [count, size].
static View blocksOf(const View &rows, int64_t row, const Shard &shard) {
  MLIRContext *context = rows.map.getContext();
  View view = rows;
  view.type = rows.type.withShape({shard.count, shard.blocks.size});
  view.map = AffineMap::get(2, event::kStepSymbols,
                            {getAffineConstantExpr(row, context),
                             getAffineDimExpr(0, context) * shard.blocks.size +
                                 getAffineDimExpr(1, context)},
                            context);
  return view;
}

void Shards::add(Trainable &trainable, ArrayAttr axes, ArrayAttr groups,
                 int64_t ranks, Kept parts) {
  Builder builder(plan.context());
  ArrayRef<int64_t> shape = trainable.gradient.type.getShape();
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  Blocks blocks(elements, trainable.unit);
  Shard &shard = shards.emplace_back(Shard{&trainable,
                                           axes,
                                           groups,
                                           ranks,
                                           blocks,
                                           ceilDiv(blocks.count, ranks),
                                           parts,
                                           {},
                                           {},
                                           {},
                                           {},
                                           {}});
  trainable.shard = &shard;
  int64_t part = shard.part();
  // Programs of one stage know them by their names.
  bool isReserved(trainable.between);
  auto called = [&](const std::string &name) {
    return isReserved ? name : plan.uniqueName(name);
  };
  auto kept = [&](StringRef name, int64_t rows, int64_t layers,
                  DictionaryAttr description = {}) {
    auto type = model::StepTensorType::get(plan.context(), {rows, part},
                                           builder.getF32Type());
    StringAttr memory =
        plan.storage((trainable.name + name + "_memory").str(),
                     layers * rows * part * sizeof(float), trainable.location,
                     /*isReserved=*/isReserved);
    return plan.persistent(called((trainable.name + name).str()), type, layers,
                           memory, description, trainable.location);
  };
  auto describe = [&](StringRef role) {
    NamedAttrList description(trainable.description);
    description.set("role", builder.getStringAttr(role));
    shard.describe(description, shape);
    return description.getDictionary(plan.context());
  };
  // Kept as gradients are, since the norm sees it in another shape.
  // What is behind the end of the tensor stays zero.
  shard.received =
      kept(".received", ranks, parts.gradient ? 1 : trainable.layers,
           trainable.between);
  shard.place = place(axes, ranks, trainable.location);
  if (parts.weight) {
    View part =
        kept(".weights_part", 1, trainable.layers, describe("parameter"));
    part.buffer.setCarry(event::Carry::renewed);
    shard.weight = blocksOf(part, 0, shard);
  } else {
    shard.weight = blocksOf(shard.received, 0, shard);
  }
  if (parts.gradient) {
    shard.sum =
        kept(".gradient_part", 1, trainable.layers, describe("gradient"));
    shard.gradient = blocksOf(shard.sum, 0, shard);
    return;
  }
  shard.gradient = blocksOf(shard.received, 1, shard);
  // Where the runtime finds the sum.
  shard.sum = plan.persistent(called(trainable.name + ".gradient_part"),
                              trainable.gradient.type.withShape({part}),
                              trainable.layers,
                              shard.received.buffer.getStorageAttr().getAttr(),
                              describe("gradient"), trainable.location);
  shard.sum.buffer.setOffset(part);
  if (trainable.layers > 1)
    shard.sum.buffer.setLayerStride(ranks * part);
}

void Shards::sum(const Shard &shard, const View &accumulate) {
  int64_t size = shard.blocks.size;
  bool adds = shard.parts.gradient;
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(shard.trainable->name + ".sum"),
                 shard.trainable->location,
                 {adds ? plan.constant(shard.count)
                       : plan.symbol(event::kOutputs) * shard.count},
                 {shard.count});
  Box all = phase.whole(shard.received);
  narrow(all, 1, phase.coordinate(0), size);
  Box sum = rowsOfTask(phase, shard.gradient, 1);
  // The last ranks' parts may end early.
  phase.reads(shard.received, all,
              {.may = shard.blocks.elements != shard.part() * shard.ranks});
  SmallVector<Attribute> operands = {
      phase.address(shard.gradient, sum), phase.address(shard.received, all),
      phase.stride(shard.received, 0), phase.integer(shard.ranks),
      phase.integer(size)};
  if (adds) {
    Box number = phase.whole(accumulate);
    phase.reads(shard.gradient, sum, {.condition = &accumulate});
    phase.reads(accumulate, number);
    operands.push_back(phase.address(accumulate, number));
  }
  phase.writes(shard.gradient, sum);
  phase.call(adds ? "add_ranks" : "sum_ranks", operands);
}
