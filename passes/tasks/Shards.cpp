//===- Shards.cpp - what a rank keeps of a parameter's state --------------===//

#include "passes/tasks/Shards.h"

#include "passes/tasks/TilingPieces.h"
#include "passes/tasks/Training.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// As many parts as a tensor can be cut into, about, if it is small.
static constexpr int64_t kFewestBlocks = 32;

/// Elements of a block, at most, and of a row of it.
static constexpr int64_t kBlockElements = 16384, kBlockColumns = 1024;

/// Blocks begin on a cache line.
static constexpr int64_t kAligned = 16;

static int64_t blockSize(int64_t elements) {
  int64_t size = llvm::alignTo(ceilDiv(elements, kFewestBlocks), kAligned);
  return size <= kBlockColumns
             ? size
             : std::min<int64_t>(kBlockElements,
                                 llvm::alignTo(size, kBlockColumns));
}

Blocks::Blocks(int64_t elements)
    : elements(elements), size(blockSize(elements)),
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

void Shard::describe(NamedAttrList &description,
                     ArrayRef<int64_t> shape) const {
  Builder builder(axes.getContext());
  SmallVector<int64_t> units;
  for (int64_t rank = 0; rank < ranks; ++rank)
    units.push_back(
        std::clamp<int64_t>(blocks.count - rank * count, 0, count));
  description.set(
      "shards",
      builder.getArrayAttr(
          {cut(blocks.elements, axes,
               {builder.getNamedAttr("granularity",
                                     builder.getI64IntegerAttr(blocks.size)),
                builder.getNamedAttr("units", builder.getI64ArrayAttr(units)),
                builder.getNamedAttr("flat", builder.getI64ArrayAttr(shape))})}));
  description.set("shape", builder.getI64ArrayAttr({part()}));
  description.set("layers", builder.getI64IntegerAttr(trainable->layers));
}

View Shards::place(ArrayAttr axes, int64_t ranks, Location location) {
  auto [entry, isNew] = places.try_emplace(axes);
  if (isNew) {
    Builder builder(plan.context());
    auto type = model::StepTensorType::get(plan.context(), {2},
                                           builder.getI32Type());
    entry->second = plan.persistent(
        plan.uniqueName("place"), type, 1, StringAttr(),
        builder.getDictionaryAttr(
            {builder.getNamedAttr("role", builder.getStringAttr("places")),
             builder.getNamedAttr("places",
                                  builder.getArrayAttr({cut(ranks, axes)}))}),
        location);
  }
  return entry->second;
}

Shard &Shards::add(Trainable &trainable, ArrayAttr axes, int64_t ranks) {
  MLIRContext *context = plan.context();
  ArrayRef<int64_t> shape = trainable.gradient.type.getShape();
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  Blocks blocks(elements);
  Shard &shard = shards.emplace_back(Shard{&trainable,
                                           axes,
                                           ranks,
                                           blocks,
                                           ceilDiv(blocks.count, ranks),
                                           {},
                                           {},
                                           {},
                                           {}});
  trainable.shard = &shard;
  // Kept as gradients are, since the norm and the runtime see it in other shapes.
  auto type = model::StepTensorType::get(plan.context(), {ranks, shard.part()},
                                         Float32Type::get(plan.context()));
  StringAttr memory =
      plan.storage(trainable.name + ".received_memory",
                   trainable.layers * ranks * shard.part() * sizeof(float),
                   trainable.location);
  shard.received = plan.persistent(plan.uniqueName(trainable.name + ".received"),
                                   type, trainable.layers, memory,
                                   DictionaryAttr(), trainable.location);
  auto row = [&](int64_t number) {
    View view = shard.received;
    view.type = view.type.withShape({shard.count, blocks.size});
    view.map = AffineMap::get(2, event::kStepSymbols,
                              {plan.constant(number),
                               getAffineDimExpr(0, context) * blocks.size +
                                   getAffineDimExpr(1, context)},
                              context);
    return view;
  };
  shard.weight = row(0);
  shard.gradient = row(1);
  shard.place = place(axes, ranks, trainable.location);

  // Where the runtime finds the sum; the gradient itself is of own rows only.
  trainable.gradient.buffer.removeDescriptionAttr();
  Builder builder(context);
  NamedAttrList description(trainable.description);
  description.set("role", builder.getStringAttr("gradient"));
  shard.describe(description, shape);
  View sum = plan.persistent(plan.uniqueName(trainable.name + ".gradient_part"),
                             trainable.gradient.type.withShape({shard.part()}),
                             trainable.layers, memory,
                             description.getDictionary(context),
                             trainable.location);
  sum.buffer.setOffset(shard.part());
  if (trainable.layers > 1)
    sum.buffer.setLayerStride(ranks * shard.part());
  return shard;
}

void Shards::sum(const Shard &shard) {
  int64_t size = shard.blocks.size;
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(shard.trainable->name + ".sum"),
                 shard.trainable->location,
                 {plan.symbol(event::kOutputs) * shard.count}, {shard.count});
  Box all = phase.whole(shard.received);
  narrow(all, 1, phase.coordinate(0), size);
  Box sum = rowsOfTask(phase, shard.gradient, 1);
  phase.reads(shard.received, all);
  phase.writes(shard.gradient, sum);
  phase.call("sum_ranks",
             {phase.address(shard.gradient, sum),
              phase.address(shard.received, all),
              phase.stride(shard.received, 0), phase.integer(shard.ranks),
              phase.integer(size)});
}
