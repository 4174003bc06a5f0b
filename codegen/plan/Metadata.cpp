//===- Metadata.cpp - what the runtime must know of a plan ----------------===//

#include "codegen/plan/Metadata.h"

#include "codegen/bodies/TaskCalls.h"
#include "dialects/Event/LayerFormats.h"
#include "dialects/Event/Tiers.h"
#include "runtime/layer_arrival.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/ScopedPrinter.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

using nlohmann::json;
using namespace baton::event;

static json sourceToJson(SourceAttr source);
static json shardToJson(ShardAttr shard);

/// Attributes that JSON has no form for become their MLIR text.
static json toJson(mlir::Attribute attribute) {
  if (!attribute)
    return nullptr;
  if (auto text = mlir::dyn_cast<mlir::StringAttr>(attribute))
    return text.str();
  if (auto boolean = mlir::dyn_cast<mlir::BoolAttr>(attribute))
    return boolean.getValue();
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attribute))
    return integer.getValue().getSExtValue();
  if (auto real = mlir::dyn_cast<mlir::FloatAttr>(attribute))
    return real.getValueAsDouble();
  if (mlir::isa<mlir::UnitAttr>(attribute))
    return true;
  if (auto symbol = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(attribute))
    return symbol.getValue().str();
  if (auto values = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(attribute))
    return values.asArrayRef().vec();
  if (auto values = mlir::dyn_cast<mlir::DenseI32ArrayAttr>(attribute))
    return values.asArrayRef().vec();
  if (auto values = mlir::dyn_cast<mlir::DenseF32ArrayAttr>(attribute))
    return values.asArrayRef().vec();
  if (auto values = mlir::dyn_cast<mlir::DenseF64ArrayAttr>(attribute))
    return values.asArrayRef().vec();
  if (auto values = mlir::dyn_cast<mlir::DenseBoolArrayAttr>(attribute)) {
    json result = json::array();
    for (bool value : values.asArrayRef())
      result.push_back(value);
    return result;
  }
  if (auto values = mlir::dyn_cast<mlir::ArrayAttr>(attribute)) {
    json result = json::array();
    for (mlir::Attribute value : values)
      result.push_back(toJson(value));
    return result;
  }
  if (auto source = mlir::dyn_cast<SourceAttr>(attribute))
    return sourceToJson(source);
  if (auto shard = mlir::dyn_cast<ShardAttr>(attribute))
    return shardToJson(shard);
  if (auto entries = mlir::dyn_cast<mlir::DictionaryAttr>(attribute)) {
    json result = json::object();
    for (mlir::NamedAttribute entry : entries)
      result[entry.getName().str()] = toJson(entry.getValue());
    return result;
  }
  return llvm::to_string(attribute);
}

/// In the words of runtime/weights/description.h.
static json sourceToJson(SourceAttr source) {
  json result = {{"sources", toJson(source.getNames())},
                 {"shape", source.getShape().vec()},
                 {"transposed", source.getTransposed()}};
  for (auto [key, value] :
       {std::pair<const char *, mlir::Attribute>{"blocks", source.getBlocks()},
        {"plus", source.getPlus()},
        {"shards", source.getShards()},
        {"experts", source.getExperts()},
        {"inputs", source.getInputs()}})
    if (value)
      result[key] = toJson(value);
  return result;
}

/// In the words of runtime/comm/shards.h.
static json shardToJson(ShardAttr shard) {
  json result = {{"dimension", shard.getDimension()},
                 {"extent", shard.getExtent()},
                 {"axes", toJson(shard.getAxes())}};
  for (auto [key, value] : {std::pair<const char *, mlir::Attribute>{
                                "granularity", shard.getGranularity()},
                            {"units", shard.getUnits()}})
    if (value)
      result[key] = toJson(value);
  return result;
}

/// An extent in the words of the metadata: a number, or an expression.
static json extentOf(mlir::AffineExpr expression) {
  if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(expression))
    return constant.getValue();
  mlir::MLIRContext *context = expression.getContext();
  auto rows = mlir::getAffineSymbolExpr(kRows, context);
  auto past = mlir::getAffineSymbolExpr(kPast, context);
  auto outputs = mlir::getAffineSymbolExpr(kOutputs, context);
  if (expression == rows)
    return "rows";
  if (expression == outputs)
    return "outputs";
  if (expression == past + rows || expression == rows + past)
    return "past+rows";
  std::string text = llvm::to_string(expression);
  for (auto [symbol, name] : {std::pair<std::string, std::string>{"s0", "rows"},
                              {"s1", "past"},
                              {"s2", "outputs"}})
    for (size_t at; (at = text.find(symbol)) != std::string::npos;)
      text.replace(at, symbol.size(), name);
  return text;
}

/// For runtime/execute/step_expression.h.
static json expressionOf(mlir::AffineExpr expression) {
  if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(expression))
    return constant.getValue();
  if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expression))
    return symbol.getPosition() == kRows   ? "rows"
           : symbol.getPosition() == kPast ? "past"
                                           : "outputs";
  auto operation = mlir::cast<mlir::AffineBinaryOpExpr>(expression);
  const char *name = "+";
  switch (operation.getKind()) {
  case mlir::AffineExprKind::Mul:
    name = "*";
    break;
  case mlir::AffineExprKind::FloorDiv:
    name = "floordiv";
    break;
  case mlir::AffineExprKind::CeilDiv:
    name = "ceildiv";
    break;
  case mlir::AffineExprKind::Mod:
    name = "mod";
    break;
  default:
    break;
  }
  return {name, expressionOf(operation.getLHS()),
          expressionOf(operation.getRHS())};
}

using Layouts = llvm::ArrayRef<baton::plan::ProgramLayout>;

/// In the order of their numbers. Where each rank runs the program of a stage,
/// with the stages that read it.
static json parametersOf(Layouts layouts) {
  json result = json::array();
  llvm::SmallDenseMap<int64_t, size_t> places;
  for (const baton::plan::ProgramLayout &layout : layouts) {
    ProgramOp program = layout.program;
    for (const auto &[name, parameter] : layout.parameters) {
      auto [place, isNew] = places.try_emplace(parameter.first, result.size());
      if (isNew) {
        ParameterOp op = parameter.op;
        json entry = json::object();
        if (WeightForm form = op.getFormAttr()) {
          entry["kind"] = form.getKind().str();
          for (mlir::NamedAttribute size : form.getEntries())
            entry[size.getName().str()] = toJson(size.getValue());
          entry["dtype"] = llvm::to_string(op.getElement());
        }
        for (auto [key, value] : {std::pair<const char *, mlir::Attribute>{
                                      "parts", op.getSourcesAttr()},
                                  {"first_layer", op.getFirstLayerAttr()},
                                  {"layer_step", op.getLayerStepAttr()},
                                  {"layer_formats", layerFormatsOf(op)}})
          if (value)
            entry[key] = toJson(value);
        entry["name"] = name.str();
        entry["layers"] = op.getLayers();
        result.push_back(std::move(entry));
      }
      if (program->hasAttr("event.stages"))
        result[place->second]["stages"].push_back(
            toJson(program->getAttr("event.stage")));
    }
  }
  return result;
}

static bool isInEveryStep(PhaseOp phase) {
  return llvm::none_of(phase.getGrid().getResults(),
                       [](mlir::AffineExpr extent) {
                         return extent.isFunctionOfSymbol(kOutputs);
                       });
}

/// What storages of a program that trains are for: weights, gradients (also
/// those of a rank's own rows, as far as several steps add to them), the
/// optimizer's states, what ranks exchange, and what the runtime provides.
static llvm::SmallDenseMap<mlir::Attribute, std::string>
usesOf(const baton::plan::ProgramLayout &layout) {
  llvm::SmallDenseMap<mlir::Attribute, std::string> uses;
  auto storageOf = [&](mlir::StringAttr name) {
    BufferOp buffer = layout.buffers.find(name)->second;
    return buffer.getStorage() ? buffer.getStorageAttr().getAttr()
                               : mlir::StringAttr();
  };
  for (auto [name, buffer] : layout.buffers) {
    BufferOp op = buffer;
    std::optional<mlir::DictionaryAttr> description = op.getDescription();
    if (!description || !op.getStorage())
      continue;
    if (auto role = description->getAs<mlir::StringAttr>("role"))
      uses[storageOf(name)] = role.str() == "places" ? "input" : role.str();
  }
  ProgramOp program = layout.program;
  for (PhaseOp phase : phasesOf(program))
    for (auto exchange : phase.getBody().getOps<ExchangeOp>()) {
      // Rows of places lie where other values of the step do.
      if (exchange.movesRows())
        continue;
      for (TransferAttr transfer : exchange.getTransfers()) {
        bool gathers = exchange.getKind() == ExchangeKind::all_gather;
        mlir::StringAttr send = storageOf(transfer.getSend().getAttr()),
                         receive = storageOf(transfer.getReceive().getAttr());
        mlir::StringAttr whole = gathers ? receive : send;
        // Weights that ranks keep parts of are sent from where they are.
        std::string &parts = uses[gathers ? send : receive];
        if (parts != "parameter")
          parts = "exchange";
        if (!uses.count(whole))
          uses[whole] =
              gathers || isInEveryStep(phase) ? "exchange" : "gradient";
      }
    }
  return uses;
}

/// One of each name, as large as any of that name.
static json storagesOf(Layouts layouts) {
  llvm::SmallDenseMap<mlir::Attribute, const char *> kinds;
  llvm::SmallDenseSet<mlir::Attribute> paged;
  llvm::MapVector<mlir::StringAttr, int64_t> bytes;
  for (const baton::plan::ProgramLayout &layout : layouts) {
    for (auto [name, buffer] : layout.buffers)
      if (BufferOp op = buffer; op.isPaged())
        paged.insert(op.getStorageAttr().getAttr());
    for (auto [name, buffer] : layout.buffers)
      if (buffer.getStorage() && buffer.getKind() != BufferKind::transient)
        kinds[buffer.getStorageAttr().getAttr()] =
            buffer.getKind() == BufferKind::state ? "state" : "persistent";
    for (const auto &[name, storage] : layout.storages) {
      StorageOp op = storage.op;
      bytes[name] = std::max<int64_t>(bytes[name], op.getBytes());
    }
  }
  ProgramOp first = layouts.front().program;
  llvm::SmallDenseMap<mlir::Attribute, std::string> uses;
  if (first->hasAttr("event.longest_sequence"))
    uses = usesOf(layouts.front());
  json result = json::array();
  for (auto [name, size] : bytes) {
    result.push_back({{"name", name.str()},
                      {"bytes", size},
                      {"kind", kinds.count(name) ? kinds[name] : "transient"}});
    // The bytes are those of a page.
    if (paged.contains(name))
      result.back()["paged"] = true;
    if (auto use = uses.find(name); use != uses.end())
      result.back()["use"] = use->second;
  }
  return result;
}

/// What the runtime loads before the first step, provides for each, or keeps.
static json persistentOf(const baton::plan::ProgramLayout &layout) {
  json result = json::array();
  for (auto [name, buffer] : layout.buffers) {
    BufferOp op = buffer;
    if (op.getKind() != BufferKind::persistent || !op.getDescription() ||
        op.getDescription()->contains("places"))
      continue;
    json entry = toJson(*op.getDescription());
    entry["name"] = name.str();
    // Codes that have no sign are what tasks see as i8.
    if (!entry.contains("element"))
      entry["element"] = llvm::to_string(op.getElement());
    entry["storage"] =
        layout.storages.find(op.getStorageAttr().getAttr())->second.index;
    // One that is described as another tensor than tasks see has its own.
    if (!entry.contains("shape")) {
      entry["shape"] = op.getCapacity().vec();
      entry["layers"] = op.getLayers();
    }
    // Where layers do not simply lie behind one another from the start on.
    if (op.getOffset())
      entry["offset"] = op.getOffset();
    if (op.getLayers() > 1 &&
        op.getLayerStride() != uint64_t(*op.getSpan()) + 1)
      entry["layer_stride"] = op.getLayerStride();
    result.push_back(std::move(entry));
  }
  return result;
}

/// What a rank finds out about its place before the first step, and where it
/// writes that. Programs of one rank have it in common.
static json placesOf(Layouts layouts) {
  json result = json::array();
  llvm::SmallDenseSet<int64_t> seen;
  for (const baton::plan::ProgramLayout &layout : layouts)
    for (auto [name, buffer] : layout.buffers) {
      BufferOp op = buffer;
      if (!op.getDescription() || !op.getDescription()->contains("places"))
        continue;
      int64_t storage =
          layout.storages.find(op.getStorageAttr().getAttr())->second.index;
      if (seen.insert(storage).second)
        result.push_back(
            {{"storage", storage},
             {"shards", toJson(op.getDescription()->get("places"))}});
    }
  return result;
}

/// Which parameters and states the layers of each stack have of their own, and
/// where the runtime writes who brings them; null where they stay in memory.
static json offloadingOf(const baton::plan::ProgramLayout &layout) {
  ProgramOp program = layout.program;
  json stacks = json::array();
  for (auto segment : program.getBody().getOps<SegmentOp>()) {
    llvm::SetVector<mlir::StringAttr> parameters;
    llvm::SetVector<mlir::StringAttr> states;
    bool arrives = false;
    segment.walk([&](CallOp call) {
      arrives |= call.getCallee() == "layer_arrival";
      for (mlir::Attribute operand : call.getOperands_())
        if (auto weight = mlir::dyn_cast<WeightAttr>(operand)) {
          mlir::StringAttr name = weight.getParameter().getAttr();
          ParameterOp op = layout.parameters.find(name)->second.op;
          if (op.getLayers() > 1)
            parameters.insert(name);
        }
    });
    if (!arrives)
      continue;
    for (auto phase : segment.getBody().getOps<PhaseOp>())
      for (AccessAttr access : phase.getAccessAttrs()) {
        BufferOp op = layout.buffers.find(access.getBuffer().getAttr())->second;
        if (op.getKind() == BufferKind::state)
          states.insert(access.getBuffer().getAttr());
      }
    json names = json::array(), kept = json::array();
    for (mlir::StringAttr name : parameters)
      names.push_back(name.str());
    for (mlir::StringAttr name : states) {
      BufferOp op = layout.buffers.find(name)->second;
      const int64_t bytes = op.getElement().getIntOrFloatBitWidth() / 8;
      kept.push_back(
          {{"storage",
            layout.storages.find(op.getStorageAttr().getAttr())->second.index},
           {"layer_bytes", int64_t(op.getLayerStride()) * bytes},
           {"page_bytes", int64_t(op.getPageStride()) * bytes}});
    }
    stacks.push_back({{"segment", segment.getName().str()},
                      {"layers", segment.getRepeat()},
                      {"parameters", std::move(names)},
                      {"states", std::move(kept)}});
  }
  if (stacks.empty())
    return nullptr;
  BufferOp arrival = llvm::find_if(layout.buffers, [](const auto &entry) {
                       return entry.first == baton::layer_arrival_buffer;
                     })->second;
  return {
      {"storage",
       layout.storages.find(arrival.getStorageAttr().getAttr())->second.index},
      {"stacks", std::move(stacks)}};
}

static json eventsOf(Layouts layouts) {
  json tensors = json::array();
  for (const baton::plan::ProgramLayout &layout : layouts)
    for (const auto &[name, tensor] : layout.events) {
      TensorOp op = tensor.op;
      tensors.push_back({{"name", name.str()},
                         {"words", tensor.words},
                         {"capacity", op.getCapacity().vec()}});
    }
  return {{"words", layouts.front().words}, {"tensors", std::move(tensors)}};
}

/// Whether extentOf() is a number or a name.
static bool isNamed(mlir::AffineExpr expression) {
  const json extent = extentOf(expression);
  return extent.is_number() || extent == "rows" || extent == "outputs" ||
         extent == "past+rows";
}

static json bufferOf(BufferOp op, const baton::plan::ProgramLayout &layout) {
  json extents = json::array();
  for (mlir::AffineExpr extent : op.getExtents().getResults())
    extents.push_back(isNamed(extent) ? extentOf(extent)
                                      : expressionOf(extent));
  json storage;
  if (op.getStorage())
    storage = layout.storages.find(op.getStorageAttr().getAttr())->second.index;
  json result = {{"buffer", op.getSymName().str()},
                 {"element", llvm::to_string(op.getElement())},
                 {"storage", std::move(storage)},
                 {"offset", op.getOffset()},
                 {"strides", op.getStrides().vec()},
                 {"capacity", op.getCapacity().vec()},
                 {"layers", op.getLayers()},
                 {"layer_stride", op.getLayerStride()},
                 {"interleave", op.getInterleave()},
                 {"interleave_columns", op.getInterleaveColumns()},
                 {"extents", std::move(extents)}};
  if (op.getRing())
    result["ring"] = true;
  return result;
}

/// The weights of a call that multiplies its inputs by them; null of others.
static WeightAttr matrixOf(CallOp call) {
  std::optional<baton::bodies::BodyFunction> function =
      baton::bodies::lookUp(call);
  if (!function)
    return {};
  const baton::bodies::Signature &signature =
      baton::bodies::signatureOf(function->kind);
  if (signature.isProduct)
    for (auto [operand, attribute] :
         llvm::zip(signature.operands, call.getOperands_()))
      if (operand.role == baton::bodies::Role::Matrix)
        return mlir::dyn_cast<WeightAttr>(attribute);
  return {};
}

/// Which weights a phase multiplies by, and where their inputs are: null of
/// those that its tasks compute by themselves.
static json productsOf(PhaseOp phase,
                       const baton::plan::ProgramLayout &layout) {
  json products = json::array();
  for (auto call : phase.getBody().getOps<CallOp>())
    if (WeightAttr matrix = matrixOf(call)) {
      json inputs;
      if (auto address = mlir::dyn_cast_or_null<AddressAttr>(
              baton::bodies::operandNamed(call, "x"))) {
        BufferOp buffer =
            layout.buffers.find(address.getBuffer().getAttr())->second;
        if (buffer.getStorage() && !buffer.isPaged())
          inputs = bufferOf(buffer, layout);
      }
      products.push_back({{"parameter", matrix.getParameter().getValue().str()},
                          {"inputs", std::move(inputs)}});
    }
  return products;
}

static json phaseOf(PhaseOp phase, const baton::plan::ProgramLayout &layout) {
  auto segment = mlir::cast<SegmentOp>(phase->getParentOp());
  llvm::SmallSetVector<mlir::StringAttr, 4> written;
  for (AccessAttr access : phase.getAccessAttrs())
    if (access.getWrite())
      written.insert(access.getBuffer().getAttr());
  // Where rows of a state in pages lie, tables say.
  json writes = json::array();
  for (mlir::StringAttr name : written)
    if (BufferOp buffer = layout.buffers.find(name)->second; !buffer.isPaged())
      writes.push_back(bufferOf(buffer, layout));
  json grid = json::array();
  for (mlir::AffineExpr extent : phase.getGrid().getResults())
    grid.push_back(expressionOf(extent));
  json result = {{"name", phase.getName().str()},
                 {"segment", segment.getName().str()},
                 {"repeat", segment.getRepeat()},
                 {"grid", std::move(grid)},
                 {"writes", std::move(writes)}};
  if (json products = productsOf(phase, layout); !products.empty())
    result["products"] = std::move(products);
  if (segment.getReverse())
    result["reverse"] = true;
  json tables = json::array();
  for (TableOp table : phase.getWrittenTables())
    tables.push_back(table.getBuffer().str());
  if (!tables.empty())
    result["tables"] = std::move(tables);
  if (phase.getAhead())
    result["ahead"] = true;
  if (mlir::Attribute flops = phase->getDiscardableAttr("event.flops"))
    result["flops"] = toJson(flops);
  return result;
}

/// The vocabulary is the constant second extent of what a phase advances.
static json logitsOf(ProgramOp program,
                     const baton::plan::ProgramLayout &layout) {
  for (PhaseOp phase : phasesOf(program))
    for (auto advance : phase.getBody().getOps<AdvanceOp>()) {
      BufferOp buffer =
          layout.buffers.find(advance.getLogitsAttr().getAttr())->second;
      json result = {
          {"vocabulary", extentOf(buffer.getExtents().getResult(1))}};
      if (buffer.getStorage()) {
        result["storage"] =
            layout.storages.find(buffer.getStorageAttr().getAttr())
                ->second.index;
        result["offset"] = buffer.getOffset();
        result["stride"] = buffer.getStrides()[0];
      }
      return result;
    }
  return nullptr;
}

namespace {
/// Bytes of the tensors that ranks exchange, in the largest step, and as a sum
/// of products in the step's symbols.
struct Payload {
  std::string text;
  int64_t bytes = 0;
};
} // namespace

/// Of the two buffers, the one that has the whole tensor: of rows that go to
/// experts, the rank's own.
static mlir::StringAttr wholeOf(ExchangeOp exchange, TransferAttr transfer) {
  if (exchange.movesRows())
    return exchange.getOwnRows(transfer).getAttr();
  return (exchange.getKind() == ExchangeKind::all_gather ? transfer.getReceive()
                                                         : transfer.getSend())
      .getAttr();
}

static Payload payloadOf(ExchangeOp exchange,
                         const baton::plan::ProgramLayout &layout) {
  Payload payload;
  std::string &text = payload.text;
  for (TransferAttr transfer : exchange.getTransfers()) {
    BufferOp whole = layout.buffers.find(wholeOf(exchange, transfer))->second;
    text += text.empty() ? "" : " + ";
    int64_t bytes = whole.getElement().getIntOrFloatBitWidth() / 8;
    text += std::to_string(bytes);
    for (mlir::AffineExpr extent : whole.getExtents().getResults()) {
      json factor = extentOf(extent);
      text += " * " +
              (factor.is_string() ? factor.get<std::string>() : factor.dump());
    }
    // Places that train have room for one more.
    ProgramOp program = layout.program;
    const int64_t most[] = {int64_t(program.getMaxRows()), 0,
                            int64_t(program.getMaxOutputs())};
    llvm::SmallVector<int64_t> extents =
        exchange.movesRows() ? evaluate(whole.getExtents(), {}, most)
                             : llvm::to_vector(whole.getCapacity());
    for (int64_t extent : extents)
      bytes *= extent;
    payload.bytes += bytes;
  }
  return payload;
}

/// In the order of their numbers.
static void addCollectives(const baton::plan::ProgramLayout &layout,
                           json &result) {
  ProgramOp program = layout.program;
  for (PhaseOp phase : phasesOf(program))
    for (auto exchange : phase.getBody().getOps<ExchangeOp>()) {
      json tensors = json::array();
      for (TransferAttr transfer : exchange.getTransfers())
        tensors.push_back(wholeOf(exchange, transfer).str());
      auto segment = mlir::cast<SegmentOp>(phase->getParentOp());
      Payload payload = payloadOf(exchange, layout);
      result.push_back(
          {{"name", phase.getName().str()},
           {"segment", segment.getName().str()},
           {"iterations", segment.getRepeat() - phase.getAhead()},
           {"kind", stringifyExchangeKind(exchange.getKind()).str()},
           {"axes", toJson(exchange.getAxes())},
           {"operation", exchange.getPurpose().str()},
           {"payload", payload.text},
           {"payload_bytes", payload.bytes},
           {"every_step", isInEveryStep(phase)},
           {"program", program.getSymName().str()},
           {"tensors", std::move(tensors)}});
    }
}

/// In the order of their numbers.
static void addMessages(const baton::plan::ProgramLayout &layout,
                        json &result) {
  ProgramOp program = layout.program;
  for (PhaseOp phase : phasesOf(program))
    for (auto message : phase.getBody().getOps<MessageOp>()) {
      json tensors = json::array();
      std::string payload;
      for (mlir::FlatSymbolRefAttr name : message.getBuffers()) {
        BufferOp buffer = layout.buffers.find(name.getAttr())->second;
        tensors.push_back(name.getValue().str());
        payload += payload.empty() ? "" : " + ";
        payload +=
            std::to_string(buffer.getElement().getIntOrFloatBitWidth() / 8);
        for (mlir::AffineExpr extent : buffer.getExtents().getResults()) {
          json factor = extentOf(extent);
          payload += " * " + (factor.is_string() ? factor.get<std::string>()
                                                 : factor.dump());
        }
      }
      result.push_back(
          {{"name", phase.getName().str()},
           {"program", program.getSymName().str()},
           {"direction",
            stringifyMessageDirection(message.getDirection()).str()},
           {"peer", stringifyMessagePeer(message.getPeer()).str()},
           {"axis", message.getAxis().str()},
           {"channel", message.getChannel().str()},
           {"payload", payload},
           {"tensors", std::move(tensors)}});
    }
}

/// By the numbers of their phases.
static void addTiers(const baton::plan::ProgramLayout &layout, json &result) {
  int64_t number = layout.firstPhase;
  ProgramOp program = layout.program;
  for (PhaseOp phase : phasesOf(program)) {
    std::optional<Tier> tier = tierOf(phase);
    const int64_t own = number++;
    if (!tier)
      continue;
    json tensors = json::array();
    for (mlir::FlatSymbolRefAttr name : tier->getBuffers())
      tensors.push_back(
          bufferOf(layout.buffers.find(name.getAttr())->second, layout));
    auto segment = mlir::cast<SegmentOp>(phase->getParentOp());
    BufferOp slots = layout.buffers.find(tier->slots.getAttr())->second;
    result.push_back({{"name", phase.getName().str()},
                      {"phase", own},
                      {"move", tier->getMove().str()},
                      {"layers", segment.getRepeat()},
                      {"reverse", segment.getReverse()},
                      {"slots", slots.getLayers()},
                      {"tensors", std::move(tensors)}});
  }
}

/// What a program's storages are for where a rank runs several programs: what
/// is free between two of them ("transient"), what all of the rank's share
/// ("rank") or those of one stage ("stage"), and of what there are several: see
/// passes/stages/StagePrograms.h.
static json scopesOf(const baton::plan::ProgramLayout &layout) {
  json result = json::array();
  for (auto &[name, use] : baton::event::scopesOf(layout.program)) {
    const auto &storage = layout.storages.find(name)->second;
    StorageOp op = storage.op;
    result.push_back(
        {{"storage", storage.index},
         {"bytes", op.getBytes()},
         {"scope", use.kind == baton::event::StorageScope::stage ? "stage"
                   : use.kind == baton::event::StorageScope::rank
                       ? "rank"
                       : "transient"},
         {"slot", use.slot.str()}});
  }
  return result;
}

/// Tensors of all stages, each with its stage's number, and those that all have
/// in common.
static json stageTensorsOf(Layouts layouts) {
  json result = json::array();
  std::set<std::pair<int64_t, std::string>> seen;
  for (const baton::plan::ProgramLayout &layout : layouts) {
    ProgramOp program = layout.program;
    auto number = program->getAttrOfType<mlir::IntegerAttr>("event.stage");
    for (json &tensor : persistentOf(layout)) {
      std::string role = tensor.at("role");
      bool isInput = role == "input";
      if (!isInput && role != "parameter" && role != "gradient" &&
          role != "optimizer")
        continue;
      int64_t stage = isInput || !number ? -1 : number.getInt();
      if (!seen.insert({stage, tensor.at("name").get<std::string>()}).second)
        continue;
      if (stage >= 0)
        tensor["stage"] = stage;
      result.push_back(std::move(tensor));
    }
  }
  return result;
}

/// What a program of many sequences keeps: where ranks are stages, also the
/// room for adapters of each, with the stage's number.
static json batchTensorsOf(Layouts layouts) {
  json result = persistentOf(layouts.front());
  if (!ProgramOp(layouts.front().program)->hasAttr("event.stages"))
    return result;
  auto isRoom = [](const json &tensor) {
    return tensor.at("role") == "adapter";
  };
  result.erase(std::remove_if(result.begin(), result.end(), isRoom),
               result.end());
  std::set<std::pair<json, std::string>> seen;
  for (const baton::plan::ProgramLayout &layout : layouts) {
    ProgramOp program = layout.program;
    const json stage = toJson(program->getAttr("event.stage"));
    for (json &tensor : persistentOf(layout)) {
      if (!isRoom(tensor) ||
          !seen.insert({stage, tensor.at("name").get<std::string>()}).second)
        continue;
      tensor["stage"] = stage;
      result.push_back(std::move(tensor));
    }
  }
  return result;
}

static json meshOf(MeshOp mesh) {
  json axes = json::array();
  for (auto [name, size] : llvm::zip_equal(mesh.getNames(), mesh.getSizes()))
    axes.push_back({{"name", toJson(name)}, {"size", size}});
  return {{"axes", std::move(axes)}, {"batch", toJson(mesh.getBatch())}};
}

json baton::plan::planMetadata(Layouts layouts) {
  json phases = json::array(), programs = json::array();
  uint64_t rows = 0, outputs = 0, scratch = 0;
  for (const ProgramLayout &layout : layouts) {
    ProgramOp program = layout.program;
    for (PhaseOp phase : phasesOf(program))
      phases.push_back(phaseOf(phase, layout));
    rows = std::max<uint64_t>(rows, program.getMaxRows());
    outputs = std::max<uint64_t>(outputs, program.getMaxOutputs());
    scratch = std::max<uint64_t>(scratch, program.getScratchBytes());
    programs.push_back({{"name", program.getSymName().str()},
                        {"max_rows", program.getMaxRows()},
                        {"first_phase", layout.firstPhase},
                        {"phases", phases.size() - layout.firstPhase},
                        {"logits", logitsOf(program, layout)}});
    if (mlir::Attribute part = program->getAttr("event.part")) {
      programs.back()["part"] = toJson(part);
      programs.back()["stage"] = toJson(program->getAttr("event.stage"));
      programs.back()["storages"] = scopesOf(layout);
    }
    if (program->hasAttr("event.stages"))
      programs.back()["places"] = placesOf(layout);
  }
  ProgramOp first = layouts.front().program;
  json proof, training;
  json pipeline = toJson(first->getAttr("event.pipeline"));
  if (auto longest =
          first->getAttrOfType<mlir::IntegerAttr>("event.longest_sequence"))
    training = {{"longest_sequence", longest.getInt()},
                {"vocabulary", toJson(first->getAttr("event.vocabulary"))},
                {"compute", toJson(first->getAttr("event.compute"))},
                {"recompute", toJson(first->getAttr("event.recompute"))},
                {"tensors", pipeline.is_null() ? persistentOf(layouts.front())
                                               : stageTensorsOf(layouts)}};
  if (mlir::Attribute adapter = first->getAttr("event.adapter"))
    training["adapter"] = toJson(adapter);
  if (mlir::Attribute losses = first->getAttr("event.losses"))
    training["losses"] = toJson(losses);
  if (std::optional<mlir::DictionaryAttr> attribute = first.getProof())
    proof = toJson(*attribute);
  json result = {{"max_rows", rows},
                 {"max_seq", first.getMaxSeq()},
                 {"max_outputs", outputs},
                 {"scratch_bytes", scratch},
                 {"parameters", parametersOf(layouts)},
                 {"storages", storagesOf(layouts)},
                 {"events", eventsOf(layouts)},
                 {"logits", programs.front()["logits"]},
                 {"programs", std::move(programs)},
                 {"phases", std::move(phases)},
                 {"proof", std::move(proof)}};
  for (auto mesh : first.getBody().getOps<MeshOp>()) {
    result["mesh"] = meshOf(mesh);
    result["collectives"] = json::array();
    for (const ProgramLayout &layout : layouts)
      addCollectives(layout, result["collectives"]);
    result["places"] = placesOf(layouts);
  }
  if (mlir::Attribute axis = first->getAttr("event.stages")) {
    json messages = json::array();
    for (const ProgramLayout &layout : layouts)
      addMessages(layout, messages);
    result["stages"] = {{"axis", toJson(axis)},
                        {"messages", std::move(messages)}};
  }
  if (!pipeline.is_null()) {
    pipeline["messages"] = json::array();
    for (const ProgramLayout &layout : layouts)
      addMessages(layout, pipeline["messages"]);
    result["pipeline"] = std::move(pipeline);
  }
  json tiers = json::array();
  for (const ProgramLayout &layout : layouts)
    addTiers(layout, tiers);
  if (!tiers.empty())
    training["tiers"] = std::move(tiers);
  if (training.is_object())
    result["training"] = std::move(training);
  if (mlir::Attribute batch = first->getAttr("event.batch")) {
    result["batch"] = toJson(batch);
    result["batch"]["tensors"] = batchTensorsOf(layouts);
    if (json offloading = offloadingOf(layouts.front()); !offloading.is_null())
      result["offloading"] = std::move(offloading);
  }
  return result;
}
