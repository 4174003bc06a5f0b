//===- PlanJson.cpp - a plan as data, for who judges it -------------------===//

#include "codegen/plan/PlanJson.h"

#include "llvm/Support/ScopedPrinter.h"

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <sstream>

using nlohmann::json;
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

static llvm::StringRef describedAs(BufferOp buffer, llvm::StringRef key) {
  auto description = buffer.getDescription();
  auto text = description ? description->getAs<mlir::StringAttr>(key)
                          : mlir::StringAttr();
  return text ? text.getValue() : llvm::StringRef();
}

/// The persistent buffer of a program that says what its storage is for: shapes
/// of one storage have one description.
static BufferOp describedIn(ProgramOp program, BufferOp buffer) {
  if (buffer.getDescription() || !buffer.getStorage())
    return buffer;
  for (auto other : program.getBody().getOps<BufferOp>())
    if (other.getDescription() &&
        other.getStorageAttr() == buffer.getStorageAttr())
      return other;
  return buffer;
}

static bool sharesRing(ProgramOp program, BufferOp buffer) {
  return llvm::any_of(
      program.getBody().getOps<BufferOp>(), [&](BufferOp other) {
        return other.getRing() &&
               (other == buffer ||
                (buffer.getStorage() &&
                 other.getStorageAttr() == buffer.getStorageAttr()));
      });
}

/// Until the dialect says itself how long a persistent buffer's values live
/// (`carry`), by what it is described as. A summary is the last step's until
/// there is another; losses are those of the last stage, and elsewhere stay the
/// zeros with which memory begins, as does what nobody writes (kept, of which
/// there are no several). What ranks gather for a layer, whether seen as a ring
/// or as one of its copies, is gathered anew.
static json carryOf(ProgramOp program, BufferOp buffer) {
  if (mlir::Attribute carry = buffer->getAttr("carry")) {
    json text = textOrNull(carry);
    return text.is_null() ? json(llvm::to_string(carry)) : text;
  }
  if (buffer.getKind() != BufferKind::persistent || sharesRing(program, buffer))
    return nullptr;
  BufferOp described = describedIn(program, buffer);
  if (!described.getDescription())
    return "kept";
  if (described.getDescription()->contains("places"))
    return "kept";
  llvm::StringRef role = describedAs(described, "role");
  if (role == "parameter" || role == "optimizer")
    return "renewed";
  bool isConstant = role == "kept" && describedAs(described, "slot").empty();
  return role == "summary" || role == "loss" || isConstant ? json("kept")
                                                           : json();
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
          {"carry", carryOf(program, buffer)}};
}

/// As scopesOf in Metadata.cpp has them; memory that is free between two steps
/// is what no buffer outlives.
static json storagesOf(ProgramOp program) {
  json result = json::object();
  for (auto storage : program.getBody().getOps<StorageOp>())
    result[storage.getSymName().str()] = {
        {"bytes", storage.getBytes()}, {"scope", "transient"}, {"slot", ""}};
  const bool isPart = program->hasAttr("event.part");
  for (auto buffer : program.getBody().getOps<BufferOp>()) {
    if (!buffer.getStorage() || buffer.getKind() == BufferKind::transient)
      continue;
    json &storage = result[buffer.getStorageAttr().getAttr().str()];
    llvm::StringRef role = describedAs(buffer, "role");
    if (isPart && buffer.getKind() == BufferKind::persistent &&
        !buffer.getDescription())
      continue;
    if (role == "parameter" || role == "gradient" || role == "optimizer" ||
        role == "kept")
      storage["scope"] = "stage";
    else if (storage["scope"] != "stage")
      storage["scope"] = "rank";
    if (llvm::StringRef slot = describedAs(buffer, "slot"); !slot.empty())
      storage["slot"] = slot.str();
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// What narrows an access: `where` (expressions, the access touches nothing
/// unless all are 0 or more) and `may` (a write that need not happen). The
/// dialect has neither yet; what it gets goes here.
static void addConditions(AccessAttr access, json &result) {
  (void)access;
  (void)result;
}

static json accessOf(AccessAttr access) {
  json result = {{"write", access.getWrite()},
                 {"buffer", access.getBuffer().getValue().str()},
                 {"low", textsOf(access.getLow())},
                 {"high", textsOf(access.getHigh())}};
  addConditions(access, result);
  return result;
}

static json exchangeOf(ExchangeOp exchange) {
  json transfers = json::array();
  for (TransferAttr transfer : exchange.getTransfers())
    transfers.push_back({{"send", transfer.getSend().getValue().str()},
                         {"receive", transfer.getReceive().getValue().str()},
                         {"elements", textOf(transfer.getElementCount())},
                         {"part", textOf(transfer.getPartCount())}});
  return {{"kind", stringifyExchangeKind(exchange.getKind()).str()},
          {"axes", namesOf(exchange.getAxes())},
          {"transfers", std::move(transfers)}};
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
  json accesses = json::array(), waits = json::array(), notify;
  for (AccessAttr access : phase.getAccessAttrs())
    accesses.push_back(accessOf(access));
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
       schedules = json::array();
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
          {"segments", std::move(segments)},
          {"schedules", std::move(schedules)}};
}

//===----------------------------------------------------------------------===//
// What ranks run
//===----------------------------------------------------------------------===//

namespace {
/// What each place of the axis runs in a step, by its table, as
/// Pipeline::calls in runtime/decode/pipeline.cpp has it.
class PlaceCalls {
public:
  PlaceCalls(llvm::ArrayRef<ProgramOp> programs, mlir::DictionaryAttr pipeline)
      : programs(programs), pipeline(pipeline),
        tables(pipeline.getAs<mlir::ArrayAttr>("tables")),
        chunks(pipeline.getAs<mlir::IntegerAttr>("chunks").getInt()),
        fused(pipeline.getAs<mlir::BoolAttr>("fused").getValue()) {}

  json all() {
    json places = json::array();
    for (unsigned place = 0; place < tables.size(); ++place)
      places.push_back(at(place));
    return places;
  }

private:
  json at(int64_t place) {
    json result = json::array();
    // The place of what is kept for a microbatch of a chunk.
    std::map<std::pair<int64_t, int64_t>, int64_t> slots;
    std::set<int64_t> taken;
    std::istringstream words(mlir::cast<mlir::StringAttr>(tables[place]).str());
    for (std::string word; words >> word;) {
      auto [number, part] = llvm::StringRef(word).drop_front().split('.');
      int64_t microbatch = 0, chunk = 0;
      number.getAsInteger(10, microbatch);
      part.getAsInteger(10, chunk);
      std::pair<int64_t, int64_t> key(chunk, microbatch);
      if (word[0] == 'F') {
        int64_t slot = 0;
        while (taken.count(slot))
          ++slot;
        taken.insert(slots[key] = slot);
      }
      const char *program = word[0] == 'F'   ? "forward"
                            : fused          ? "backward"
                            : word[0] == 'B' ? "input"
                                             : "weight";
      if (!fused || word[0] != 'W')
        add(result, place, program, chunk, microbatch, slots[key]);
      if (word[0] == 'W')
        taken.erase(slots[key]);
    }
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      add(result, place, "norm", chunk, json(), 0);
    add(result, place, "agreement", 0, json(), 0);
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      add(result, place, "update", chunk, json(), 0);
    return result;
  }

  void add(json &calls, int64_t place, llvm::StringRef part, int64_t chunk,
           json microbatch, int64_t slot) {
    calls.push_back({{"program", find(stageOf(place, chunk), part)},
                     {"chunk", chunk},
                     {"microbatch", std::move(microbatch)},
                     {"slot", slot}});
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
  int64_t chunks;
  bool fused;
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
