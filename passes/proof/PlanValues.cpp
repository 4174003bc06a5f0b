//===- PlanValues.cpp - the last part of the proof: who wrote what is read ===//

#include "passes/proof/PlanMessages.h"
#include "passes/proof/PlanVerifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace baton;
using namespace baton::event;
using namespace baton::tasks;

KnownRelation PlanVerifier::touched(PhaseOp writer, AccessAttr write,
                                    unsigned readerRank,
                                    std::optional<Tables::Reading> reading) {
  BufferOp buffer = plan.lookUpBuffer(write.getBuffer());
  unsigned rank = buffer.getExtents().getNumResults();
  Conjunction elements(readerRank, rank);
  SmallVector<unsigned> element = columnsFrom(elements.rangeColumn(), rank);
  SmallVector<unsigned> task = freshColumns(elements, writer.getRank());
  RelationMemo &memo = plan.relations();
  // One task's entries may be any; those of all tasks together are known.
  auto box = plan.tableFacts().cover(writer, write, reading);
  if (!box)
    return memo.empty(readerRank, rank);
  bool described = requireInside(elements, writer.getGrid(), task) &&
                   requireInside(elements, buffer.getExtents(), element) &&
                   requireBox(elements, box->first, box->second, task, element);
  return described ? memo.known(elements) : memo.empty(readerRank, rank);
}

KnownRelation PlanVerifier::clobbered(PhaseOp writer, AccessAttr write,
                                      BufferOp victim, Overlap overlap,
                                      unsigned readerRank, Detail closest) {
  BufferOp buffer = plan.lookUpBuffer(write.getBuffer());
  unsigned rank = victim.getExtents().getNumResults();
  Conjunction elements(readerRank, rank);
  SmallVector<unsigned> task = freshColumns(elements, writer.getMapRank()),
                        element = freshColumns(
                            elements, buffer.getExtents().getNumResults());
  requireSameBytes(elements, overlap, victim,
                   columnsFrom(elements.rangeColumn(), rank), buffer, element,
                   closest);
  bool described =
      plan.requireTask(elements, writer, task) &&
      requireInside(elements, buffer.getExtents(), element) &&
      requireBox(elements, write.getLow(), write.getHigh(), task, element);
  RelationMemo &memo = plan.relations();
  return described ? memo.known(elements)
                   : memo.known(Relation::universe(readerRank, rank));
}

/// Whether a task writes all of an access: what it may write need not be, but
/// an exchange delivers all of a tensor of which ranks have whole parts.
static bool isSure(PhaseOp writer, AccessAttr write) {
  if (!write.getMay())
    return true;
  for (auto exchange : writer.getBody().getOps<ExchangeOp>())
    for (TransferAttr transfer : exchange.getTransfers())
      if (transfer.getReceive() == write.getBuffer() &&
          transfer.getElementCount() ==
              transfer.getPartCount() * exchange.countRanks())
        return true;
  return false;
}

namespace {
/// Phases before one that reads a buffer, the last one first: of its iteration,
/// of the iteration before, where there is one, and of earlier segments.
struct EarlierPhases {
  SmallVector<PhaseOp> phases;
  size_t numSameIteration;

  EarlierPhases(ArrayRef<PhaseOp> all, unsigned reader, BufferOp buffer,
                bool isFirst);
};
} // namespace

EarlierPhases::EarlierPhases(ArrayRef<PhaseOp> all, unsigned reader,
                             BufferOp buffer, bool isFirst) {
  SegmentOp segment = HappensBefore::segmentOf(all[reader]);
  auto inSegment = [&](PhaseOp phase) {
    return HappensBefore::segmentOf(phase) == segment;
  };
  for (PhaseOp phase : llvm::reverse(all.take_front(reader)))
    if (inSegment(phase))
      phases.push_back(phase);
  numSameIteration = phases.size();
  // Iterations of one segment work on copies of their own; those of an earlier
  // one on all copies, if there are as many.
  bool layered = isLayered(buffer);
  if (!layered && !isFirst)
    for (PhaseOp phase : llvm::reverse(all))
      if (inSegment(phase))
        phases.push_back(phase);
  for (PhaseOp phase : llvm::reverse(all.take_front(reader)))
    if (!inSegment(phase) &&
        (!layered || HappensBefore::segmentOf(phase).getRepeat() ==
                         uint64_t(buffer.getLayers())))
      phases.push_back(phase);
}

/// Goes back in rank from one read, in the first iteration of its segment or a
/// later one. What is open has no writer yet.
LogicalResult PlanVerifier::verifyRead(PhaseOp reader, AccessAttr read,
                                       bool isFirst) {
  BufferOp buffer = plan.lookUpBuffer(read.getBuffer());
  unsigned rank = buffer.getExtents().getNumResults();
  Conjunction elements(reader.getRank(), rank);
  SmallVector<unsigned> element = columnsFrom(elements.rangeColumn(), rank);
  SmallVector<unsigned> task = columnsFrom(0, reader.getRank());
  llvm::append_range(task, freshColumns(elements, reader.getEntries().size()));
  requireSymbols(elements, program);
  if (!plan.requireTask(elements, reader, task) ||
      !requireInside(elements, buffer.getExtents(), element) ||
      !requireBox(elements, read.getLow(), read.getHigh(), task, element))
    return failure();
  // What a step has of a state in pages is its own rows.
  if (buffer.getKind() == BufferKind::state && !buffer.isPaged())
    elements.atLeast(elements.variable(element[0]),
                     elements.variable(elements.symbolColumn() + kPast));
  RelationMemo &memo = plan.relations();
  KnownRelation open = memo.known(elements);

  auto report = [&](const Relation &points) {
    auto point = points.sample();
    auto diagnostic = reader.emitError()
                      << "phase '" << reader.getName() << "' reads "
                      << read.getBuffer() << tupleText(point->range);
    return std::make_pair(std::move(diagnostic), *point);
  };
  auto finish = [&](std::pair<InFlightDiagnostic, RelationPoint> problem) {
    return LogicalResult(std::move(problem.first)
                         << "; for example "
                         << taskName(reader, problem.second.domain) << " with "
                         << symbolNames(problem.second.symbols));
  };
  auto passBy = [&](PhaseOp writer, bool isSameIteration) -> LogicalResult {
    std::optional<Tables::Reading> reading;
    if (isSameIteration)
      reading = {reader, read};
    for (AccessAttr write : writer.getAccessAttrs()) {
      if (!write.getWrite() || write.getBuffer() == read.getBuffer())
        continue;
      BufferOp other = plan.lookUpBuffer(write.getBuffer());
      Overlap overlap = overlapOf(buffer, other);
      if (overlap == Overlap::none)
        continue;
      auto lostIn = [&](Detail closest) {
        return memo.intersect(open, clobbered(writer, write, buffer, overlap,
                                              reader.getRank(), closest));
      };
      KnownRelation lost = lostIn(Detail::rows);
      if (!memo.isEmpty(lost) && detail == Detail::bytes)
        lost = lostIn(detail);
      if (memo.isEmpty(lost))
        continue;
      if (!reports)
        return failure();
      auto problem = report(lost);
      problem.first << ", whose bytes phase '" << writer.getName()
                    << "' has reused for " << write.getBuffer();
      return finish(std::move(problem));
    }
    // What need not be written is there for who reads only what was.
    for (AccessAttr write : writer.getAccessAttrs())
      if (write.getWrite() && write.getBuffer() == read.getBuffer() &&
          (read.getMay() || isSure(writer, write)))
        open = memo.subtract(open,
                             touched(writer, write, reader.getRank(), reading));
    return success();
  };

  const EarlierPhases earlier(plan.phases(), plan.indexOf(reader), buffer,
                              isFirst);
  for (auto [i, phase] : llvm::enumerate(earlier.phases)) {
    if (failed(passBy(phase, i < earlier.numSameIteration)))
      return failure();
    if (memo.isEmpty(open))
      return success();
  }
  if (memo.isEmpty(open))
    return success();
  if (!reports)
    return failure();
  auto problem = report(open);
  problem.first << ", which no task before it writes"
                << (isFirst ? "" : " in a later iteration");
  return finish(std::move(problem));
}

bool PlanVerifier::isWritten(PhaseOp reader, AccessAttr read) {
  llvm::SaveAndRestore quiet(reports, false);
  bool repeats = HappensBefore::segmentOf(reader).getRepeat() > 1 &&
                 !isLayered(plan.lookUpBuffer(read.getBuffer()));
  return succeeded(verifyRead(reader, read, /*isFirst=*/true)) &&
         (!repeats || succeeded(verifyRead(reader, read, /*isFirst=*/false)));
}

bool PlanVerifier::covers(PhaseOp phase, AccessAttr access,
                          std::optional<int64_t> outputs) {
  BufferOp buffer = plan.lookUpBuffer(access.getBuffer());
  unsigned rank = buffer.getExtents().getNumResults();
  Conjunction all(0, rank);
  requireSymbols(all, program);
  if (!requireInside(all, buffer.getExtents(), columnsFrom(0, rank)))
    return false;
  if (outputs)
    all.equal(all.variable(all.symbolColumn() + kOutputs),
              all.constant(*outputs));
  RelationMemo &memo = plan.relations();
  return memo.isSubsetOf(memo.known(all), touched(phase, access, 0));
}

bool PlanVerifier::writesWhole(BufferOp buffer) {
  auto writes = [&](SegmentOp segment) {
    unsigned rank = buffer.getExtents().getNumResults();
    Conjunction all(0, rank);
    requireSymbols(all, program);
    if (!requireInside(all, buffer.getExtents(), columnsFrom(0, rank)))
      return false;
    RelationMemo &memo = plan.relations();
    KnownRelation open = memo.known(all);
    for (auto [phase, access] : uses.lookup(buffer))
      if (access.getWrite() && !access.getMay() &&
          (!segment || HappensBefore::segmentOf(phase) == segment))
        open = memo.subtract(open, touched(phase, access, 0));
    return memo.isEmpty(open);
  };
  if (!isLayered(buffer))
    return writes({});
  return llvm::any_of(
      program.getBody().getOps<SegmentOp>(), [&](SegmentOp segment) {
        return segment.getRepeat() == uint64_t(buffer.getLayers()) &&
               writes(segment);
      });
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
    if (isLayered(state) && reader.getRepeat() < state.getLayers())
      return state.emitError()
             << "a step leaves layer " << reader.getRepeat() << " of " << name
             << " unwritten, which later steps may read";
    unsigned rank = state.getExtents().getNumResults();
    Conjunction gained(0, rank);
    requireSymbols(gained, program);
    if (!state.isPaged())
      gained.atLeast(gained.variable(0),
                     gained.variable(gained.symbolColumn() + kPast));
    if (!requireInside(gained, state.getExtents(), columnsFrom(0, rank)))
      return failure();
    RelationMemo &memo = plan.relations();
    KnownRelation open = memo.known(gained);
    for (PhaseOp phase : plan.phases())
      for (AccessAttr access : phase.getAccessAttrs())
        if (access.getWrite() && !access.getMay() &&
            access.getBuffer() == name &&
            (!isLayered(state) || HappensBefore::segmentOf(phase) == reader))
          open = memo.subtract(open, touched(phase, access, 0));
    if (auto point = memo.sample(open))
      return state.emitError()
             << "a step leaves " << name << tupleText(point->range)
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
          buffer.getKind() == BufferKind::input ||
          buffer.getKind() == BufferKind::persistent)
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
