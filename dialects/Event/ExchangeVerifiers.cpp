//===- ExchangeVerifiers.cpp - what ops of several ranks promise ----------===//

#include "dialects/Event/Event.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <numeric>

using namespace mlir;
using namespace baton::event;

LogicalResult MeshOp::verify() {
  ArrayRef<int64_t> sizes = getSizes();
  if (sizes.empty() || sizes.size() != getNames().size())
    return emitOpError() << "has " << getNames().size() << " names and "
                         << sizes.size() << " sizes, expected one or more axes";
  int64_t ranks = 1;
  for (auto [i, name] : llvm::enumerate(getNames())) {
    if (llvm::is_contained(ArrayRef(getNames().getValue()).take_front(i), name))
      return emitOpError() << "has two axes " << name;
    if (sizes[i] < 1)
      return emitOpError() << "axis " << name << " has size " << sizes[i]
                           << ", expected at least 1";
    if (sizes[i] > (1 << 20) / ranks)
      return emitOpError() << "has more than 1048576 ranks";
    ranks *= sizes[i];
  }
  for (Attribute name : getBatch())
    if (!llvm::is_contained(getNames(), name))
      return emitOpError() << "has no axis " << name << " for batches";
  return success();
}

/// Elements of a buffer's rows in use, and of all of it; null for a product of
/// symbols.
static std::pair<AffineExpr, AffineExpr> countElements(BufferOp buffer) {
  AffineExpr row = getAffineConstantExpr(1, buffer.getContext());
  auto times = [](AffineExpr left, AffineExpr right) {
    bool affine =
        left &&
        (left.isSymbolicOrConstant() &&
         (isa<AffineConstantExpr>(left) || isa<AffineConstantExpr>(right)));
    return affine ? left * right : AffineExpr();
  };
  ArrayRef<AffineExpr> extents = buffer.getExtents().getResults();
  for (AffineExpr extent : extents.drop_front())
    row = times(row, extent);
  return {row, times(row, extents.front())};
}

static bool isSame(AffineExpr one, AffineExpr other) {
  return one && other &&
         simplifyAffineExpr(one - other, 0, kStepSymbols) ==
             getAffineConstantExpr(0, one.getContext());
}

/// As people read it.
static std::string countText(AffineExpr count) {
  if (!count)
    return "no affine number";
  std::string text;
  llvm::raw_string_ostream(text) << count;
  return text;
}

/// As many as 2^20 ranks can have parts of.
static constexpr int64_t kMostPart = int64_t(1) << 42;

static BufferOp bufferOf(ExchangeOp op, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<BufferOp>(op, name);
}

/// A partition from 0 on.
static TableOp findBounds(ExchangeOp op, FlatSymbolRefAttr name) {
  auto program = op->getParentOfType<ProgramOp>();
  for (auto table : program.getBody().getOps<TableOp>())
    if (table.getBufferAttr() == name &&
        table.getProperty() == TableProperty::partition &&
        isSame(table.getLow().getResult(0),
               getAffineConstantExpr(0, op.getContext())))
      return table;
  return {};
}

/// How many numbers a buffer has, if every step has as many; else 0.
static int64_t countNumbers(BufferOp buffer) {
  auto count =
      buffer && buffer.getExtents().getNumResults() == 1
          ? dyn_cast<AffineConstantExpr>(buffer.getExtents().getResult(0))
          : AffineConstantExpr();
  return count ? count.getValue() : 0;
}

/// What says which rows go where.
static LogicalResult verifyTables(ExchangeOp op, int64_t ranks) {
  std::optional<ArrayAttr> tables = op.getTables();
  if (!op.movesRows())
    return tables ? op.emitOpError() << "is by tables, which an exchange "
                                     << stringifyExchangeKind(op.getKind())
                                     << " does not read"
                  : success();
  if (!tables || tables->size() != 3 ||
      !llvm::all_of(*tables, llvm::IsaPred<FlatSymbolRefAttr>))
    return op.emitOpError()
           << "does not say by which bounds, counts and received bounds";
  auto boundsName = op.getTable(ExchangeOp::bounds),
       countsName = op.getTable(ExchangeOp::counts),
       receivedName = op.getTable(ExchangeOp::received);
  for (auto name : {boundsName, receivedName})
    if (!findBounds(op, name))
      return op.emitOpError()
             << "is by " << name << ", expected a table, a partition from 0 on";
  const int64_t experts = countNumbers(bufferOf(op, boundsName)) - 1,
                own = countNumbers(bufferOf(op, receivedName)) - 2;
  if (own < 1 || experts != own * ranks)
    return op.emitOpError()
           << "is by " << boundsName << " of " << experts << " experts and "
           << receivedName << " of " << own << ", expected " << ranks
           << " times as many, and at least one";
  BufferOp counts = bufferOf(op, countsName);
  const int64_t width = llvm::alignTo(own, 16);
  if (!counts || !counts.getElement().isSignlessInteger(32) ||
      counts.getKind() == BufferKind::input || counts.getLayers() != 1 ||
      counts.getCapacity() != ArrayRef<int64_t>({ranks, width}) ||
      counts.getStrides() != ArrayRef<int64_t>({width, 1}))
    return op.emitOpError() << "is by " << countsName << ", expected " << ranks
                            << " rows of " << width << " counts in i32";
  return success();
}

/// Rows of the same length, as many as the tables are of.
static LogicalResult verifyRows(ExchangeOp op, TransferAttr transfer) {
  auto width = dyn_cast<AffineConstantExpr>(transfer.getPartCount());
  if (!width || width.getValue() < 1)
    return op.emitOpError()
           << transfer << " has rows of " << countText(transfer.getPartCount())
           << " elements, expected a number";
  for (auto [name, tableName] :
       {std::pair(op.getOwnRows(transfer), op.getTable(ExchangeOp::bounds)),
        {op.getExpertRows(transfer), op.getTable(ExchangeOp::received)}}) {
    BufferOp buffer = bufferOf(op, name);
    ArrayRef<AffineExpr> extents = buffer.getExtents().getResults();
    if (extents.size() != 2 || extents[1] != width ||
        buffer.getStrides()[0] != width.getValue() ||
        buffer.getStrides()[1] != 1 || buffer.getInterleave() != 1)
      return op.emitOpError()
             << "moves rows of " << width.getValue() << " elements, which "
             << name << " does not have behind one another";
    AffineExpr end = findBounds(op, tableName).getHigh().getResult(0) - 1;
    if (!isSame(simplifyAffineExpr(end, 0, kStepSymbols), extents[0]))
      return op.emitOpError()
             << "moves " << countText(extents[0]) << " rows of " << name
             << " by " << tableName << ", which is of " << countText(end);
  }
  AffineExpr all = countElements(bufferOf(op, op.getOwnRows(transfer))).second;
  if (!isSame(all, transfer.getElementCount()))
    return op.emitOpError()
           << transfer << " is of " << countText(transfer.getElementCount())
           << " elements, but " << op.getOwnRows(transfer) << " has "
           << countText(all);
  return success();
}

static LogicalResult verifyTransfer(ExchangeOp op, TransferAttr transfer,
                                    int64_t ranks) {
  BufferOp buffers[2];
  FlatSymbolRefAttr names[2] = {transfer.getSend(), transfer.getReceive()};
  for (auto [buffer, name] : llvm::zip(buffers, names)) {
    buffer = SymbolTable::lookupNearestSymbolFrom<BufferOp>(op, name);
    if (!buffer || buffer.getKind() == BufferKind::input)
      return op.emitOpError()
             << name << " is no buffer that tasks read and write";
  }
  auto [send, receive] = buffers;
  if (send.getElement() != receive.getElement())
    return op.emitOpError()
           << "sends elements of type " << send.getElement() << " to "
           << transfer.getReceive() << " of " << receive.getElement();
  for (AffineMap count : {transfer.getElements(), transfer.getPart()})
    if (count.getNumDims() != 0 || count.getNumSymbols() != kStepSymbols ||
        count.getNumResults() != 1)
      return op.emitOpError() << transfer
                              << " has a count that is no number "
                                 "of the step's symbols";
  if (!send.getElement().isIntOrFloat())
    return success(); // The buffer says so itself.
  if (op.movesRows())
    return verifyRows(op, transfer);
  AffineExpr elements = transfer.getElementCount(),
             part = transfer.getPartCount();
  int64_t bytes = send.getElement().getIntOrFloatBitWidth() / 8;
  int64_t aligned = 64 / std::gcd(int64_t(64), bytes);
  auto fixedPart = dyn_cast<AffineConstantExpr>(part);
  // isMultipleOf takes a quotient for a multiple where its operand is one.
  bool isPart = part.getLargestKnownDivisor() % aligned == 0;
  if (fixedPart)
    isPart &= fixedPart.getValue() >= 1 && fixedPart.getValue() <= kMostPart;
  if (!isPart)
    return op.emitOpError()
           << transfer << " has parts of " << countText(part)
           << " elements, expected a multiple of " << aligned << " up to 2^42";
  // Of others event-verify shows it.
  auto fixed = dyn_cast<AffineConstantExpr>(elements);
  if (fixed && fixedPart &&
      (fixed.getValue() < 1 || fixed.getValue() > ranks * fixedPart.getValue()))
    return op.emitOpError()
           << transfer << " has " << fixed.getValue()
           << " elements, expected 1 to " << ranks * fixedPart.getValue()
           << ", as many as " << ranks << " parts have";
  bool gathers = op.getKind() == ExchangeKind::all_gather;
  auto [whole, parts] =
      gathers ? std::pair(receive, send) : std::pair(send, receive);
  if (AffineExpr all = countElements(whole).second; !isSame(all, elements))
    return op.emitOpError()
           << transfer << " is of " << countText(elements) << " elements, but @"
           << whole.getSymName() << " has " << countText(all);
  if (AffineExpr row = countElements(parts).first; !isSame(row, part))
    return op.emitOpError() << transfer << " is by parts of " << countText(part)
                            << " elements, but rows of @" << parts.getSymName()
                            << " have " << countText(row);
  AffineExpr rows = parts.getExtents().getResult(0);
  if (!gathers && rows != getAffineConstantExpr(ranks, op.getContext()))
    return op.emitOpError()
           << transfer << " brings " << ranks << " parts, but @"
           << parts.getSymName() << " has " << countText(rows) << " rows";
  return success();
}

/// Ranks send and receive all tensors at once, in any order.
static LogicalResult verifyApart(ExchangeOp op) {
  llvm::SmallPtrSet<Attribute, 16> sent, received;
  for (TransferAttr transfer : op.getTransfers())
    sent.insert(transfer.getSend());
  for (TransferAttr transfer : op.getTransfers()) {
    if (sent.contains(transfer.getReceive()))
      return op.emitOpError()
             << "sends " << transfer.getReceive() << " and receives into it";
    if (!received.insert(transfer.getReceive()).second)
      return op.emitOpError()
             << "receives into " << transfer.getReceive() << " twice";
  }
  return success();
}

LogicalResult ExchangeOp::verify() {
  auto phase = cast<PhaseOp>((*this)->getParentOp());
  auto meshes = phase->getParentOfType<ProgramOp>().getBody().getOps<MeshOp>();
  if (meshes.empty())
    return emitOpError() << "needs a mesh, and the program has none";
  for (auto [i, axis] : llvm::enumerate(getAxes()))
    if (llvm::is_contained(ArrayRef(getAxes().getValue()).take_front(i), axis))
      return emitOpError() << "names axis " << axis << " twice";
  int64_t ranks = countRanks();
  if (ranks == 0)
    return emitOpError() << "is over " << getAxes()
                         << ", of which the mesh does not have all";
  if (ranks == 1)
    return emitOpError() << "is over " << getAxes() << ", a single rank";
  if (!llvm::hasSingleElement(phase.getBody().front()))
    return emitOpError() << "does not stand alone in phase '" << phase.getName()
                         << "'";
  // Each rank has rows of its own, and waits for those that come.
  for (AffineExpr extent : phase.getGrid().getResults())
    if (extent.isFunctionOfSymbol(kRows) || extent.isFunctionOfSymbol(kPast))
      return emitOpError() << "stands in a grid that is not the same on all "
                              "ranks, as it depends on more than outputs";
  for (int64_t extent : phase.getCapacity())
    if (extent != 1)
      return emitOpError() << "stands in a grid of up to " << extent
                           << " tasks, expected one";
  if (getTensors().empty())
    return emitOpError() << "moves no tensor";
  if (failed(verifyTables(*this, ranks)))
    return failure();
  for (Attribute tensor : getTensors()) {
    auto transfer = dyn_cast<TransferAttr>(tensor);
    if (!transfer)
      return emitOpError() << tensor << " is no transfer";
    if (failed(verifyTransfer(*this, transfer, ranks)))
      return failure();
  }
  return verifyApart(*this);
}
