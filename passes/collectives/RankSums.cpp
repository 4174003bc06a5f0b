//===- RankSums.cpp - sums over ranks in a training program ---------------===//

#include "passes/collectives/RankSums.h"

#include "passes/tiling/TilingPieces.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using event::ExchangeKind;

/// Elements whose sums are one task's, about.
static constexpr int64_t kSummedElements = 16384;

static int64_t product(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

static ArrayAttr summedOver(model::GradientOp op) {
  return op->getAttrOfType<ArrayAttr>(dist::kSummed);
}

/// The axes that cut the sum where ranks need a part of it.
static ArrayAttr scatteredOver(model::GradientOp op) {
  auto axes = op->getAttrOfType<ArrayAttr>(dist::kScatteredOver);
  return axes ? axes : summedOver(op);
}

static int64_t countRanks(dist::MeshOp mesh, ArrayAttr axes) {
  return mesh.countRanks(llvm::to_vector(axes.getAsRange<StringAttr>()));
}

RankSums::RankSums(Tiler &tiler, Operation *scope, dist::MeshOp mesh,
                   int64_t bucketBytes,
                   std::function<bool(const Trainable &)> splits)
    : tiler(tiler), plan(tiler.plan), mesh(mesh), bucketBytes(bucketBytes),
      splits(std::move(splits)), shards(plan) {
  // What a parameter is depends on the stack that it stands in.
  scope->walk([&](model::GradientOp op) {
    tiler.stack = op->getParentOfType<model::StackOp>();
    last[tiler.describe(op.getParameter())] = op;
  });
  scope->walk([&](model::ParameterOp op) {
    tiler.stack = op->getParentOfType<model::StackOp>();
    if (op->hasAttr(dist::kGathered))
      gathered.insert(tiler.describe(op.getResult()));
  });
  tiler.stack = {};
}

std::optional<Kept> RankSums::partsOf(const Trainable &trainable) const {
  Operation *final = last.lookup(trainable.description);
  auto scattered =
      final ? final->getAttrOfType<StringAttr>(dist::kScattered) : StringAttr();
  if (!scattered || !splits(trainable) ||
      countRanks(mesh, scatteredOver(cast<model::GradientOp>(final))) == 1)
    return std::nullopt;
  return Kept{scattered == "step", gathered.contains(trainable.description)};
}

void RankSums::split(Trainable &trainable, Kept parts) {
  auto final = cast<model::GradientOp>(last.lookup(trainable.description));
  ArrayAttr axes = scatteredOver(final);
  SmallVector<Attribute> others;
  for (Attribute axis : summedOver(final))
    if (!llvm::is_contained(axes, axis))
      others.push_back(axis);
  ArrayAttr groups = ArrayAttr::get(plan.context(), others);
  shards.add(trainable, axes,
             countRanks(mesh, groups) > 1 ? groups : ArrayAttr(),
             countRanks(mesh, axes), parts);
}

RankSums::Gathers RankSums::gathersFor(ArrayRef<Operation *> ops,
                                       bool inRings) {
  // In the order in which ops read them: who needs the first ones goes on while
  // others come.
  Gathers complete;
  llvm::MapVector<ArrayAttr, SmallVector<const Shard *>> groups;
  llvm::DenseSet<const Shard *> seen;
  for (Operation *one : ops) {
    auto op = dyn_cast<model::ParameterOp>(one);
    if (!op || !op->hasAttr(dist::kGathered))
      continue;
    const Trainable &trainable = tiler.training->trainable(op.getResult());
    const Shard *shard = trainable.shard;
    if (!shard || !shard->parts.weight || trainable.isRing != inRings ||
        !seen.insert(shard).second)
      continue;
    auto &list = groups[shard->axes];
    list.push_back(shard);
    int64_t bytes = 0;
    for (const Shard *pending : list)
      bytes += 4 * pending->blocks.elements;
    if (bytes < bucketBytes)
      continue;
    complete.emplace_back(shard->axes, list);
    list.clear();
  }
  for (auto &[axes, list] : groups)
    if (!list.empty())
      complete.emplace_back(axes, list);
  return complete;
}

PhaseBuilder RankSums::gather(StringRef name, ArrayAttr axes,
                              ArrayRef<const Shard *> list,
                              ArrayRef<std::pair<View, View>> views,
                              Location location) {
  PhaseBuilder phase =
      plan.phase(plan.uniqueName(name), location, {plan.constant(1)}, {1});
  SmallVector<event::TransferAttr> transfers;
  for (auto [shard, view] : llvm::zip(list, views)) {
    const auto &[part, whole] = view;
    phase.reads(part, phase.whole(part));
    phase.writes(whole, phase.whole(whole));
    transfers.push_back(
        phase.transfer(part, whole, shard->blocks.elements, shard->part()));
  }
  phase.exchange(ExchangeKind::all_gather, axes, "all_gather", transfers);
  return phase;
}

void RankSums::gatherParameters(ArrayRef<Operation *> ops) {
  if (ops.empty())
    return;
  Location location = ops.front()->getParentOp()->getLoc();
  StringRef name = tiler.stack ? "layers.parameters" : "parameters";
  for (bool isAhead : {false, true})
    for (auto &[axes, list] : gathersFor(ops, isAhead)) {
      SmallVector<std::pair<View, View>> views;
      for (const Shard *shard : list)
        views.push_back({shard->weight, shard->trainable->weight});
      PhaseBuilder phase = gather(name, axes, list, views, location);
      if (isAhead)
        phase.isAhead();
    }
}

void RankSums::gatherFirst(model::StackOp stack) {
  SmallVector<Operation *> ops;
  for (Operation &op : stack.getBody().front())
    ops.push_back(&op);
  // What a parameter is depends on the stack that it stands in.
  model::StackOp outside = tiler.stack;
  tiler.stack = stack;
  Gathers gathers = gathersFor(ops, /*inRings=*/true);
  tiler.stack = outside;
  int64_t layer = stack.getReverse() ? int64_t(stack.getRepeat()) - 1 : 0;
  for (auto &[axes, list] : gathers) {
    SmallVector<std::pair<View, View>> views;
    for (const Shard *shard : list)
      views.push_back({plan.layerOf(shard->weight, layer),
                       plan.layerOf(shard->trainable->weight, layer)});
    gather("layers.parameters.first", axes, list, views, stack.getLoc());
  }
}

LogicalResult RankSums::contributed(model::GradientOp op,
                                    Trainable &trainable) {
  auto final = cast<model::GradientOp>(last.lookup(trainable.description));
  if (summedOver(op) != summedOver(final) ||
      op->getAttr(dist::kScattered) != final->getAttr(dist::kScattered) ||
      scatteredOver(op) != scatteredOver(final))
    return op.emitOpError()
           << "cannot be tiled: the gradient of " << trainable.name
           << " is a sum over other ranks elsewhere, or for others";
  ArrayAttr axes = summedOver(op);
  if (op != final || !axes || countRanks(mesh, axes) == 1)
    return success();
  bool isKept = trainable.shard && trainable.shard->parts.gradient;
  // Once, whenever a group's sum is made.
  if (trainable.shard && trainable.shard->groups &&
      (sums == Sums::All || sums == Sums::AtEnd))
    grouped.push_back(
        {trainable.shard, tiler.stack && tiler.stack.getReverse()});
  if ((sums == Sums::Kept && !isKept) || (sums == Sums::AtEnd && isKept) ||
      (sums == Sums::AreThere && !trainable.shard))
    return success();
  bool isShared =
      tiler.stack && trainable.layers != int64_t(tiler.stack.getRepeat());
  Form form{trainable.shard ? trainable.shard->axes : axes,
            trainable.shard != nullptr};
  auto &list = (isShared ? shared : pending)[form];
  list.push_back(&trainable);
  if (isShared)
    return success();
  int64_t bytes = 0;
  for (Trainable *complete : list)
    bytes += 4 * product(complete->gradient.type.getShape());
  if (bytes >= bucketBytes) {
    exchange(form, list);
    list.clear();
  }
  return success();
}

void RankSums::flush() {
  for (auto &[form, list] : pending)
    if (!list.empty())
      exchange(form, list);
  pending.clear();
  for (const Shard *shard : unsummed)
    shards.sum(*shard, tiler.training->accumulate);
  unsummed.clear();
  // The stack has ended, or else there are none.
  std::swap(pending, shared);
}

void RankSums::divide(Bucket &bucket, StringRef received) {
  int64_t summed = 0;
  for (const Tensor &tensor : bucket.tensors)
    summed += ceilDiv(tensor.elements, bucket.ranks);
  bucket.tiles = ceilDiv(summed, kSummedElements);
  for (Tensor &tensor : bucket.tensors) {
    tensor.width = llvm::alignTo(
        ceilDiv(tensor.elements, bucket.ranks * bucket.tiles), kPartElements);
    tensor.part = bucket.tiles * tensor.width;
    tensor.received =
        plan.received((tensor.trainable->name + received).str(), bucket.ranks,
                      tensor.part, bucket.layers, tensor.trainable->location);
  }
}

void RankSums::send(const Bucket &bucket, AffineExpr grid, StringRef purpose) {
  PhaseBuilder phase =
      plan.phase(bucket.name + ".exchange",
                 bucket.tensors.front().trainable->location, {grid}, {1});
  SmallVector<event::TransferAttr> transfers;
  for (const Tensor &tensor : bucket.tensors) {
    phase.reads(tensor.gradient, phase.whole(tensor.gradient));
    phase.writes(tensor.received, phase.whole(tensor.received),
                 {.may = tensor.elements != tensor.part * bucket.ranks});
    transfers.push_back(phase.transfer(tensor.gradient, tensor.received,
                                       tensor.elements, tensor.part));
  }
  phase.exchange(ExchangeKind::all_to_all, bucket.axes, purpose, transfers);
}

/// Makes a bucket of gradients, and the phase that begins it.
void RankSums::exchange(const Form &form, ArrayRef<Trainable *> trainables) {
  Bucket bucket;
  bucket.isSharded = form.second;
  bucket.name = plan.uniqueName(tiler.stack ? "layers.gradients" : "gradients");
  bucket.axes = form.first;
  bucket.ranks = countRanks(mesh, bucket.axes);
  bucket.layers = tiler.stack ? int64_t(tiler.stack.getRepeat()) : 1;
  bucket.reverse = bucket.layers > 1 && tiler.stack.getReverse();
  for (Trainable *trainable : trainables) {
    Tensor tensor{trainable, trainable->gradient};
    tensor.elements = product(trainable->gradient.type.getShape());
    if (bucket.isSharded) {
      const Shard &shard = *trainable->shard;
      tensor.shard = &shard;
      tensor.width = shard.blocks.size;
      tensor.part = shard.part();
      tensor.received = shard.received;
      if (shard.parts.gradient && sums != Sums::AreThere)
        unsummed.push_back(&shard);
    }
    bucket.tensors.push_back(tensor);
  }
  if (!bucket.isSharded)
    divide(bucket, ".received");
  // Steps that only add to gradients have no outputs, and no tasks here; but
  // ranks that keep only a part of what is added up exchange in every step.
  bool always = bucket.isSharded && trainables.front()->shard->parts.gradient;
  if (sums != Sums::AreThere)
    send(bucket, always ? plan.constant(1) : plan.symbol(event::kOutputs),
         bucket.isSharded ? "reduce_scatter" : "all_reduce");
  buckets.push_back(std::move(bucket));
}

void RankSums::sumGroups(Location location) {
  // As many layers, over the same axes, at once.
  llvm::MapVector<std::tuple<int64_t, int, ArrayAttr>,
                  SmallVector<SmallVector<const Shard *>>>
      lists;
  for (auto [shard, isReversed] : grouped) {
    int64_t layers = shard->trainable->layers, bytes = 0;
    auto &list = lists[{layers, layers > 1 && isReversed, shard->groups}];
    if (list.empty())
      list.emplace_back();
    for (const Shard *other : list.back())
      bytes += 4 * other->part();
    if (bytes >= bucketBytes)
      list.emplace_back();
    list.back().push_back(shard);
  }
  grouped.clear();
  SmallVector<Bucket> made;
  for (auto &[key, list] : lists)
    for (ArrayRef<const Shard *> members : list) {
      Bucket &bucket = made.emplace_back();
      std::tie(bucket.layers, bucket.reverse, bucket.axes) = key;
      bucket.isSharded = false;
      bucket.ranks = countRanks(mesh, bucket.axes);
      bucket.name =
          plan.uniqueName(bucket.layers > 1 ? "layers.groups" : "groups");
      for (const Shard *shard : members) {
        Tensor tensor{shard->trainable, shard->sum};
        tensor.elements = shard->part();
        bucket.tensors.push_back(tensor);
      }
      divide(bucket, ".groups");
    }
  Segments all = segments(made, [](const Bucket &) { return true; });
  auto inSegments = [&](StringRef name,
                        llvm::function_ref<void(const Bucket &)> add) {
    for (auto &[form, list] : all) {
      plan.beginSegment(plan.uniqueName(name), form.first, location,
                        form.second != 0);
      for (const Bucket *bucket : list)
        add(*bucket);
    }
  };
  inSegments("groups", [&](const Bucket &bucket) {
    send(bucket, plan.symbol(event::kOutputs), "all_reduce");
  });
  inSegments("sums", [&](const Bucket &bucket) { sum(bucket); });
  inSegments("gathers", [&](const Bucket &bucket) { gather(bucket); });
}

void RankSums::sum(const Bucket &bucket) {
  if (bucket.isSharded) {
    for (const Tensor &tensor : bucket.tensors)
      if (!tensor.shard->parts.gradient)
        shards.sum(*tensor.shard, {});
    return;
  }
  PhaseBuilder phase = plan.phase(
      bucket.name + ".sum", bucket.tensors.front().trainable->location,
      {plan.symbol(event::kOutputs) * bucket.tiles}, {bucket.tiles});
  for (const Tensor &tensor : bucket.tensors) {
    Box all = phase.whole(tensor.received);
    narrow(all, 1, phase.coordinate(0), tensor.width);
    Box first = all;
    first.high[0] = phase.constant(1);
    // The last ranks' parts may end early.
    phase.reads(tensor.received, all,
                {.may = tensor.elements != tensor.part * bucket.ranks});
    phase.writes(tensor.received, first);
    phase.call("sum_ranks",
               {phase.address(tensor.received, first),
                phase.address(tensor.received, first),
                phase.stride(tensor.received, 0), phase.integer(bucket.ranks),
                phase.integer(tensor.width)});
  }
}

void RankSums::gather(const Bucket &bucket) {
  PhaseBuilder phase =
      plan.phase(bucket.name + (bucket.isSharded ? ".parameters" : ".gather"),
                 bucket.tensors.front().trainable->location,
                 {plan.symbol(event::kOutputs)}, {1});
  SmallVector<event::TransferAttr> transfers;
  for (const Tensor &tensor : bucket.tensors) {
    const View &whole =
        bucket.isSharded ? tensor.trainable->weight : tensor.gradient;
    Box part = phase.whole(tensor.received);
    part.high[0] = phase.constant(1);
    phase.reads(tensor.received, part);
    phase.writes(whole, phase.whole(whole));
    transfers.push_back(
        phase.transfer(tensor.received, whole, tensor.elements, tensor.part));
  }
  phase.exchange(ExchangeKind::all_gather, bucket.axes,
                 bucket.isSharded ? "all_gather" : "all_reduce", transfers);
}

RankSums::Segments
RankSums::segments(ArrayRef<Bucket> buckets,
                   llvm::function_ref<bool(const Bucket &)> has) {
  Segments segments;
  // Those of stacks are exchanged first.
  for (bool layered : {true, false})
    for (const Bucket &bucket : buckets)
      if ((bucket.layers > 1) == layered && has(bucket))
        segments[{bucket.layers, bucket.reverse}].push_back(&bucket);
  return segments;
}

void RankSums::finish(Location location) {
  flush();
  for (auto &[form, list] :
       segments(buckets, [](const Bucket &) { return true; })) {
    plan.beginSegment(plan.uniqueName("sums"), form.first, location,
                      form.second != 0);
    for (const Bucket *bucket : list)
      sum(*bucket);
  }
  for (auto &[form, list] : segments(
           buckets, [](const Bucket &bucket) { return !bucket.isSharded; })) {
    plan.beginSegment(plan.uniqueName("gathers"), form.first, location,
                      form.second != 0);
    for (const Bucket *bucket : list)
      gather(*bucket);
  }
  sumGroups(location);
}

void RankSums::gatherNumbers(ArrayRef<Gathered *> list, Location location) {
  llvm::MapVector<ArrayAttr, SmallVector<Gathered *>> groups;
  for (Gathered *one : list)
    groups[one->axes].push_back(one);
  for (auto &[axes, members] : groups) {
    int64_t ranks = countRanks(mesh, axes);
    SmallVector<View> all;
    for (Gathered *one : members)
      all.push_back(plan.received(one->name + ".squares.ranks", 1,
                                  ranks * product(one->numbers.type.getShape()),
                                  1, location));
    PhaseBuilder phase = plan.phase(plan.uniqueName("norm.gather"), location,
                                    {plan.symbol(event::kOutputs)}, {1});
    SmallVector<event::TransferAttr> transfers;
    for (auto [one, gathered] : llvm::zip(members, all)) {
      int64_t part = product(one->numbers.type.getShape());
      phase.reads(one->numbers, phase.whole(one->numbers));
      phase.writes(gathered, phase.whole(gathered));
      transfers.push_back(
          phase.transfer(one->numbers, gathered, ranks * part, part));
    }
    phase.exchange(ExchangeKind::all_gather, axes, "norm", transfers);
    for (auto [one, gathered] : llvm::zip(members, all))
      one->numbers = gathered;
  }
}

LogicalResult
RankSums::updateShards(llvm::function_ref<LogicalResult(Trainable &)> update,
                       Location location) {
  Segments segments = this->segments(
      buckets, [](const Bucket &bucket) { return bucket.isSharded; });
  // What lies in one place for all layers is gathered before the next one's.
  auto waits = [](const Bucket &bucket) {
    return bucket.tensors.front().shard->parts.gradient;
  };
  auto keeps = [](const Bucket &bucket) {
    return bucket.tensors.front().shard->parts.weight;
  };
  for (auto &[form, list] : segments) {
    plan.beginSegment(plan.uniqueName("update.parts"), form.first, location,
                      form.second != 0);
    for (const Bucket *bucket : list) {
      for (const Tensor &tensor : bucket->tensors)
        if (failed(update(*tensor.trainable)))
          return failure();
      if (waits(*bucket) && !keeps(*bucket))
        gather(*bucket);
    }
  }
  for (auto &[form, list] : segments) {
    plan.beginSegment(plan.uniqueName("gathers"), form.first, location,
                      form.second != 0);
    for (const Bucket *bucket : list)
      if (!waits(*bucket))
        gather(*bucket);
  }
  return success();
}

View RankSums::gatherLoss(const View &loss, Location location) {
  ArrayAttr axes = mesh.getBatch();
  int64_t ranks = countRanks(mesh, axes);
  if (ranks == 1)
    return loss;
  View own = plan.received("loss.own", 1, kPartElements, 1, location);
  View all = plan.received("loss.ranks", ranks, kPartElements, 1, location);
  {
    PhaseBuilder phase = plan.phase(plan.uniqueName("loss.sum"), location,
                                    {plan.constant(1)}, {1});
    sumColumns(phase, loss, phase.count(plan.extent(model::kRows)), own,
               kPartElements);
  }
  PhaseBuilder phase = plan.phase(plan.uniqueName("loss.gather"), location,
                                  {plan.constant(1)}, {1});
  phase.reads(own, phase.whole(own));
  phase.writes(all, phase.whole(all));
  phase.exchange(
      ExchangeKind::all_gather, axes, "loss",
      phase.transfer(own, all, ranks * kPartElements, kPartElements));
  View losses = all;
  losses.type = all.type.withShape({ranks, countColumns(loss)});
  return losses;
}
