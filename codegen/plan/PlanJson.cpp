//===- PlanJson.cpp - a plan as data, for who judges it -------------------===//

#include "codegen/plan/PlanJson.h"

#include "runtime/step_sequence.h"

#include "llvm/Support/ScopedPrinter.h"

#include <nlohmann/json.hpp>

#include <map>

using nlohmann::json;
using namespace baton;
using namespace baton::event;

//===----------------------------------------------------------------------===//
// Maps, attributes
//===----------------------------------------------------------------------===//

/// In MLIR's words, with names for the step's symbols.
static std::string textOf(mlir::AffineExpr expression) {
  std::string text = llvm::to_string(expression), result;
  static const char *const names[] = {"rows", "past", "outputs"};
  for (size_t i = 0; i < text.size(); ++i) {
    bool isSymbol = text[i] == 's' && i + 1 < text.size() &&
                    text[i + 1] >= '0' && text[i + 1] < '3';
    if (isSymbol)
      result += names[text[++i] - '0'];
    else
      result += text[i];
  }
  return result;
}

static json textsOf(mlir::AffineMap map) {
  json result = json::array();
  for (mlir::AffineExpr expression : map.getResults())
    result.push_back(textOf(expression));
  return result;
}

static json namesOf(mlir::ArrayAttr names) {
  json result = json::array();
  for (auto name : names.getAsRange<mlir::StringAttr>())
    result.push_back(name.str());
  return result;
}

static json textOrNull(mlir::Attribute attribute) {
  auto text = mlir::dyn_cast_or_null<mlir::StringAttr>(attribute);
  return text ? json(text.str()) : json();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// What all ranks run, of a pipeline's stages, reads values that other programs
/// renew.
static json carryOf(ProgramOp program, BufferOp buffer) {
  if (!buffer.getCarry())
    return nullptr;
  bool isOfAll =
      program->hasAttr("event.part") && !program->hasAttr("event.stage");
  if (isOfAll && buffer.getCarry() == Carry::renewed)
    return "shared";
  return stringifyCarry(*buffer.getCarry()).str();
}

static json bufferOf(ProgramOp program, BufferOp buffer) {
  json storage;
  if (auto name = buffer.getStorageAttr())
    storage = name.getAttr().str();
  return {{"name", buffer.getSymName().str()},
          {"kind", stringifyBufferKind(buffer.getKind()).str()},
          {"element_bytes", buffer.getElement().getIntOrFloatBitWidth() / 8},
          {"extents", textsOf(buffer.getExtents())},
          {"capacity", buffer.getCapacity().vec()},
          {"strides", buffer.getStrides().vec()},
          {"storage", std::move(storage)},
          {"offset", buffer.getOffset()},
          {"layers", buffer.getLayers()},
          {"layer_stride", buffer.getLayerStride()},
          {"ring", buffer.getRing()},
          {"interleave", buffer.getInterleave()},
          {"interleave_columns", buffer.getInterleaveColumns()},
          {"page", buffer.getPage()},
          {"page_stride", buffer.getPageStride()},
          {"carry", carryOf(program, buffer)}};
}

/// Memory that is free between two steps is what no buffer outlives.
static json storagesOf(ProgramOp program) {
  json result = json::object();
  for (auto &[name, scope] : scopesOf(program)) {
    auto storage =
        llvm::cast<StorageOp>(mlir::SymbolTable::lookupSymbolIn(program, name));
    result[name.str()] = {{"bytes", storage.getBytes()},
                          {"scope", scope.kind == StorageScope::stage ? "stage"
                                    : scope.kind == StorageScope::rank
                                        ? "rank"
                                        : "transient"},
                          {"slot", scope.slot.str()}};
  }
  // As many pages as a step's rows fill.
  for (auto buffer : program.getBody().getOps<BufferOp>())
    if (buffer.isPaged() && buffer.getStorage()) {
      json &bytes = result[buffer.getStorageAttr().getAttr().str()]["bytes"];
      bytes = bytes.get<int64_t>() *
              llvm::divideCeil(buffer.getCapacity().front(), buffer.getPage());
    }
  // Only stages that train run several programs in a step.
  if (!program->hasAttr("event.part") || program->hasAttr("event.stages"))
    for (auto buffer : program.getBody().getOps<BufferOp>())
      if (buffer.getStorage() && buffer.getKind() != BufferKind::transient) {
        json &scope = result[buffer.getStorageAttr().getAttr().str()]["scope"];
        if (scope == "transient")
          scope = "rank";
      }
  return result;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

static json accessOf(AccessAttr access) {
  return {{"write", access.getWrite()},
          {"buffer", access.getBuffer().getValue().str()},
          {"low", textsOf(access.getLow())},
          {"high", textsOf(access.getHigh())},
          {"may", access.getMay()},
          {"if", access.getCondition()
                     ? json(access.getCondition().getValue().str())
                     : json()}};
}

static json exchangeOf(ExchangeOp exchange) {
  json transfers = json::array();
  for (TransferAttr transfer : exchange.getTransfers())
    transfers.push_back({{"send", transfer.getSend().getValue().str()},
                         {"receive", transfer.getReceive().getValue().str()},
                         {"elements", textOf(transfer.getElementCount())},
                         {"part", textOf(transfer.getPartCount())}});
  json result = {{"kind", stringifyExchangeKind(exchange.getKind()).str()},
                 {"axes", namesOf(exchange.getAxes())},
                 {"transfers", std::move(transfers)}};
  if (exchange.movesRows())
    for (mlir::Attribute table : exchange.getTablesAttr())
      result["by"].push_back(
          llvm::cast<mlir::FlatSymbolRefAttr>(table).getValue().str());
  return result;
}

static json messageOf(MessageOp message) {
  json tensors = json::array();
  for (mlir::FlatSymbolRefAttr tensor : message.getBuffers())
    tensors.push_back(tensor.getValue().str());
  return {
      {"direction", stringifyMessageDirection(message.getDirection()).str()},
      {"peer", stringifyMessagePeer(message.getPeer()).str()},
      {"axis", message.getAxis().str()},
      {"channel", message.getChannel().str()},
      {"tensors", std::move(tensors)}};
}

static json bodyOf(PhaseOp phase) {
  json calls = json::array();
  for (mlir::Operation &op : phase.getBody().front()) {
    if (auto exchange = llvm::dyn_cast<ExchangeOp>(op))
      return {{"exchange", exchangeOf(exchange)}};
    if (auto message = llvm::dyn_cast<MessageOp>(op))
      return {{"message", messageOf(message)}};
    if (auto advance = llvm::dyn_cast<AdvanceOp>(op))
      return {{"advance", advance.getLogits().str()}};
    if (auto call = llvm::dyn_cast<CallOp>(op))
      calls.push_back(call.getCallee().str());
  }
  return {{"calls", std::move(calls)}};
}

static json phaseOf(PhaseOp phase) {
  json accesses = json::array(), waits = json::array(), entries = json::array(),
       notify;
  for (AccessAttr access : phase.getAccessAttrs())
    accesses.push_back(accessOf(access));
  for (AddressAttr entry : phase.getEntryAttrs())
    entries.push_back({{"table", entry.getBuffer().getValue().str()},
                       {"place", textOf(entry.getIndex().getResult(0))}});
  for (WaitAttr wait : phase.getWaitAttrs())
    waits.push_back({{"event", wait.getEvent().getValue().str()},
                     {"distance", wait.getDistance()},
                     {"low", textsOf(wait.getLow())},
                     {"high", textsOf(wait.getHigh())}});
  if (auto attribute = phase.getNotify())
    notify = {{"event", attribute->getEvent().getValue().str()},
              {"index", textsOf(attribute->getIndex())}};
  PhaseOp::RowTiles tiles = phase.getRowTiles();
  return {
      {"name", phase.getName().str()},
      {"grid", textsOf(phase.getGrid())},
      {"capacity", phase.getCapacity().vec()},
      {"distribution", stringifyDistribution(phase.getDistribution()).str()},
      {"row_tiles", {{"rows", textOf(tiles.rows)}, {"size", tiles.size}}},
      {"ahead", phase.getAhead()},
      {"entries", std::move(entries)},
      {"accesses", std::move(accesses)},
      {"waits", std::move(waits)},
      {"notify", std::move(notify)},
      {"body", bodyOf(phase)}};
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static json meshOf(ProgramOp program) {
  for (auto mesh : program.getBody().getOps<MeshOp>())
    return {{"names", namesOf(mesh.getNames())},
            {"sizes", mesh.getSizes().vec()},
            {"batch", namesOf(mesh.getBatch())}};
  return nullptr;
}

static json eventsOf(ProgramOp program) {
  json result = json::array();
  for (auto event : program.getBody().getOps<TensorOp>())
    result.push_back({{"name", event.getSymName().str()},
                      {"shape", textsOf(event.getShape())},
                      {"capacity", event.getCapacity().vec()},
                      {"count", textOf(event.getCount().getResult(0))},
                      {"scope", stringifyScope(event.getScope()).str()}});
  return result;
}

static json scheduleOf(ScheduleOp schedule) {
  json workers = json::array();
  for (auto list : schedule.getWorkers().getAsRange<mlir::ArrayAttr>()) {
    json tasks = json::array();
    for (auto task : list.getAsRange<TaskAttr>())
      tasks.push_back({{"phase", task.getPhase().str()},
                       {"iteration", task.getIteration()},
                       {"coordinates", task.getCoordinates().vec()}});
    workers.push_back(std::move(tasks));
  }
  return {{"rows", schedule.getRows()},
          {"past", schedule.getPast()},
          {"outputs", schedule.getOutputs()},
          {"workers", std::move(workers)}};
}

static json programOf(ProgramOp program) {
  json buffers = json::array(), segments = json::array(),
       schedules = json::array(), tables = json::array();
  for (auto table : program.getBody().getOps<TableOp>())
    tables.push_back(
        {{"buffer", table.getBuffer().str()},
         {"low", textOf(table.getLow().getResult(0))},
         {"high", textOf(table.getHigh().getResult(0))},
         {"property", stringifyTableProperty(table.getProperty()).str()}});
  for (auto buffer : program.getBody().getOps<BufferOp>())
    buffers.push_back(bufferOf(program, buffer));
  for (auto segment : program.getBody().getOps<SegmentOp>()) {
    json phases = json::array();
    for (auto phase : segment.getBody().getOps<PhaseOp>())
      phases.push_back(phaseOf(phase));
    segments.push_back({{"name", segment.getName().str()},
                        {"repeat", segment.getRepeat()},
                        {"reverse", segment.getReverse()},
                        {"phases", std::move(phases)}});
  }
  for (auto schedule : program.getBody().getOps<ScheduleOp>())
    schedules.push_back(scheduleOf(schedule));
  auto stage = program->getAttrOfType<mlir::IntegerAttr>("event.stage");
  return {{"name", program.getSymName().str()},
          {"part", textOrNull(program->getAttr("event.part"))},
          {"stage", stage ? json(stage.getInt()) : json()},
          {"max_rows", program.getMaxRows()},
          {"max_seq", program.getMaxSeq()},
          {"max_outputs", program.getMaxOutputs()},
          {"mesh", meshOf(program)},
          {"storages", storagesOf(program)},
          {"buffers", std::move(buffers)},
          {"events", eventsOf(program)},
          {"tables", std::move(tables)},
          {"segments", std::move(segments)},
          {"schedules", std::move(schedules)}};
}

//===----------------------------------------------------------------------===//
// What ranks run
//===----------------------------------------------------------------------===//

namespace {
/// What each place of the axis runs in a step, by its table.
class PlaceCalls {
public:
  PlaceCalls(llvm::ArrayRef<ProgramOp> programs, mlir::DictionaryAttr pipeline)
      : programs(programs), pipeline(pipeline),
        tables(pipeline.getAs<mlir::ArrayAttr>("tables")) {}

  json all() {
    json places = json::array();
    for (unsigned place = 0; place < tables.size(); ++place)
      places.push_back(at(place));
    return places;
  }

private:
  uint32_t number(llvm::StringRef name) {
    return pipeline.getAs<mlir::IntegerAttr>(name).getInt();
  }

  json at(int64_t place) {
    auto flights = pipeline.getAs<mlir::DenseI64ArrayAttr>("in_flight");
    json result = json::array();
    for (const SequenceEntry &entry :
         sequence_of({mlir::cast<mlir::StringAttr>(tables[place]).str(),
                      number("microbatches"), number("chunks"),
                      uint32_t(flights[place]),
                      pipeline.getAs<mlir::BoolAttr>("fused").getValue()})
             .entries)
      result.push_back(
          {{"program", find(stageOf(place, entry.chunk), entry.part)},
           {"chunk", entry.chunk},
           {"microbatch", entry.microbatch ? json(*entry.microbatch) : json()},
           {"slot", entry.slot}});
    return result;
  }

  int64_t stageOf(int64_t place, int64_t chunk) {
    auto stages = pipeline.getAs<mlir::ArrayAttr>("stages");
    const int64_t position = chunk * int64_t(tables.size()) + place;
    for (auto [number, stage] :
         llvm::enumerate(stages.getAsRange<mlir::DictionaryAttr>()))
      if (llvm::is_contained(
              stage.getAs<mlir::DenseI64ArrayAttr>("positions").asArrayRef(),
              position))
        return number;
    return -1;
  }

  int64_t find(int64_t stage, llvm::StringRef part) {
    for (auto [index, program] : llvm::enumerate(programs)) {
      ProgramOp op = program;
      auto own = op->getAttrOfType<mlir::IntegerAttr>("event.stage");
      auto name = op->getAttrOfType<mlir::StringAttr>("event.part");
      if (name && name.getValue() == part && (!own || own.getInt() == stage))
        return index;
    }
    return -1;
  }

  llvm::ArrayRef<ProgramOp> programs;
  mlir::DictionaryAttr pipeline;
  mlir::ArrayAttr tables;
};
} // namespace

/// Of programs that are no stages, every rank runs one in a step: none here.
static json stepOf(llvm::ArrayRef<ProgramOp> programs) {
  ProgramOp first = programs.front();
  if (auto pipeline =
          first->getAttrOfType<mlir::DictionaryAttr>("event.pipeline"))
    return {{"axis", textOrNull(pipeline.get("axis"))},
            {"places", PlaceCalls(programs, pipeline).all()}};
  mlir::Attribute axis = first->getAttr("event.stages");
  if (!axis)
    return nullptr;
  std::map<int64_t, json> places;
  for (auto [index, program] : llvm::enumerate(programs)) {
    ProgramOp op = program;
    if (auto stage = op->getAttrOfType<mlir::IntegerAttr>("event.stage"))
      places[stage.getInt()] = json::array({{{"program", index},
                                             {"chunk", 0},
                                             {"microbatch", nullptr},
                                             {"slot", 0}}});
  }
  json list = json::array();
  for (auto &[place, calls] : places)
    list.push_back(std::move(calls));
  return {{"axis", textOrNull(axis)}, {"places", std::move(list)}};
}

json baton::plan::planJson(llvm::ArrayRef<ProgramOp> programs) {
  json list = json::array();
  for (ProgramOp program : programs)
    list.push_back(programOf(program));
  ProgramOp first = programs.front();
  return {{"format", 1},
          {"training", first->hasAttr("event.longest_sequence")},
          {"programs", std::move(list)},
          {"step", stepOf(programs)}};
}
