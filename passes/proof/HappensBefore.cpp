//===- HappensBefore.cpp - which tasks events put in order ---------------===//

#include "passes/proof/HappensBefore.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

static_assert(kRelationSymbols == kStepSymbols);

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// Bytes that a buffer's elements take in its storage.
struct Footprint {
  int64_t begin, end;
  /// Bytes from one first index to the next.
  int64_t rowStride;
  /// The part of a row that is used, from the storage's first byte on.
  int64_t rowBegin, rowEnd;
};
} // namespace

static int64_t elementBytes(BufferOp buffer) {
  return buffer.getElement().getIntOrFloatBitWidth() / 8;
}

static Footprint footprintOf(BufferOp buffer) {
  // What is interleaved lies alone in its storage.
  int64_t bytes = elementBytes(buffer);
  llvm::ArrayRef<int64_t> capacity = buffer.getCapacity();
  llvm::ArrayRef<int64_t> strides = buffer.getStrides();
  int64_t inner = 1;
  for (unsigned d = 1; d < capacity.size(); ++d)
    inner += (capacity[d] - 1) * strides[d];
  int64_t offset = buffer.getOffset();
  int64_t copies = int64_t(buffer.getLayers() - 1) * buffer.getLayerStride();
  return {offset * bytes,
          (offset + (capacity[0] - 1) * strides[0] + inner + copies) * bytes,
          strides[0] * bytes, offset * bytes, (offset + inner) * bytes};
}

/// Whether an element's address is affine in its index.
static bool hasAffineAddresses(BufferOp buffer) {
  return buffer.getLayers() == 1 && buffer.getInterleave() == 1;
}

Overlap baton::tasks::overlapOf(BufferOp first, BufferOp second) {
  if (first == second)
    return Overlap::elements;
  if (!first.getStorage() || first.getStorageAttr() != second.getStorageAttr())
    return Overlap::none;
  Footprint a = footprintOf(first), b = footprintOf(second);
  if (a.end <= b.begin || b.end <= a.begin)
    return Overlap::none;
  if (!hasAffineAddresses(first) || !hasAffineAddresses(second) ||
      a.rowStride != b.rowStride || a.rowStride <= 0)
    return Overlap::everything;
  // Row r of the first lies in [r * stride + begin, r * stride + end): it meets
  // row s of the second where (r - s) * stride is less than b.end - a.begin,
  // and more than b.begin - a.end.
  int64_t least =
              llvm::divideFloorSigned(b.rowBegin - a.rowEnd, a.rowStride) + 1,
          most = llvm::divideCeilSigned(b.rowEnd - a.rowBegin, a.rowStride) - 1;
  return least <= most ? Overlap(Overlap::rows, least, most) : Overlap::none;
}

bool baton::tasks::isLayered(BufferOp buffer) { return buffer.getLayers() > 1; }

/// Whether copies of different layers of two layered buffers in one storage are
/// apart: both have them equally far from one another, and those of one layer
/// lie together within that distance.
static bool haveCopiesApart(BufferOp first, BufferOp second) {
  int64_t begin = 0, end = 0, distance = 0;
  for (BufferOp buffer : {first, second}) {
    int64_t bytes = elementBytes(buffer);
    int64_t from = int64_t(buffer.getOffset()) * bytes;
    int64_t to = from + (*buffer.getSpan() + 1) * bytes;
    int64_t step = int64_t(buffer.getLayerStride()) * bytes;
    if (buffer == second && step != distance)
      return false;
    begin = buffer == first ? from : std::min(begin, from);
    end = std::max(end, to);
    distance = step;
  }
  return end - begin <= distance;
}

/// By how many iterations less `other` is ahead.
static int64_t shiftBetween(PhaseOp one, PhaseOp other) {
  return int64_t(one.getAhead()) - int64_t(other.getAhead());
}

bool baton::tasks::meetWithin(PhaseOp one, BufferOp first, PhaseOp other,
                              BufferOp second) {
  if (first != second || !isLayered(first))
    return true;
  int64_t shift = shiftBetween(one, other);
  return first.getRing() ? shift % int64_t(first.getLayers()) == 0 : shift == 0;
}

// Iteration i of `earlier` has the copy of layer i + a, iteration i + distance
// of `later` that of i + distance + b: with a - b the shift, it is the same one
// where distance = shift, and in a ring also at distances beyond.
bool baton::tasks::meetAcross(PhaseOp earlier, BufferOp first, PhaseOp later,
                              BufferOp second) {
  int64_t repeat = HappensBefore::segmentOf(later).getRepeat();
  int64_t shift = shiftBetween(earlier, later);
  if (repeat < 2)
    return false;
  if (first != second)
    return !isLayered(first) || !isLayered(second) || first.getRing() ||
           second.getRing() || shift != 0 || !haveCopiesApart(first, second);
  return !isLayered(first) || first.getRing() || shift > 0;
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

void baton::tasks::requireSymbols(Conjunction &conjunction, ProgramOp program) {
  auto symbol = [&](unsigned index) {
    return conjunction.variable(conjunction.symbolColumn() + index);
  };
  auto constant = [&](int64_t value) { return conjunction.constant(value); };
  conjunction.atLeast(symbol(kRows), constant(1));
  conjunction.atLeast(constant(program.getMaxRows()), symbol(kRows));
  conjunction.atLeast(symbol(kPast), constant(0));
  conjunction.atLeast(constant(program.getMaxSeq()),
                      sum(symbol(kRows), symbol(kPast)));
  conjunction.atLeast(symbol(kOutputs), constant(0));
  conjunction.atLeast(symbol(kRows), symbol(kOutputs));
  conjunction.atLeast(constant(program.getMaxOutputs()), symbol(kOutputs));
}

bool baton::tasks::requireInside(Conjunction &conjunction,
                                 mlir::AffineMap extents,
                                 llvm::ArrayRef<unsigned> columns) {
  for (auto [column, extent] : llvm::zip(columns, extents.getResults())) {
    std::optional<Row> limit = conjunction.flatten(extent, {});
    if (!limit)
      return false;
    conjunction.atLeast(conjunction.variable(column), {});
    conjunction.less(conjunction.variable(column), *limit);
  }
  return true;
}

bool baton::tasks::requireBox(Conjunction &conjunction, mlir::AffineMap low,
                              mlir::AffineMap high,
                              llvm::ArrayRef<unsigned> coordinates,
                              llvm::ArrayRef<unsigned> columns) {
  for (auto [column, from, to] :
       llvm::zip(columns, low.getResults(), high.getResults())) {
    std::optional<Row> lower = conjunction.flatten(from, coordinates);
    std::optional<Row> upper = conjunction.flatten(to, coordinates);
    if (!lower || !upper)
      return false;
    conjunction.atLeast(conjunction.variable(column), *lower);
    conjunction.less(conjunction.variable(column), *upper);
  }
  return true;
}

llvm::SmallVector<unsigned> baton::tasks::columnsFrom(unsigned first,
                                                      unsigned count) {
  return llvm::to_vector(llvm::seq(first, first + count));
}

llvm::SmallVector<unsigned> baton::tasks::freshColumns(Conjunction &conjunction,
                                                       unsigned count) {
  llvm::SmallVector<unsigned> columns;
  for (unsigned i = 0; i < count; ++i)
    columns.push_back(conjunction.addLocal());
  return columns;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

HappensBefore::HappensBefore(ProgramOp program)
    : program(program), tables(program), phaseList(phasesOf(program)) {
  for (auto [index, phase] : llvm::enumerate(phaseList)) {
    indices[phase] = index;
    if (std::optional<NotifyAttr> notify = phase.getNotify())
      notifiers[notify->getEvent()] = phase;
  }
  orders.resize(phaseList.size());
  for (auto buffer : program.getBody().getOps<BufferOp>())
    buffers[mlir::FlatSymbolRefAttr::get(buffer.getSymNameAttr())] = buffer;
}

unsigned HappensBefore::indexOf(PhaseOp phase) const {
  return indices.lookup(phase);
}

SegmentOp HappensBefore::segmentOf(PhaseOp phase) {
  return llvm::cast<SegmentOp>(phase->getParentOp());
}

BufferOp HappensBefore::lookUpBuffer(mlir::FlatSymbolRefAttr name) const {
  return buffers.lookup(name);
}

PhaseOp HappensBefore::notifierOf(mlir::FlatSymbolRefAttr event) const {
  return notifiers.lookup(event);
}

void HappensBefore::refresh(PhaseOp phase) {
  unsigned changed = indexOf(phase);
  for (auto entry = notifiers.begin(); entry != notifiers.end(); ++entry)
    if (entry->second == phase) {
      notifiers.erase(entry);
      break;
    }
  if (std::optional<NotifyAttr> notify = phase.getNotify())
    notifiers[notify->getEvent()] = phase;
  // A chain to the next iteration passes any phase, others only phases of
  // lower rank than the one they lead to.
  for (auto [later, of] : llvm::enumerate(orders))
    for (Distance distance : {Distance::sameIteration, Distance::nextIteration,
                              Distance::laterSegment})
      if (distance == Distance::nextIteration || later >= changed)
        for (auto &found : of[unsigned(distance)])
          found.clear();
}

bool HappensBefore::requireTask(Conjunction &conjunction, PhaseOp phase,
                                llvm::ArrayRef<unsigned> columns) const {
  return requireInside(conjunction, phase.getGrid(),
                       columns.take_front(phase.getRank())) &&
         (!phase.hasEntries() ||
          tables.requireEntries(conjunction, phase, columns));
}

KnownRelation HappensBefore::tasks(PhaseOp first, PhaseOp second) {
  std::pair<mlir::AffineMap, mlir::AffineMap> key{first.getGrid(),
                                                  second.getGrid()};
  if (auto found = taskPairs.find(key); found != taskPairs.end())
    return found->second;
  Conjunction pairs(first.getRank(), second.getRank());
  requireSymbols(pairs, program);
  bool described =
      requireInside(pairs, first.getGrid(), columnsFrom(0, first.getRank())) &&
      requireInside(pairs, second.getGrid(),
                    columnsFrom(pairs.rangeColumn(), second.getRank()));
  KnownRelation relation = described
                               ? memo.known(pairs)
                               : memo.empty(first.getRank(), second.getRank());
  taskPairs.try_emplace(key, relation);
  return relation;
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

/// Where an element lies in its storage, counted in elements.
static Row addressOf(Conjunction &conjunction, BufferOp buffer,
                     llvm::ArrayRef<unsigned> columns) {
  Row address = conjunction.constant(buffer.getOffset());
  for (auto [column, stride] : llvm::zip_equal(columns, buffer.getStrides()))
    address = sum(address, scaled(conjunction.variable(column), stride));
  if (!isLayered(buffer))
    return address;
  unsigned copy = conjunction.addLocal();
  conjunction.atLeast(conjunction.variable(copy), {});
  conjunction.less(conjunction.variable(copy),
                   conjunction.constant(buffer.getLayers()));
  return sum(address,
             scaled(conjunction.variable(copy), buffer.getLayerStride()));
}

/// The bytes of one element are bytes of the other.
static void requireSameIntervals(Conjunction &conjunction, BufferOp first,
                                 llvm::ArrayRef<unsigned> element,
                                 BufferOp second,
                                 llvm::ArrayRef<unsigned> otherElement) {
  if (first.getInterleave() != 1 || second.getInterleave() != 1)
    return;
  Row address = addressOf(conjunction, first, element),
      otherAddress = addressOf(conjunction, second, otherElement);
  int64_t bytes = elementBytes(first), otherBytes = elementBytes(second);
  // Elements of one size lie at multiples of it: in the same place, or apart.
  if (bytes == otherBytes)
    return conjunction.equal(address, otherAddress);
  Row begin = scaled(address, bytes),
      otherBegin = scaled(otherAddress, otherBytes);
  conjunction.less(begin, sum(otherBegin, conjunction.constant(otherBytes)));
  conjunction.less(otherBegin, sum(begin, conjunction.constant(bytes)));
}

void baton::tasks::requireSameBytes(Conjunction &conjunction,
                                    const Overlap &overlap, BufferOp first,
                                    llvm::ArrayRef<unsigned> element,
                                    BufferOp second,
                                    llvm::ArrayRef<unsigned> otherElement,
                                    Detail detail) {
  if (overlap.kind == Overlap::rows) {
    Row distance = difference(conjunction.variable(element[0]),
                              conjunction.variable(otherElement[0]));
    conjunction.atLeast(distance, conjunction.constant(overlap.least));
    conjunction.atLeast(conjunction.constant(overlap.most), distance);
    // plan-memory puts rows over rows: those are the same or not. Of what lies
    // otherwise the addresses tell, and take longer to ask.
    if (overlap.least == 0 && overlap.most == 0 && detail == Detail::rows)
      return;
  }
  if (detail == Detail::bytes ||
      (hasAffineAddresses(first) && hasAffineAddresses(second) &&
       first.getElement() == second.getElement()))
    requireSameIntervals(conjunction, first, element, second, otherElement);
}

KnownRelation HappensBefore::conflict(PhaseOp first, AccessAttr firstAccess,
                                      PhaseOp second, AccessAttr secondAccess,
                                      Distance distance, Detail detail) {
  BufferOp one = lookUpBuffer(firstAccess.getBuffer());
  BufferOp other = lookUpBuffer(secondAccess.getBuffer());
  Overlap overlap = overlapOf(one, other);
  if (overlap == Overlap::none)
    return memo.empty(first.getRank(), second.getRank());
  // Distance matters to tables alone.
  bool mayBeApart = tables.mayBeApart(first, second);
  std::tuple<unsigned, unsigned, const void *, const void *, Overlap, Distance,
             Detail>
      key{indexOf(first),
          indexOf(second),
          firstAccess.getAsOpaquePointer(),
          secondAccess.getAsOpaquePointer(),
          overlap,
          mayBeApart ? distance : Distance::sameIteration,
          detail};
  if (auto found = conflicts.find(key); found != conflicts.end())
    return found->second;

  Conjunction pairs(first.getRank(), second.getRank());
  llvm::SmallVector<unsigned> left = columnsFrom(0, first.getRank());
  llvm::SmallVector<unsigned> right =
      columnsFrom(pairs.rangeColumn(), second.getRank());
  llvm::append_range(left, freshColumns(pairs, first.getEntries().size()));
  llvm::append_range(right, freshColumns(pairs, second.getEntries().size()));
  llvm::SmallVector<unsigned> element =
      freshColumns(pairs, one.getExtents().getNumResults());
  llvm::SmallVector<unsigned> otherElement = element;
  if (overlap != Overlap::elements) {
    otherElement = freshColumns(pairs, other.getExtents().getNumResults());
    requireSameBytes(pairs, overlap, one, element, other, otherElement, detail);
  }
  requireSymbols(pairs, program);
  bool described = requireTask(pairs, first, left) &&
                   requireTask(pairs, second, right) &&
                   requireInside(pairs, one.getExtents(), element) &&
                   requireInside(pairs, other.getExtents(), otherElement) &&
                   requireBox(pairs, firstAccess.getLow(),
                              firstAccess.getHigh(), left, element) &&
                   requireBox(pairs, secondAccess.getLow(),
                              secondAccess.getHigh(), right, otherElement);
  // What cannot be described conflicts everywhere.
  KnownRelation relation = memo.empty(first.getRank(), second.getRank());
  if (!described)
    relation = tasks(first, second);
  else if (!mayBeApart)
    relation = memo.known(pairs);
  else
    for (const Conjunction &of :
         tables.apart(pairs, first, left, second, right, distance))
      relation = memo.unite(relation, memo.known(of));
  return conflicts.emplace(key, relation).first->second;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

KnownRelation HappensBefore::edge(PhaseOp notifier, PhaseOp waiter,
                                  WaitAttr wait) {
  auto notify = *notifier.getNotify();
  std::tuple<unsigned, unsigned, const void *, const void *> key{
      indexOf(notifier), indexOf(waiter), wait.getAsOpaquePointer(),
      notify.getAsOpaquePointer()};
  if (auto found = edges.find(key); found != edges.end())
    return found->second;
  Conjunction pairs(notifier.getRank(), waiter.getRank());
  // The word is the notifying task's own index, so that it lies within the
  // event tensor's shape.
  llvm::SmallVector<unsigned> word;
  for (mlir::AffineExpr picked : notify.getIndex().getResults())
    word.push_back(llvm::cast<mlir::AffineDimExpr>(picked).getPosition());
  bool described =
      requireInside(pairs, notifier.getGrid(),
                    columnsFrom(0, notifier.getRank())) &&
      requireBox(pairs, wait.getLow(), wait.getHigh(),
                 columnsFrom(pairs.rangeColumn(), waiter.getRank()), word);
  KnownRelation relation =
      described ? memo.known(pairs)
                : memo.empty(notifier.getRank(), waiter.getRank());
  return edges.emplace(key, relation).first->second;
}

KnownRelation HappensBefore::order(PhaseOp earlier, PhaseOp later,
                                   Distance distance, Detail detail) {
  auto &found = orders[indexOf(later)][unsigned(distance)][unsigned(detail)];
  unsigned from = indexOf(earlier);
  if (auto entry = found.find(from); entry != found.end())
    return entry->second;
  KnownRelation relation = computeOrder(earlier, later, distance, detail);
  found.try_emplace(from, relation);
  return relation;
}

/// How many disjuncts an order may have that is looked at closely, and so how
/// many cases a step of a chain may make. Where heights of tiles do not divide
/// one another a chain has a case for each bound that a tile in between meets,
/// and that again at each step. Pairs that are left out count as not ordered.
static constexpr unsigned kMostCases = 16;

static unsigned casesIn(KnownRelation chain, Detail detail) {
  return detail == Detail::rows ? 0 : kMostCases / chain->size();
}

KnownRelation HappensBefore::computeOrder(PhaseOp earlier, PhaseOp later,
                                          Distance distance, Detail detail) {
  KnownRelation result = memo.empty(earlier.getRank(), later.getRank());
  SegmentOp segment = segmentOf(earlier), target = segmentOf(later);
  unsigned from = indexOf(earlier);
  if ((distance == Distance::laterSegment) == (segment == target) ||
      (distance != Distance::nextIteration && from >= indexOf(later)) ||
      (distance == Distance::nextIteration && segment.getRepeat() < 2))
    return result;

  // The last step of the chain is a wait of the later phase.
  auto extend = [&](PhaseOp middle, WaitAttr wait,
                    std::optional<Distance> before) {
    // Some of the pairs will do.
    if (detail == Detail::bytes && result->size() >= kMostCases)
      return;
    KnownRelation last = edge(middle, later, wait);
    if (!before)
      result = memo.unite(result, last);
    else if (KnownRelation chain = order(earlier, middle, *before, detail);
             chain->size() != 0)
      result = memo.unite(
          result, memo.composeWithin(chain, last, casesIn(chain, detail)));
  };
  for (WaitAttr wait : later.getWaitAttrs()) {
    PhaseOp middle = notifierOf(wait.getEvent());
    if (!middle)
      continue;
    SegmentOp here = segmentOf(middle);
    bool isPrevious = wait.getDistance() == 1;
    // In one iteration, a chain from the earlier phase reaches only itself and
    // phases after it.
    bool isReached = from <= indexOf(middle);
    std::optional<Distance> within;
    if (middle != earlier)
      within = Distance::sameIteration;
    switch (distance) {
    case Distance::sameIteration:
      if (here == segment && !isPrevious && isReached)
        extend(middle, wait, within);
      break;
    case Distance::nextIteration:
      if (here != segment)
        break;
      if (!isPrevious)
        extend(middle, wait, Distance::nextIteration);
      else if (isReached)
        extend(middle, wait, within);
      break;
    case Distance::laterSegment:
      // The first iteration of a segment waits for nothing before it.
      if (isPrevious || !isReached)
        break;
      if (here == segment)
        extend(middle, wait, within);
      else
        extend(middle, wait, Distance::laterSegment);
      break;
    }
  }
  return memo.simplifiedIn(result, tasks(earlier, later));
}

bool HappensBefore::ordered(PhaseOp earlier, KnownRelation conflict,
                            PhaseOp later, Distance distance, Detail detail) {
  KnownRelation known = order(earlier, later, distance, detail);
  return detail == Detail::rows ? memo.isSubsetOf(conflict, known)
                                : conflict->isWithin(*known);
}

KnownRelation HappensBefore::sameWord(PhaseOp phase) {
  Conjunction sameWord(phase.getRank(), phase.getRank());
  for (mlir::AffineExpr picked : phase.getNotify()->getIndex().getResults()) {
    unsigned coordinate = llvm::cast<mlir::AffineDimExpr>(picked).getPosition();
    sameWord.equal(sameWord.variable(coordinate),
                   sameWord.variable(sameWord.rangeColumn() + coordinate));
  }
  RelationMemo &memo = relations();
  return memo.intersect(memo.known(sameWord), tasks(phase, phase));
}

bool HappensBefore::hasWordOrder(PhaseOp phase) {
  std::optional<NotifyAttr> notify = phase.getNotify();
  SegmentOp segment = segmentOf(phase);
  if (!notify || segment.getRepeat() < 2)
    return true;
  bool isWaitedFor =
      llvm::any_of(segment.getBody().getOps<PhaseOp>(), [&](PhaseOp other) {
        return llvm::any_of(other.getWaitAttrs(), [&](WaitAttr wait) {
          return wait.getEvent() == notify->getEvent();
        });
      });
  return !isWaitedFor ||
         ordered(phase, sameWord(phase), phase, Distance::nextIteration);
}
