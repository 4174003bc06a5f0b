//===- PlanVerifier.cpp - a plan is free of races and deadlocks ----------===//

#include "passes/tasks/PlanVerifier.h"

#include "passes/tasks/ExplicitSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static std::string tuple(ArrayRef<int64_t> values) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << '(';
  llvm::interleaveComma(values, out);
  out << ')';
  return text;
}

static std::string textOf(AffineExpr expression) {
  std::string text;
  llvm::raw_string_ostream out(text);
  expression.print(out);
  return text;
}

static std::string taskName(PhaseOp phase, ArrayRef<int64_t> coordinates) {
  return phase.getName().str() + tuple(coordinates);
}

std::string baton::tasks::symbolNames(ArrayRef<int64_t> symbols) {
  return llvm::formatv("rows {0}, past {1}, outputs {2}", symbols[kRows],
                       symbols[kPast], symbols[kOutputs])
      .str();
}

static StringRef kindName(bool earlierWrites, bool laterWrites) {
  if (!laterWrites)
    return "read after write";
  return earlierWrites ? "write after write" : "write after read";
}

static SmallVector<unsigned> columnsFrom(unsigned first, unsigned count) {
  return llvm::to_vector(llvm::seq(first, first + count));
}

//===----------------------------------------------------------------------===//
// 1. Shape
//===----------------------------------------------------------------------===//

/// Divisors and factors that are constants, and no constant beyond what the
/// algebra can multiply.
static bool isUsable(AffineExpr expression) {
  bool usable = expression.isPureAffine();
  expression.walk([&](AffineExpr part) {
    if (auto constant = dyn_cast<AffineConstantExpr>(part))
      usable &= std::abs(constant.getValue()) < (int64_t(1) << 31);
    if (auto binary = dyn_cast<AffineBinaryOpExpr>(part))
      if (binary.getKind() != AffineExprKind::Add &&
          binary.getKind() != AffineExprKind::Mul) {
        auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
        usable &= divisor && divisor.getValue() > 0;
      }
  });
  return usable;
}

LogicalResult PlanVerifier::verifyMaps() {
  auto check = [](Operation *op, AffineMap map) -> LogicalResult {
    for (AffineExpr expression : map.getResults())
      if (!isUsable(expression))
        return op->emitError()
               << "'" << textOf(expression)
               << "' is not quasi-affine, so that nothing can be proved of it";
    return success();
  };
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (failed(check(buffer, buffer.getExtents())))
      return failure();
  for (auto tensor : program.getBody().getOps<TensorOp>())
    if (failed(check(tensor, tensor.getShape())) ||
        failed(check(tensor, tensor.getCount())))
      return failure();
  for (PhaseOp phase : plan.phases()) {
    if (failed(check(phase, phase.getGrid())))
      return failure();
    for (AccessAttr access : phase.getAccessAttrs())
      if (failed(check(phase, access.getLow())) ||
          failed(check(phase, access.getHigh())))
        return failure();
    for (WaitAttr wait : phase.getWaitAttrs())
      if (failed(check(phase, wait.getLow())) ||
          failed(check(phase, wait.getHigh())))
        return failure();
  }
  return success();
}

LogicalResult PlanVerifier::verifyRange(Operation *op, const Twine &what,
                                        AffineMap map,
                                        ArrayRef<int64_t> capacity) {
  for (auto [index, result] : llvm::enumerate(map.getResults())) {
    for (bool above : {true, false}) {
      Conjunction outside(0, 0);
      requireSymbols(outside, program);
      Row value = *outside.flatten(result, {});
      if (above)
        outside.less(outside.constant(capacity[index]), value);
      else
        outside.less(value, {});
      if (auto point = Relation(outside).sample())
        return op->emitError() << what << " is "
                               << evaluate(map.getSubMap({unsigned(index)}), {},
                                           point->symbols)[0]
                               << " in dimension " << index << " with "
                               << symbolNames(point->symbols)
                               << ", expected 0 to " << capacity[index];
    }
  }
  return success();
}

LogicalResult PlanVerifier::verifyCapacities() {
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (failed(verifyRange(buffer, "an extent", buffer.getExtents(),
                           buffer.getCapacity())))
      return failure();
  for (auto tensor : program.getBody().getOps<TensorOp>())
    if (failed(verifyRange(tensor, "the shape", tensor.getShape(),
                           tensor.getCapacity())))
      return failure();
  for (PhaseOp phase : plan.phases()) {
    int64_t most = HappensBefore::segmentOf(phase).getRepeat();
    for (int64_t extent : phase.getCapacity())
      if (__builtin_mul_overflow(most, extent, &most) ||
          most >= (int64_t(1) << 31))
        return phase.emitError() << "has 2^31 tasks or more in a step, beyond "
                                    "what an event word can count";
    if (failed(verifyRange(phase, "the grid", phase.getGrid(),
                           phase.getCapacity())))
      return failure();
  }
  return success();
}

/// True when different indices within the capacity are different addresses.
static bool isInjective(BufferOp buffer) {
  SmallVector<std::pair<int64_t, int64_t>> dimensions;
  for (auto [stride, capacity] :
       llvm::zip(buffer.getStrides(), buffer.getCapacity()))
    if (capacity > 1)
      dimensions.push_back({stride, capacity});
  if (buffer.getLayers() > 1)
    dimensions.push_back({buffer.getLayerStride(), buffer.getLayers()});
  llvm::sort(dimensions);
  int64_t span = 1;
  for (auto [stride, capacity] : dimensions) {
    if (stride < span)
      return false;
    span += (capacity - 1) * stride;
  }
  return true;
}

static std::string sharing(BufferOp one, BufferOp other) {
  std::string text = ("@" + one.getSymName()).str();
  if (one != other)
    text +=
        (" and @" + other.getSymName() + ", which share @" + *one.getStorage())
            .str();
  return text;
}

/// The runtime provides the tokens of all positions so far.
LogicalResult PlanVerifier::verifyInput(BufferOp input) {
  Conjunction beyond(0, 0);
  requireSymbols(beyond, program);
  unsigned symbols = beyond.symbolColumn();
  beyond.less(
      sum(beyond.variable(symbols + kRows), beyond.variable(symbols + kPast)),
      *beyond.flatten(input.getExtents().getResult(0), {}));
  if (auto point = Relation(beyond).sample())
    return input.emitError()
           << "@" << input.getSymName() << " has "
           << evaluate(input.getExtents(), {}, point->symbols)[0]
           << " tokens with " << symbolNames(point->symbols)
           << ", expected at most rows + past";
  return success();
}

/// A step leaves to later ones whatever they may read: all rows so far, of a
/// width that no step changes.
LogicalResult PlanVerifier::verifyState(BufferOp state) {
  ArrayRef<AffineExpr> extents = state.getExtents().getResults();
  for (AffineExpr extent : extents.drop_front())
    if (!isa<AffineConstantExpr>(extent))
      return state.emitError()
             << "an extent of the state @" << state.getSymName() << " is '"
             << textOf(extent) << "', expected the same in every step";
  MLIRContext *context = program.getContext();
  return verifyEqual(
      state, "the first extent of the state @" + state.getSymName(),
      extents.front(),
      getAffineSymbolExpr(kPast, context) + getAffineSymbolExpr(kRows, context),
      {});
}

LogicalResult PlanVerifier::verifyMemory() {
  SmallVector<BufferOp> buffers(program.getBody().getOps<BufferOp>());
  for (BufferOp buffer : buffers) {
    if (buffer.getKind() == BufferKind::input) {
      if (failed(verifyInput(buffer)))
        return failure();
      continue;
    }
    if (buffer.getKind() == BufferKind::state && failed(verifyState(buffer)))
      return failure();
    if (!buffer.getStorage())
      return buffer.emitError() << "@" << buffer.getSymName()
                                << " has no storage; run plan-memory first";
    if (!isInjective(buffer))
      return buffer.emitError() << "the strides let two elements of @"
                                << buffer.getSymName() << " share bytes";
  }
  for (auto [index, one] : llvm::enumerate(buffers))
    for (BufferOp other : ArrayRef(buffers).drop_front(index + 1))
      if (overlapOf(one, other) != Overlap::none &&
          (one.getKind() != BufferKind::transient ||
           other.getKind() != BufferKind::transient)) {
        bool isOne = one.getKind() != BufferKind::transient;
        return (isOne ? other : one).emitError()
               << "shares bytes of @" << *one.getStorage() << " with @"
               << (isOne ? one : other).getSymName()
               << ", whose values outlive the step";
      }
  for (PhaseOp phase : plan.phases()) {
    auto repeat = HappensBefore::segmentOf(phase).getRepeat();
    for (AccessAttr access : phase.getAccessAttrs()) {
      BufferOp buffer = plan.lookUpBuffer(access.getBuffer());
      if (repeat > buffer.getLayers() &&
          (isLayered(buffer) || buffer.getLayerStride() > 0))
        return phase.emitError()
               << "repeats " << repeat << " times, but @" << buffer.getSymName()
               << " has " << buffer.getLayers() << " layers";
    }
  }
  return success();
}

/// Where a call's pointer starts lies inside of what it points into.
LogicalResult PlanVerifier::verifyPointer(PhaseOp phase, CallOp call,
                                          Attribute operand, AffineMap index,
                                          ArrayRef<int64_t> capacity) {
  SmallVector<unsigned> task = columnsFrom(0, phase.getRank());
  for (auto [result, size] : llvm::zip(index.getResults(), capacity)) {
    if (!isUsable(result))
      return call.emitError()
             << "'" << textOf(result)
             << "' is not quasi-affine, so that nothing can be proved of it";
    for (bool above : {true, false}) {
      Conjunction outside(phase.getRank(), 0);
      requireSymbols(outside, program);
      if (!requireInside(outside, phase.getGrid(), task))
        return failure();
      Row value = *outside.flatten(result, task);
      if (above)
        outside.atLeast(value, outside.constant(size));
      else
        outside.less(value, {});
      if (auto point = Relation(outside).sample())
        return call.emitError()
               << operand << " starts at "
               << evaluate(
                      AffineMap::get(index.getNumDims(), kStepSymbols, result),
                      point->domain, point->symbols)[0]
               << " of " << size << "; for example "
               << taskName(phase, point->domain) << " with "
               << symbolNames(point->symbols);
    }
  }
  return success();
}

LogicalResult PlanVerifier::verifyOperands(PhaseOp phase, CallOp call) {
  uint64_t repeat = HappensBefore::segmentOf(phase).getRepeat();
  for (Attribute operand : call.getOperands_()) {
    if (auto address = dyn_cast<AddressAttr>(operand)) {
      BufferOp buffer = plan.lookUpBuffer(address.getBuffer());
      if (failed(verifyPointer(phase, call, operand, address.getIndex(),
                               buffer.getCapacity())))
        return failure();
    }
    auto weight = dyn_cast<WeightAttr>(operand);
    if (!weight)
      continue;
    auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
        call, weight.getParameter());
    if (parameter.getLayers() > 1 && repeat > parameter.getLayers())
      return call.emitError()
             << "repeats " << repeat << " times, but " << weight.getParameter()
             << " has " << parameter.getLayers() << " layers";
    if (std::optional<int64_t> elements = parameter.countElements())
      if (failed(verifyPointer(phase, call, operand, weight.getOffset(),
                               *elements)))
        return failure();
  }
  return success();
}

/// The runtime reads the logits of all outputs.
LogicalResult PlanVerifier::verifyAdvance(PhaseOp phase, AdvanceOp advance) {
  BufferOp logits = plan.lookUpBuffer(advance.getLogitsAttr());
  AffineMap extents = logits.getExtents();
  MLIRContext *context = phase.getContext();
  if (failed(verifyEqual(logits,
                         "the number of rows of @" + logits.getSymName() +
                             ", which the step hands over,",
                         extents.getResult(0),
                         getAffineSymbolExpr(kOutputs, context), {})))
    return failure();
  if (!isa<AffineConstantExpr>(extents.getResult(1)))
    return logits.emitError()
           << "the vocabulary is '" << textOf(extents.getResult(1))
           << "', expected the same in every step";
  for (AffineExpr extent : phase.getGrid().getResults())
    if (failed(verifyEqual(phase,
                           "the grid of the phase that hands over the step",
                           extent, getAffineConstantExpr(1, context), {})))
      return failure();
  Conjunction all(0, 2);
  requireSymbols(all, program);
  if (!requireInside(all, extents, columnsFrom(0, 2)))
    return failure();
  Relation open(all);
  for (AccessAttr access : phase.getAccessAttrs())
    if (!access.getWrite() && access.getBuffer() == advance.getLogitsAttr())
      open = open.subtract(touched(phase, access, 0));
  if (auto point = open.sample())
    return advance.emitError()
           << "hands over " << advance.getLogitsAttr() << ", but phase '"
           << phase.getName() << "' states no read of "
           << advance.getLogitsAttr() << tuple(point->range)
           << "; for example with " << symbolNames(point->symbols);
  return success();
}

/// A body's calls and its accesses name the same buffers; the step is handed
/// over exactly once.
LogicalResult PlanVerifier::verifyBodies() {
  PhaseOp advancing;
  for (PhaseOp phase : plan.phases()) {
    llvm::SmallPtrSet<Attribute, 8> accessed;
    for (AccessAttr access : phase.getAccessAttrs())
      accessed.insert(access.getBuffer());
    for (Operation &op : phase.getBody().front()) {
      if (auto call = dyn_cast<CallOp>(op)) {
        for (Attribute operand : call.getOperands_())
          if (auto address = dyn_cast<AddressAttr>(operand))
            if (!accessed.contains(address.getBuffer()))
              return call.emitError()
                     << "passes " << address.getBuffer() << ", to which phase '"
                     << phase.getName() << "' states no access";
        if (failed(verifyOperands(phase, call)))
          return failure();
        continue;
      }
      auto advance = dyn_cast<AdvanceOp>(op);
      if (!advance)
        continue;
      if (advancing || HappensBefore::segmentOf(phase).getRepeat() != 1)
        return advance.emitError() << "hands the step over more than once";
      advancing = phase;
      if (failed(verifyAdvance(phase, advance)))
        return failure();
    }
  }
  return success();
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
    if (auto point = Relation(differs).sample()) {
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
    auto tensor = SymbolTable::lookupNearestSymbolFrom<TensorOp>(
        phase, notify->getEvent());
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
    if (!isUsable(product))
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

/// Between iterations, words are counted up in order wherever a wait tells
/// iterations apart.
LogicalResult PlanVerifier::verifyWordOrder() {
  for (PhaseOp phase : plan.phases()) {
    std::optional<NotifyAttr> notify = phase.getNotify();
    SegmentOp segment = HappensBefore::segmentOf(phase);
    if (!notify || segment.getRepeat() < 2)
      continue;
    bool isWaitedFor =
        llvm::any_of(segment.getBody().getOps<PhaseOp>(), [&](PhaseOp other) {
          return llvm::any_of(other.getWaitAttrs(), [&](WaitAttr wait) {
            return wait.getEvent() == notify->getEvent();
          });
        });
    if (!isWaitedFor)
      continue;
    Conjunction sameWord(phase.getRank(), phase.getRank());
    for (AffineExpr picked : notify->getIndex().getResults()) {
      unsigned coordinate = cast<AffineDimExpr>(picked).getPosition();
      sameWord.equal(sameWord.variable(coordinate),
                     sameWord.variable(sameWord.rangeColumn() + coordinate));
    }
    Relation pairs = Relation(sameWord).intersect(plan.tasks(phase, phase));
    if (plan.ordered(phase, pairs, phase, Distance::nextIteration))
      continue;
    auto point =
        pairs.subtract(plan.order(phase, phase, Distance::nextIteration))
            .sample();
    return phase.emitError()
           << "phase '" << phase.getName() << "' may notify a word of "
           << notify->getEvent()
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
  const Relation &touching = plan.conflict(phase, one, phase, other);
  if (touching.size() == 0)
    return success();
  BufferOp first = plan.lookUpBuffer(one.getBuffer());
  BufferOp second = plan.lookUpBuffer(other.getBuffer());
  auto report = [&](const RelationPoint &point) {
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
    if (auto point = touching.sample())
      return report(*point);
    return success();
  }
  unsigned rank = phase.getRank();
  for (unsigned d = 0; d < rank; ++d)
    for (bool above : {true, false}) {
      Conjunction distinct(rank, rank);
      Row left = distinct.variable(d);
      Row right = distinct.variable(distinct.rangeColumn() + d);
      distinct.less(above ? left : right, above ? right : left);
      if (auto point = touching.intersect(Relation(distinct)).sample())
        return report(*point);
    }
  return success();
}

LogicalResult PlanVerifier::verifyPair(PhaseOp earlier,
                                       AccessAttr earlierAccess, PhaseOp later,
                                       AccessAttr laterAccess,
                                       Distance distance) {
  const Relation &conflict =
      plan.conflict(earlier, earlierAccess, later, laterAccess);
  if (conflict.isEmpty())
    return success();
  ++proved;
  if (plan.ordered(earlier, conflict, later, distance))
    return success();
  auto point = conflict.subtract(plan.order(earlier, later, distance)).sample();
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
         << ' ' << when << "; for example " << taskName(later, point->range)
         << " before " << taskName(earlier, point->domain) << " with "
         << symbolNames(point->symbols);
}

/// Of all buffers, or of two only.
LogicalResult PlanVerifier::verifyConflicts(BufferOp one, BufferOp other) {
  for (PhaseOp later : plan.phases()) {
    SegmentOp segment = HappensBefore::segmentOf(later);
    for (PhaseOp earlier : plan.phases().take_front(plan.indexOf(later) + 1)) {
      bool isSame = HappensBefore::segmentOf(earlier) == segment;
      for (AccessAttr before : earlier.getAccessAttrs())
        for (AccessAttr after : later.getAccessAttrs()) {
          if (!before.getWrite() && !after.getWrite())
            continue;
          BufferOp first = plan.lookUpBuffer(before.getBuffer());
          BufferOp second = plan.lookUpBuffer(after.getBuffer());
          bool isAsked = !one || (first == one && second == other) ||
                         (first == other && second == one);
          if (!isAsked || overlapOf(first, second) == Overlap::none)
            continue;
          if (!isSame) {
            if (failed(verifyPair(earlier, before, later, after,
                                  Distance::laterSegment)))
              return failure();
            continue;
          }
          if (earlier == later) {
            if (failed(verifyWithinPhase(later, before, after)))
              return failure();
          } else if (failed(verifyPair(earlier, before, later, after,
                                       Distance::sameIteration))) {
            return failure();
          }
          if (segment.getRepeat() < 2 || isLayered(first))
            continue;
          if (failed(verifyPair(earlier, before, later, after,
                                Distance::nextIteration)))
            return failure();
          if (earlier != later &&
              failed(verifyPair(later, after, earlier, before,
                                Distance::nextIteration)))
            return failure();
        }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// 5. Values
//===----------------------------------------------------------------------===//

Relation PlanVerifier::touched(PhaseOp writer, AccessAttr write,
                               unsigned readerRank) {
  BufferOp buffer = plan.lookUpBuffer(write.getBuffer());
  unsigned rank = buffer.getExtents().getNumResults();
  Conjunction elements(readerRank, rank);
  SmallVector<unsigned> element = columnsFrom(elements.rangeColumn(), rank);
  SmallVector<unsigned> task;
  for (unsigned i = 0, e = writer.getRank(); i < e; ++i)
    task.push_back(elements.addLocal());
  bool described =
      requireInside(elements, writer.getGrid(), task) &&
      requireInside(elements, buffer.getExtents(), element) &&
      requireBox(elements, write.getLow(), write.getHigh(), task, element);
  return described ? Relation(elements) : Relation(readerRank, rank);
}

Relation PlanVerifier::clobbered(PhaseOp writer, AccessAttr write,
                                 BufferOp victim, Overlap overlap,
                                 unsigned readerRank) {
  BufferOp buffer = plan.lookUpBuffer(write.getBuffer());
  unsigned rank = victim.getExtents().getNumResults();
  Conjunction elements(readerRank, rank);
  SmallVector<unsigned> task, element;
  for (unsigned i = 0, e = writer.getRank(); i < e; ++i)
    task.push_back(elements.addLocal());
  for (unsigned i = 0, e = buffer.getExtents().getNumResults(); i < e; ++i)
    element.push_back(elements.addLocal());
  if (overlap == Overlap::rows)
    element[0] = elements.rangeColumn();
  bool described =
      requireInside(elements, writer.getGrid(), task) &&
      requireInside(elements, buffer.getExtents(), element) &&
      requireBox(elements, write.getLow(), write.getHigh(), task, element);
  return described ? Relation(elements) : Relation::universe(readerRank, rank);
}

/// Goes back in rank from one read, in the first iteration of its segment or a
/// later one. What is open has no writer yet.
LogicalResult PlanVerifier::verifyRead(PhaseOp reader, AccessAttr read,
                                       bool isFirst) {
  BufferOp buffer = plan.lookUpBuffer(read.getBuffer());
  unsigned rank = buffer.getExtents().getNumResults();
  Conjunction elements(reader.getRank(), rank);
  SmallVector<unsigned> element = columnsFrom(elements.rangeColumn(), rank);
  requireSymbols(elements, program);
  if (!requireInside(elements, reader.getGrid(),
                     columnsFrom(0, reader.getRank())) ||
      !requireInside(elements, buffer.getExtents(), element) ||
      !requireBox(elements, read.getLow(), read.getHigh(),
                  columnsFrom(0, reader.getRank()), element))
    return failure();
  if (buffer.getKind() == BufferKind::state)
    elements.atLeast(elements.variable(element[0]),
                     elements.variable(elements.symbolColumn() + kPast));
  Relation open(elements);

  auto report = [&](const Relation &points) {
    auto point = points.sample();
    auto diagnostic = reader.emitError()
                      << "phase '" << reader.getName() << "' reads "
                      << read.getBuffer() << tuple(point->range);
    return std::make_pair(std::move(diagnostic), *point);
  };
  auto finish = [&](std::pair<InFlightDiagnostic, RelationPoint> problem) {
    return LogicalResult(std::move(problem.first)
                         << "; for example "
                         << taskName(reader, problem.second.domain) << " with "
                         << symbolNames(problem.second.symbols));
  };
  auto passBy = [&](PhaseOp writer) -> LogicalResult {
    for (AccessAttr write : writer.getAccessAttrs()) {
      if (!write.getWrite() || write.getBuffer() == read.getBuffer())
        continue;
      BufferOp other = plan.lookUpBuffer(write.getBuffer());
      Overlap overlap = overlapOf(buffer, other);
      if (overlap == Overlap::none)
        continue;
      Relation lost = open.intersect(
          clobbered(writer, write, buffer, overlap, reader.getRank()));
      if (lost.isEmpty())
        continue;
      auto problem = report(lost);
      problem.first << ", whose bytes phase '" << writer.getName()
                    << "' has reused for " << write.getBuffer();
      return finish(std::move(problem));
    }
    for (AccessAttr write : writer.getAccessAttrs())
      if (write.getWrite() && write.getBuffer() == read.getBuffer())
        open = open.subtract(touched(writer, write, reader.getRank()));
    return success();
  };

  SegmentOp segment = HappensBefore::segmentOf(reader);
  SmallVector<PhaseOp> path;
  unsigned index = plan.indexOf(reader);
  ArrayRef<PhaseOp> phases = plan.phases();
  auto inSegment = [&](PhaseOp phase) {
    return HappensBefore::segmentOf(phase) == segment;
  };
  for (PhaseOp phase : llvm::reverse(phases.take_front(index)))
    if (inSegment(phase))
      path.push_back(phase);
  if (!isLayered(buffer)) {
    if (!isFirst)
      for (PhaseOp phase : llvm::reverse(phases))
        if (inSegment(phase))
          path.push_back(phase);
    for (PhaseOp phase : llvm::reverse(phases.take_front(index)))
      if (!inSegment(phase))
        path.push_back(phase);
  }
  for (PhaseOp phase : path) {
    if (failed(passBy(phase)))
      return failure();
    if (open.isEmpty())
      return success();
  }
  if (open.isEmpty())
    return success();
  auto problem = report(open);
  problem.first << ", which no task before it writes"
                << (isFirst ? "" : " in a later iteration");
  return finish(std::move(problem));
}

/// Later steps read the rows that a state gained.
LogicalResult PlanVerifier::verifyGrowth(BufferOp state) {
  auto name = FlatSymbolRefAttr::get(state.getSymNameAttr());
  SmallVector<SegmentOp> readers;
  for (PhaseOp phase : plan.phases())
    for (AccessAttr access : phase.getAccessAttrs())
      if (!access.getWrite() && access.getBuffer() == name &&
          !llvm::is_contained(readers, HappensBefore::segmentOf(phase)))
        readers.push_back(HappensBefore::segmentOf(phase));
  if (!isLayered(state) && readers.size() > 1)
    readers.resize(1);
  for (SegmentOp reader : readers) {
    unsigned rank = state.getExtents().getNumResults();
    Conjunction gained(0, rank);
    requireSymbols(gained, program);
    gained.atLeast(gained.variable(0),
                   gained.variable(gained.symbolColumn() + kPast));
    if (!requireInside(gained, state.getExtents(), columnsFrom(0, rank)))
      return failure();
    Relation open(gained);
    for (PhaseOp phase : plan.phases())
      for (AccessAttr access : phase.getAccessAttrs())
        if (access.getWrite() && access.getBuffer() == name &&
            (!isLayered(state) || HappensBefore::segmentOf(phase) == reader))
          open = open.subtract(touched(phase, access, 0));
    if (auto point = open.sample())
      return state.emitError()
             << "a step leaves " << name << tuple(point->range)
             << " unwritten, which later steps may read; for example with "
             << symbolNames(point->symbols);
  }
  return success();
}

/// Of all buffers, or of two only.
LogicalResult PlanVerifier::verifyReads(BufferOp one, BufferOp other) {
  for (PhaseOp phase : plan.phases())
    for (AccessAttr access : phase.getAccessAttrs()) {
      BufferOp buffer = plan.lookUpBuffer(access.getBuffer());
      bool isAsked = !one || buffer == one || buffer == other;
      if (!isAsked || access.getWrite() ||
          buffer.getKind() == BufferKind::input)
        continue;
      if (failed(verifyRead(phase, access, /*isFirst=*/true)))
        return failure();
      if (HappensBefore::segmentOf(phase).getRepeat() > 1 &&
          !isLayered(buffer) &&
          failed(verifyRead(phase, access, /*isFirst=*/false)))
        return failure();
    }
  return success();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

LogicalResult PlanVerifier::verify() {
  if (failed(verifyMaps()) || failed(verifyCapacities()) ||
      failed(verifyMemory()) || failed(verifyBodies()) ||
      failed(verifyCounts()))
    return failure();
  bool isScheduled = false;
  for (auto schedule : program.getBody().getOps<ScheduleOp>()) {
    isScheduled = true;
    if (failed(verifySchedule(schedule, plan, proved)))
      return failure();
  }
  if (!isScheduled && (failed(verifyWordOrder()) || failed(verifyConflicts())))
    return failure();
  if (failed(verifyReads()))
    return failure();
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (buffer.getKind() == BufferKind::state && failed(verifyGrowth(buffer)))
      return failure();
  return success();
}

LogicalResult PlanVerifier::verifySharing(BufferOp one, BufferOp other) {
  return failure(failed(verifyConflicts(one, other)) ||
                 failed(verifyReads(one, other)));
}
