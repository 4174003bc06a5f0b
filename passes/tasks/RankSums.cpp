//===- RankSums.cpp - sums over ranks in a training program ---------------===//

#include "passes/tasks/RankSums.h"

#include "passes/tasks/TilingPieces.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using event::ExchangeKind;

/// Elements whose sums are one task's, about.
static constexpr int64_t kSummedElements = 16384;

/// Parts begin on a cache line.
static constexpr int64_t kPartElements = 16;

static int64_t product(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

static ArrayAttr summedOver(model::GradientOp op) {
  return op->getAttrOfType<ArrayAttr>(dist::kSummed);
}

static int64_t countRanks(dist::MeshOp mesh, ArrayAttr axes) {
  return mesh.countRanks(llvm::to_vector(axes.getAsRange<StringAttr>()));
}

RankSums::RankSums(Tiler &tiler, Operation *scope, dist::MeshOp mesh,
                   int64_t bucketBytes)
    : tiler(tiler), plan(tiler.plan), mesh(mesh), bucketBytes(bucketBytes) {
  // What a parameter is depends on the stack that it stands in.
  scope->walk([&](model::GradientOp op) {
    tiler.stack = op->getParentOfType<model::StackOp>();
    last[tiler.describe(op.getParameter())] = op;
  });
  tiler.stack = {};
}

LogicalResult RankSums::contributed(model::GradientOp op,
                                    Trainable &trainable) {
  auto final = cast<model::GradientOp>(last.lookup(trainable.description));
  if (summedOver(op) != summedOver(final))
    return op.emitOpError()
           << "cannot be tiled: the gradient of " << trainable.name
           << " is a sum over other ranks elsewhere";
  ArrayAttr axes = summedOver(op);
  if (op != final || !axes || countRanks(mesh, axes) == 1)
    return success();
  bool isShared =
      tiler.stack && trainable.layers != int64_t(tiler.stack.getRepeat());
  auto &list = (isShared ? shared : pending)[axes];
  list.push_back(&trainable);
  if (isShared)
    return success();
  int64_t bytes = 0;
  for (Trainable *complete : list)
    bytes += 4 * product(complete->gradient.type.getShape());
  if (bytes >= bucketBytes) {
    exchange(axes, list);
    list.clear();
  }
  return success();
}

void RankSums::flush() {
  for (auto &[axes, list] : pending)
    if (!list.empty())
      exchange(axes, list);
  pending.clear();
  // The stack has ended, or else there are none.
  std::swap(pending, shared);
}

/// Makes a bucket of gradients, and the phase that begins it.
void RankSums::exchange(ArrayAttr axes, ArrayRef<Trainable *> trainables) {
  Bucket bucket;
  bucket.name = plan.uniqueName(tiler.stack ? "layers.gradients" : "gradients");
  bucket.axes = axes;
  bucket.ranks = countRanks(mesh, axes);
  bucket.layers = tiler.stack ? int64_t(tiler.stack.getRepeat()) : 1;
  bucket.reverse = bucket.layers > 1 && tiler.stack.getReverse();
  int64_t summed = 0;
  for (Trainable *trainable : trainables) {
    Tensor tensor;
    tensor.trainable = trainable;
    tensor.elements = product(trainable->gradient.type.getShape());
    summed += ceilDiv(tensor.elements, bucket.ranks);
    bucket.tensors.push_back(tensor);
  }
  bucket.tiles = ceilDiv(summed, kSummedElements);
  for (Tensor &tensor : bucket.tensors) {
    tensor.width = llvm::alignTo(
        ceilDiv(tensor.elements, bucket.ranks * bucket.tiles), kPartElements);
    tensor.part = bucket.tiles * tensor.width;
    tensor.received =
        plan.received(tensor.trainable->name + ".received", bucket.ranks,
                      tensor.part, bucket.layers, tensor.trainable->location);
  }

  // Steps that only add to gradients have no outputs, and no tasks here.
  PhaseBuilder phase =
      plan.phase(bucket.name + ".exchange", trainables.front()->location,
                 {plan.symbol(event::kOutputs)}, {1});
  SmallVector<event::TransferAttr> transfers;
  for (const Tensor &tensor : bucket.tensors) {
    const View &gradient = tensor.trainable->gradient;
    phase.reads(gradient, phase.whole(gradient));
    phase.writes(tensor.received, phase.whole(tensor.received));
    transfers.push_back(phase.transfer(gradient, tensor.received,
                                       tensor.elements, tensor.part));
  }
  phase.exchange(ExchangeKind::all_to_all, axes, "all_reduce", transfers);
  buckets.push_back(std::move(bucket));
}

void RankSums::sum(const Bucket &bucket) {
  PhaseBuilder phase = plan.phase(
      bucket.name + ".sum", bucket.tensors.front().trainable->location,
      {plan.symbol(event::kOutputs) * bucket.tiles}, {bucket.tiles});
  for (const Tensor &tensor : bucket.tensors) {
    Box all = phase.whole(tensor.received);
    narrow(all, 1, phase.coordinate(0), tensor.width);
    Box first = all;
    first.high[0] = phase.constant(1);
    phase.reads(tensor.received, all);
    phase.writes(tensor.received, first);
    phase.call("sum_ranks",
               {phase.address(tensor.received, first),
                phase.stride(tensor.received, 0), phase.integer(bucket.ranks),
                phase.integer(tensor.width)});
  }
}

void RankSums::gather(const Bucket &bucket) {
  PhaseBuilder phase = plan.phase(bucket.name + ".gather",
                                  bucket.tensors.front().trainable->location,
                                  {plan.symbol(event::kOutputs)}, {1});
  SmallVector<event::TransferAttr> transfers;
  for (const Tensor &tensor : bucket.tensors) {
    const View &gradient = tensor.trainable->gradient;
    Box sums = phase.whole(tensor.received);
    sums.high[0] = phase.constant(1);
    phase.reads(tensor.received, sums);
    phase.writes(gradient, phase.whole(gradient));
    transfers.push_back(phase.transfer(tensor.received, gradient,
                                       tensor.elements, tensor.part));
  }
  phase.exchange(ExchangeKind::all_gather, bucket.axes, "all_reduce",
                 transfers);
}

void RankSums::finish(Location location) {
  flush();
  llvm::MapVector<std::pair<int64_t, int>, SmallVector<const Bucket *>>
      segments;
  // Those of stacks are exchanged first.
  for (bool layered : {true, false})
    for (const Bucket &bucket : buckets)
      if ((bucket.layers > 1) == layered)
        segments[{bucket.layers, bucket.reverse}].push_back(&bucket);
  for (auto &[form, list] : segments) {
    plan.beginSegment(plan.uniqueName("sums"), form.first, location,
                      form.second != 0);
    for (const Bucket *bucket : list)
      sum(*bucket);
  }
  for (auto &[form, list] : segments) {
    plan.beginSegment(plan.uniqueName("gathers"), form.first, location,
                      form.second != 0);
    for (const Bucket *bucket : list)
      gather(*bucket);
  }
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
    SmallVector<Attribute> operands;
    phase.writes(own, phase.whole(own));
    operands.append(
        {phase.address(own, phase.whole(own)), phase.integer(kPartElements)});
    appendRead(phase, loss, phase.whole(loss), operands);
    operands.push_back(phase.count(plan.extent(model::kRows)));
    phase.call("sum_losses", operands);
  }
  PhaseBuilder phase = plan.phase(plan.uniqueName("loss.gather"), location,
                                  {plan.constant(1)}, {1});
  phase.reads(own, phase.whole(own));
  phase.writes(all, phase.whole(all));
  phase.exchange(
      ExchangeKind::all_gather, axes, "loss",
      phase.transfer(own, all, ranks * kPartElements, kPartElements));
  View losses = all;
  losses.type = all.type.withShape({ranks});
  losses.map = AffineMap::get(
      1, event::kStepSymbols,
      {getAffineDimExpr(0, plan.context()), plan.constant(0)}, plan.context());
  return losses;
}
