//===- PlanRewrites.cpp - phases split, merged, dealt out -----------------===//

#include "passes/plan/PlanRewrites.h"

#include "dialects/Event/Tiers.h"

#include <set>

using namespace mlir;
using namespace baton;
using namespace baton::event;
using llvm::createStringError;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Dealt out
//===----------------------------------------------------------------------===//

// Tiles of equal work are dealt out in blocks: a worker's tiles lie side by
// side, and share what they read. Where work grows with a coordinate, as the
// part of the past that an attention tile reads does, blocks would leave the
// last workers with most of it, and tiles are dealt out in turn.
//
// Both deals have a worker that gets the first task, or the last one, of any
// phase: with one task each, phases that could run side by side would be one
// worker's. Where workers are known to be more, such phases get the two deals
// by turns.

/// True when tiles of the phase read boxes of different sizes, the cut at a
/// buffer's end aside.
static bool isUneven(PhaseOp phase) {
  return llvm::any_of(phase.getAccessAttrs(), [&](AccessAttr access) {
    if (access.getWrite())
      return false;
    return llvm::any_of(
        llvm::zip(access.getLow().getResults(), access.getHigh().getResults()),
        [&](auto ends) {
          auto [low, high] = ends;
          AffineExpr size =
              simplifyAffineExpr(high - low, phase.getMapRank(), kStepSymbols);
          for (unsigned d = 0, e = phase.getMapRank(); d < e; ++d)
            if (size.isFunctionOfDim(d))
              return true;
          return false;
        });
  });
}

static Distribution distributionByWork(PhaseOp phase) {
  // One worker has all exchanges, also of as many rows as a table says.
  return isUneven(phase) && phase.getBody().getOps<ExchangeOp>().empty()
             ? Distribution::cyclic
             : Distribution::blocked;
}

/// Whether a phase that calls bodies has at most `most` tasks, in any step. In
/// others ranks may meet, in an order that follows from their workers.
static bool hasFewTasks(PhaseOp phase, int64_t most) {
  int64_t tasks = 1;
  for (int64_t extent : phase.getCapacity())
    if (llvm::MulOverflow(tasks, extent, tasks))
      return false;
  return tasks <= most &&
         llvm::all_of(phase.getBody().front(),
                      [](Operation &op) { return isa<CallOp>(op); });
}

/// Whether one of two phases writes what the other reads or writes.
static bool areInOrder(PhaseOp one, PhaseOp other) {
  return llvm::any_of(one.getAccessAttrs(), [&](AccessAttr access) {
    return llvm::any_of(other.getAccessAttrs(), [&](AccessAttr another) {
      return access.getBuffer() == another.getBuffer() &&
             (access.getWrite() || another.getWrite());
    });
  });
}

static Distribution otherThan(Distribution deal) {
  return deal == Distribution::cyclic ? Distribution::blocked
                                      : Distribution::cyclic;
}

void tasks::dealOutByWork(llvm::ArrayRef<PhaseOp> phases, int64_t fewTasks) {
  PhaseOp before;
  for (PhaseOp phase : phases) {
    phase.setDistribution(distributionByWork(phase));
    const bool isSmall = hasFewTasks(phase, fewTasks);
    if (isSmall && before && !areInOrder(before, phase))
      phase.setDistribution(otherThan(before.getDistribution()));
    before = isSmall ? phase : PhaseOp();
  }
}

//===----------------------------------------------------------------------===//
// Writers
//===----------------------------------------------------------------------===//

void tasks::stateWriters(ProgramOp program) {
  Builder builder(program.getContext());
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    int64_t writers = buffer.countWriters();
    if (writers > 1 ||
        (writers == 1 && buffer.getKind() == BufferKind::persistent))
      buffer.setWritersAttr(builder.getI64IntegerAttr(writers));
  }
}

/// The same once phases were split or merged.
static void restateWriters(ProgramOp program) {
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (buffer.getWriters())
      buffer.setWriters(buffer.countWriters());
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

/// Adds `offset` to coordinate `dimension` in every map of a phase.
static void shiftCoordinate(PhaseOp phase, unsigned dimension, int64_t offset) {
  AffineExpr coordinate = getAffineDimExpr(dimension, phase.getContext());
  auto shift = [&](AffineMap map) {
    return simplifyAffineMap(map.replace(coordinate, coordinate + offset,
                                         map.getNumDims(),
                                         map.getNumSymbols()));
  };
  SmallVector<Attribute> accesses;
  for (AccessAttr access : phase.getAccessAttrs())
    accesses.push_back(
        access.withBox(shift(access.getLow()), shift(access.getHigh())));
  phase.setAccessesAttr(ArrayAttr::get(phase.getContext(), accesses));
  if (std::optional<ConditionAttr> condition = phase.getCondition())
    phase.setConditionAttr(ConditionAttr::get(
        phase.getContext(), condition->getBuffer(), shift(condition->getLow()),
        shift(condition->getHigh()), condition->getUnit()));
  for (auto call : phase.getBody().getOps<CallOp>()) {
    SmallVector<Attribute> operands;
    for (Attribute operand : call.getOperands_()) {
      if (auto address = dyn_cast<AddressAttr>(operand))
        operand = AddressAttr::get(phase.getContext(), address.getBuffer(),
                                   shift(address.getIndex()));
      else if (auto weight = dyn_cast<WeightAttr>(operand))
        operand = WeightAttr::get(phase.getContext(), weight.getParameter(),
                                  shift(weight.getOffset()));
      else if (auto count = dyn_cast<CountAttr>(operand))
        operand = CountAttr::get(phase.getContext(), shift(count.getMap()));
      operands.push_back(operand);
    }
    call.setOperands_Attr(ArrayAttr::get(phase.getContext(), operands));
  }
}

static void setExtent(PhaseOp phase, unsigned dimension, int64_t extent) {
  SmallVector<AffineExpr> grid(phase.getGrid().getResults());
  grid[dimension] = getAffineConstantExpr(extent, phase.getContext());
  phase.setGridAttr(AffineMapAttr::get(
      AffineMap::get(0, kStepSymbols, grid, phase.getContext())));
  SmallVector<int64_t> capacity(phase.getCapacity());
  capacity[dimension] = extent;
  phase.setCapacityAttr(DenseI64ArrayAttr::get(phase.getContext(), capacity));
}

Expected<std::pair<PhaseOp, PhaseOp>> tasks::splitPhase(RewriterBase &rewriter,
                                                        PhaseOp phase,
                                                        unsigned dimension,
                                                        int64_t at) {
  std::string name = phase.getName().str();
  auto fail = [&](const Twine &problem) {
    return createStringError("phase '" + name +
                             "' cannot be split: " + problem);
  };
  if (dimension >= phase.getRank())
    return fail("it has " + Twine(phase.getRank()) +
                " coordinates, there is "
                "no " +
                Twine(dimension));
  auto extent =
      dyn_cast<AffineConstantExpr>(phase.getGrid().getResult(dimension));
  if (!extent)
    return fail("how many tiles lie along coordinate " + Twine(dimension) +
                " differs from step to step");
  if (at < 1 || at >= extent.getValue())
    return fail("there are " + Twine(extent.getValue()) +
                " tiles along coordinate " + Twine(dimension) +
                ", a cut before tile " + Twine(at) + " leaves nothing");
  if (!phase.getBody().getOps<AdvanceOp>().empty())
    return fail("it hands over the step's logits");
  if (!phase.getBody().getOps<ExchangeOp>().empty() ||
      !phase.getBody().getOps<MessageOp>().empty())
    return fail("it is where ranks exchange tensors");
  if (isTier(phase))
    return fail("it is where memory is fetched or released");
  if (phase.hasEntries())
    return fail("its tiles depend on tables");
  rewriter.setInsertionPoint(phase);
  auto front = cast<PhaseOp>(rewriter.clone(*phase));
  // The one that completes the value keeps its name.
  std::set<std::string> taken;
  for (PhaseOp other : phasesOf(phase->getParentOfType<ProgramOp>()))
    taken.insert(other.getName().str());
  std::string part = name + ".part";
  for (unsigned i = 2; taken.count(part); ++i)
    part = name + ".part" + std::to_string(i);
  front.setName(part);
  setExtent(front, dimension, at);
  setExtent(phase, dimension, extent.getValue() - at);
  shiftCoordinate(phase, dimension, at);
  restateWriters(phase->getParentOfType<ProgramOp>());
  return std::pair(front, phase);
}

//===----------------------------------------------------------------------===//
// Merge
//===----------------------------------------------------------------------===//

static bool usesScratch(PhaseOp phase) {
  return llvm::any_of(phase.getBody().getOps<CallOp>(), [](CallOp call) {
    return llvm::any_of(call.getOperands_(),
                        [](Attribute a) { return isa<ScratchAttr>(a); });
  });
}

static bool sameBox(AccessAttr a, AccessAttr b) {
  return a.getBuffer() == b.getBuffer() && a.getLow() == b.getLow() &&
         a.getHigh() == b.getHigh();
}

Expected<PhaseOp> tasks::mergePhases(RewriterBase &rewriter,
                                     ArrayRef<PhaseOp> phases) {
  PhaseOp first = phases.front();
  for (size_t i = 0; i < phases.size(); ++i) {
    PhaseOp phase = phases[i];
    auto fail = [&](const Twine &problem) {
      return createStringError("phase '" + phase.getName() +
                               "' cannot be merged with '" + first.getName() +
                               "': " + problem);
    };
    if (!phase.getBody().getOps<AdvanceOp>().empty())
      return fail("it hands over the step's logits");
    if (!phase.getBody().getOps<ExchangeOp>().empty() ||
        !phase.getBody().getOps<MessageOp>().empty())
      return fail("it is where ranks exchange tensors");
    if (isTier(phase))
      return fail("it is where memory is fetched or released");
    if (phase.hasEntries() || phase.getCondition())
      return fail("its tiles depend on tables");
    if (i == 0)
      continue;
    PhaseOp previous = phases[i - 1];
    if (phase->getPrevNode() != previous)
      return fail("it does not come right after '" + previous.getName() + "'");
    if (phase.getGrid() != first.getGrid())
      return fail("their grids differ");
  }

  // Each finds in the scratch what the others left there.
  bool shared = llvm::count_if(phases, usesScratch) > 1;
  SmallVector<Attribute> accesses(first.getAccesses().getValue());
  SmallVector<Location> locations = {first.getLoc()};
  Block &body = first.getBody().front();
  for (PhaseOp phase : phases.drop_front()) {
    for (AccessAttr access : phase.getAccessAttrs()) {
      auto before = llvm::find_if(accesses, [&](Attribute known) {
        return sameBox(cast<AccessAttr>(known), access);
      });
      // What this task wrote it may read: its calls run in order.
      if (before != accesses.end() &&
          (!access.getWrite() || cast<AccessAttr>(*before).getWrite()))
        continue;
      accesses.push_back(access);
    }
    locations.push_back(phase.getLoc());
    rewriter.inlineBlockBefore(&phase.getBody().front(), &body, body.end());
    phase.getBody().emplaceBlock();
    rewriter.eraseOp(phase);
  }
  if (shared)
    for (auto call : first.getBody().getOps<CallOp>())
      call.removeInvariantAttr();
  first.setAccessesAttr(ArrayAttr::get(first.getContext(), accesses));
  first->setLoc(FusedLoc::get(first.getContext(), locations));
  restateWriters(first->getParentOfType<ProgramOp>());
  return first;
}
