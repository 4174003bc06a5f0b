//===- vocabulary_parts.cpp - the loss over parts of the vocabulary -------===//
//
// A rank's logits are made twice: for their maximum and, at the same time, the
// sum of their exponentials relative to it, and again for their gradients. So
// none are kept while ranks exchange numbers of the rows.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/rules/Rules.h"

#include "passes/collectives/RankPlaces.h"
#include "passes/tiling/LogitParts.h"
#include "passes/tiling/TilingPieces.h"

using namespace mlir;
using namespace baton;
using namespace baton::tasks;

/// The sums of the same logits, which are made where their maximum is.
static dist::LogitSumsOp sumsOf(dist::LogitMaximumOp op) {
  for (Operation *user : op.getX().getUsers())
    if (auto sums = dyn_cast<dist::LogitSumsOp>(user))
      if (sums.getWeight() == op.getWeight())
        return sums;
  return {};
}

/// Views, and behind them those of a teacher.
static SmallVector<View> withTeacher(ArrayRef<View> views, ValueRange teacher,
                                     Tiler &tiler) {
  SmallVector<View> all(views);
  for (Value value : teacher)
    all.push_back(tiler.viewOf(value));
  return all;
}

static LogicalResult tile(dist::LogitMaximumOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  dist::LogitSumsOp sums = sumsOf(op);
  if (!sums)
    return op.emitOpError() << "cannot be tiled: nothing sums its logits";
  model::ShardAttr shard = RankPlaces::tokensOf(op.getWeight());
  if (!shard)
    return op.emitOpError() << "cannot be tiled: its weight is no part of one";
  LogitParts logits(op, op.getX(), op.getWeight(), op.getBias(),
                    sums.getTargets(), tiler, training);
  std::string name = plan.uniqueName(nameOf(op) + ".loss");
  View maximum = tiler.bufferFor(op.getResult(), name + ".maximum");
  auto pair = cast<model::StepTensorType>(sums.getResult().getType());
  View own = plan.transient(plan.uniqueName(name + ".own"), pair, op.getLoc());
  View largest = plan.transient(
      plan.uniqueName(name + ".own_maximum"),
      cast<model::StepTensorType>(op.getResult().getType()), op.getLoc());
  if (failed(logits.begin(name)))
    return failure();
  for (const LogitPart &part : logits.parts()) {
    logits.tileLogits(part);
    logits.tileRows(
        part, "",
        op.getTeacher().empty() ? "logit_statistics" : "teacher_statistics",
        {maximum, largest, own},
        withTeacher({tiler.viewOf(sums.getTargets())}, op.getTeacher(), tiler),
        [&](PhaseBuilder &phase, Attribute rows,
            SmallVectorImpl<Attribute> &operands) {
          operands.append({tiler.places->read(phase, shard), rows});
          appendTeacherTokens(op.getTeacher(), phase, operands);
          operands.append(
              {phase.real(op.getScale()), phase.real(op.getSoftcap())});
        });
    logits.next();
  }
  tiler.views[op.getResult()] = maximum;
  training.logits[sums] = {largest, own};
  return success();
}

/// Adds a phase over tiles of rows, whose body takes some numbers of each: out
/// and the inputs, each a pointer and a stride, and how many rows.
static LogicalResult tileNumbers(Operation *op, const std::string &name,
                                 StringRef callee, ArrayRef<View> inputs,
                                 Tiler &tiler) {
  View out = tiler.resultFor(op, name);
  RowTiles tiles(tiler, out.type,
                 tiler.rowsOf(op, tiler.plan.tiles().plainRows));
  PhaseBuilder phase =
      tiler.plan.phase(name, op->getLoc(), {tiles.extent}, {tiles.capacity});
  SmallVector<Attribute> operands;
  appendWrite(phase, out, rowsOfTask(phase, out, tiles.size), operands);
  for (const View &input : inputs)
    appendRead(phase, input, rowsOfTask(phase, input, tiles.size), operands);
  operands.push_back(tiles.count(phase));
  phase.call(callee, operands);
  return success();
}

static LogicalResult tile(dist::LogitSumsOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  auto found = training.logits.find(op);
  if (found == training.logits.end())
    return op.emitOpError() << "cannot be tiled: nothing makes its logits";
  auto [largest, own] = found->second;
  std::string name = plan.uniqueName(nameOf(op) + ".sums");
  return tileNumbers(
      op, name, op.getTeacher().empty() ? "logit_sums" : "teacher_sums",
      withTeacher({largest, own, tiler.viewOf(op.getMaximum())},
                  op.getTeacher().take_back(op.getTeacher().size() / 2), tiler),
      tiler);
}

static LogicalResult tile(dist::LossesOp op, Tiler &tiler) {
  PlanBuilder &plan = tiler.plan;
  std::string name = plan.uniqueName(nameOf(op));
  return tileNumbers(
      op, name, op.getTeacher().empty() ? "losses" : "teacher_losses",
      withTeacher({tiler.viewOf(op.getMaximum()), tiler.viewOf(op.getSums()),
                   tiler.viewOf(op.getWeights())},
                  op.getTeacher(), tiler),
      tiler);
}

static LogicalResult tile(dist::LossGradientsOp op, Tiler &tiler,
                          Training &training) {
  PlanBuilder &plan = tiler.plan;
  model::ShardAttr shard = RankPlaces::tokensOf(op.getWeight());
  if (!shard)
    return op.emitOpError() << "cannot be tiled: its weight is no part of one";
  LogitParts logits(op, op.getX(), op.getWeight(), op.getBias(),
                    op.getWeights(), tiler, training);
  std::string name = plan.uniqueName(nameOf(op) + ".loss_gradients");
  if (failed(logits.begin(name)))
    return failure();
  FailureOr<LogitGradients> gradients =
      logits.gradientsOf(op.getDx(), op.getDweight(), op.getDbias());
  if (failed(gradients))
    return failure();
  View maximum = tiler.viewOf(op.getMaximum()),
       sums = tiler.viewOf(op.getSums());
  for (const LogitPart &part : logits.parts()) {
    logits.tileLogits(part);
    logits.tileRows(
        part, "",
        op.getTeacher().empty() ? "loss_gradients" : "teacher_gradients", {},
        withTeacher({tiler.viewOf(op.getTargets()),
                     tiler.viewOf(op.getWeights()), maximum, sums},
                    op.getTeacher(), tiler),
        [&](PhaseBuilder &phase, Attribute rows,
            SmallVectorImpl<Attribute> &operands) {
          operands.append({tiler.places->read(phase, shard), rows,
                           phase.integer(logits.vocabulary())});
          appendTeacherTokens(op.getTeacher(), phase, operands);
          operands.append(
              {phase.real(op.getScale()), phase.real(op.getSoftcap())});
        });
    logits.tileGradients(part, *gradients);
    logits.next();
  }
  return success();
}

void tasks::addVocabularyParts(TilingRules &rules) {
  rules.add<dist::LogitMaximumOp>(tile);
  rules.add<dist::LogitSumsOp>(tile);
  rules.add<dist::LossesOp>(tile);
  rules.add<dist::LossGradientsOp>(tile);
}
