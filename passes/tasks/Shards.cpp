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

DictionaryAttr Shard::describe(ArrayRef<int64_t> shape) const {
  Builder builder(axes.getContext());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("axes", axes),
       builder.getNamedAttr("elements",
                            builder.getI64IntegerAttr(blocks.elements)),
       builder.getNamedAttr("part", builder.getI64IntegerAttr(part())),
       builder.getNamedAttr("whole", builder.getDenseI64ArrayAttr(shape))});
}

View Shards::place(ArrayAttr axes, Location location) {
  auto [entry, isNew] = places.try_emplace(axes);
  if (isNew) {
    Builder builder(plan.context());
    auto type = model::StepTensorType::get(plan.context(), {1},
                                           builder.getI32Type());
    entry->second = plan.persistent(
        plan.uniqueName("place"), type, 1, StringAttr(),
        builder.getDictionaryAttr(
            {builder.getNamedAttr("role", builder.getStringAttr("place")),
             builder.getNamedAttr("axes", axes)}),
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
  shard.received =
      plan.received(trainable.name + ".received", ranks, shard.part(),
                    trainable.layers, trainable.location);
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
  shard.place = place(axes, trainable.location);

  // Where the runtime finds the sum; the gradient itself is of own rows only.
  trainable.gradient.buffer.removeDescriptionAttr();
  Builder builder(context);
  NamedAttrList description(trainable.description);
  description.set("role", builder.getStringAttr("gradient"));
  description.set("shard", shard.describe(shape));
  View sum = plan.persistent(plan.uniqueName(trainable.name + ".gradient_part"),
                             trainable.gradient.type.withShape({shard.part()}),
                             trainable.layers,
                             shard.received.buffer.getStorageAttr().getAttr(),
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
