//===- DeriveEvents.cpp - event tensors from overlapping accesses --------===//
//
// 1. For every two accesses that conflict, find which tasks of the earlier
//    phase a task of the later one overlaps: a range for each coordinate.
// 2. Take these dependences one by one, those of values read first, and leave
//    out what the ones already taken put in order.
// 3. A phase's event tensor keeps the coordinates that some dependence taken
//    limits; the others are counted.
// 4. Where that leaves two iterations free to count up one word in any order,
//    the phase waits for its own words of the iteration before.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/Passes.h"

#include "dialects/Event/Event.h"
#include "passes/proof/HappensBefore.h"

namespace baton::tasks {
#define GEN_PASS_DEF_DERIVEEVENTS
#include "passes/plan/Passes.h.inc"
} // namespace baton::tasks

using namespace mlir;
using namespace baton;
using event::AccessAttr;
using event::PhaseOp;

namespace {

/// Values of one coordinate of the earlier phase, [low, high), as expressions
/// of the later one's coordinates; a missing end is not limited.
struct Range {
  AffineExpr low, high;
};

/// Tasks of the later phase come after those of the earlier one that lie in
/// these ranges, because of these two accesses.
struct Dependence {
  PhaseOp earlier, later;
  AccessAttr first, second;
  int64_t distance;
  SmallVector<Range> ranges;

  bool isRead() const { return first.getWrite() && !second.getWrite(); }
};

} // namespace

//===----------------------------------------------------------------------===//
// Overlap
//===----------------------------------------------------------------------===//

/// expression == factor * d<coordinate> + rest, without other coordinates.
struct LinearForm {
  unsigned coordinate;
  int64_t factor;
  AffineExpr rest;
};

static std::optional<LinearForm> linearForm(AffineExpr expression,
                                            unsigned coordinates) {
  std::optional<unsigned> only;
  for (unsigned d = 0; d < coordinates; ++d) {
    if (!expression.isFunctionOfDim(d))
      continue;
    if (only)
      return std::nullopt;
    only = d;
  }
  if (!only)
    return std::nullopt;
  MLIRContext *context = expression.getContext();
  auto at = [&](int64_t value) {
    AffineExpr constant = getAffineConstantExpr(value, context);
    return expression.replace(getAffineDimExpr(*only, context), constant);
  };
  // Linear if neighbours differ by one constant wherever they are.
  AffineExpr rest = at(0);
  AffineExpr next = expression.replace(getAffineDimExpr(*only, context),
                                       getAffineDimExpr(*only, context) + 1);
  auto step = dyn_cast<AffineConstantExpr>(
      simplifyAffineExpr(next - expression, coordinates, event::kStepSymbols));
  if (!step || step.getValue() < 1)
    return std::nullopt;
  return LinearForm{*only, step.getValue(), rest};
}

/// Which tasks of `earlier` may overlap a task of `later`: earlier.low <
/// later.high and later.low < earlier.high, solved for each coordinate.
static SmallVector<Range> overlap(PhaseOp earlier, AccessAttr first,
                                  PhaseOp later, AccessAttr second,
                                  const tasks::Tables &tables,
                                  tasks::Distance distance) {
  MLIRContext *context = earlier.getContext();
  SmallVector<Range> ranges(earlier.getRank());
  auto simplify = [&](AffineExpr expression) {
    return simplifyAffineExpr(expression, later.getRank(), event::kStepSymbols);
  };
  for (unsigned j = 0; j < first.getLow().getNumResults(); ++j) {
    auto intervals =
        tables.withoutEntries(earlier, first, later, second, j, distance);
    if (!intervals)
      continue;
    auto [written, touched] = *intervals;
    // The symbols mean the same in both phases, coordinates do not: `rest` has
    // none left of the earlier phase.
    if (auto low = linearForm(written.low, earlier.getRank())) {
      Range &range = ranges[low->coordinate];
      if (!range.high)
        range.high = simplify((touched.high - low->rest).ceilDiv(low->factor));
    }
    if (auto high = linearForm(written.high, earlier.getRank())) {
      Range &range = ranges[high->coordinate];
      if (!range.low)
        range.low = simplify((touched.low - high->rest).floorDiv(high->factor) +
                             getAffineConstantExpr(1, context));
    }
  }
  // Ends that reach the grid's own limit none.
  for (auto [d, range] : llvm::enumerate(ranges)) {
    AffineExpr extent = earlier.getGrid().getResult(d);
    if (auto low = dyn_cast_or_null<AffineConstantExpr>(range.low);
        low && low.getValue() <= 0)
      range.low = {};
    if (!range.high)
      continue;
    auto slack = dyn_cast<AffineConstantExpr>(simplify(range.high - extent));
    if (range.high == extent || (slack && slack.getValue() >= 0))
      range.high = {};
  }
  return ranges;
}

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

/// The iteration distance at which `later` follows `earlier`, if it does, where
/// they access these buffers.
static std::optional<int64_t> distanceBetween(PhaseOp earlier,
                                              event::BufferOp first,
                                              PhaseOp later,
                                              event::BufferOp second) {
  auto here = cast<event::SegmentOp>(later->getParentOp());
  auto there = cast<event::SegmentOp>(earlier->getParentOp());
  if (here != there)
    return there->isBeforeInBlock(here) ? std::optional<int64_t>(0)
                                        : std::nullopt;
  if (earlier != later && earlier->isBeforeInBlock(later) &&
      tasks::meetWithin(earlier, first, later, second))
    return 0;
  // An iteration before touched this buffer too, unless each has its own.
  if (tasks::meetAcross(earlier, first, later, second))
    return 1;
  return std::nullopt;
}

/// The same for the proof.
static tasks::Distance distanceOf(PhaseOp earlier, PhaseOp later,
                                  int64_t distance) {
  if (earlier->getParentOp() != later->getParentOp())
    return tasks::Distance::laterSegment;
  return distance ? tasks::Distance::nextIteration
                  : tasks::Distance::sameIteration;
}

static SmallVector<Dependence> findDependences(event::ProgramOp program,
                                               bool wholePhase) {
  SmallVector<Dependence> dependences;
  tasks::Tables tables(program);
  SmallVector<PhaseOp> phases = event::phasesOf(program);
  llvm::DenseMap<Attribute, event::BufferOp> buffers;
  for (auto buffer : program.getBody().getOps<event::BufferOp>())
    buffers[buffer.getSymNameAttr()] = buffer;
  for (PhaseOp later : phases)
    for (AccessAttr second : later.getAccessAttrs()) {
      event::BufferOp buffer = buffers.lookup(second.getBuffer().getAttr());
      for (PhaseOp earlier : phases)
        for (AccessAttr first : earlier.getAccessAttrs()) {
          if (!(first.getWrite() || second.getWrite()))
            continue;
          // Of one buffer elements of equal index meet; of two shapes of one
          // memory any two may.
          bool isSame = first.getBuffer() == second.getBuffer();
          event::BufferOp other = buffers.lookup(first.getBuffer().getAttr());
          if (!isSame &&
              tasks::overlapOf(other, buffer) == tasks::Overlap::none)
            continue;
          std::optional<int64_t> distance =
              distanceBetween(earlier, other, later, buffer);
          if (!distance)
            continue;
          SmallVector<Range> ranges(earlier.getRank());
          if (!wholePhase && isSame)
            ranges = overlap(earlier, first, later, second, tables,
                             distanceOf(earlier, later, *distance));
          if (auto separate = earlier.getSeparate())
            for (auto [d, range] : llvm::enumerate(ranges))
              if (!llvm::is_contained(*separate, int64_t(d)))
                range = {};
          dependences.push_back(
              {earlier, later, first, second, *distance, ranges});
        }
    }
  return dependences;
}

//===----------------------------------------------------------------------===//
// Event tensors
//===----------------------------------------------------------------------===//

/// Coordinates of a phase that index its event tensor.
static SmallVector<unsigned> keptCoordinates(PhaseOp phase,
                                             ArrayRef<Dependence> dependences) {
  SmallVector<bool> keep(phase.getRank());
  for (const Dependence &dependence : dependences)
    if (dependence.earlier == phase)
      for (auto [d, range] : llvm::enumerate(dependence.ranges))
        keep[d] = keep[d] || range.low || range.high;
  // A count is a product of the extents that are left; only one of them may be
  // a symbol's.
  bool symbolic = false;
  for (auto [d, extent] : llvm::enumerate(phase.getGrid().getResults())) {
    if (keep[d] || isa<AffineConstantExpr>(extent))
      continue;
    keep[d] = symbolic;
    symbolic = true;
  }
  SmallVector<unsigned> kept;
  for (auto [d, keeps] : llvm::enumerate(keep))
    if (keeps)
      kept.push_back(d);
  return kept;
}

/// Whether others than this plan's workers read or write what the phase
/// touches.
static bool isExchange(PhaseOp phase) {
  return !phase.getBody().getOps<event::ExchangeOp>().empty();
}

/// What the tasks that notify and wait for an event tensor need.
static event::Scope scopeFor(PhaseOp notifier,
                             ArrayRef<Dependence> dependences) {
  bool isOutside =
      isExchange(notifier) ||
      llvm::any_of(dependences, [&](const Dependence &dependence) {
        return dependence.earlier == notifier && isExchange(dependence.later);
      });
  return isOutside ? event::Scope::system : event::Scope::device;
}

static void makeEvents(event::ProgramOp program,
                       ArrayRef<Dependence> dependences) {
  MLIRContext *context = program.getContext();
  OpBuilder builder(context);
  SymbolTable symbols(program);
  for (PhaseOp phase : event::phasesOf(program)) {
    bool awaited = llvm::any_of(dependences, [&](const Dependence &dependence) {
      return dependence.earlier == phase;
    });
    if (!awaited)
      continue;
    SmallVector<unsigned> kept = keptCoordinates(phase, dependences);
    SmallVector<AffineExpr> shape, index;
    SmallVector<int64_t> capacity;
    AffineExpr count = getAffineConstantExpr(1, context);
    for (unsigned d = 0; d < phase.getRank(); ++d) {
      AffineExpr extent = phase.getGrid().getResult(d);
      if (llvm::is_contained(kept, d)) {
        shape.push_back(extent);
        index.push_back(getAffineDimExpr(d, context));
        capacity.push_back(phase.getCapacity()[d]);
      } else {
        count = count * extent;
      }
    }
    auto map = [&](unsigned dimensions, ArrayRef<AffineExpr> results) {
      return AffineMap::get(dimensions, event::kStepSymbols, results, context);
    };
    builder.setInsertionPoint(
        *program.getBody().getOps<event::SegmentOp>().begin());
    auto tensor = builder.create<event::TensorOp>(
        phase.getLoc(),
        builder.getStringAttr((phase.getName() + ".done").str()),
        AffineMapAttr::get(map(0, shape)),
        builder.getDenseI64ArrayAttr(capacity),
        AffineMapAttr::get(map(0, count)),
        event::ScopeAttr::get(context, scopeFor(phase, dependences)));
    symbols.insert(tensor);
    auto symbol = FlatSymbolRefAttr::get(tensor);
    phase.setNotifyAttr(
        event::NotifyAttr::get(context, symbol, map(phase.getRank(), index)));
  }
}

/// The wait for a dependence, on the event tensor that its earlier phase has.
static event::WaitAttr waitFor(const Dependence &dependence) {
  MLIRContext *context = dependence.first.getContext();
  PhaseOp earlier = dependence.earlier, later = dependence.later;
  SmallVector<AffineExpr> low, high;
  for (AffineExpr picked : earlier.getNotify()->getIndex().getResults()) {
    unsigned d = cast<AffineDimExpr>(picked).getPosition();
    Range range = dependence.ranges[d];
    low.push_back(range.low ? range.low : getAffineConstantExpr(0, context));
    high.push_back(range.high ? range.high : earlier.getGrid().getResult(d));
  }
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(later.getRank(), event::kStepSymbols, results,
                          context);
  };
  return event::WaitAttr::get(context, earlier.getNotify()->getEvent(),
                              dependence.distance, map(low), map(high));
}

static void addWait(const Dependence &dependence) {
  PhaseOp later = dependence.later;
  event::WaitAttr wait = waitFor(dependence);
  SmallVector<Attribute> waits(later.getWaits().getValue());
  if (llvm::is_contained(waits, Attribute(wait)))
    return;
  waits.push_back(wait);
  later.setWaitsAttr(ArrayAttr::get(later.getContext(), waits));
}

/// Iterations that share no memory may come in any order, words not.
static void orderWords(event::ProgramOp program) {
  tasks::HappensBefore order(program);
  for (PhaseOp phase : order.phases()) {
    if (order.hasWordOrder(phase))
      continue;
    MLIRContext *context = program.getContext();
    AffineMap index = phase.getNotify()->getIndex();
    SmallVector<AffineExpr> low(index.getResults()), high;
    for (AffineExpr word : low)
      high.push_back(word + 1);
    auto map = [&](ArrayRef<AffineExpr> results) {
      return AffineMap::get(phase.getRank(), event::kStepSymbols, results,
                            context);
    };
    SmallVector<Attribute> waits(phase.getWaits().getValue());
    waits.push_back(event::WaitAttr::get(context, phase.getNotify()->getEvent(),
                                         /*distance=*/1, map(low), map(high)));
    phase.setWaitsAttr(ArrayAttr::get(context, waits));
    order.refresh(phase);
  }
}

static void clearEvents(event::ProgramOp program) {
  for (PhaseOp phase : event::phasesOf(program)) {
    phase.removeNotifyAttr();
    phase.setWaitsAttr(ArrayAttr::get(program.getContext(), {}));
  }
  for (auto tensor :
       llvm::make_early_inc_range(program.getBody().getOps<event::TensorOp>()))
    tensor.erase();
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// The dependences that need a wait of their own. Values read come first, from
/// the nearest phase that writes them: their chains then order most of the
/// writes over values that were read before.
static SmallVector<Dependence> choose(event::ProgramOp program,
                                      SmallVector<Dependence> dependences) {
  makeEvents(program, dependences);
  tasks::HappensBefore order(program);
  SmallVector<std::tuple<bool, int64_t, unsigned, int64_t, size_t>> keys;
  for (auto [i, dependence] : llvm::enumerate(dependences))
    keys.push_back({!dependence.isRead(), dependence.distance,
                    order.indexOf(dependence.later),
                    -int64_t(order.indexOf(dependence.earlier)), i});
  llvm::sort(keys);
  SmallVector<Dependence> chosen;
  for (const auto &key : keys) {
    const Dependence &dependence = dependences[std::get<4>(key)];
    tasks::KnownRelation conflict = order.conflict(
        dependence.earlier, dependence.first, dependence.later,
        dependence.second,
        distanceOf(dependence.earlier, dependence.later, dependence.distance));
    if (order.ordered(dependence.earlier, conflict, dependence.later,
                      distanceOf(dependence.earlier, dependence.later,
                                 dependence.distance)))
      continue;
    addWait(dependence);
    order.refresh(dependence.later);
    chosen.push_back(dependence);
  }
  clearEvents(program);
  return chosen;
}

namespace {
struct DeriveEvents : tasks::impl::DeriveEventsBase<DeriveEvents> {
  using DeriveEventsBase::DeriveEventsBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<event::ProgramOp>()) {
      for (PhaseOp phase : event::phasesOf(program))
        if (phase.getNotify() || !phase.getWaits().empty()) {
          phase.emitOpError() << "has events already";
          return signalPassFailure();
        }
      SmallVector<Dependence> chosen =
          choose(program, findDependences(program, wholePhase));
      makeEvents(program, chosen);
      for (const Dependence &dependence : chosen)
        addWait(dependence);
      orderWords(program);
    }
  }
};
} // namespace
