//===- EventVerifiers.cpp - what every event op promises -----------------===//
//
// Structure only: names, ranks, ranges. Whether a plan is free of races and
// deadlocks is event-verify's question (passes/proof).
//
//===----------------------------------------------------------------------===//

#include "dialects/Event/LayerFormats.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace baton::event;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

/// A map of `dimensions` coordinates and the step's symbols.
static LogicalResult expectMap(Operation *op, const Twine &what, AffineMap map,
                               unsigned dimensions, unsigned results) {
  if (map.getNumSymbols() != kStepSymbols)
    return op->emitOpError() << what << " has " << map.getNumSymbols()
                             << " symbols, expected rows, past, outputs";
  if (map.getNumDims() != dimensions)
    return op->emitOpError() << what << " takes " << map.getNumDims()
                             << " coordinates, expected " << dimensions;
  if (map.getNumResults() != results)
    return op->emitOpError() << what << " has " << map.getNumResults()
                             << " results, expected " << results;
  return success();
}

/// No machine of today has room for as many; what is smaller can be added up.
static constexpr int64_t kMostElements = int64_t(1) << 48;

/// Each word of an event tensor takes a cache line.
static constexpr int64_t kMostWords = int64_t(1) << 28;

static LogicalResult expectPositive(Operation *op, StringRef what,
                                    ArrayRef<int64_t> values) {
  for (int64_t value : values)
    if (value < 1 || value >= kMostElements)
      return op->emitOpError() << what << " holds " << value
                               << ", expected at least 1 and less than 2^48";
  return success();
}

static bool isNumberOfWholeBytes(Type type) {
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() % 8 == 0;
}

template <typename OpT>
static OpT lookUp(Operation *op, FlatSymbolRefAttr symbol) {
  return SymbolTable::lookupNearestSymbolFrom<OpT>(op, symbol);
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  int64_t rows = getMaxRows(), seq = getMaxSeq(), outputs = getMaxOutputs();
  if (outputs < 1 || outputs > rows || rows > seq)
    return emitOpError()
           << "has max_outputs " << outputs << ", max_rows " << rows
           << ", max_seq " << seq
           << ", expected 1 <= max_outputs <= max_rows <= max_seq";
  if (getScratchBytesAttr().getInt() < 0 ||
      getScratchBytesAttr().getInt() >= kMostElements)
    return emitOpError() << "scratch_bytes is "
                         << getScratchBytesAttr().getInt()
                         << ", expected 0 or more and less than 2^48";
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  auto meshes = getBody().getOps<MeshOp>();
  if (!meshes.empty() && !llvm::hasSingleElement(meshes))
    return (*std::next(meshes.begin())).emitOpError()
           << "is the program's second mesh";
  llvm::StringSet<> names;
  DenseMap<Attribute, StringRef> notifiers;
  for (PhaseOp phase : phasesOf(*this)) {
    if (!names.insert(phase.getName()).second)
      return phase.emitOpError()
             << "another phase has the name '" << phase.getName() << "'";
    if (!phase.getNotify())
      continue;
    auto [entry, added] =
        notifiers.try_emplace(phase.getNotify()->getEvent(), phase.getName());
    if (!added)
      return phase.emitOpError()
             << "notifies " << phase.getNotify()->getEvent()
             << ", which phase '" << entry->second << "' notifies already";
  }
  return success();
}

LogicalResult ParameterOp::verify() {
  int64_t layers = getLayers();
  if (layers < 1 || layers >= kMostElements)
    return emitOpError() << "has " << layers
                         << " layers, expected at least 1 and less than 2^48";
  Type element = getElement();
  if (!isNumberOfWholeBytes(element))
    return emitOpError() << "has elements of type " << element
                         << ", expected numbers of whole bytes";
  bool isMade = getFormAttr() && !isa<ConstantAttr>(getFormAttr());
  bool hasSources = getSources() && !getSources()->empty();
  if (isMade != hasSources)
    return emitOpError() << (isMade ? "has no sources of its form"
                                    : "has sources, and no form that is made "
                                      "of them");
  return verifyLayerFormats(*this);
}

LogicalResult StorageOp::verify() {
  if (static_cast<int64_t>(getBytes()) < 1)
    return emitOpError() << "has no bytes";
  return success();
}

/// The table that a buffer is, or null.
static TableOp findTable(ProgramOp program, FlatSymbolRefAttr buffer) {
  for (auto table : program.getBody().getOps<TableOp>())
    if (table.getBufferAttr() == buffer)
      return table;
  return {};
}

/// What a buffer says of pages; `last` is how far its last element lies behind
/// its first in one.
static LogicalResult verifyPages(BufferOp buffer, int64_t last) {
  const int64_t page = buffer.getPage(), stride = buffer.getPageStride();
  if (buffer.isPaged() != (page != 0) || buffer.isPaged() != (stride != 0))
    return buffer.emitOpError()
           << "states only some of slots, page and page_stride";
  if (!buffer.isPaged())
    return success();
  if (buffer.getKind() != BufferKind::state)
    return buffer.emitOpError() << "lies in pages but is no state";
  if (page < 1 || last >= stride)
    return buffer.emitOpError()
           << "has pages of " << page << " indices, " << stride
           << " elements apart, of which its layers take " << last + 1;
  auto slots = lookUp<BufferOp>(buffer, buffer.getSlotsAttr());
  TableOp table =
      findTable(buffer->getParentOfType<ProgramOp>(), buffer.getSlotsAttr());
  if (!slots || !table || table.getProperty() != TableProperty::distinct ||
      slots.getExtents().getResult(0) != buffer.getExtents().getResult(0))
    return buffer.emitOpError()
           << "lies in pages at the slots " << buffer.getSlotsAttr()
           << ", expected a table of distinct numbers, one for each index";
  if (!buffer.getStorage())
    return success();
  auto storage = lookUp<StorageOp>(buffer, buffer.getStorageAttr());
  int64_t bytes;
  if (storage &&
      (__builtin_mul_overflow(
           stride, buffer.getElement().getIntOrFloatBitWidth() / 8, &bytes) ||
       bytes > int64_t(storage.getBytes())))
    return buffer.emitOpError()
           << "has pages " << stride << " elements apart, but "
           << buffer.getStorageAttr() << " has " << storage.getBytes()
           << " bytes for one";
  return success();
}

LogicalResult BufferOp::verify() {
  unsigned rank = getExtents().getNumResults();
  if (rank == 0)
    return emitOpError() << "has no dimensions";
  if (!isNumberOfWholeBytes(getElement()))
    return emitOpError() << "has elements of type " << getElement()
                         << ", expected numbers of whole bytes";
  if (failed(expectMap(*this, "extents", getExtents(), 0, rank)))
    return failure();
  if (getCapacity().size() != rank || getStrides().size() != rank)
    return emitOpError() << "extents, capacity and strides differ in rank";
  if (failed(expectPositive(*this, "capacity", getCapacity())) ||
      failed(expectPositive(*this, "strides", getStrides())))
    return failure();
  int64_t layers = getLayers(), offset = getOffset(), step = getLayerStride();
  if (offset < 0)
    return emitOpError() << "the offset is negative";
  if (layers < 1 || step < 0)
    return emitOpError() << "has no layers";
  if (layers > 1 && getKind() == BufferKind::input)
    return emitOpError() << "has layers but is an input";
  if (getRing() && (layers == 1 || getKind() != BufferKind::persistent))
    return emitOpError() << "is a ring, expected a persistent buffer of "
                            "several layers";
  if (getDescription() && getKind() != BufferKind::persistent)
    return emitOpError() << "has a description but is not persistent";
  if (getCarry() && (getKind() != BufferKind::persistent || getRing()))
    return emitOpError() << "is carried from step to step, expected a "
                            "persistent buffer that is no ring";
  if (getKind() == BufferKind::input) {
    if (getStorage())
      return emitOpError() << "is an input, which lies in no storage";
    if (rank != 1 || getStrides().front() != 1 || offset != 0)
      return emitOpError()
             << "is an input, expected one dimension of stride 1 and no offset";
  }
  int64_t interleave = getInterleave();
  if (interleave < 1 || countPlaces() % interleave != 0)
    return emitOpError() << "is interleaved by " << interleave
                         << ", expected a divisor of "
                         << (isPaged() ? "a page" : "the first capacity");
  if (interleave > 1 && getKind() != BufferKind::state)
    return emitOpError() << "is interleaved but is no state";
  int64_t columns = getInterleaveColumns();
  if (columns < 1)
    return emitOpError() << "interleaves " << columns << " columns";
  if (columns > 1 && interleave == 1)
    return emitOpError() << "interleaves columns of single indices";
  if (columns > 1 && (rank < 2 || getStrides().back() != interleave))
    return emitOpError() << "interleaves columns, expected a last dimension of "
                            "stride "
                         << interleave;
  std::optional<int64_t> span = getSpan();
  if (!span)
    return emitOpError() << "has an element that no 64 bits can address";
  int64_t last = offset, copies;
  bool overflow = __builtin_mul_overflow(layers - 1, step, &copies) ||
                  __builtin_add_overflow(last, copies, &last) ||
                  __builtin_add_overflow(last, *span, &last);
  if (failed(verifyPages(
          *this, overflow ? std::numeric_limits<int64_t>::max() - 1 : last)))
    return failure();
  if (!getStorage())
    return success();
  auto storage = lookUp<StorageOp>(*this, getStorageAttr());
  if (!storage)
    return emitOpError() << "there is no storage " << getStorageAttr();
  if (interleave > 1 || isPaged())
    for (auto other :
         (*this)->getParentOfType<ProgramOp>().getBody().getOps<BufferOp>())
      if (other != *this && other.getStorageAttr() == getStorageAttr())
        return emitOpError() << (isPaged() ? "lies in pages" : "is interleaved")
                             << " but shares " << getStorageAttr() << " with @"
                             << other.getSymName();
  int64_t bytes = getElement().getIntOrFloatBitWidth() / 8;
  if (overflow || last >= static_cast<int64_t>(storage.getBytes()) / bytes)
    return emitOpError() << "does not fit into " << getStorageAttr() << " of "
                         << storage.getBytes() << " bytes";
  return success();
}

std::optional<int64_t> BufferOp::getSpan() {
  int64_t interleave = getInterleave(), total = interleave - 1, part;
  for (auto [dimension, capacity, stride] :
       llvm::enumerate(getCapacity(), getStrides()))
    if (__builtin_mul_overflow(dimension ? capacity - 1
                                         : countPlaces() - interleave,
                               stride, &part) ||
        __builtin_add_overflow(total, part, &total))
      return std::nullopt;
  return total;
}

LogicalResult TableOp::verify() {
  if (failed(expectMap(*this, "the least value", getLow(), 0, 1)) ||
      failed(expectMap(*this, "the end of the values", getHigh(), 0, 1)))
    return failure();
  auto buffer = lookUp<BufferOp>(*this, getBufferAttr());
  if (!buffer)
    return emitOpError() << "there is no buffer " << getBufferAttr();
  if (!buffer.getElement().isSignlessInteger(32) ||
      buffer.getCapacity().size() != 1 || buffer.getStrides().front() != 1 ||
      buffer.getInterleave() != 1)
    return emitOpError() << getBufferAttr()
                         << " is no table, expected one dimension of i32 with "
                            "stride 1 and no interleaving";
  if (findTable((*this)->getParentOfType<ProgramOp>(), getBufferAttr()) !=
      *this)
    return emitOpError() << getBufferAttr() << " is a table already";
  if (getSegments() && (getProperty() != TableProperty::partition ||
                        int64_t(*getSegments()) < 1))
    return emitOpError() << "has segments, expected a partition, of at least 1";
  return success();
}

LogicalResult TensorOp::verify() {
  unsigned rank = getShape().getNumResults();
  if (failed(expectMap(*this, "shape", getShape(), 0, rank)) ||
      failed(expectMap(*this, "count", getCount(), 0, 1)))
    return failure();
  if (getCapacity().size() != rank)
    return emitOpError() << "shape and capacity differ in rank";
  if (failed(expectPositive(*this, "capacity", getCapacity())))
    return failure();
  int64_t words = 1;
  for (int64_t extent : getCapacity())
    if (__builtin_mul_overflow(words, extent, &words) || words >= kMostWords)
      return emitOpError() << "has 2^28 words or more";
  return success();
}

LogicalResult SegmentOp::verify() {
  if (static_cast<int64_t>(getRepeat()) < 1)
    return emitOpError() << "repeat is less than 1";
  return success();
}

LogicalResult SegmentOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (!isa<PhaseOp>(op))
      return op.emitOpError() << "stands in a segment, which holds phases only";
  return success();
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// The phase that notifies an event tensor, or null.
static PhaseOp findNotifier(ProgramOp program, FlatSymbolRefAttr event) {
  for (PhaseOp phase : phasesOf(program))
    if (phase.getNotify() && phase.getNotify()->getEvent() == event)
      return phase;
  return {};
}

static LogicalResult verifyWait(PhaseOp phase, WaitAttr wait) {
  auto program = phase->getParentOfType<ProgramOp>();
  auto tensor = lookUp<TensorOp>(phase, wait.getEvent());
  if (!tensor)
    return phase.emitOpError()
           << "waits on " << wait.getEvent() << ", which is no event tensor";
  unsigned rank = tensor.getShape().getNumResults();
  if (failed(expectMap(phase, "a wait's corner", wait.getLow(), phase.getRank(),
                       rank)) ||
      failed(expectMap(phase, "a wait's corner", wait.getHigh(),
                       phase.getRank(), rank)))
    return failure();
  if (wait.getDistance() != 0 && wait.getDistance() != 1)
    return phase.emitOpError()
           << "waits at distance " << wait.getDistance() << ", expected 0 or 1";
  PhaseOp notifier = findNotifier(program, wait.getEvent());
  if (!notifier)
    return phase.emitOpError()
           << "waits on " << wait.getEvent() << ", which no phase notifies";
  Operation *here = phase->getParentOp(), *there = notifier->getParentOp();
  if (here != there) {
    if (wait.getDistance() != 0)
      return phase.emitOpError() << "waits at distance 1 on " << wait.getEvent()
                                 << " of another segment";
    if (here->isBeforeInBlock(there))
      return phase.emitOpError() << "waits on " << wait.getEvent()
                                 << ", which a later segment notifies";
    return success();
  }
  if (wait.getDistance() == 0 && !notifier->isBeforeInBlock(phase))
    return phase.emitOpError() << "waits on " << wait.getEvent()
                               << ", which is notified no earlier";
  return success();
}

/// That what is ahead does nothing in the last iteration leaves nothing that
/// this step has to write unwritten.
static LogicalResult verifyAhead(PhaseOp phase) {
  if (phase.getBody().getOps<ExchangeOp>().empty())
    return phase.emitOpError() << "is ahead but is no exchange";
  if (cast<SegmentOp>(phase->getParentOp()).getRepeat() == 1)
    return phase.emitOpError() << "is ahead in a segment of one iteration";
  for (AccessAttr access : phase.getAccessAttrs())
    if (auto buffer = lookUp<BufferOp>(phase, access.getBuffer());
        buffer && buffer.getKind() != BufferKind::persistent)
      return phase.emitOpError()
             << "is ahead but accesses " << access.getBuffer()
             << ", which is not persistent";
  return success();
}

/// What an access says beside its box.
static LogicalResult verifyAccess(PhaseOp phase, AccessAttr access) {
  if (access.getBeyond() < 0)
    return phase.emitOpError() << "reaches beyond " << access.getBuffer()
                               << " by " << access.getBeyond();
  FlatSymbolRefAttr condition = access.getCondition();
  if (!condition)
    return success();
  if (access.getWrite())
    return phase.emitOpError()
           << "writes " << access.getBuffer() << " on a condition";
  auto flag = lookUp<BufferOp>(phase, condition);
  if (!flag || flag.getKind() != BufferKind::persistent ||
      !flag.getElement().isInteger())
    return phase.emitOpError()
           << "reads " << access.getBuffer() << " if " << condition
           << ", which is no persistent buffer of integers";
  if (llvm::none_of(phase.getAccessAttrs(), [&](AccessAttr other) {
        return !other.getWrite() && other.getBuffer() == condition;
      }))
    return phase.emitOpError() << "reads " << access.getBuffer() << " if "
                               << condition << ", but states no read of that";
  return success();
}

bool PhaseOp::usesEntries(AffineMap map) {
  for (unsigned d = getRank(); d < map.getNumDims(); ++d)
    if (map.isFunctionOfDim(d))
      return true;
  return false;
}

bool PhaseOp::writesTable(TableOp table) {
  return getBody().getOps<AdvanceOp>().empty() &&
         llvm::any_of(getAccessAttrs(), [&](AccessAttr access) {
           return access.getWrite() &&
                  access.getBuffer() == table.getBufferAttr();
         });
}

SmallVector<TableOp, 2> PhaseOp::getWrittenTables() {
  SmallVector<TableOp, 2> tables;
  auto program = (*this)->getParentOfType<ProgramOp>();
  for (auto table : program.getBody().getOps<TableOp>())
    if (writesTable(table))
      tables.push_back(table);
  return tables;
}

PhaseOp::RowTiles PhaseOp::getRowTiles() {
  if (getRank() == 0)
    return {getAffineConstantExpr(1, getContext()), 1};
  AffineExpr extent = getGrid().getResult(0);
  if (extent.getKind() == AffineExprKind::CeilDiv)
    if (auto quotient = cast<AffineBinaryOpExpr>(extent);
        auto size = dyn_cast<AffineConstantExpr>(quotient.getRHS()))
      return {quotient.getLHS(), size.getValue()};
  return {extent, 1};
}

/// Elements of tables that the phase reads.
static LogicalResult verifyEntry(PhaseOp phase, Attribute attribute) {
  auto entry = dyn_cast<AddressAttr>(attribute);
  if (!entry)
    return phase.emitOpError()
           << attribute << " is no entry, expected #event.address<@TABLE, "
           << "(coordinates)[rows, past, outputs] -> (place)>";
  FlatSymbolRefAttr buffer = entry.getBuffer();
  if (!findTable(phase->getParentOfType<ProgramOp>(), buffer))
    return phase.emitOpError()
           << "has entries of " << buffer
           << ", of which no event.table says what it holds";
  if (failed(
          expectMap(phase, "an entry", entry.getIndex(), phase.getRank(), 1)))
    return failure();
  if (llvm::none_of(phase.getAccessAttrs(), [&](AccessAttr access) {
        return !access.getWrite() && access.getBuffer() == buffer;
      }))
    return phase.emitOpError()
           << "has entries of " << buffer << ", but states no read of it";
  return success();
}

/// What says which of a phase's tasks have work.
static LogicalResult verifyCondition(PhaseOp phase, ConditionAttr condition) {
  FlatSymbolRefAttr buffer = condition.getBuffer();
  auto program = phase->getParentOfType<ProgramOp>();
  TableOp table = findTable(program, buffer);
  if (!table)
    return phase.emitOpError()
           << "has a condition of " << buffer
           << ", of which no event.table says what it holds";
  for (PhaseOp other : phasesOf(program))
    if (other.writesTable(table))
      return phase.emitOpError()
             << "has a condition of " << buffer << ", which phase '"
             << other.getName()
             << "' writes; what says which tasks have work is there before "
                "the step";
  if (failed(expectMap(phase, "a condition", condition.getLow(),
                       phase.getRank(), 1)) ||
      failed(expectMap(phase, "a condition", condition.getHigh(),
                       phase.getRank(), condition.getHigh().getNumResults())))
    return failure();
  if (condition.getHigh().getNumResults() == 0)
    return phase.emitOpError() << "has a condition without an end";
  if (condition.getUnit() < 1)
    return phase.emitOpError() << "has a condition by " << condition.getUnit()
                               << ", expected at least 1";
  if (phase.hasEntries() || phase.getAhead())
    return phase.emitOpError()
           << "has a condition and "
           << (phase.getAhead() ? "is ahead" : "entries of tables");
  if (!llvm::all_of(phase.getBody().front(),
                    [](Operation &op) { return isa<CallOp>(op); }))
    return phase.emitOpError() << "has a condition, which is for calls only";
  bool isRead = false;
  for (AccessAttr access : phase.getAccessAttrs()) {
    isRead |= !access.getWrite() && access.getBuffer() == buffer;
    if (access.getWrite() && !access.getMay())
      return phase.emitOpError()
             << "has a condition, so that it only may write "
             << access.getBuffer();
  }
  if (!isRead)
    return phase.emitOpError()
           << "has a condition of " << buffer << ", but states no read of it";
  return success();
}

bool PhaseOp::callsOnly() {
  Block &body = getBody().front();
  return !body.empty() &&
         llvm::all_of(body, [](Operation &op) { return isa<CallOp>(op); });
}

LogicalResult PhaseOp::verify() {
  unsigned rank = getGrid().getNumResults();
  if (failed(expectMap(*this, "the grid", getGrid(), 0, rank)))
    return failure();
  if (getCapacity().size() != rank)
    return emitOpError() << "grid and capacity differ in rank";
  if (failed(expectPositive(*this, "capacity", getCapacity())))
    return failure();
  if (std::optional<ArrayRef<int64_t>> separate = getSeparate())
    for (int64_t d : *separate)
      if (d < 0 || d >= rank)
        return emitOpError()
               << "keeps coordinate " << d << " separate, it has " << rank;
  if (int64_t bytes = getPrefetchBytes(); bytes < 0 || bytes > (1 << 20))
    return emitOpError() << "prefetches " << bytes
                         << " bytes, expected 0 to 1048576";
  if (getDistribution() == Distribution::ticket && !callsOnly())
    return emitOpError() << "has tickets, which only phases have whose tasks "
                            "call bodies and do nothing else";
  for (Attribute attribute : getEntries())
    if (failed(verifyEntry(*this, attribute)))
      return failure();
  if (hasEntries() && getAhead())
    return emitOpError() << "is ahead but has entries of tables";
  for (Attribute attribute : getAccesses()) {
    auto access = dyn_cast<AccessAttr>(attribute);
    if (!access)
      return emitOpError() << attribute << " is no access";
    auto buffer = lookUp<BufferOp>(*this, access.getBuffer());
    if (!buffer)
      return emitOpError() << "accesses " << access.getBuffer()
                           << ", which is no buffer";
    if (access.getWrite() && buffer.getKind() == BufferKind::input)
      return emitOpError() << "writes the input " << access.getBuffer();
    if (failed(verifyAccess(*this, access)))
      return failure();
    unsigned results = buffer.getExtents().getNumResults();
    if (failed(expectMap(*this, "an access's corner", access.getLow(),
                         getMapRank(), results)) ||
        failed(expectMap(*this, "an access's corner", access.getHigh(),
                         getMapRank(), results)))
      return failure();
  }
  if (getAhead() && failed(verifyAhead(*this)))
    return failure();
  if (auto condition = getCondition();
      condition && failed(verifyCondition(*this, *condition)))
    return failure();
  for (Attribute attribute : getWaits()) {
    auto wait = dyn_cast<WaitAttr>(attribute);
    if (!wait)
      return emitOpError() << attribute << " is no wait";
    if (failed(verifyWait(*this, wait)))
      return failure();
  }
  if (std::optional<NotifyAttr> notify = getNotify()) {
    auto tensor = lookUp<TensorOp>(*this, notify->getEvent());
    if (!tensor)
      return emitOpError() << "notifies " << notify->getEvent()
                           << ", which is no event tensor";
    AffineMap index = notify->getIndex();
    if (failed(expectMap(*this, "the notification", index, rank,
                         tensor.getShape().getNumResults())))
      return failure();
    int64_t previous = -1;
    for (AffineExpr expression : index.getResults()) {
      auto dimension = dyn_cast<AffineDimExpr>(expression);
      if (!dimension || int64_t(dimension.getPosition()) <= previous)
        return emitOpError() << "the notification's map picks no coordinates "
                                "in order";
      previous = dimension.getPosition();
    }
  }
  return success();
}

LogicalResult CallOp::verify() {
  auto phase = cast<PhaseOp>((*this)->getParentOp());
  unsigned rank = phase.getMapRank();
  auto checkMap = [&](AffineMap map, unsigned results) -> LogicalResult {
    if (failed(expectMap(*this, "an operand's map", map, rank, results)))
      return failure();
    if (getInvariant())
      for (unsigned d = 1; d < rank; ++d)
        if (map.isFunctionOfDim(d))
          return emitOpError()
                 << "is invariant but depends on coordinate " << d;
    if (getInvariant() && phase.usesEntries(map))
      return emitOpError() << "is invariant but depends on an entry";
    return success();
  };
  for (Attribute operand : getOperands_()) {
    if (auto address = dyn_cast<AddressAttr>(operand)) {
      auto buffer = lookUp<BufferOp>(*this, address.getBuffer());
      if (!buffer)
        return emitOpError() << "there is no buffer " << address.getBuffer();
      if (failed(checkMap(address.getIndex(),
                          buffer.getExtents().getNumResults())))
        return failure();
      // isMultipleOf takes a quotient for a multiple where its operand is one.
      ArrayRef<AffineExpr> index = address.getIndex().getResults();
      if ((!buffer.isPaged() && index.front().getLargestKnownDivisor() %
                                        int64_t(buffer.getInterleave()) !=
                                    0) ||
          index.back().getLargestKnownDivisor() %
                  int64_t(buffer.getInterleaveColumns()) !=
              0)
        return emitOpError()
               << address << " points into the middle of "
               << buffer.getInterleave() << " by "
               << buffer.getInterleaveColumns() << " interleaved elements";
    } else if (auto stride = dyn_cast<StrideAttr>(operand)) {
      auto buffer = lookUp<BufferOp>(*this, stride.getBuffer());
      if (!buffer)
        return emitOpError() << "there is no buffer " << stride.getBuffer();
      if (stride.getSteps().size() != buffer.getStrides().size())
        return emitOpError()
               << stride << " names " << stride.getSteps().size() << " of "
               << buffer.getStrides().size() << " dimensions";
      for (auto [step, capacity] :
           llvm::zip(stride.getSteps(), buffer.getCapacity()))
        if (step < 0 || step > capacity)
          return emitOpError() << stride << " steps by " << step
                               << " in a dimension of " << capacity;
      if (stride.getSteps().front() % int64_t(buffer.getInterleave()) != 0 ||
          stride.getSteps().back() % int64_t(buffer.getInterleaveColumns()) !=
              0)
        return emitOpError()
               << stride << " steps into the middle of "
               << buffer.getInterleave() << " by "
               << buffer.getInterleaveColumns() << " interleaved elements";
    } else if (auto weight = dyn_cast<WeightAttr>(operand)) {
      if (!lookUp<ParameterOp>(*this, weight.getParameter()))
        return emitOpError()
               << "there is no parameter " << weight.getParameter();
      if (failed(checkMap(weight.getOffset(), 1)))
        return failure();
    } else if (auto count = dyn_cast<CountAttr>(operand)) {
      if (count.getMap().getNumResults() == 0)
        return emitOpError() << "a count has no value";
      if (failed(checkMap(count.getMap(), count.getMap().getNumResults())))
        return failure();
    } else if (auto integer = dyn_cast<IntegerAttr>(operand)) {
      if (!integer.getType().isInteger(32) && !integer.getType().isInteger(64))
        return emitOpError() << integer << " is neither i32 nor i64";
    } else if (auto real = dyn_cast<FloatAttr>(operand)) {
      if (!real.getType().isF32() && !real.getType().isF64())
        return emitOpError() << real << " is neither f32 nor f64";
    } else if (auto scratch = dyn_cast<ScratchAttr>(operand)) {
      int64_t bytes = (*this)->getParentOfType<ProgramOp>().getScratchBytes();
      if (scratch.getOffset() < 0 || scratch.getOffset() >= bytes)
        return emitOpError() << scratch << " lies outside the program's "
                             << bytes << " bytes of scratch";
    } else if (!isa<NullAttr>(operand)) {
      return emitOpError() << operand << " is no operand";
    }
  }
  return success();
}

LogicalResult AdvanceOp::verify() {
  auto buffer = lookUp<BufferOp>(*this, getLogitsAttr());
  if (!buffer)
    return emitOpError() << "there is no buffer " << getLogitsAttr();
  if (buffer.getExtents().getNumResults() != 2)
    return emitOpError() << getLogitsAttr() << " has no two dimensions";
  return success();
}

//===----------------------------------------------------------------------===//
// Explicit schedules
//===----------------------------------------------------------------------===//

LogicalResult ScheduleOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  for (PhaseOp phase : phasesOf(program))
    if (!phase.getBody().getOps<ExchangeOp>().empty() ||
        !phase.getBody().getOps<MessageOp>().empty())
      return emitOpError() << "lists tasks of a program whose ranks exchange "
                              "tensors, in phase '"
                           << phase.getName() << "'";
  int64_t rows = getRows(), past = getPast(), outputs = getOutputs();
  if (rows < 1 || rows > int64_t(program.getMaxRows()) || past < 0 ||
      past > int64_t(program.getMaxSeq()) - rows || outputs < 0 ||
      outputs > std::min<int64_t>(rows, program.getMaxOutputs()))
    return emitOpError() << "rows " << rows << ", past " << past << ", outputs "
                         << outputs << " lie outside the program's ranges";
  llvm::DenseMap<Attribute, int64_t> seen;
  int64_t listed = 0;
  llvm::StringMap<PhaseOp> phases;
  for (PhaseOp phase : phasesOf(program))
    phases[phase.getName()] = phase;
  for (Attribute worker : getWorkers()) {
    auto list = dyn_cast<ArrayAttr>(worker);
    if (!list)
      return emitOpError() << worker << " is no list of tasks";
    for (Attribute attribute : list) {
      auto task = dyn_cast<TaskAttr>(attribute);
      if (!task)
        return emitOpError() << attribute << " is no task";
      PhaseOp phase = phases.lookup(task.getPhase().getValue());
      if (!phase)
        return emitOpError() << "there is no phase " << task.getPhase();
      auto segment = cast<SegmentOp>(phase->getParentOp());
      SmallVector<int64_t> grid =
          evaluate(phase.getGrid(), {}, {rows, past, outputs});
      bool inside = task.getIteration() >= 0 &&
                    task.getIteration() < int64_t(segment.getRepeat()) &&
                    task.getCoordinates().size() == grid.size();
      if (inside)
        for (auto [coordinate, extent] : llvm::zip(task.getCoordinates(), grid))
          inside &= coordinate >= 0 && coordinate < extent;
      if (!inside)
        return emitOpError() << attribute << " is outside its phase's grid";
      if (!seen.try_emplace(task, 0).second)
        return emitOpError() << attribute << " is listed twice";
      ++listed;
    }
  }
  int64_t expected = 0;
  for (auto &[name, phase] : phases) {
    auto segment = cast<SegmentOp>(phase->getParentOp());
    int64_t tasks = segment.getRepeat();
    for (int64_t extent : evaluate(phase.getGrid(), {}, {rows, past, outputs}))
      tasks *= extent;
    expected += tasks;
  }
  if (listed != expected)
    return emitOpError() << "lists " << listed << " of " << expected
                         << " tasks";
  return success();
}
