//===- LossExpansion.cpp - losses over a sharded vocabulary ---------------===//
//
// A rank has logits of some of the vocabulary. The loss needs of all of them
// their maximum, the sum of their exponentials relative to it, and the target's
// (Shoeybi et al., "Megatron-LM", 2019).
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/LossExpansion.h"

#include "passes/sharding/Derivation.h"

using namespace mlir;
using namespace baton;
using namespace baton::dist;
using namespace baton::model;
using namespace baton::sharding;

/// How the op reads its operands.
static SmallVector<PlacementAttr> readPlacements(Operation *op) {
  SmallVector<PlacementAttr> placements;
  auto list = op->getAttrOfType<ArrayAttr>(kOperands);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    placements.push_back(list ? cast<PlacementAttr>(list[i])
                              : dist::placementOf(operand));
  return placements;
}

/// States what follows from the operands, and where results then lie: whole
/// sums, unless something else is given.
static LogicalResult annotate(Operation *op, ArrayRef<PlacementAttr> operands,
                              ArrayRef<PlacementAttr> results, MeshOp mesh) {
  auto list = [&](ArrayRef<PlacementAttr> placements) {
    return ArrayAttr::get(
        op->getContext(),
        SmallVector<Attribute>(placements.begin(), placements.end()));
  };
  std::optional<Rule> rule = ruleOf(op);
  if (!rule)
    return failure();
  auto computed = deriveResults(*rule, operands, {}, mesh,
                                [&] { return op->emitOpError(); });
  if (!computed)
    return failure();
  SmallVector<PlacementAttr> lie(results);
  if (lie.empty())
    for (PlacementAttr placement : *computed)
      lie.push_back(placement.withoutPartial());
  op->setAttr(kOperands, list(operands));
  op->setAttr(kComputed, list(*computed));
  op->setAttr(kPlacements, list(lie));
  return success();
}

namespace {
/// What ranks find out about logits together.
struct Statistics {
  LogitMaximumOp maximum;
  LogitSumsOp sums;

  /// Whether they are those of an op's logits and targets.
  bool areOf(CrossEntropyOp op) {
    return sums.getX() == op.getX() && sums.getWeight() == op.getWeight() &&
           sums.getTargets() == op.getTargets() &&
           sums.getTeacher() == op.getTeacher() &&
           sums.getBias() == op.getBias() &&
           sums.getScaleAttr() == op.getScaleAttr() &&
           sums.getSoftcapAttr() == op.getSoftcapAttr();
  }
};
} // namespace

/// `known`: of the ops before, in the order of the program.
static LogicalResult expand(CrossEntropyOp op, MeshOp mesh,
                            SmallVectorImpl<Statistics> &known) {
  SmallVector<PlacementAttr> read = readPlacements(op);
  PlacementAttr x = read[0], weight = read[1], targets = read[2],
                weights = read[3];
  // And those of a teacher and a bias, where there are any.
  auto withRest = [&](ArrayRef<PlacementAttr> own) {
    SmallVector<PlacementAttr> all(own);
    all.append(read.begin() + 4, read.end());
    return all;
  };
  const bool hasTeacher = !op.getTeacher().empty();
  OpBuilder builder(op);
  Location location = op.getLoc();
  auto rows = cast<StepTensorType>(op.getWeights().getType());
  auto numbers = [&](int64_t count) { return rows.withShape({kRows, count}); };
  // Rows that count otherwise have the same logits.
  auto *found =
      llvm::find_if(known, [&](Statistics &one) { return one.areOf(op); });
  if (found == known.end()) {
    auto maximum = builder.create<LogitMaximumOp>(
        location, hasTeacher ? numbers(kTeacherMaxima) : rows, op.getX(),
        op.getWeight(), op.getTeacher(), op.getBias(), op.getScaleAttr(),
        op.getSoftcapAttr());
    if (failed(annotate(maximum, withRest({x, weight}), {}, mesh)))
      return failure();
    auto sums = builder.create<LogitSumsOp>(
        location, numbers(hasTeacher ? kTeacherSums : 2), op.getX(),
        op.getWeight(), op.getTargets(), maximum, op.getTeacher(), op.getBias(),
        op.getScaleAttr(), op.getSoftcapAttr());
    if (failed(annotate(sums,
                        withRest({x, weight, targets,
                                  dist::placementOf(maximum.getResult())}),
                        {}, mesh)))
      return failure();
    known.push_back({maximum, sums});
    found = std::prev(known.end());
  }
  auto [maximum, sums] = *found;
  PlacementAttr row = dist::placementOf(maximum.getResult()),
                pair = dist::placementOf(sums.getResult());
  if (!op.getLoss().use_empty()) {
    // Only its numbers.
    auto losses = builder.create<LossesOp>(
        location, op.getLoss().getType(), maximum, sums, op.getWeights(),
        op.getTeacher().drop_front(hasTeacher ? 1 : 0));
    SmallVector<PlacementAttr> placements = {row, pair, weights};
    if (hasTeacher)
      placements.push_back(read[5]);
    if (failed(annotate(losses, placements, dist::placementOf(op.getLoss()),
                        mesh)))
      return failure();
    op.getLoss().replaceAllUsesWith(losses);
  }
  // All results but the loss.
  ResultRange made = op->getResults().drop_front();
  SmallVector<PlacementAttr> lie;
  for (Value result : made)
    lie.push_back(dist::placementOf(result));
  auto gradients = builder.create<LossGradientsOp>(
      location, TypeRange(made), op.getX(), op.getWeight(), op.getTargets(),
      op.getWeights(), maximum, sums, op.getTeacher(), op.getBias(),
      op.getScaleAttr(), op.getSoftcapAttr());
  if (failed(annotate(gradients,
                      withRest({x, weight, targets, weights, row, pair}), lie,
                      mesh)))
    return failure();
  for (auto [old, result] : llvm::zip(made, gradients.getResults()))
    old.replaceAllUsesWith(result);
  if (gradients.use_empty())
    gradients.erase();
  op.erase();
  return success();
}

LogicalResult baton::sharding::expandLosses(ProgramOp program, MeshOp mesh) {
  SmallVector<CrossEntropyOp> ops;
  program.walk([&](CrossEntropyOp op) {
    if (!readPlacements(op)[1].getDimensions()[0].isReplicate())
      ops.push_back(op);
  });
  SmallVector<Statistics> known;
  for (CrossEntropyOp op : ops)
    if (failed(expand(op, mesh, known)))
      return failure();
  return success();
}
