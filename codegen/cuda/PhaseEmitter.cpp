//===- PhaseEmitter.cpp - a phase of a plan in CUDA C++ -------------------===//

#include "codegen/cuda/PhaseEmitter.h"

#include "codegen/cuda/Spelling.h"
#include "codegen/cuda/library/stream_blocks_shape.h"
#include "dialects/Event/LayerFormats.h"
#include "runtime/weight_formats.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace baton;
using namespace baton::event;
using namespace baton::cuda;

bool cuda::trains(ProgramOp program) {
  // What a step of several sequences is provided with is persistent, too.
  return !program->hasAttr("event.batch") &&
         any_of(program.getBody().getOps<BufferOp>(), [](BufferOp buffer) {
           return buffer.getKind() == BufferKind::persistent;
         });
}

/// Which copy of layered buffers and parameters the iteration works on.
static std::string layerOf(PhaseOp phase) {
  auto segment = mlir::cast<SegmentOp>(phase->getParentOp());
  if (!segment.getReverse())
    return "iteration";
  return "(" + std::to_string(int64_t(segment.getRepeat()) - 1) +
         " - iteration)";
}

/// Whether one task writes all that the phase has entries of, so that who has
/// waited for the phase's first task knows the entries of all.
static bool followsOneTask(PhaseOp phase) {
  auto program = phase->getParentOfType<ProgramOp>();
  return all_of(program.getBody().getOps<TableOp>(), [&](TableOp table) {
    if (none_of(phase.getEntryAttrs(), [&](AddressAttr entry) {
          return entry.getBuffer() == table.getBufferAttr();
        }))
      return true;
    return all_of(phasesOf(program), [&](PhaseOp writer) {
      return !writer.writesTable(table) ||
             all_of(writer.getCapacity(),
                    [](int64_t tasks) { return tasks == 1; });
    });
  });
}

PhaseEmitter::PhaseEmitter(PhaseOp phase, uint32_t rank,
                           const plan::ProgramLayout &layout,
                           const PrintedBodies &bodies,
                           const SourceOptions &options, bool onTensorCores,
                           const char *operandType, raw_ostream &os)
    : phase(phase), segment(mlir::cast<SegmentOp>(phase->getParentOp())),
      rank(rank), layout(layout), bodies(bodies), os(os),
      ringIsShared(!options.asGraph), hasEntries(phase.hasEntries()),
      ringStages(options.ringStages), threads(options.threads) {
  mostRows = mlir::cast<ProgramOp>(segment->getParentOp()).getMaxRows();
  overlapped = options.overlapsExchanges &&
               !phase.getBody().getOps<ExchangeOp>().empty();
  // The ring's source knows of no tasks without work.
  bool hasRing =
      options.ringStages > 0 && options.firstRows == 1 && !hasCondition();
  // Tuned bodies look at weights before a task's waits, or leave the task and
  // come back. Entries are known behind the waits, and to nobody who has come
  // back, so that of such tasks a lone linear may leave; tables are checked in
  // the task.
  const bool writesTables = !phase.getWrittenTables().empty();
  const bool isLone = hasSingleElement(phase.getBody().front());
  for (auto call : phase.getBody().getOps<CallOp>()) {
    if (writesTables || (hasEntries && !isLone))
      break;
    if (onTensorCores && mostRows > 1)
      if (auto body = matrixBody(call, options))
        matrices[call] = {*body};
    if (mostRows > 1)
      if (auto own = integersBodies(call, options); !own.empty())
        matrices[call] = own;
    if (hasEntries) {
      if (hasRing && mostRows == 1 && followsOneTask(phase) &&
          canStreamSegments(call, options))
        streaming = call;
      break;
    }
    if (hasRing && canStream(call, options))
      streaming = call;
    if (auto body = productBody(call, options))
      matrices[call] = {*body};
    if (auto body = sequenceAttention(call, operandType, options))
      matrices[call] = {*body};
  }
  if (auto rows = options.cublasLtRows.find(phase);
      rows != options.cublasLtRows.end()) {
    std::string why;
    byCublasLt = cublasLtProduct(phase, why);
    assert(byCublasLt && rows->second > 1 && "chosen without a product");
    leastRows = rows->second;
  }
}

int64_t PhaseEmitter::segmentTable() {
  auto program = phase->getParentOfType<ProgramOp>();
  AddressAttr entry = *phase.getEntryAttrs().begin();
  for (auto [number, table] : enumerate(program.getBody().getOps<TableOp>()))
    if (table.getBufferAttr() == entry.getBuffer())
      return static_cast<int64_t>(number);
  llvm_unreachable("entries are elements of tables");
}

std::string PhaseEmitter::function() {
  return "phase_" + std::to_string(rank) + "_" + identifier(phase.getName());
}

bool PhaseEmitter::ringHasBlocks() const {
  return (ringFormats & ~(1u << blocks::bf16)) != 0;
}

std::string PhaseEmitter::ringType(StringRef source) const {
  if (!ringHasBlocks())
    return formatv("BatonRing<{0}, {1}, {2}>", source, ringStages, threads);
  return formatv("BatonBlockRing<{0}, {1:x}u, {2}, {3}>", source, ringFormats,
                 ringStages * threads * 16, threads);
}

StringRef PhaseEmitter::panelsType() const {
  return ringHasBlocks() ? "BatonBlockPanels" : "BatonPanels";
}

/// What computes the call with the ring.
std::string PhaseEmitter::streamFunction(CallOp call) const {
  return formatv("baton_{0}stream_{1}{2}", ringIsShared ? "called_" : "",
                 ringHasBlocks() ? "blocks_" : "", call.getCallee());
}

int64_t PhaseEmitter::matrixBytes() const {
  int64_t bytes = 0;
  for (auto &[call, bodies] : matrices)
    for (const MatrixBody &body : bodies)
      bytes = std::max(bytes, body.sharedBytes);
  return bytes;
}

static bool readsScratch(CallOp call) {
  return any_of(call.getOperands_(), llvm::IsaPred<ScratchAttr>);
}
bool PhaseEmitter::hasScratch() {
  return any_of(phase.getBody().getOps<CallOp>(), readsScratch);
}
bool PhaseEmitter::hasMatrixOfScratch() const {
  return any_of(matrices, [](auto &entry) {
    return readsScratch(mlir::cast<CallOp>(entry.first));
  });
}
void PhaseEmitter::collect(KernelBodies &kernelBodies) const {
  for (auto &[call, bodies] : matrices)
    for (const MatrixBody &body : bodies)
      if (!body.kernelsOwn.empty())
        kernelBodies.insert({body.kernelsOwn, body.type});
}
bool PhaseEmitter::handsOver() const {
  return any_of(matrices, [](auto &entry) {
    return !entry.second.front().kernelsOwn.empty();
  });
}
bool PhaseEmitter::advances() {
  return !phase.getBody().getOps<AdvanceOp>().empty();
}

std::string PhaseEmitter::title() {
  return ("// " + phase.getName() + ", tasks (" +
          join(spell(phase.getGrid()), ", ") + ")\n")
      .str();
}

bool PhaseEmitter::asksAgain() {
  return !matrices.empty() && !handsOver() && !hasPrefetches();
}

void PhaseEmitter::emitPointers() {
  if (!asksAgain())
    emitPointers("  ");
}

/// Pointers to all that tasks use.
void PhaseEmitter::emitPointers(StringRef indent) {
  SmallSetVector<mlir::StringAttr, 8> buffers, parameters;
  for (auto call : phase.getBody().getOps<CallOp>())
    for (mlir::Attribute operand : call.getOperands_()) {
      if (auto address = mlir::dyn_cast<AddressAttr>(operand))
        buffers.insert(address.getBuffer().getAttr());
      else if (auto weight = mlir::dyn_cast<WeightAttr>(operand))
        parameters.insert(weight.getParameter().getAttr());
    }
  for (auto advance : phase.getBody().getOps<AdvanceOp>())
    buffers.insert(advance.getLogitsAttr().getAttr());
  for (AddressAttr entry : phase.getEntryAttrs())
    buffers.insert(entry.getBuffer().getAttr());
  if (std::optional<ConditionAttr> condition = phase.getCondition())
    buffers.insert(condition->getBuffer().getAttr());
  for (TableOp table : phase.getWrittenTables())
    buffers.insert(table.getBufferAttr().getAttr());
  StringSet<> taken;
  auto fresh = [&](const Twine &name) {
    std::string unique = name.str();
    for (int i = 2; !taken.insert(unique).second; ++i)
      unique = (name + "_" + Twine(i)).str();
    return unique;
  };
  for (mlir::StringAttr symbol : buffers) {
    BufferOp op = layout.buffers.find(symbol)->second;
    std::string local = names[symbol] =
        fresh("b_" + identifier(symbol.getValue()));
    StringRef type = elementType(op.getElement());
    if (op.getKind() == BufferKind::input) {
      os << indent << "const " << type << " *const " << local
         << " = worker.device->tokens;\n";
      continue;
    }
    os << indent << type << " *const " << local << " = " << storage(op)
       << ";\n";
  }
  for (mlir::StringAttr symbol : parameters) {
    std::string local = names[symbol] =
        fresh("w_" + identifier(symbol.getValue()));
    ParameterOp op = layout.parameters.find(symbol)->second.op;
    os << indent << "const " << elementType(op.getElement()) << " *const "
       << local << " = " << parameter(symbol) << ";\n";
  }
}

/// The buffer's first element, in the iteration's layer.
std::string PhaseEmitter::storage(BufferOp op) {
  int64_t index =
      layout.storages.find(op.getStorageAttr().getAttr())->second.index;
  Sum offset;
  offset.add(op.getOffset());
  if (op.getRing())
    offset.add("(" + layerOf(phase) + " % " + std::to_string(op.getLayers()) +
                   ")",
               op.getLayerStride());
  else if (op.getLayers() > 1)
    offset.add(layerOf(phase), op.getLayerStride());
  std::string text = ("worker.storage<" + elementType(op.getElement()) + ">(" +
                      Twine(index) + ")")
                         .str();
  return offset.isZero() ? text : text + " + " + offset.text();
}

/// The parameter's first element, in the iteration's layer.
std::string PhaseEmitter::parameter(mlir::StringAttr symbol) {
  const auto &found = layout.parameters.find(symbol)->second;
  ParameterOp op = found.op;
  Sum index;
  index.add(found.first);
  if (op.getLayers() > 1)
    index.add(layerOf(phase));
  return ("worker.parameter<" + elementType(op.getElement()) + ">(" +
          index.text() + ")")
      .str();
}

/// How many tiles agree in the first coordinate; empty where there are no other
/// coordinates. The grid's extents are declared.
std::string PhaseEmitter::columns() {
  std::string columns;
  for (int64_t dimension = 1; dimension < phase.getRank(); ++dimension)
    columns +=
        (columns.empty() ? "extent" : " * extent") + std::to_string(dimension);
  return columns;
}

/// Whether workers take the phase's tasks from its counter. Where the weights
/// of a worker's tasks stream, or neighbouring tasks share waits or
/// notifications, it has to be known before which ones these are: tickets are
/// dealt out in turn there, as in kernels of a graph.
bool PhaseEmitter::takesTickets() {
  return phase.getDistribution() == Distribution::ticket && !isStreaming() &&
         !waitsOnce() && !notifiesOnce();
}

/// The next task that no worker has; behind the last one there are no more.
std::string PhaseEmitter::ticket() {
  const int64_t first = layout.tickets.lookup(phase);
  return ("worker.take(" + Twine(first) +
          (parent().getRepeat() > 1 ? " + iteration" : "") + ", " +
          Twine(first) + ")")
      .str();
}

/// What the counters have grown by in a step.
void PhaseEmitter::emitTicketCount(raw_ostream &os) {
  if (!takesTickets())
    return;
  os << "    worker.count_tickets(" << layout.tickets.lookup(phase);
  std::string tiles;
  for (const std::string &extent : spell(phase.getGrid()))
    tiles += (tiles.empty() ? "" : " * ") + ("baton_max(" + extent + ", 0)");
  os << ", " << (tiles.empty() ? "1" : tiles) << ");\n";
}

/// The worker's tiles; the grid's extents are declared.
std::string PhaseEmitter::share() {
  std::string columns = this->columns();
  if (phase.getDistribution() != Distribution::blocked) {
    std::string tiles = phase.getRank() ? "extent0" : "1";
    return "worker.cyclic(" + tiles + (columns.empty() ? "" : " * " + columns) +
           ")";
  }
  auto [rows, size] = phase.getRowTiles();
  return ("worker.blocked(" + spell(rows) + ", " + Twine(size) + ", " +
          (columns.empty() ? "1" : columns) + ")")
      .str();
}

/// A division that the compiler turns into a multiplication, if it can.
static std::string quotient(StringRef value, StringRef by, bool isConstant) {
  return isConstant ? (value + " / (" + by + ")").str()
                    : ("baton_divide(" + value + ", " + by + ")").str();
}

bool PhaseEmitter::isConstant(int64_t dimension) {
  return mlir::isa<mlir::AffineConstantExpr>(
      phase.getGrid().getResult(dimension));
}

/// Row-major: the last coordinate moves fastest.
void PhaseEmitter::emitCoordinates(StringRef indent) {
  std::string rest = "tile";
  for (int64_t dimension = phase.getRank(); dimension-- > 1;) {
    std::string extent = "extent" + std::to_string(dimension);
    std::string above =
        dimension == 1 ? "t0" : "above" + std::to_string(dimension);
    os << indent << "const int64_t " << above << " = "
       << quotient(rest, extent, isConstant(dimension)) << ", t" << dimension
       << " = " << rest << " - " << above << " * " << extent << ";\n";
    rest = above;
  }
  if (phase.getRank() == 1)
    os << indent << "const int64_t t0 = tile;\n";
}

void PhaseEmitter::emitExtents(StringRef indent) {
  for (auto [dimension, extent] : enumerate(spell(phase.getGrid())))
    os << indent << "const int64_t extent" << dimension << " = baton_max("
       << extent << ", 0);\n";
}

void PhaseEmitter::emitShare() {
  emitExtents("  ");
  os << "  const BatonTiles tiles = " << share() << ";\n";
}

bool PhaseEmitter::hasCondition() { return phase.getCondition().has_value(); }

/// Whether the condition's running count grows at each place. It lies in the
/// host's memory: that is looked at once in a phase, and most steps need no
/// more.
std::string PhaseEmitter::allWork() {
  mlir::StringAttr symbol = phase.getCondition()->getBuffer().getAttr();
  BufferOp op = layout.buffers.find(symbol)->second;
  const std::string table = "(" + storage(op) + ")",
                    last = spell(op.getExtents().getResult(0)) + " - 1";
  return table + "[" + last + "] - " + table + "[0] == " + last;
}

/// Says whether the tile's task has work, where not all may have some.
void PhaseEmitter::emitWorks(StringRef indent) {
  if (!hasCondition())
    return;
  ConditionAttr condition = *phase.getCondition();
  const std::string table = base(condition.getBuffer().getAttr());
  std::string end;
  for (const std::string &place : spell(condition.getHigh()))
    end = end.empty() ? place : "baton_min(" + end + ", " + place + ")";
  os << indent << "const bool works = all_work || " << table << "["
     << spell(condition.getLow().getResult(0)) << "] < " << table << "[" << end
     << "];\n";
}

bool PhaseEmitter::hasInvariant() {
  return any_of(phase.getBody().getOps<CallOp>(),
                [](CallOp call) { return call.getInvariant(); });
}

/// The coordinate that calls which do not change with others follow.
static std::string invariantCoordinate(PhaseOp phase) {
  return phase.getRank() ? "t0" : "0";
}

/// Whether tasks that agree in the first coordinate agree in the map's values.
static bool followsFirst(mlir::AffineMap map) {
  for (unsigned dimension = 1; dimension < map.getNumDims(); ++dimension)
    if (map.isFunctionOfDim(dimension))
      return false;
  return true;
}

/// Tasks of a row are short: where a worker's neighbouring ones wait for the
/// same words, only the first one looks at them.
bool PhaseEmitter::waitsOnce() {
  return mostRows == 1 && phase.getRank() > 1 && !handsOver() &&
         !phase.getWaits().empty() &&
         all_of(phase.getWaitAttrs(), [](WaitAttr wait) {
           return followsFirst(wait.getLow()) && followsFirst(wait.getHigh());
         });
}

/// The same of the word that they notify: only the last one does, for all.
bool PhaseEmitter::notifiesOnce() {
  std::optional<NotifyAttr> notify = phase.getNotify();
  return mostRows == 1 && phase.getRank() > 1 && !handsOver() && !overlapped &&
         notify && followsFirst(notify->getIndex());
}

static std::string scope(Scope scope) {
  return "BatonScope::" + stringifyScope(scope).str();
}

void PhaseEmitter::emitTaskBegin(bool withEvents) {
  os << "    worker.begin_task(tile);\n";
  if (withEvents) {
    emitPrefetches("    ");
    if (waitsOnce())
      os << "    if (t0 != waited) {\n";
    for (WaitAttr wait : phase.getWaitAttrs())
      emitWait(wait);
  } else if (hasPrefetches()) {
    os << "    if (tile != tiles.first) {\n";
    emitPrefetches("      ");
    os << "    }\n";
  }
}

void PhaseEmitter::emitReady() {
  if (phase.getWaits().empty())
    return;
  os << "    if (!worker.ready())\n"
        "      return false;\n";
  if (waitsOnce())
    os << "      waited = t0;\n"
          "    }\n";
}

/// The task's entries, which are dimensions of maps behind its coordinates.
void PhaseEmitter::emitEntries() {
  for (auto [i, entry] : enumerate(phase.getEntryAttrs()))
    os << "    const int64_t t" << phase.getRank() + i << " = *("
       << address(entry) << ");\n";
}

/// Whether the task has something to write; where entries say what, it may not.
std::string PhaseEmitter::hasWork() {
  SmallVector<std::string> any;
  for (AccessAttr access : phase.getAccessAttrs()) {
    if (!access.getWrite())
      continue;
    SmallVector<std::string> all;
    for (auto [low, high] :
         zip_equal(spell(access.getLow()), spell(access.getHigh())))
      all.push_back(low + " < " + high);
    any.push_back("(" + join(all, " && ") + ")");
  }
  return any.empty() ? "false" : join(any, " || ");
}

/// Tables that the task has written hold what the plan says of them; their
/// numbers are places in the phase's metadata.
void PhaseEmitter::emitTableChecks(bool withEvents) {
  SmallVector<TableOp, 2> tables = phase.getWrittenTables();
  if (tables.empty())
    return;
  os << "    worker.between();\n";
  for (auto [i, table] : enumerate(tables)) {
    mlir::StringAttr name = table.getBufferAttr().getAttr();
    BufferOp buffer = layout.buffers.find(name)->second;
    os << "    worker.check_table<BatonTable::"
       << stringifyTableProperty(table.getProperty()) << ">(" << i << ", "
       << base(name) << ", " << spell(buffer.getExtents().getResult(0)) << ", "
       << spell(table.getLow().getResult(0)) << ", "
       << spell(table.getHigh().getResult(0)) << ");\n";
  }
  os << "    if (!worker.ready())\n"
     << (withEvents ? "      return false;\n" : "      return;\n");
}

void PhaseEmitter::emitTaskEnd(bool withEvents) {
  if (overlapped) {
    os << "    baton_begin_exchange(worker);\n"
          "    worker.end_task(/*notified=*/true);\n";
    return;
  }
  std::optional<NotifyAttr> notify = phase.getNotify();
  if (!withEvents || !notify) {
    os << "    worker.end_task(/*notified=*/false" << isTraced() << ");\n";
    return;
  }
  const auto &tensor = layout.events.find(notify->getEvent().getAttr())->second;
  TensorOp op = tensor.op;
  Sum word;
  word.add(tensor.firstWord);
  SmallVector<std::string> index = spell(notify->getIndex());
  int64_t stride = 1;
  SmallVector<std::pair<std::string, int64_t>> terms;
  for (size_t i = index.size(); i-- > 0; stride *= op.getCapacity()[i])
    terms.push_back({index[i], stride});
  for (auto &[term, factor] : reverse(terms))
    word.add(term, factor);
  if (!notifiesOnce()) {
    os << "    worker.notify<" << scope(op.getScope()) << ">(" << word.text()
       << ");\n"
       << "    worker.end_task(/*notified=*/true" << isTraced() << ");\n";
    return;
  }
  bool areConstant =
      all_of(seq<int64_t>(1, phase.getRank()),
             [&](int64_t dimension) { return isConstant(dimension); });
  os << "    ++finished;\n"
        "    const int64_t next = tile + tiles.stride;\n"
        "    const bool notifies = next >= tiles.last || "
     << quotient("next", columns(), areConstant) << " != t0;\n"
     << "    if (notifies) {\n"
        "      worker.notify<"
     << scope(op.getScope()) << ">(" << word.text() << ", finished);\n"
     << "      finished = 0;\n"
        "    }\n"
        "    worker.end_task(/*notified=*/notifies"
     << isTraced() << ");\n";
}

/// Tasks that have no work are not in a trace.
StringRef PhaseEmitter::isTraced() {
  return hasCondition() ? ", /*traced=*/works" : "";
}

void PhaseEmitter::emitTiles(bool withEvents) {
  if (hasInvariant())
    os << "  int64_t previous = -1;\n";
  if (withEvents && waitsOnce())
    os << "  int64_t waited = -1;\n";
  if (withEvents && notifiesOnce())
    os << "  uint32_t finished = 0;\n";
  if (hasCondition())
    os << "  const bool all_work = " << allWork() << ";\n";
  if (withEvents && takesTickets())
    os << "  for (int64_t tile = " << ticket()
       << "; tile < tiles.last; tile = " << ticket() << ") {\n";
  else
    os << "  for (int64_t tile = tiles.first; tile < tiles.last; tile += "
          "tiles.stride) {\n";
  if (asksAgain())
    emitPointers("    ");
  emitCoordinates("    ");
  emitWorks("    ");
  emitTaskBegin(withEvents);
  if (withEvents)
    emitReady();
  if (withEvents && streamsSegments())
    os << "    if (tile == tiles.first)\n"
          "      ring.admit("
       << segmentTable() << ", iteration);\n";
  emitEntries();
  if (hasInvariant()) {
    std::string coordinate = invariantCoordinate(phase);
    os << "    const bool changed = " << coordinate << " != previous;\n"
       << "    previous = " << (hasCondition() ? "!works ? previous : " : "")
       << coordinate << ";\n";
  }
  if (phase.hasEntries())
    os << "    if (" << hasWork() << ") {\n";
  if (hasCondition())
    os << "    if (works) {\n";
  emitCalls();
  if (phase.hasEntries() || hasCondition())
    os << "    }\n";
  emitTableChecks(withEvents);
  emitTaskEnd(withEvents);
  os << "  }\n";
}

void PhaseEmitter::emitTilesFromPlace(bool withEvents,
                                      const KernelBodies &kernelBodies) {
  const bool takes = withEvents && takesTickets();
  os << "  int32_t part = place.part;\n"
        "  int64_t tile = place.begins() ? "
     << (takes ? ticket() : "tiles.first")
     << " : place.tile;\n"
        "  int64_t previous = place.previous;\n";
  if (hasCondition())
    os << "  const bool all_work = place.begins() ? " << allWork()
       << " : place.all_work;\n";
  os << "  for (; tile < tiles.last; tile "
     << (takes ? "= " + ticket() : "+= tiles.stride") << ", part = 0) {\n";
  emitCoordinates("    ");
  emitWorks("    ");
  if (hasInvariant())
    os << "    const bool changed = " << invariantCoordinate(phase)
       << " != previous;\n";
  os << "    switch (part) {\n"
        "    case 0:\n";
  emitTaskBegin(withEvents);
  if (withEvents)
    emitReady();
  int part = 0;
  for (mlir::Operation &op : phase.getBody().front()) {
    if (&op != &phase.getBody().front().front())
      os << "    worker.between();\n";
    auto call = mlir::dyn_cast<CallOp>(op);
    auto matrix = matrices.find(&op);
    if (auto advance = mlir::dyn_cast<AdvanceOp>(op))
      emitAdvance(advance);
    else if (matrix == matrices.end() ||
             matrix->second.front().kernelsOwn.empty()) {
      os << (hasCondition() ? "    if (works) {\n" : "");
      emitCall(call);
      os << (hasCondition() ? "    }\n" : "");
    } else
      emitHandOvers(call, part, kernelBodies);
  }
  emitTaskEnd(withEvents);
  os << "    }\n";
  if (hasInvariant())
    os << "    previous = " << (hasCondition() ? "!works ? previous : " : "")
       << invariantCoordinate(phase) << ";\n";
  os << "  }\n"
        "  place.end();\n";
}

static mlir::Attribute panelsOf(CallOp call) {
  return cuda::PanelsProduct::of(call)->panels;
}

/// Whether a weight is known before the task's waits are over, and that it will
/// be read: of most experts no row has any.
bool PhaseEmitter::isPrefetched(mlir::Attribute operand) {
  return mlir::isa<WeightAttr>(operand) && !phase.hasEntries();
}

bool PhaseEmitter::hasPrefetches() {
  if (phase.getWaits().empty() || !phase.getPrefetchBytes())
    return false;
  for (auto call : phase.getBody().getOps<CallOp>())
    for (mlir::Attribute operand : call.getOperands_())
      if (isPrefetched(operand) &&
          !(mostRows == 1 && call == streaming && operand == panelsOf(call)))
        return true;
  return false;
}

void PhaseEmitter::emitFirstPrefetch() {
  if (!hasPrefetches())
    return;
  os << "  if (tiles.first < tiles.last) {\n"
        "    const int64_t tile = tiles.first;\n";
  emitCoordinates("    ");
  if (hasCondition())
    os << "    const bool all_work = " << allWork() << ";\n";
  emitWorks("    ");
  emitPrefetches("    ");
  os << "  }\n";
}

/// Loads that wait for nothing go first: the task's weights start moving to the
/// second-level cache before the wait.
void PhaseEmitter::emitPrefetches(StringRef indent) {
  if (!hasPrefetches())
    return;
  SmallSetVector<mlir::Attribute, 4> weights;
  for (auto call : phase.getBody().getOps<CallOp>())
    for (mlir::Attribute operand : call.getOperands_())
      if (isPrefetched(operand))
        weights.insert(operand);
  if (hasCondition())
    os << indent << "if (works) {\n";
  for (mlir::Attribute operand : weights) {
    bool isStreamed = streaming && operand == panelsOf(streaming);
    if (isStreamed && mostRows == 1)
      continue;
    bool isMultiplied = byCublasLt && operand == panelsOf(byCublasLt->call);
    if (isStreamed || isMultiplied)
      os << indent << "if ("
         << (!isMultiplied ? "rows != 1"
             : isStreamed  ? "rows != 1 && !by_cublaslt"
                           : "!by_cublaslt")
         << ")\n"
         << "  ";
    os << indent << "baton_prefetch(" << weight(mlir::cast<WeightAttr>(operand))
       << ", " << phase.getPrefetchBytes() << ");\n";
  }
  if (hasCondition())
    os << indent << "}\n";
}

void PhaseEmitter::emitWait(WaitAttr wait) {
  const auto &tensor = layout.events.find(wait.getEvent().getAttr())->second;
  TensorOp op = tensor.op;
  SegmentOp notifier = tensor.notifier;
  SmallVector<std::string> low, high;
  for (auto [first, last, extent] :
       zip_equal(wait.getLow().getResults(), wait.getHigh().getResults(),
                 op.getShape().getResults())) {
    auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(first);
    bool natural = mlir::isa<mlir::AffineDimExpr>(first) ||
                   (constant && constant.getValue() >= 0);
    low.push_back(natural ? spell(first)
                          : "baton_max(" + spell(first) + ", 0)");
    high.push_back(last == extent ? spell(last)
                                  : "baton_min(" + spell(last) + ", " +
                                        spell(extent) + ")");
  }
  std::string count = spell(op.getCount().getResult(0)), complete;
  if (notifier == segment)
    complete = wait.getDistance() == 1 ? "iteration" : "(iteration + 1)";
  else
    complete = std::to_string(notifier.getRepeat());
  os << "    worker.wait<" << scope(op.getScope()) << ">(BatonBox<"
     << low.size() << ">{" << tensor.firstWord << ", " << braces(low) << ", "
     << braces(high) << ", " << braces(op.getCapacity()) << "}, uint32_t("
     << (count == "1" ? complete : complete + " * " + count) << "));\n";
}

void PhaseEmitter::emitCalls() {
  for (mlir::Operation &op : phase.getBody().front()) {
    if (&op != &phase.getBody().front().front())
      os << "    worker.between();\n";
    if (auto call = mlir::dyn_cast<CallOp>(op))
      emitCall(call);
    else if (auto advance = mlir::dyn_cast<AdvanceOp>(op))
      emitAdvance(advance);
    else
      os << (overlapped
                 ? "    // The stream exchanges the tensors, and notifies.\n"
                 : "    // The host has had the tensors exchanged.\n");
  }
}

void PhaseEmitter::emitAdvance(AdvanceOp advance) {
  mlir::StringAttr logits = advance.getLogitsAttr().getAttr();
  BufferOp buffer = layout.buffers.find(logits)->second;
  os << "    worker.advance(step, " << base(logits) << ", "
     << spell(buffer.getExtents().getResult(1)) << ");\n";
}

std::string PhaseEmitter::arguments(CallOp call) {
  SmallVector<std::string> arguments;
  for (mlir::Attribute attribute : call.getOperands_())
    arguments.push_back(operand(attribute));
  return join(arguments, ", ");
}

/// In front of what a call becomes unless its weights flow through the ring, or
/// a condition holds.
void PhaseEmitter::emitCondition(CallOp call, StringRef list) {
  if (call == streaming)
    os << (mostRows == 1 ? "    " : "    if (rows == 1)\n      ")
       << streamFunction(call) << "(ring, " << list << ");\n"
       << (mostRows == 1 ? "" : "    else\n      ");
  else
    os << (call.getInvariant() ? "    if (changed)\n      " : "    ");
}

/// Row by row, each with the panels that the ring has for it.
void PhaseEmitter::emitStreamCall(CallOp call) {
  PanelsProduct product = *PanelsProduct::of(call);
  SmallVector<std::string> arguments;
  for (mlir::Attribute attribute : call.getOperands_()) {
    arguments.push_back(operand(attribute));
    if (attribute == product.out)
      arguments.back() += " + row * " + operand(product.outStride);
    else if (attribute == product.x)
      arguments.back() += " + row * " + operand(product.xStride);
    else if (attribute == product.exact)
      arguments.back() += " + row * " + operand(product.exactStride);
  }
  os << "    for (int64_t row = 0, end = " << operand(product.rows)
     << "; row < end; ++row) {\n"
        "      if (row != 0)\n"
        "        worker.between();\n"
     << "      " << streamFunction(call) << "(ring, " << join(arguments, ", ")
     << ");\n"
     << "    }\n";
}

void PhaseEmitter::emitCall(CallOp call) {
  if (call == streaming && streamsSegments())
    return emitStreamCall(call);
  std::string list = arguments(call);
  if (isCublasLts(call))
    emitFinish(list);
  auto matrix = matrices.find(call);
  if (matrix != matrices.end())
    emitUnderRing(call, list);
  emitCondition(call, list);
  if (call == streaming && mostRows == 1)
    return;
  auto body = bodies.functions.find(call.getCallee());
  if (matrix != matrices.end())
    os << matrix->second.front().name << "(worker.shared, ";
  else if (body != bodies.functions.end())
    os << body->second << "(";
  else
    os << "baton_task_" << call.getCallee() << "(";
  os << list << ");\n";
}

/// Where a step of one row may be the kernel's, what takes shared memory leaves
/// it to the ring then, and the portable body computes.
void PhaseEmitter::emitUnderRing(CallOp call, StringRef list) {
  if (ringFormats == 0 || mostRows == 1 || call == streaming)
    return;
  os << "    if (rows == 1) {\n";
  if (phase.hasEntries())
    os << "      if (" << hasWork() << ")\n  ";
  else if (call.getInvariant())
    os << "      if (changed)\n  ";
  os << "      baton_task_" << call.getCallee() << "(" << list
     << ");\n    } else\n";
}

/// In front of a call's second body: when the first one did not compute all.
void PhaseEmitter::emitOtherCondition(CallOp call) {
  SmallVector<std::string, 2> all;
  if (call == streaming || ringFormats != 0)
    all.push_back("rows != 1");
  if (phase.hasEntries())
    all.push_back("(" + hasWork() + ")");
  else if (call.getInvariant())
    all.push_back("changed");
  os << "    ";
  if (!all.empty())
    os << "if (" << join(all, " && ") << ") ";
}

/// Leaves the function for the kernel's bodies; the next part of the task
/// begins behind each. One of two may have no columns.
void PhaseEmitter::emitHandOvers(CallOp call, int &part,
                                 const KernelBodies &kernelBodies) {
  const auto &bodies = matrices.find(call)->second;
  std::string list = arguments(call);
  if (isCublasLts(call))
    emitFinish(list);
  for (const MatrixBody &body : bodies) {
    auto number =
        std::distance(kernelBodies.begin(), kernelBodies.find(body.kernelsOwn));
    // Who comes back jumps over the entries.
    if (phase.hasEntries()) {
      os << "    {\n";
      emitEntries();
    }
    if (hasCondition())
      os << "    if (works) {\n";
    if (&body != bodies.begin()) {
      emitOtherCondition(call);
    } else {
      emitUnderRing(call, list);
      if (phase.hasEntries())
        os << "    if (" << hasWork() << ") ";
      else
        emitCondition(call, list);
    }
    os << "{\n"
       << "      calls.body_" << number << " = " << body.hand << "(" << list
       << ");\n";
    if (bodies.size() > 1)
      os << "      if (baton_asks_for_columns(calls.body_" << number
         << ")) {\n";
    os << "      place = {" << number << ", " << rank << ", " << ++part
       << ", iteration, tile, previous" << (hasCondition() ? ", all_work" : "")
       << "};\n"
          "      return false;\n"
          "    }\n"
       << (bodies.size() > 1 ? "    }\n" : "")
       << (phase.hasEntries() || hasCondition() ? "    }\n" : "")
       << "    [[fallthrough]];\n"
          "    case "
       << part << ":\n";
  }
}

bool PhaseEmitter::isCublasLts(CallOp call) {
  return byCublasLt && byCublasLt->call == call;
}

void PhaseEmitter::emitProductChoice() {
  if (byCublasLt)
    os << "  const bool by_cublaslt = worker.device->has_cublaslt && rows >= "
       << leastRows << ";\n";
}

/// What is left of the task when its product is there.
void PhaseEmitter::emitFinish(const std::string &operands) {
  Sum place;
  place.add(spell(byCublasLt->row), byCublasLt->columns());
  place.add(spell(byCublasLt->column), byCublasLt->sides);
  os << "    if (by_cublaslt)\n"
     << "      baton_finish_" << byCublasLt->call.getCallee()
     << "(worker.device->product + " << place.text() << ", "
     << byCublasLt->columns() << ", " << operands << ");\n"
     << "    else\n";
}

void PhaseEmitter::emitProductSides() {
  PanelsProduct product = *PanelsProduct::of(byCublasLt->call);
  // The first tile's operands are the product's.
  os << "  const int64_t t0 = 0, t1 = 0;\n"
     << "  baton_lay_out_product(device, " << operand(product.x) << ", "
     << operand(product.xStride) << ", " << operand(product.panels)
     << ", rows, " << byCublasLt->depth << ", " << byCublasLt->paddedDepth()
     << ", " << byCublasLt->columns() << ");\n";
}

void PhaseEmitter::emitStreamTiles(StringRef indent) {
  emitExtents(indent);
  os << indent << "tiles = " << share() << ";\n";
}

void PhaseEmitter::emitStreamPanels(StringRef indent) {
  PanelsProduct product = *PanelsProduct::of(streaming);
  auto panels = mlir::cast<WeightAttr>(product.panels);
  mlir::StringAttr symbol = panels.getParameter().getAttr();
  names[symbol] = parameter(symbol);
  emitExtents(indent);
  emitCoordinates(indent);
  if (streamsSegments()) {
    // Entries, as the task reads them, and as often as it has rows.
    for (AddressAttr entry : phase.getEntryAttrs()) {
      mlir::StringAttr table = entry.getBuffer().getAttr();
      names[table] = "(" + storage(layout.buffers.find(table)->second) + ")";
    }
    for (auto [i, entry] : enumerate(phase.getEntryAttrs()))
      os << indent << "const int64_t t" << phase.getRank() + i << " = *("
         << address(entry) << ");\n";
    os << indent << "const bool has_work = " << hasWork() << ";\n"
       << indent << "again = has_work && ++row < " << operand(product.rows)
       << ";\n"
       << indent << "if (has_work)\n"
       << "  ";
  }
  os << indent << "panels = {" << weight(panels) << ", baton_ceil_div("
     << operand(product.columns) << ", 16)"
     << (product.sides == 2 ? " * 2" : "") << ", " << operand(product.depth);
  if (ringHasBlocks()) {
    ParameterOp op = layout.parameters.find(symbol)->second.op;
    auto form = mlir::dyn_cast_if_present<BlocksAttr>(op.getFormAttr());
    const uint32_t formats = streamFormats();
    os << ", ";
    if (form)
      os << blocks::lanes * blocks::bytes_of_output({form.getFormats().data(),
                                                     form.getFormats().size()},
                                                    form.getInputs());
    else
      os << operand(product.depth) << " * 32";
    os << ", "
       << (!isPowerOf2_32(formats) ? "baton::cuda::mixed_format"
                                   : std::to_string(Log2_32(formats)));
  }
  os << "};\n";
}

std::string PhaseEmitter::operand(mlir::Attribute operand) {
  if (auto buffer = mlir::dyn_cast<AddressAttr>(operand))
    return address(buffer);
  if (auto parameter = mlir::dyn_cast<WeightAttr>(operand))
    return weight(parameter);
  if (auto count = mlir::dyn_cast<CountAttr>(operand)) {
    std::string least;
    for (const std::string &value : spell(count.getMap()))
      least = least.empty() ? value : "baton_min(" + least + ", " + value + ")";
    return least;
  }
  if (auto stride = mlir::dyn_cast<StrideAttr>(operand)) {
    int64_t elements = 0;
    BufferOp buffer = layout.buffers.find(stride.getBuffer().getAttr())->second;
    for (auto [steps, length] :
         zip_equal(stride.getSteps(), buffer.getStrides()))
      elements += steps * length;
    return std::to_string(elements);
  }
  if (auto scratch = mlir::dyn_cast<ScratchAttr>(operand))
    return "worker.scratch_at<float>(" + std::to_string(scratch.getOffset()) +
           ")";
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(operand))
    return std::to_string(integer.getValue().getSExtValue());
  if (auto real = mlir::dyn_cast<mlir::FloatAttr>(operand))
    return spell(real.getValue());
  return "nullptr";
}

std::string PhaseEmitter::address(AddressAttr address) {
  BufferOp op = layout.buffers.find(address.getBuffer().getAttr())->second;
  Sum position;
  // Bodies find rows of a state in pages.
  bool skipsRows = op.isPaged();
  for (auto [value, stride] :
       zip_equal(spell(address.getIndex()), op.getStrides()))
    if (!std::exchange(skipsRows, false))
      position.add(value, stride);
  std::string pointer = base(op.getSymNameAttr());
  return position.isZero() ? pointer : pointer + " + " + position.text();
}

std::string PhaseEmitter::weight(WeightAttr weight) {
  const mlir::StringAttr symbol = weight.getParameter().getAttr();
  std::string pointer = base(symbol);
  Sum offset;
  const mlir::AffineExpr place = weight.getOffset().getResult(0);
  if (ParameterOp op = layout.parameters.find(symbol)->second.op;
      layerFormatsOf(op)) {
    offset.add(spell(
        place.floorDiv(panelBytes(mlir::cast<BlocksAttr>(op.getFormAttr())))));
    return "baton_panel_at(" + pointer + ", " + offset.text() + ")";
  }
  offset.add(spell(place));
  return offset.isZero() ? pointer : pointer + " + " + offset.text();
}
