//===- Structure.cpp - what moves or names values -------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/collectives/RankSums.h"
#include "passes/collectives/RowExchanges.h"
#include "passes/collectives/StepSums.h"
#include "passes/stages/DecodeMessages.h"
#include "passes/tiling/BatchInputs.h"
#include "passes/tiling/TilingPieces.h"
#include "passes/tiling/Training.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;
using model::typeOf;

static LogicalResult tile(model::ReturnOp op, Tiler &tiler) {
  View logits = tiler.viewOf(op.getOperand(0));
  if (tiler.training)
    return tiler.training->finish(logits, op.getLoc());
  // The runtime gets a pointer and a row stride.
  bool plain = logits.fixedStrideOf(1) == 1 &&
               logits.buffer.getCapacity().size() == 2 &&
               logits.buffer.getCapacity()[1] == logits.type.getDimension(1) &&
               logits.map.getResult(0) == getAffineDimExpr(0, op.getContext());
  if (!plain) {
    std::string name = tiler.plan.uniqueName("logits");
    View copy = tiler.plan.transient(name, logits.type, op.getLoc());
    if (failed(tileCopy(op, name, logits, copy, tiler)))
      return failure();
    logits = copy;
  }
  View hidden;
  if (tiler.batch && op.getNumOperands() > 2) {
    hidden = tiler.batch->hiddenStates();
    View made = tiler.viewOf(op.getOperand(2));
    if (made.buffer != hidden.buffer &&
        failed(tileCopy(op, tiler.plan.uniqueName("hidden_states_copy"), made,
                        hidden, tiler)))
      return failure();
  }
  PhaseBuilder phase =
      tiler.plan.phase(tiler.plan.uniqueName("advance"), op.getLoc(),
                       {tiler.plan.constant(1)}, {1});
  phase.reads(
      logits, phase.whole(logits),
      {.may = tiler.batch && tiler.batch->mayLeaveOut(op.getOperand(0))});
  if (tiler.batch) {
    View draws = tiler.viewOf(op.getOperand(1));
    Box drawn = phase.whole(draws), listed = drawn;
    drawn.high[1] = listed.low[1] = phase.constant(model::kDrawnWords);
    phase.reads(draws, drawn);
    phase.reads(draws, listed, {.may = true});
    if (hidden.buffer)
      phase.reads(hidden, phase.whole(hidden));
    tiler.batch->provide(phase);
  }
  phase.advance(logits);
  return success();
}

static LogicalResult tile(model::SaveOp op, Tiler &tiler, Training &training) {
  PlanBuilder &plan = tiler.plan;
  View x = tiler.viewOf(op.getX());
  const View &saved = training.saved[op.getName()];
  if (x.buffer == saved.buffer)
    return success();
  return tileCopy(op, plan.uniqueName(op.getName().str() + ".save"), x, saved,
                  tiler);
}

static LogicalResult tile(model::SavedOp op, Tiler &tiler, Training &training) {
  tiler.views[op.getResult()] = training.saved[op.getName()];
  return success();
}

static LogicalResult tile(model::GradientOp op, Tiler &tiler,
                          Training &training) {
  if (op.getGradient().getDefiningOp<model::CustomOp>()) {
    if (failed(tileCustomGradient(op, tiler, training)))
      return failure();
  } else if (!isa_and_nonnull<
                 model::LinearWeightGradientOp,
                 model::HeadLinearWeightGradientOp,
                 model::GroupedLinearWeightGradientOp,
                 model::GroupedBiasGradientOp, model::BiasGradientOp,
                 model::EmbeddingGradientOp, model::NormWeightGradientOp,
                 model::CrossEntropyOp, model::HyperScaleGradientOp,
                 model::MagnitudeGradientOp, model::RouterLoadsOp,
                 dist::LossGradientsOp>(op.getGradient().getDefiningOp())) {
    return op.emitOpError() << "cannot be tiled: no op that sums over rows "
                               "makes it";
  }
  return training.rankSums ? training.rankSums->contributed(
                                 op, training.trainable(op.getParameter()))
                           : success();
}

static LogicalResult tile(model::JoinOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op) + ".join");
  View out = tiler.resultFor(op, name);
  int64_t offset = 0;
  for (Value part : op.getParts()) {
    View place = out;
    place.type = typeOf(part);
    SmallVector<AffineExpr> index;
    for (unsigned d = 0; d < place.type.getRank(); ++d)
      index.push_back(getAffineDimExpr(d, op.getContext()) +
                      (d == op.getAxis() ? offset : 0));
    place.map =
        simplifyAffineMap(AffineMap::get(index.size(), event::kStepSymbols,
                                         out.indexOf(index), op.getContext()));
    if (failed(tileCopy(op, plan.uniqueName(name + ".part"), tiler.viewOf(part),
                        place, tiler)))
      return failure();
    offset += place.type.getDimension(op.getAxis());
  }
  return success();
}

static LogicalResult tileView(Operation *op, Tiler &tiler) {
  View x = tiler.viewOf(op->getOperand(0));
  if (std::optional<View> view = viewThrough(op, x)) {
    tiler.views[op->getResult(0)] = *view;
    return success();
  }
  // The elements do not lie evenly: lay them out anew, then look again.
  std::string name = tiler.plan.uniqueName(nameOf(op));
  View copy = tiler.plan.transient(name, x.type, op->getLoc());
  if (failed(tileCopy(op, name, x, copy, tiler)))
    return failure();
  std::optional<View> view = viewThrough(op, copy);
  if (!view)
    return op->emitOpError() << "cannot be tiled: no layout of " << x.type
                             << " makes this a view";
  tiler.views[op->getResult(0)] = *view;
  return success();
}

/// Whoever reads it says in which form.
static LogicalResult tileWeight(Operation *, Tiler &) { return success(); }

static LogicalResult tileSum(Operation *op, Tiler &tiler) {
  return tiler.sums->tile(op);
}

static LogicalResult tile(dist::FirstRankOp op, Tiler &tiler) {
  return tiler.sums->tile(op);
}

void tasks::addStructure(TilingRules &rules) {
  rules.addFor<model::ParameterOp, model::ConcatOp>(tileWeight);
  rules.addFor<model::ReshapeOp, model::TransposeOp, model::SliceOp,
               model::BroadcastOp, model::ReindexOp, model::LastRowsOp>(
      tileView);
  rules.addFor<dist::AllReduceOp, dist::ReduceScatterOp, dist::AllGatherOp,
               dist::SliceOp>(tileSum);
  rules.addFor<dist::ReceiveOp, dist::SendOp>(tileMessage);
  rules.add<dist::FirstRankOp>(tile);
  rules.add<dist::ExchangeCountsOp>(tileExchange);
  rules.add<dist::DispatchRowsOp>(tileExchange);
  rules.add<dist::CombineRowsOp>(tileExchange);
  rules.add<model::JoinOp>(tile);
  rules.add<model::SaveOp>(tile);
  rules.add<model::SavedOp>(tile);
  rules.add<model::GradientOp>(tile);
  rules.add<model::ReturnOp>(tile);
  rules.add<model::CustomOp>(tileCustom);
}
