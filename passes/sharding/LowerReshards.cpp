//===- LowerReshards.cpp - reshards as collectives ------------------------===//

#include "passes/sharding/Passes.h"

#include "passes/sharding/ReshardSteps.h"

namespace baton::sharding {
#define GEN_PASS_DEF_LOWERRESHARDS
#include "passes/sharding/Passes.h.inc"
} // namespace baton::sharding

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::sharding;

/// One step of a value's way.
static Value lower(const ReshardStep &step, ReshardOp op, Value value,
                   MeshOp mesh) {
  OpBuilder builder(op);
  Location location = op.getLoc();
  Type type = value.getType();
  ArrayAttr axes = builder.getArrayAttr(
      SmallVector<Attribute>(step.axes.begin(), step.axes.end()));
  std::string payload;
  if (step.communicates())
    payload = countBytes(cast<StepTensorType>(type), step.payload(), mesh);
  switch (step.kind) {
  case ReshardStep::allReduce:
    return builder.create<AllReduceOp>(location, type, value, axes, step.from,
                                       step.to, payload);
  case ReshardStep::reduceScatter:
    return builder.create<ReduceScatterOp>(location, type, value, axes,
                                           step.dimension, step.from, step.to,
                                           payload);
  case ReshardStep::allGather:
    return builder.create<AllGatherOp>(location, type, value, axes,
                                       step.dimension, step.from, step.to,
                                       payload);
  case ReshardStep::allToAll:
    return builder.create<AllToAllOp>(location, type, value, axes,
                                      step.dimension, step.other, step.from,
                                      step.to, payload);
  case ReshardStep::slice:
    return builder.create<dist::SliceOp>(location, type, value, axes,
                                         step.dimension, step.from, step.to);
  case ReshardStep::firstRank:
    return builder.create<FirstRankOp>(location, type, value, axes, step.from,
                                       step.to);
  }
  llvm_unreachable("a kind of step");
}

namespace {
struct LowerReshards : baton::sharding::impl::LowerReshardsBase<LowerReshards> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    SmallVector<ReshardOp> ops;
    getOperation().walk([&](ReshardOp op) { ops.push_back(op); });
    for (ReshardOp op : ops) {
      Value value = op.getX();
      for (const ReshardStep &step : stepsOf(op.getFrom(), op.getTo())) {
        value = lower(step, op, value, mesh);
        numCollectives += step.communicates();
      }
      op.replaceAllUsesWith(value);
      op.erase();
    }
  }
};
} // namespace
