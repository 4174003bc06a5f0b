//===- PlanVerifier.cpp - a plan is free of races and deadlocks ----------===//
//
// Counts and races; PlanShape.cpp and PlanValues.cpp hold the other parts.
//
//===----------------------------------------------------------------------===//

#include "passes/proof/PlanVerifier.h"

#include "passes/proof/ExplicitSchedule.h"
#include "passes/proof/PlanMessages.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

static StringRef kindName(bool earlierWrites, bool laterWrites) {
  if (!laterWrites)
    return "read after write";
  return earlierWrites ? "write after write" : "write after read";
}

//===----------------------------------------------------------------------===//
// 2. Counts
//===----------------------------------------------------------------------===//

/// `left == right` wherever all of `positive` are at least one.
LogicalResult PlanVerifier::verifyEqual(Operation *op, const Twine &what,
                                        AffineExpr left, AffineExpr right,
                                        ArrayRef<AffineExpr> positive) {
  for (bool above : {true, false}) {
    Conjunction differs(0, 0);
    requireSymbols(differs, program);
    for (AffineExpr extent : positive)
      differs.atLeast(*differs.flatten(extent, {}), differs.constant(1));
    Row one = *differs.flatten(left, {}), other = *differs.flatten(right, {});
    if (above)
      differs.less(other, one);
    else
      differs.less(one, other);
    if (auto point = sampleOf(differs)) {
      auto value = [&](AffineExpr expression) {
        return evaluate(AffineMap::get(0, kStepSymbols, expression), {},
                        point->symbols)[0];
      };
      return op->emitError()
             << what << " is " << value(left) << " with "
             << symbolNames(point->symbols) << ", expected " << value(right);
    }
  }
  return success();
}

LogicalResult PlanVerifier::verifyCounts() {
  for (PhaseOp phase : plan.phases()) {
    std::optional<NotifyAttr> notify = phase.getNotify();
    if (!notify)
      continue;
    auto tensor = symbols.lookup<TensorOp>(notify->getEvent().getAttr());
    ArrayRef<AffineExpr> grid = phase.getGrid().getResults();
    llvm::SmallBitVector picked(grid.size());
    SmallVector<AffineExpr> extents;
    for (auto [index, expression] :
         llvm::enumerate(notify->getIndex().getResults())) {
      unsigned coordinate = cast<AffineDimExpr>(expression).getPosition();
      picked.set(coordinate);
      extents.push_back(grid[coordinate]);
      if (failed(verifyEqual(phase,
                             "dimension " + Twine(index) +
                                 " of the shape of @" + tensor.getSymName() +
                                 ", which '" + phase.getName() + "' notifies,",
                             tensor.getShape().getResult(index),
                             grid[coordinate], {})))
        return failure();
    }
    AffineExpr product = getAffineConstantExpr(1, phase.getContext());
    for (auto [coordinate, extent] : llvm::enumerate(grid))
      if (!picked.test(coordinate))
        product = product * extent;
    if (!isQuasiAffine(product))
      return phase.emitError()
             << "the number of tasks that notify a word of @"
             << tensor.getSymName() << ", " << textOf(product)
             << ", is not quasi-affine; notify a word for each coordinate "
                "that depends on the step";
    if (failed(verifyEqual(phase,
                           "the count of @" + tensor.getSymName() +
                               ", which '" + phase.getName() + "' notifies,",
                           tensor.getCount().getResult(0), product, extents)))
      return failure();
  }
  return success();
}

/// Who touches what an event stands for is in the event's scope. Workers of a
/// plan are on one device; ranks that exchange are not on the same.
LogicalResult PlanVerifier::verifyScopes() {
  for (PhaseOp phase : plan.phases()) {
    if (phase.getBody().getOps<ExchangeOp>().empty())
      continue;
    auto verifyScope = [&](FlatSymbolRefAttr event,
                           StringRef how) -> LogicalResult {
      auto tensor = symbols.lookup<TensorOp>(event.getAttr());
      if (tensor.getScope() == Scope::system)
        return success();
      return phase.emitError()
             << "phase '" << phase.getName()
             << "' exchanges with other ranks and " << how << ' ' << event
             << ", whose scope is " << stringifyScope(tensor.getScope())
             << ", expected " << stringifyScope(Scope::system);
    };
    if (auto notify = phase.getNotify();
        notify && failed(verifyScope(notify->getEvent(), "notifies")))
      return failure();
    for (WaitAttr wait : phase.getWaitAttrs())
      if (failed(verifyScope(wait.getEvent(), "waits for")))
        return failure();
  }
  return success();
}

/// Between iterations, words are counted up in order wherever a wait tells
/// iterations apart.
LogicalResult PlanVerifier::verifyWordOrder() {
  for (PhaseOp phase : plan.phases()) {
    if (plan.hasWordOrder(phase))
      continue;
    KnownRelation pairs = plan.sameWord(phase);
    auto point =
        pairs->subtract(plan.order(phase, phase, Distance::nextIteration))
            .sample();
    return phase.emitError()
           << "phase '" << phase.getName() << "' may notify a word of "
           << phase.getNotify()->getEvent()
           << " before the iteration before has finished with it; for example "
           << taskName(phase, point->range) << " before "
           << taskName(phase, point->domain)
           << " of the iteration before, with " << symbolNames(point->symbols);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// 4. Races
//===----------------------------------------------------------------------===//

LogicalResult PlanVerifier::verifyWithinPhase(PhaseOp phase, AccessAttr one,
                                              AccessAttr other) {
  KnownRelation touching =
      plan.conflict(phase, one, phase, other, Distance::sameIteration);
  if (touching->size() == 0)
    return success();
  BufferOp first = plan.lookUpBuffer(one.getBuffer());
  BufferOp second = plan.lookUpBuffer(other.getBuffer());
  auto report = [&](const RelationPoint &point) -> LogicalResult {
    if (!reports)
      return failure();
    return phase.emitError()
           << "tasks of phase '" << phase.getName()
           << "' have no order, but conflict: "
           << kindName(one.getWrite(), other.getWrite()) << " of "
           << sharing(first, second) << "; for example "
           << taskName(phase, point.domain) << " and "
           << taskName(phase, point.range) << " with "
           << symbolNames(point.symbols);
  };
  // One task may well write what it reads, but not through another buffer.
  if (first != second) {
    if (detail == Detail::bytes)
      touching = plan.conflict(phase, one, phase, other,
                               Distance::sameIteration, detail);
    if (auto point = plan.relations().sample(touching))
      return report(*point);
    return success();
  }
  RelationMemo &memo = plan.relations();
  unsigned rank = phase.getRank();
  for (unsigned d = 0; d < rank; ++d)
    for (bool above : {true, false}) {
      Conjunction distinct(rank, rank);
      Row left = distinct.variable(d);
      Row right = distinct.variable(distinct.rangeColumn() + d);
      distinct.less(above ? left : right, above ? right : left);
      KnownRelation apart = memo.intersect(touching, memo.known(distinct));
      if (auto point = memo.sample(apart))
        return report(*point);
    }
  return success();
}

/// Two tasks of a conflict that no waits order, as far as that is easily said:
/// one of those that overlapping tiles do not order, and no closer look either.
RelationPoint PlanVerifier::exampleOf(PhaseOp earlier, KnownRelation conflict,
                                      PhaseOp later, Distance distance) {
  Relation open = conflict->subtract(plan.order(earlier, later, distance));
  KnownRelation known = plan.order(earlier, later, distance, detail);
  for (size_t i = 0; i < open.size(); ++i)
    if (auto point = open.disjunct(i).sample();
        point && !known->contains(point->domain, point->range, point->symbols))
      return *point;
  return *open.sample();
}

LogicalResult PlanVerifier::verifyPair(PhaseOp earlier,
                                       AccessAttr earlierAccess, PhaseOp later,
                                       AccessAttr laterAccess,
                                       Distance distance) {
  KnownRelation conflict =
      plan.conflict(earlier, earlierAccess, later, laterAccess, distance);
  if (plan.relations().isEmpty(conflict))
    return success();
  ++proved;
  if (plan.ordered(earlier, conflict, later, distance))
    return success();
  if (detail == Detail::bytes) {
    conflict = plan.conflict(earlier, earlierAccess, later, laterAccess,
                             distance, detail);
    if (plan.ordered(earlier, conflict, later, distance) ||
        plan.ordered(earlier, conflict, later, distance, detail))
      return success();
  }
  if (!reports)
    return failure();
  RelationPoint point = exampleOf(earlier, conflict, later, distance);
  StringRef when = distance == Distance::sameIteration ? "in the same iteration"
                   : distance == Distance::nextIteration
                       ? "in the next iteration"
                       : "in a later segment";
  return later.emitError()
         << "phase '" << later.getName() << "' does not wait for phase '"
         << earlier.getName()
         << "': " << kindName(earlierAccess.getWrite(), laterAccess.getWrite())
         << " of "
         << sharing(plan.lookUpBuffer(laterAccess.getBuffer()),
                    plan.lookUpBuffer(earlierAccess.getBuffer()))
         << ' ' << when << "; for example " << taskName(later, point.range)
         << " before " << taskName(earlier, point.domain) << " with "
         << symbolNames(point.symbols);
}

/// Two accesses, the earlier phase's first; in all iterations.
LogicalResult PlanVerifier::verifyAccesses(PhaseOp earlier, AccessAttr before,
                                           PhaseOp later, AccessAttr after) {
  if (!before.getWrite() && !after.getWrite())
    return success();
  BufferOp first = plan.lookUpBuffer(before.getBuffer());
  BufferOp second = plan.lookUpBuffer(after.getBuffer());
  if (overlapOf(first, second) == Overlap::none)
    return success();
  SegmentOp segment = HappensBefore::segmentOf(later);
  if (HappensBefore::segmentOf(earlier) != segment)
    return verifyPair(earlier, before, later, after, Distance::laterSegment);
  if (meetWithin(earlier, first, later, second) &&
      failed(earlier == later ? verifyWithinPhase(later, before, after)
                              : verifyPair(earlier, before, later, after,
                                           Distance::sameIteration)))
    return failure();
  // What orders an iteration and the next one orders all that are further
  // apart.
  if (meetAcross(earlier, first, later, second) &&
      failed(
          verifyPair(earlier, before, later, after, Distance::nextIteration)))
    return failure();
  if (earlier == later || !meetAcross(later, second, earlier, first))
    return success();
  return verifyPair(later, after, earlier, before, Distance::nextIteration);
}

LogicalResult PlanVerifier::verifyConflicts() {
  for (PhaseOp later : plan.phases())
    for (PhaseOp earlier : plan.phases().take_front(plan.indexOf(later) + 1))
      for (AccessAttr before : earlier.getAccessAttrs())
        for (AccessAttr after : later.getAccessAttrs())
          if (failed(verifyAccesses(earlier, before, later, after)))
            return failure();
  return success();
}

/// The same of two buffers, from lists of what touches them: plan-memory asks
/// for every pair that might share.
LogicalResult PlanVerifier::verifyConflicts(BufferOp one, BufferOp other) {
  for (auto [phase, access] : uses.lookup(one))
    for (auto [otherPhase, otherAccess] : uses.lookup(other)) {
      unsigned index = plan.indexOf(phase),
               otherIndex = plan.indexOf(otherPhase);
      if (index <= otherIndex &&
          failed(verifyAccesses(phase, access, otherPhase, otherAccess)))
        return failure();
      if (otherIndex <= index &&
          failed(verifyAccesses(otherPhase, otherAccess, phase, access)))
        return failure();
    }
  return success();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

PlanVerifier::PlanVerifier(ProgramOp program)
    : program(program), plan(program), symbols(program) {
  for (PhaseOp phase : plan.phases())
    for (AccessAttr access : phase.getAccessAttrs())
      uses[plan.lookUpBuffer(access.getBuffer())].push_back({phase, access});
  if (auto module = program->getParentOfType<ModuleOp>())
    for (auto body : module.getOps<BodyOp>())
      usersBodies.insert(body.getSymName());
}

LogicalResult PlanVerifier::verify() {
  takeOverflow();
  if (failed(verifyAll()))
    return failure();
  if (takeOverflow())
    return program.emitError()
           << "has maps that combine to coefficients beyond 64 bits, so that "
              "nothing can be proved of it; tile heights with a common divisor "
              "keep them small";
  return success();
}

LogicalResult PlanVerifier::verifyAll() {
  if (failed(verifyMaps()) || failed(verifyCapacities()) ||
      failed(verifyTables()) || failed(verifyExtents()) ||
      failed(verifyWriters()) || failed(verifyMemory()) ||
      failed(verifyBodies()) || failed(verifyCounts()) ||
      failed(verifyScopes()))
    return failure();
  bool isScheduled = false;
  for (auto schedule : program.getBody().getOps<ScheduleOp>()) {
    isScheduled = true;
    if (failed(verifySchedule(schedule, plan, proved)))
      return failure();
  }
  if (!isScheduled && (failed(verifyWordOrder()) || failed(verifyConflicts()) ||
                       failed(verifyRankOrder())))
    return failure();
  if (failed(verifyReads()))
    return failure();
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (buffer.getKind() == BufferKind::state && failed(verifyGrowth(buffer)))
      return failure();
  return success();
}

/// True when a phase between a read of `one` and the last write before it
/// writes `other`.
bool PlanVerifier::isInterrupted(BufferOp one, BufferOp other) const {
  auto ownUses = uses.lookup(one), otherUses = uses.lookup(other);
  std::optional<unsigned> written;
  for (auto [phase, access] : ownUses) {
    unsigned index = plan.indexOf(phase);
    if (!access.getWrite() && written &&
        llvm::any_of(otherUses, [&](const auto &use) {
          unsigned between = plan.indexOf(use.first);
          return use.second.getWrite() && *written < between && between < index;
        }))
      return true;
    if (access.getWrite())
      written = index;
  }
  return false;
}

bool PlanVerifier::canShare(BufferOp one, BufferOp other) {
  if (hasOverflowed || isInterrupted(one, other) || isInterrupted(other, one))
    return false;
  llvm::SaveAndRestore quiet(reports, false);
  llvm::SaveAndRestore rows(detail, Detail::rows);
  bool shares = succeeded(verifyConflicts(one, other)) &&
                succeeded(verifyReads(one, other));
  // What was computed is remembered, and may be asked again.
  hasOverflowed = takeOverflow();
  return shares && !hasOverflowed;
}
