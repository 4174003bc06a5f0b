//===- RankPlaces.cpp - what a rank's tasks know of its place -------------===//

#include "passes/collectives/RankPlaces.h"

#include "passes/tiling/Tiler.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

RankPlaces::RankPlaces(PlanBuilder &plan, model::ProgramOp model,
                       dist::MeshOp mesh, StringRef name)
    : mesh(mesh) {
  model.walk([&](Operation *op) {
    if (auto term = dyn_cast<dist::FirstRankOp>(op))
      shards.insert(ranksOf(term.getAxes()));
    if (isa<dist::ReduceScatterOp, dist::SliceOp>(op))
      shards.insert(ranksOf(op->getAttrOfType<ArrayAttr>("axes")));
    if (auto parameter = dyn_cast<model::ParameterOp>(op))
      if (model::ShardAttr shard = tokensOf(parameter.getResult()))
        shards.insert(shard);
    if (auto dispatch = dyn_cast<model::DispatchOp>(op))
      if (model::ShardAttr shard = expertsOf(dispatch))
        shards.insert(shard);
  });
  if (shards.empty())
    return;
  Builder builder(plan.context());
  SmallVector<Attribute> described;
  for (model::ShardAttr shard : shards)
    described.push_back(describeShard(shard));
  numbers = plan.persistent(
      name,
      model::StepTensorType::get(plan.context(), {2 * int64_t(shards.size())},
                                 builder.getI32Type()),
      1, StringAttr(),
      builder.getDictionaryAttr(
          {builder.getNamedAttr("places", builder.getArrayAttr(described))}),
      model.getLoc());
  numbers.buffer.setCarry(event::Carry::kept);
}

model::ShardAttr RankPlaces::ranksOf(ArrayAttr axes) const {
  int64_t ranks =
      mesh.countRanks(llvm::to_vector(axes.getAsRange<StringAttr>()));
  return model::ShardAttr::get(axes.getContext(), 0, ranks, axes, 1, {});
}

model::ShardAttr RankPlaces::expertsOf(model::DispatchOp dispatch) const {
  ArrayAttr axes = dispatch.getAxesAttr();
  if (!axes)
    return {};
  return model::ShardAttr::get(
      axes.getContext(), 0, dispatch.countExperts() * ranksOf(axes).getExtent(),
      axes, 1, {});
}

model::ShardAttr RankPlaces::tokensOf(Value table) {
  auto parameter = table.getDefiningOp<model::ParameterOp>();
  if (!parameter || !parameter.getShards())
    return {};
  bool readsRows = llvm::any_of(table.getUsers(), [](Operation *user) {
    if (auto gradient = dyn_cast<model::GradientOp>(user))
      return isa_and_present<model::EmbeddingGradientOp>(
          gradient.getGradient().getDefiningOp());
    return isa<model::EmbeddingOp, dist::LogitMaximumOp, dist::LogitSumsOp,
               dist::LossGradientsOp>(user);
  });
  if (!readsRows)
    return {};
  for (auto shard : parameter.getShardsAttr().getAsRange<model::ShardAttr>())
    if (shard.getDimension() == 0)
      return shard;
  return {};
}

Attribute RankPlaces::read(PhaseBuilder &phase, model::ShardAttr shard) const {
  const auto *found = llvm::find(shards, shard);
  int64_t first = 2 * (found - shards.begin());
  Box box = phase.whole(numbers);
  box.low[0] = phase.constant(first);
  box.high[0] = phase.constant(first + 2);
  phase.reads(numbers, box);
  return phase.address(numbers, box);
}
