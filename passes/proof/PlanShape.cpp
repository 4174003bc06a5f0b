//===- PlanShape.cpp - the first part of the proof: what fits into what --===//

#include "codegen/bodies/TaskCalls.h"
#include "dialects/Event/LayerFormats.h"
#include "dialects/Event/Tiers.h"
#include "passes/proof/PlanMessages.h"
#include "passes/proof/PlanVerifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

/// Divisors and factors that are constants.
bool baton::tasks::isQuasiAffine(AffineExpr expression) {
  bool usable = expression.isPureAffine();
  expression.walk([&](AffineExpr part) {
    if (auto binary = dyn_cast<AffineBinaryOpExpr>(part))
      if (binary.getKind() != AffineExprKind::Add &&
          binary.getKind() != AffineExprKind::Mul) {
        auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
        usable &= divisor && divisor.getValue() > 0;
      }
  });
  return usable;
}

/// What no coefficient of the expression, flattened, exceeds in magnitude;
/// nothing if that exceeds what the algebra can multiply.
static std::optional<int64_t> boundCoefficients(AffineExpr expression) {
  constexpr int64_t most = (int64_t(1) << 31) - 1;
  auto bounded = [](int64_t value) {
    return value > most ? std::nullopt : std::optional(value);
  };
  if (auto constant = dyn_cast<AffineConstantExpr>(expression)) {
    int64_t value = constant.getValue();
    return value < -most ? std::nullopt : bounded(std::abs(value));
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary)
    return 1;
  std::optional<int64_t> left = boundCoefficients(binary.getLHS()),
                         right = boundCoefficients(binary.getRHS());
  if (!left || !right)
    return std::nullopt;
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return bounded(*left + *right);
  case AffineExprKind::Mul:
    return bounded(*left * *right);
  case AffineExprKind::Mod: // x - n * (x floordiv n)
    return bounded(*left + *right);
  default:
    return std::max(*left, *right);
  }
}

LogicalResult PlanVerifier::verifyExpression(Operation *op,
                                             AffineExpr expression) {
  if (!isQuasiAffine(expression))
    return op->emitError()
           << "'" << textOf(expression)
           << "' is not quasi-affine, so that nothing can be proved of it";
  if (!boundCoefficients(expression))
    return op->emitError()
           << "'" << textOf(expression)
           << "' has coefficients of 2^31 or more, beyond what the proof can "
              "multiply";
  return success();
}

LogicalResult PlanVerifier::verifyMaps() {
  auto check = [&](Operation *op, AffineMap map) -> LogicalResult {
    for (AffineExpr expression : map.getResults())
      if (failed(verifyExpression(op, expression)))
        return failure();
    return success();
  };
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (failed(check(buffer, buffer.getExtents())))
      return failure();
  for (auto table : program.getBody().getOps<TableOp>())
    if (failed(check(table, table.getLow())) ||
        failed(check(table, table.getHigh())))
      return failure();
  for (auto tensor : program.getBody().getOps<TensorOp>())
    if (failed(check(tensor, tensor.getShape())) ||
        failed(check(tensor, tensor.getCount())))
      return failure();
  for (PhaseOp phase : plan.phases()) {
    if (failed(check(phase, phase.getGrid())))
      return failure();
    for (AddressAttr entry : phase.getEntryAttrs())
      if (failed(check(phase, entry.getIndex())))
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
      if (auto point = sampleOf(outside))
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

/// A task's entry is an element that the phase states to read.
LogicalResult PlanVerifier::verifyEntry(PhaseOp phase, AddressAttr entry) {
  PhaseOp writer = plan.tableFacts().writerOf(entry.getBuffer());
  if (writer && plan.indexOf(writer) >= plan.indexOf(phase))
    return phase.emitError()
           << "phase '" << phase.getName() << "' has entries of "
           << entry.getBuffer() << " before phase '" << writer.getName()
           << "' writes it";
  unsigned rank = phase.getRank();
  SmallVector<unsigned> task = columnsFrom(0, rank);
  Conjunction place(rank, 1);
  requireSymbols(place, program);
  if (!requireInside(place, phase.getGrid(), task))
    return failure();
  place.equal(place.variable(place.rangeColumn()),
              *place.flatten(entry.getIndex().getResult(0), task));
  return verifyElement(phase, "an entry", entry.getBuffer(), Relation(place));
}

/// The table is there before the step, and of each task both places are
/// elements that the phase states to read.
LogicalResult PlanVerifier::verifyCondition(PhaseOp phase,
                                            ConditionAttr condition) {
  BufferOp table = plan.lookUpBuffer(condition.getBuffer());
  // Tasks look at it before their waits, by whatever name others write it. The
  // phase that advances has the runtime write that of the next step.
  for (PhaseOp other : plan.phases()) {
    if (other == phase)
      break;
    if (!other.getBody().getOps<AdvanceOp>().empty())
      return phase.emitError()
             << "phase '" << phase.getName() << "' has a condition of "
             << condition.getBuffer() << " behind phase '" << other.getName()
             << "', which advances: it is the next step's by then";
  }
  for (PhaseOp other : plan.phases())
    for (AccessAttr access : other.getAccessAttrs())
      if (access.getWrite() && other.getBody().getOps<AdvanceOp>().empty() &&
          plan.lookUpBuffer(access.getBuffer()).getStorageAttr() ==
              table.getStorageAttr())
        return phase.emitError()
               << "phase '" << phase.getName() << "' has a condition of "
               << condition.getBuffer() << ", whose storage phase '"
               << other.getName() << "' writes as " << access.getBuffer();
  unsigned rank = phase.getRank();
  SmallVector<unsigned> task = columnsFrom(0, rank);
  ArrayRef<AffineExpr> ends = condition.getHigh().getResults();
  SmallVector<AffineExpr> places = {condition.getLow().getResult(0)};
  llvm::append_range(places, ends);
  for (auto [i, at] : llvm::enumerate(places)) {
    if (failed(verifyExpression(phase, at)))
      return failure();
    Conjunction place(rank, 1);
    requireSymbols(place, program);
    if (!requireInside(place, phase.getGrid(), task))
      return failure();
    Row value = *place.flatten(at, task);
    place.equal(place.variable(place.rangeColumn()), value);
    // Of several ends the least.
    for (AffineExpr end : i ? ends : ArrayRef<AffineExpr>())
      place.atLeast(*place.flatten(end, task), value);
    if (failed(verifyElement(phase, "a condition of", condition.getBuffer(),
                             Relation(place))))
      return failure();
  }
  for (AccessAttr access : phase.getAccessAttrs())
    if (access.getWrite() && failed(verifyUnits(phase, condition, access)))
      return failure();
  return success();
}

/// What a task writes lies between the units at its condition's places: where
/// one of them is wanted, the task has work.
LogicalResult PlanVerifier::verifyUnits(PhaseOp phase, ConditionAttr condition,
                                        AccessAttr write) {
  unsigned rank = phase.getRank(), last = write.getLow().getNumResults() - 1;
  SmallVector<unsigned> task = columnsFrom(0, rank);
  AffineExpr extent =
      plan.lookUpBuffer(write.getBuffer()).getExtents().getResult(last);
  SmallVector<AffineExpr> bounds = {condition.getLow().getResult(0)};
  llvm::append_range(bounds, condition.getHigh().getResults());
  for (auto [i, bound] : llvm::enumerate(bounds)) {
    Conjunction outside(rank, 1);
    requireSymbols(outside, program);
    if (!requireInside(outside, phase.getGrid(), task))
      return failure();
    Row index = outside.variable(outside.rangeColumn());
    outside.atLeast(index, {});
    outside.atLeast(index,
                    *outside.flatten(write.getLow().getResult(last), task));
    outside.less(index,
                 *outside.flatten(write.getHigh().getResult(last), task));
    outside.less(index, *outside.flatten(extent, {}));
    Row unit = *outside.flatten(bound * condition.getUnit(), task);
    if (i == 0)
      outside.less(index, unit);
    else
      outside.atLeast(index, unit);
    if (auto point = sampleOf(outside))
      return phase.emitError()
             << "phase '" << phase.getName() << "' writes index "
             << point->range[0] << " in the last dimension of "
             << write.getBuffer()
             << ", of whose unit its condition says nothing; for example "
             << taskName(phase, point->domain) << " with "
             << symbolNames(point->symbols);
  }
  return success();
}

/// Elements of a table that tasks look at are there, and stated to be read.
LogicalResult PlanVerifier::verifyElement(PhaseOp phase, StringRef what,
                                          FlatSymbolRefAttr table,
                                          const Relation &places) {
  unsigned rank = phase.getRank();
  SmallVector<unsigned> task = columnsFrom(0, rank);
  Relation open = places;
  BufferOp buffer = plan.lookUpBuffer(table);
  for (AccessAttr access : phase.getAccessAttrs()) {
    if (access.getWrite() || access.getBuffer() != table)
      continue;
    // A read whose box takes entries says nothing of where entries are.
    Conjunction stated(rank, 1);
    bool isPlain = !phase.usesEntries(access.getLow()) &&
                   !phase.usesEntries(access.getHigh());
    if (isPlain &&
        requireInside(stated, buffer.getExtents(), columnsFrom(rank, 1)) &&
        requireBox(stated, access.getLow(), access.getHigh(), task,
                   columnsFrom(rank, 1)))
      open = open.subtract(Relation(stated));
  }
  if (auto point = open.sample())
    return phase.emitError() << "phase '" << phase.getName() << "' has " << what
                             << " " << table << tupleText(point->range)
                             << ", of which it states no read; for example "
                             << taskName(phase, point->domain) << " with "
                             << symbolNames(point->symbols);
  return success();
}

/// One task writes all of a table, or the runtime does.
LogicalResult PlanVerifier::verifyTable(TableOp table) {
  Conjunction none(0, 0);
  requireSymbols(none, program);
  none.less(*none.flatten(table.getHigh().getResult(0), {}),
            *none.flatten(table.getLow().getResult(0), {}));
  if (auto point = sampleOf(none))
    return table.emitError() << "the values of " << table.getBufferAttr()
                             << " end before they begin; for example with "
                             << symbolNames(point->symbols);
  BufferOp buffer = plan.lookUpBuffer(table.getBufferAttr());
  PhaseOp writer;
  for (auto [phase, access] : uses.lookup(buffer)) {
    if (!access.getWrite() || !phase.getBody().getOps<AdvanceOp>().empty())
      continue;
    if (writer)
      return phase.emitError()
             << "phase '" << phase.getName() << "' writes the table "
             << table.getBufferAttr() << ", which phase '" << writer.getName()
             << "' writes, too";
    writer = phase;
    bool isOneTask = llvm::all_of(phase.getGrid().getResults(), [&](auto e) {
      auto extent = dyn_cast<AffineConstantExpr>(e);
      return extent && extent.getValue() == 1;
    });
    if (!isOneTask || access.getMay() || !covers(phase, access))
      return phase.emitError()
             << "phase '" << phase.getName() << "' writes a part of the table "
             << table.getBufferAttr()
             << ", expected one task that writes all of it, so that it can be "
                "checked";
  }
  return success();
}

LogicalResult PlanVerifier::verifyTables() {
  for (auto table : program.getBody().getOps<TableOp>())
    if (failed(verifyTable(table)))
      return failure();
  for (PhaseOp phase : plan.phases()) {
    if (phase.hasEntries() && !program.getBody().getOps<ScheduleOp>().empty())
      return phase.emitError()
             << "phase '" << phase.getName()
             << "' has entries of tables, which an explicit schedule cannot "
                "be proved with; use schedule-static";
    for (AddressAttr entry : phase.getEntryAttrs())
      if (failed(verifyEntry(phase, entry)))
        return failure();
    if (auto condition = phase.getCondition();
        condition && failed(verifyCondition(phase, *condition)))
      return failure();
  }
  return success();
}

/// How many indices of dimension `d` a tile takes at least: the step of its end
/// from one task to the next, or the height that all tiles have.
static int64_t heightOf(AccessAttr access, unsigned d, unsigned rank) {
  AffineExpr low = access.getLow().getResult(d),
             high = access.getHigh().getResult(d);
  int64_t height = 1;
  if (auto size = dyn_cast<AffineConstantExpr>(
          simplifyAffineExpr(high - low, rank, kStepSymbols)))
    height = std::max(height, size.getValue());
  for (unsigned coordinate = 0; coordinate < rank; ++coordinate) {
    AffineExpr moved =
        high.replace(getAffineDimExpr(coordinate, high.getContext()),
                     getAffineDimExpr(coordinate, high.getContext()) + 1);
    if (auto step = dyn_cast<AffineConstantExpr>(
            simplifyAffineExpr(moved - high, rank, kStepSymbols)))
      height = std::max(height, step.getValue());
  }
  return height;
}

/// A tile lies inside of the buffer or outside of it, where it has nothing, or
/// the end cuts it: it reaches beyond by less than its height.
LogicalResult PlanVerifier::verifyReach(PhaseOp phase, AccessAttr access) {
  BufferOp buffer = plan.lookUpBuffer(access.getBuffer());
  unsigned rank = phase.getMapRank();
  SmallVector<unsigned> task = columnsFrom(0, rank);
  for (unsigned d = 0, e = access.getLow().getNumResults(); d < e; ++d) {
    AffineExpr low = access.getLow().getResult(d),
               high = access.getHigh().getResult(d),
               extent = buffer.getExtents().getResult(d);
    auto find = [&](bool above) -> std::optional<RelationPoint> {
      Conjunction outside(rank, 0);
      requireSymbols(outside, program);
      if (!plan.requireTask(outside, phase, task))
        return std::nullopt;
      Row from = *outside.flatten(low, task), to = *outside.flatten(high, task);
      // Tiles outside.
      outside.less(from, to);
      outside.less({}, to);
      if (!above) {
        outside.less(from, {});
        return Relation(outside).sample();
      }
      Row end = *outside.flatten(extent, {});
      int64_t reach = heightOf(access, d, rank) - 1 + access.getBeyond();
      outside.less(from, end);
      outside.less(sum(end, outside.constant(reach)), to);
      return Relation(outside).sample();
    };
    auto isConstant = [](AffineExpr expression, int64_t least) {
      auto constant = dyn_cast<AffineConstantExpr>(expression);
      return constant && constant.getValue() >= least;
    };
    auto report = [&](const RelationPoint &point, bool above) -> LogicalResult {
      auto value = [&](AffineMap map) {
        return evaluate(map.getSubMap({d}), point.domain, point.symbols)[0];
      };
      auto diagnostic =
          phase.emitError()
          << "phase '" << phase.getName() << "' "
          << (access.getWrite() ? "writes " : "reads ") << access.getBuffer()
          << (above ? " up to " : " from ")
          << (above ? value(access.getHigh()) - 1 : value(access.getLow()))
          << " in dimension " << d;
      if (above)
        diagnostic << " of "
                   << evaluate(buffer.getExtents().getSubMap({d}), {},
                               point.symbols)[0]
                   << ", further beyond the end than a tile reaches or the "
                      "access states";
      return diagnostic << "; for example " << taskName(phase, point.domain)
                        << " with " << symbolNames(point.symbols);
    };
    if (!isConstant(low, 0))
      if (auto point = find(/*above=*/false))
        return report(*point, false);
    auto limit = dyn_cast<AffineConstantExpr>(extent);
    auto end = dyn_cast<AffineConstantExpr>(high);
    if (high == extent || (limit && end && end.getValue() <= limit.getValue()))
      continue;
    if (auto point = find(/*above=*/true))
      return report(*point, true);
  }
  return success();
}

LogicalResult PlanVerifier::verifyExtents() {
  for (PhaseOp phase : plan.phases())
    for (AccessAttr access : phase.getAccessAttrs())
      if (failed(verifyReach(phase, access)))
        return failure();
  return success();
}

LogicalResult PlanVerifier::verifyWriters() {
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    int64_t writers = buffer.countWriters();
    if (buffer.getWriters() && int64_t(*buffer.getWriters()) != writers)
      return buffer.emitError()
             << "@" << buffer.getSymName() << " is to be written by "
             << *buffer.getWriters() << " phases, but " << writers
             << " state it";
  }
  return success();
}

/// How many indices a dimension has in any step, at most.
static int64_t mostOf(BufferOp buffer, unsigned d) {
  auto program = buffer->getParentOfType<ProgramOp>();
  MLIRContext *context = buffer.getContext();
  AffineExpr extent = buffer.getExtents().getResult(d),
             rows = getAffineSymbolExpr(kRows, context),
             past = getAffineSymbolExpr(kPast, context);
  int64_t capacity = buffer.getCapacity()[d];
  if (auto constant = dyn_cast<AffineConstantExpr>(extent))
    return std::min(capacity, constant.getValue());
  if (extent == rows)
    return std::min(capacity, int64_t(program.getMaxRows()));
  if (extent == past + rows || extent == rows + past)
    return std::min(capacity, int64_t(program.getMaxSeq()));
  return capacity;
}

/// Elements from the first of a copy to the one behind its last, of those that
/// steps have.
static int64_t spanOf(BufferOp buffer) {
  ArrayRef<int64_t> strides = buffer.getStrides();
  int64_t run = buffer.getInterleave(), columns = buffer.getInterleaveColumns();
  int64_t lastRow =
              (buffer.isPaged() ? buffer.countPlaces() : mostOf(buffer, 0)) - 1,
          end = 1;
  unsigned rank = strides.size();
  // Where the last element of each dimension lies; of runs, see event.buffer.
  int64_t inRun = 1;
  for (unsigned d = 1; d < rank; ++d) {
    int64_t last = mostOf(buffer, d) - 1;
    if (last < 0)
      return 0;
    if (columns > 1 && d + 1 == rank) {
      end += last / columns * columns * run + last % columns;
      inRun = last % columns + 1;
    } else {
      end += last * strides[d];
    }
  }
  if (lastRow < 0)
    return 0;
  return end + (run > 1
                    ? lastRow / run * run * strides[0] + lastRow % run * inRun
                    : lastRow * strides[0]);
}

namespace {
/// How far apart neighbours lie, and how many there are.
using Dimension = std::pair<int64_t, int64_t>;
} // namespace

/// True when each dimension steps over all that smaller strides reach.
static bool areNested(SmallVector<Dimension> dimensions) {
  llvm::sort(dimensions);
  int64_t span = 1;
  for (auto [stride, count] : dimensions) {
    if (stride < span)
      return false;
    span += (count - 1) * stride;
  }
  return true;
}

/// True when different indices are different sums: no differences of indices,
/// one of which is not zero, sum up to none.
static bool haveOneIndexEach(ArrayRef<Dimension> dimensions) {
  return llvm::all_of(llvm::seq<size_t>(0, dimensions.size()), [&](size_t d) {
    Conjunction same(0, dimensions.size());
    Row distance;
    for (auto [i, dimension] : llvm::enumerate(dimensions)) {
      auto [stride, count] = dimension;
      Row apart = same.variable(i);
      same.atLeast(apart, same.constant(i == d ? 1 : 1 - count));
      same.atLeast(same.constant(count - 1), apart);
      distance = sum(distance, scaled(apart, stride));
    }
    same.equal(distance, {});
    // What no step depends on is sampled for one.
    for (unsigned i = 0; i < kStepSymbols; ++i)
      same.equal(same.variable(same.symbolColumn() + i), {});
    return !Relation(same).sample();
  });
}

/// True when different indices that steps have are different addresses. Of a
/// state in pages these are indices of a page: slots are distinct.
static bool isInjective(BufferOp buffer) {
  SmallVector<Dimension> dimensions;
  SmallVector<int64_t> places(buffer.getCapacity());
  places.front() = buffer.countPlaces();
  for (auto [stride, capacity] : llvm::zip(buffer.getStrides(), places))
    if (capacity > 1)
      dimensions.push_back({stride, capacity});
  if (int64_t interleave = buffer.getInterleave(); interleave > 1) {
    // The first dimension is two: which run of indices, and where in it.
    dimensions.front() = {1, interleave};
    if (places.front() > interleave)
      dimensions.push_back(
          {interleave * buffer.getStrides()[0], places.front() / interleave});
  }
  if (buffer.getLayers() > 1) {
    // Behind all of a copy, or between its elements.
    bool isOutermost = llvm::all_of(dimensions, [&](auto dimension) {
      return dimension.first < int64_t(buffer.getLayerStride());
    });
    if (!isOutermost || int64_t(buffer.getLayerStride()) < spanOf(buffer))
      dimensions.push_back({buffer.getLayerStride(), buffer.getLayers()});
  }
  return areNested(dimensions) || haveOneIndexEach(dimensions);
}

/// The runtime provides the tokens of all positions so far.
LogicalResult PlanVerifier::verifyInput(BufferOp input) {
  Conjunction beyond(0, 0);
  requireSymbols(beyond, program);
  unsigned symbols = beyond.symbolColumn();
  beyond.less(
      sum(beyond.variable(symbols + kRows), beyond.variable(symbols + kPast)),
      *beyond.flatten(input.getExtents().getResult(0), {}));
  if (auto point = sampleOf(beyond))
    return input.emitError()
           << "@" << input.getSymName() << " has "
           << evaluate(input.getExtents(), {}, point->symbols)[0]
           << " tokens with " << symbolNames(point->symbols)
           << ", expected at most rows + past";
  return success();
}

/// A step leaves to later ones whatever they may read: all rows so far, or its
/// own, in pages, of a width that no step changes.
LogicalResult PlanVerifier::verifyState(BufferOp state) {
  ArrayRef<AffineExpr> extents = state.getExtents().getResults();
  for (AffineExpr extent : extents.drop_front())
    if (!isa<AffineConstantExpr>(extent))
      return state.emitError()
             << "an extent of the state @" << state.getSymName() << " is '"
             << textOf(extent) << "', expected the same in every step";
  MLIRContext *context = program.getContext();
  AffineExpr rows = getAffineSymbolExpr(kRows, context);
  return verifyEqual(
      state, "the first extent of the state @" + state.getSymName(),
      extents.front(),
      state.isPaged() ? rows : getAffineSymbolExpr(kPast, context) + rows, {});
}

/// Whether there is an element of each, in some step, that have bytes in
/// common. What outlives a step counts up to its capacity: a later one may have
/// more of it.
bool PlanVerifier::shareBytes(BufferOp one, BufferOp other) {
  Overlap overlap = overlapOf(one, other);
  if (overlap == Overlap::none)
    return false;
  Conjunction pairs(0, 0);
  requireSymbols(pairs, program);
  auto elementOf = [&](BufferOp buffer) {
    SmallVector<unsigned> element;
    for (int64_t capacity : buffer.getCapacity()) {
      unsigned index = element.emplace_back(pairs.addLocal());
      pairs.atLeast(pairs.variable(index), {});
      pairs.less(pairs.variable(index), pairs.constant(capacity));
    }
    return element;
  };
  SmallVector<unsigned> element = elementOf(one),
                        otherElement = elementOf(other);
  for (auto [buffer, columns] :
       {std::pair(one, &element), std::pair(other, &otherElement)})
    if (buffer.getKind() == BufferKind::transient &&
        !requireInside(pairs, buffer.getExtents(), *columns))
      return true;
  requireSameBytes(pairs, overlap, one, element, other, otherElement,
                   Detail::bytes);
  return sampleOf(pairs).has_value();
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
  auto isApart = [](BufferOp buffer) {
    return buffer.getKind() != BufferKind::transient || isLayered(buffer);
  };
  for (auto [index, one] : llvm::enumerate(buffers))
    for (BufferOp other : ArrayRef(buffers).drop_front(index + 1))
      if (!(one.getKind() == BufferKind::persistent &&
            other.getKind() == BufferKind::persistent) &&
          (isApart(one) || isApart(other)) && shareBytes(one, other)) {
        // Two persistent ones are shapes of one thing, of whose values nothing
        // is proved.
        for (BufferOp apart : {one, other})
          if (isApart(apart))
            return (apart == one ? other : one).emitError()
                   << "shares bytes of @" << *one.getStorage() << " with @"
                   << apart.getSymName() << ", whose values outlive the "
                   << (apart.getKind() == BufferKind::transient ? "iteration"
                                                                : "step");
      }
  for (PhaseOp phase : plan.phases()) {
    auto repeat = HappensBefore::segmentOf(phase).getRepeat();
    for (AccessAttr access : phase.getAccessAttrs()) {
      BufferOp buffer = plan.lookUpBuffer(access.getBuffer());
      if (repeat > buffer.getLayers() && !buffer.getRing() &&
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
  SmallVector<unsigned> task = columnsFrom(0, phase.getMapRank());
  // A task with entries makes its calls if it has something to write.
  SmallVector<AccessAttr> reasons = {AccessAttr()};
  if (phase.hasEntries())
    reasons = llvm::to_vector(
        llvm::make_filter_range(phase.getAccessAttrs(), [](AccessAttr access) {
          return access.getWrite();
        }));
  for (auto [place, size] : llvm::zip(index.getResults(), capacity)) {
    AffineExpr result = place;
    if (failed(verifyExpression(call, result)))
      return failure();
    auto find = [&](AccessAttr reason,
                    bool above) -> std::optional<RelationPoint> {
      Conjunction outside(phase.getMapRank(), 0);
      requireSymbols(outside, program);
      if (!plan.requireTask(outside, phase, task))
        return std::nullopt;
      if (reason)
        for (auto [low, high] : llvm::zip(reason.getLow().getResults(),
                                          reason.getHigh().getResults()))
          outside.less(*outside.flatten(low, task),
                       *outside.flatten(high, task));
      Row value = *outside.flatten(result, task);
      if (above)
        outside.atLeast(value, outside.constant(size));
      else
        outside.less(value, {});
      return sampleOf(outside);
    };
    for (AccessAttr reason : reasons)
      for (bool above : {true, false})
        if (auto point = find(reason, above))
          return call.emitError()
                 << operand << " starts at "
                 << evaluate(AffineMap::get(index.getNumDims(), kStepSymbols,
                                            result),
                             point->domain, point->symbols)[0]
                 << " of " << size << "; for example "
                 << taskName(phase, point->domain) << " with "
                 << symbolNames(point->symbols);
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
    auto parameter =
        symbols.lookup<ParameterOp>(weight.getParameter().getAttr());
    if (parameter.getLayers() > 1 && repeat > parameter.getLayers())
      return call.emitError()
             << "repeats " << repeat << " times, but " << weight.getParameter()
             << " has " << parameter.getLayers() << " layers";
    // A body that is not the library's does not ask a panel where the next is.
    if (layerFormatsOf(parameter) && !bodies::lookUp(call.getCallee()))
      return call.emitError()
             << "reads " << weight.getParameter()
             << ", whose layers have formats of their own, which only bodies "
                "of the task library find";
    // Only panels are where an offset says in every layer.
    if (layerFormatsOf(parameter) &&
        !weight.getOffset().getResult(0).isMultipleOf(
            panelBytes(cast<BlocksAttr>(parameter.getFormAttr()))))
      return call.emitError()
             << "reads " << weight.getParameter()
             << ", whose layers have formats of their own, from another place "
                "than where a panel begins";
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
  if (!isa<AffineConstantExpr>(extents.getResult(0)) &&
      failed(verifyEqual(logits,
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
           << advance.getLogitsAttr() << tupleText(point->range)
           << "; for example with " << symbolNames(point->symbols);
  return success();
}

/// What an exchange sends or receives of a buffer, `rows` of it, is stated and
/// lies in one piece; of a buffer of parts, each row does.
LogicalResult PlanVerifier::verifyTouched(PhaseOp phase, ExchangeOp exchange,
                                          BufferOp buffer, bool isParts,
                                          int64_t rows, bool written) {
  int64_t expected = 1;
  // What a step does not use of the outermost dimension leaves no gap.
  size_t outermost = isParts ? 1 : 0;
  for (size_t i = buffer.getCapacity().size(); i-- > 0;) {
    AffineExpr extent = buffer.getExtents().getResult(i);
    int64_t capacity = buffer.getCapacity()[i];
    if (i > outermost &&
        extent != getAffineConstantExpr(capacity, phase.getContext()))
      return exchange.emitError()
             << "moves @" << buffer.getSymName() << ", of which an extent is '"
             << textOf(extent) << "', expected the same in every step";
    if (mostOf(buffer, i) > 1 && buffer.getStrides()[i] != expected)
      return exchange.emitError()
             << "moves @" << buffer.getSymName()
             << ", whose elements do not lie behind one another";
    expected *= capacity;
  }
  auto name = FlatSymbolRefAttr::get(buffer.getSymNameAttr());
  unsigned rank = buffer.getExtents().getNumResults();
  Conjunction all(0, rank);
  requireSymbols(all, program);
  // In steps that have the task.
  for (AffineExpr extent : phase.getGrid().getResults())
    all.atLeast(*all.flatten(extent, {}), all.constant(1));
  if (!requireInside(all, buffer.getExtents(), columnsFrom(0, rank)))
    return failure();
  all.less(all.variable(0), all.constant(rows));
  Relation open(all);
  for (AccessAttr access : phase.getAccessAttrs())
    if (access.getWrite() == written && access.getBuffer() == name)
      open = open.subtract(touched(phase, access, 0));
  if (auto point = open.sample())
    return exchange.emitError()
           << (written ? "receives " : "sends ") << name << ", but phase '"
           << phase.getName() << "' states no " << (written ? "write" : "read")
           << " of " << name << tupleText(point->range) << "; for example with "
           << symbolNames(point->symbols);
  return success();
}

/// All ranks' parts together are the whole tensor, in every step.
LogicalResult PlanVerifier::verifyParts(ExchangeOp exchange,
                                        TransferAttr transfer) {
  int64_t ranks = exchange.countRanks();
  Conjunction less(0, 0);
  requireSymbols(less, program);
  auto parts = less.flatten(transfer.getPartCount() * ranks, {}),
       elements = less.flatten(transfer.getElementCount(), {});
  if (!parts || !elements)
    return exchange.emitError()
           << transfer << " has counts that are not affine";
  less.less(*parts, *elements);
  if (auto point = sampleOf(less))
    return exchange.emitError()
           << transfer << " is of more elements than " << ranks
           << " parts have; for example with " << symbolNames(point->symbols);
  return success();
}

/// Where rows go to experts, or come from them, the phase states the tables,
/// all of a rank's own rows, and of the experts' rows those that there are.
LogicalResult PlanVerifier::verifyRows(PhaseOp phase, ExchangeOp exchange) {
  for (ExchangeOp::Table table :
       {ExchangeOp::bounds, ExchangeOp::counts, ExchangeOp::received}) {
    BufferOp buffer = plan.lookUpBuffer(exchange.getTable(table));
    if (failed(verifyTouched(phase, exchange, buffer, /*isParts=*/false,
                             buffer.getCapacity()[0], /*written=*/false)))
      return failure();
  }
  const bool dispatches = exchange.getKind() == ExchangeKind::dispatch;
  FlatSymbolRefAttr received = exchange.getTable(ExchangeOp::received);
  const int64_t experts =
      cast<AffineConstantExpr>(
          plan.lookUpBuffer(received).getExtents().getResult(0))
          .getValue() -
      2;
  SmallVector<AddressAttr> entries(phase.getEntryAttrs());
  auto isConstant = [](AffineExpr expression, int64_t value) {
    auto constant = dyn_cast<AffineConstantExpr>(expression);
    return constant && constant.getValue() == value;
  };
  auto isEnd = [&](AffineExpr expression) {
    auto number = dyn_cast<AffineDimExpr>(expression);
    if (!number || number.getPosition() < phase.getRank())
      return false;
    AddressAttr entry = entries[number.getPosition() - phase.getRank()];
    return entry.getBuffer() == received &&
           isConstant(entry.getIndex().getResult(0), experts);
  };
  for (TransferAttr transfer : exchange.getTransfers()) {
    BufferOp own = plan.lookUpBuffer(exchange.getOwnRows(transfer));
    if (failed(verifyTouched(phase, exchange, own, /*isParts=*/false,
                             own.getCapacity()[0], /*written=*/!dispatches)))
      return failure();
    FlatSymbolRefAttr name = exchange.getExpertRows(transfer);
    const bool isStated =
        llvm::any_of(phase.getAccessAttrs(), [&](AccessAttr access) {
          return access.getWrite() == dispatches && !access.getMay() &&
                 access.getBuffer() == name &&
                 isConstant(access.getLow().getResult(0), 0) &&
                 isConstant(access.getLow().getResult(1), 0) &&
                 isEnd(access.getHigh().getResult(0)) &&
                 access.getHigh().getResult(1) == transfer.getPartCount();
        });
    if (!isStated)
      return exchange.emitError()
             << (dispatches ? "receives " : "sends ") << name << ", but phase '"
             << phase.getName() << "' states no "
             << (dispatches ? "write" : "read") << " of its rows up to entry "
             << experts << " of " << received;
  }
  return success();
}

/// An exchange moves what its phase states.
LogicalResult PlanVerifier::verifyExchange(PhaseOp phase, ExchangeOp exchange) {
  if (exchange.movesRows())
    return verifyRows(phase, exchange);
  bool gathers = exchange.getKind() == ExchangeKind::all_gather;
  for (TransferAttr transfer : exchange.getTransfers()) {
    BufferOp send = plan.lookUpBuffer(transfer.getSend()),
             receive = plan.lookUpBuffer(transfer.getReceive());
    if (failed(verifyParts(exchange, transfer)) ||
        failed(verifyTouched(phase, exchange, send, gathers,
                             gathers ? 1 : send.getCapacity()[0],
                             /*written=*/false)) ||
        failed(verifyTouched(phase, exchange, receive, !gathers,
                             receive.getCapacity()[0],
                             /*written=*/true)))
      return failure();
  }
  return success();
}

/// A body's calls and its accesses name the same buffers; the step is handed
/// over exactly once.
LogicalResult PlanVerifier::verifyBodies() {
  PhaseOp advancing;
  for (PhaseOp phase : plan.phases()) {
    llvm::SmallPtrSet<Attribute, 8> accessed, read;
    for (AccessAttr access : phase.getAccessAttrs()) {
      accessed.insert(access.getBuffer());
      if (!access.getWrite())
        read.insert(access.getBuffer());
    }
    for (Operation &op : phase.getBody().front()) {
      if (auto call = dyn_cast<CallOp>(op)) {
        for (Attribute operand : call.getOperands_())
          if (auto address = dyn_cast<AddressAttr>(operand)) {
            if (!accessed.contains(address.getBuffer()))
              return call.emitError()
                     << "passes " << address.getBuffer() << ", to which phase '"
                     << phase.getName() << "' states no access";
            if (call.getInvariant() && !read.contains(address.getBuffer()))
              return call.emitError()
                     << "is invariant, so that it writes scratch only, but is "
                        "passed "
                     << address.getBuffer() << ", which phase '"
                     << phase.getName() << "' states only to write";
          }
        if (failed(verifyOperands(phase, call)))
          return failure();
        continue;
      }
      if (auto exchange = dyn_cast<ExchangeOp>(op))
        if (failed(verifyExchange(phase, exchange)))
          return failure();
      if (auto message = dyn_cast<MessageOp>(op))
        if (failed(verifyMessage(phase, message)))
          return failure();
      auto advance = dyn_cast<AdvanceOp>(op);
      if (!advance)
        continue;
      if (advancing || HappensBefore::segmentOf(phase).getRepeat() != 1)
        return advance.emitError() << "hands the step over more than once";
      advancing = phase;
      if (failed(verifyAdvance(phase, advance)))
        return failure();
    }
    if (isTier(phase) && failed(verifyTier(phase)))
      return failure();
    if (failed(verifyCalls(phase)))
      return failure();
  }
  for (PhaseOp phase : plan.phases())
    if (failed(verifyOutputs(phase)))
      return failure();
  return success();
}
