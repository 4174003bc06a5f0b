//===- HyperFusion.cpp - one reading of the streams between sublayers -----===//

#include "passes/fusion/Passes.h"
#include "passes/fusion/Rewrites.h"

namespace baton::fusion {
#define GEN_PASS_DEF_HYPERFUSION
#include "passes/fusion/Passes.h.inc"
} // namespace baton::fusion

using namespace mlir;
using namespace baton;
using namespace baton::model;
using namespace baton::fusion;

/// The value whose first columns, or all, this is.
static Value firstColumnsOf(Value value) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice)
    return value;
  return slice.getAxis() == 1 && slice.getOffset() == 0 ? slice.getX()
                                                        : Value();
}

/// Whatever makes a value stands before `op` in its block, or is moved there:
/// parameters depend on nothing.
static bool isReadyAt(Value value, Operation *op) {
  Operation *maker = value.getDefiningOp();
  return !maker || maker->getBlock() != op->getBlock() ||
         maker->isBeforeInBlock(op) || isa<ParameterOp>(maker);
}

static void moveParameterBefore(Value value, Operation *op) {
  Operation *maker = value.getDefiningOp();
  if (maker && maker->getBlock() == op->getBlock() &&
      !maker->isBeforeInBlock(op))
    maker->moveBefore(op);
}

/// hyper_project, hyper_maps and hyper_pre become hyper_enter.
static Outcome fuseEnter(RewriterBase &rewriter, HyperPreOp pre) {
  Value weights = firstColumnsOf(pre.getWeights());
  auto maps = weights ? weights.getDefiningOp<HyperMapsOp>() : HyperMapsOp();
  if (!maps || maps->getBlock() != pre->getBlock())
    return {false, pre,
            "hyper_pre stays a phase: no hyper_maps of its block makes its "
            "weights as the first of its numbers"};
  auto project = maps.getLogits().getDefiningOp<HyperProjectOp>();
  if (!project || project->getBlock() != pre->getBlock() ||
      project.getX() != pre.getX())
    return {false, pre,
            "hyper_pre stays a phase: its weights are no function of the "
            "streams that it reads"};
  if (!maps.getLogits().hasOneUse())
    return {false, pre,
            "hyper_pre stays a phase: the maps' logits are kept, as an adjoint "
            "reads them"};
  // The maps exist from where hyper_maps stood.
  rewriter.setInsertionPoint(maps);
  auto enter = rewriter.create<HyperEnterOp>(
      FusedLoc::get(pre.getContext(), {pre.getLoc(), maps.getLoc()}),
      TypeRange({pre.getType(), maps.getType()}), pre.getX(), project.getPhi(),
      maps.getScale(), maps.getBase(), project.getEpsilonAttr(),
      maps.getMixingAttr(), maps.getIterationsAttr(), maps.getEpsilonAttr());
  auto slice = pre.getWeights().getDefiningOp<SliceOp>();
  rewriter.replaceOp(pre, enter.getResult());
  rewriter.replaceOp(maps, enter.getMaps());
  rewriter.eraseOp(project);
  if (slice && slice.use_empty())
    rewriter.eraseOp(slice);
  return {true, enter,
          "computes a row's maps and what the sublayer reads while the row is "
          "in the cache: two phases and two events less, and the streams are "
          "read once"};
}

/// hyper_post and the hyper_enter of what it makes become hyper_turn.
static Outcome fuseTurn(RewriterBase &rewriter, HyperEnterOp enter) {
  auto post = enter.getX().getDefiningOp<HyperPostOp>();
  if (!post || post->getBlock() != enter->getBlock())
    return {false, enter,
            "hyper_enter stays a phase of its own: no hyper_post of its block "
            "makes the streams"};
  for (Value parameter : {enter.getPhi(), enter.getScale(), enter.getBase()})
    if (!isReadyAt(parameter, post))
      return {false, enter,
              "hyper_enter stays a phase of its own: a parameter of it is "
              "made after hyper_post"};
  for (Value parameter : {enter.getPhi(), enter.getScale(), enter.getBase()})
    moveParameterBefore(parameter, post);
  rewriter.setInsertionPoint(post);
  auto turn = rewriter.create<HyperTurnOp>(
      FusedLoc::get(enter.getContext(), {enter.getLoc(), post.getLoc()}),
      TypeRange({post.getType(), enter.getResult().getType(),
                 enter.getMaps().getType()}),
      ValueRange({post.getX(), post.getY(), post.getWeights(), enter.getPhi(),
                  enter.getScale(), enter.getBase()}),
      enter->getAttrs());
  rewriter.replaceOp(enter, ValueRange({turn.getResult(), turn.getMaps()}));
  rewriter.replaceOp(post, turn.getStreams());
  return {true, turn,
          "ends one sublayer and begins the next while a row is in the cache: "
          "a phase and an event less, and between the two the streams are read "
          "once and written once"};
}

Outcome fusion::fuseHyper(RewriterBase &rewriter, HyperPreOp pre) {
  Outcome entered = fuseEnter(rewriter, pre);
  if (!entered.done)
    return entered;
  Outcome turned = fuseTurn(rewriter, cast<HyperEnterOp>(entered.op));
  return turned.done ? turned : entered;
}

namespace {
struct HyperFusion : baton::fusion::impl::HyperFusionBase<HyperFusion> {
  using HyperFusionBase::HyperFusionBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<HyperPreOp> ops;
    getOperation().walk([&](HyperPreOp op) { ops.push_back(op); });
    for (HyperPreOp op : ops) {
      Outcome outcome = fuseHyper(rewriter, op);
      numEntered += isa<HyperEnterOp>(outcome.op) && outcome.done;
      numTurned += isa<HyperTurnOp>(outcome.op) && outcome.done;
      if (explain)
        outcome.remark();
    }
  }
};
} // namespace
