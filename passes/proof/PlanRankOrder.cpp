//===- PlanRankOrder.cpp - in which order a rank meets the others ---------===//
//
// Exchanges of a group find one another by their order, and so do the messages
// of a channel. Ranks run one plan with other numbers of workers and other
// timing; so the plan itself has to fix the order: two tasks that ranks share
// are one worker's, in every step and for any number of workers, or a chain of
// waits orders them.
//
// Which worker a phase's only task is, is what code generation makes of the
// distribution: the first one's if the phase is dealt out cyclically. If it is
// blocked, the worker's whose share of the tile's rows holds their middle, so
// that two phases have the same one if their tiles have as many rows.
//
//===----------------------------------------------------------------------===//

#include "passes/proof/PlanMessages.h"
#include "passes/proof/PlanVerifier.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

/// A step in which both phases have their task, and those have other numbers
/// of rows; nothing if there is none.
static std::optional<RelationPoint> findOtherRows(ProgramOp program,
                                                  PhaseOp one, PhaseOp other) {
  AffineExpr rows = one.getRowTiles().rows,
             otherRows = other.getRowTiles().rows;
  if (rows == otherRows)
    return std::nullopt;
  for (bool above : {true, false}) {
    Conjunction differs(0, 0);
    requireSymbols(differs, program);
    for (PhaseOp phase : {one, other})
      for (AffineExpr extent : phase.getGrid().getResults())
        differs.atLeast(*differs.flatten(extent, {}), differs.constant(1));
    Row left = *differs.flatten(rows, {}),
        right = *differs.flatten(otherRows, {});
    differs.less(above ? right : left, above ? left : right);
    if (auto point = Relation(differs).sample())
      return point;
  }
  return std::nullopt;
}

/// A step in which the two phases' tasks may be different workers'; nothing if
/// there is none.
static std::optional<RelationPoint> findOtherWorkers(ProgramOp program,
                                                     HappensBefore &plan,
                                                     PhaseOp one,
                                                     PhaseOp other) {
  if (one.getDistribution() != other.getDistribution())
    return plan.tasks(one, other)->sample();
  if (one.getDistribution() == Distribution::cyclic)
    return std::nullopt;
  return findOtherRows(program, one, other);
}

/// Both directions between iterations, and within one.
bool PlanVerifier::isOrdered(PhaseOp earlier, PhaseOp later) {
  auto ordered = [&](PhaseOp one, PhaseOp other, Distance distance) {
    return plan.ordered(one, plan.tasks(one, other), other, distance);
  };
  SegmentOp segment = HappensBefore::segmentOf(later);
  if (segment != HappensBefore::segmentOf(earlier))
    return ordered(earlier, later, Distance::laterSegment);
  return ordered(earlier, later, Distance::sameIteration) &&
         (segment.getRepeat() < 2 ||
          (ordered(earlier, later, Distance::nextIteration) &&
           ordered(later, earlier, Distance::nextIteration)));
}

LogicalResult PlanVerifier::verifyRankOrder() {
  // What ranks meet in, and the phases that do, in order.
  llvm::MapVector<Attribute, SmallVector<PhaseOp>> meetings;
  Builder builder(program.getContext());
  for (PhaseOp phase : plan.phases())
    for (Operation &op : phase.getBody().front()) {
      // One engine carries all of a rank's exchanges.
      if (isa<ExchangeOp>(op))
        meetings[builder.getStringAttr("exchanges")].push_back(phase);
      if (auto message = dyn_cast<MessageOp>(op))
        meetings[builder.getArrayAttr(
                     {message.getDirectionAttr(),
                      builder.getI64IntegerAttr(message.getHop()),
                      message.getAxisAttr(), message.getChannelAttr()})]
            .push_back(phase);
    }
  for (auto &[meeting, phases] : meetings)
    for (auto [index, later] : llvm::enumerate(phases))
      for (PhaseOp earlier : ArrayRef(phases).take_front(index)) {
        auto point = findOtherWorkers(program, plan, earlier, later);
        if (!point || isOrdered(earlier, later))
          continue;
        return later.emitError()
               << "phase '" << later.getName()
               << "' may be run by another worker than phase '"
               << earlier.getName() << "' and does not wait for it, so that "
               << (isa<ArrayAttr>(meeting)
                       ? "messages of one channel may change places"
                       : "ranks may come to their exchanges in different "
                         "orders")
               << "; for example with " << symbolNames(point->symbols);
      }
  return success();
}
