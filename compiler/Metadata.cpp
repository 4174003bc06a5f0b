//===- Metadata.cpp - what an executable says of itself -------------------===//

#include "compiler/Metadata.h"

#include "codegen/bodies/TaskCalls.h"
#include "codegen/cpu/Emit.h"
#include "codegen/plan/Metadata.h"
#include "codegen/plan/PlanJson.h"
#include "compiler/explain/Costs.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace baton;
using namespace baton::compiler;

/// What a program of a training step costs, for runtime/train/step_costs.h.
static nlohmann::json costsOf(event::ProgramOp program) {
  const explain::TrainingCosts costs = explain::trainingCosts(program);
  auto amount = [](const explain::TrainingCosts::Amount &amount) {
    return nlohmann::json{{"flops", amount.flops}, {"bytes", amount.bytes}};
  };
  nlohmann::json kinds = nlohmann::json::object();
  for (const auto &[name, kind] : costs.kinds)
    kinds[name] = {{"step", amount(kind.step)}, {"row", amount(kind.row)}};
  nlohmann::json attention = nlohmann::json::array();
  for (auto [window, flops] : costs.attentionFlops)
    attention.push_back({{"window", window}, {"flops_per_pair", flops}});
  return {{"kinds", std::move(kinds)}, {"attention", std::move(attention)}};
}

/// Whether some task multiplies as AMX does.
static bool callsAmx(llvm::ArrayRef<plan::ProgramLayout> layouts) {
  bool found = false;
  for (const plan::ProgramLayout &layout : layouts)
    event::ProgramOp(layout.program).walk([&](event::CallOp call) {
      auto body = bodies::lookUp(call);
      found |= body && (body->kind == bodies::Kind::amx_linear ||
                        body->kind == bodies::Kind::amx_gated_linear ||
                        body->kind == bodies::Kind::amx_linear_transposed);
    });
  return found;
}

nlohmann::json compiler::metadata(llvm::ArrayRef<plan::ProgramLayout> layouts,
                                  const CompileOptions &options,
                                  const cpu::Target &target) {
  nlohmann::json json = plan::planMetadata(layouts);
  event::ProgramOp program = layouts.front().program;
  json["format"] = 1;
  llvm::SmallString<128> path(options.model);
  (void)llvm::sys::fs::make_absolute(path);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  auto family = program->getAttrOfType<mlir::StringAttr>("event.family");
  uint64_t layers = 0, stateBytes = 0;
  // Of a program that decodes on stages, all of them.
  llvm::ArrayRef<plan::ProgramLayout> parts =
      json.contains("stages") ? layouts : layouts.take_front();
  explain::LinearCosts linears;
  for (const plan::ProgramLayout &part : parts)
    linears += explain::linearCosts(part.program);
  auto layersOf = [](event::ProgramOp program) {
    uint64_t layers = 0;
    for (auto segment : program.getBody().getOps<event::SegmentOp>())
      layers = std::max<uint64_t>(layers, segment.getRepeat());
    return layers;
  };
  if (!json.contains("pipeline"))
    for (const plan::ProgramLayout &part : parts)
      layers += layersOf(part.program);
  else
    for (const plan::ProgramLayout &layout : layouts) {
      event::ProgramOp part = layout.program;
      if (part->getAttrOfType<mlir::StringAttr>("event.part") == "forward") {
        auto stage = part->getAttrOfType<mlir::IntegerAttr>("event.stage");
        layers +=
            layersOf(part) *
            json["pipeline"]["stages"][stage.getInt()]["positions"].size();
      }
    }
  for (const plan::ProgramLayout &part : parts)
    for (auto buffer :
         event::ProgramOp(part.program).getBody().getOps<event::BufferOp>())
      if (buffer.getKind() == event::BufferKind::state)
        stateBytes += buffer.getElement().getIntOrFloatBitWidth() / 8 *
                      buffer.getLayers() * buffer.getLayerStride() /
                      buffer.countPlaces();
  nlohmann::json vocabulary = 0;
  if (json.contains("training"))
    vocabulary = json["training"]["vocabulary"];
  else if (json["logits"].is_object())
    vocabulary = json["logits"]["vocabulary"];
  json["model"] = {{"name", llvm::sys::path::filename(path).str()},
                   {"family", family ? family.str() : ""},
                   {"layers", layers},
                   {"vocabulary", vocabulary},
                   {"dtype", json.contains("training")
                                 ? json["training"]["compute"]
                                 : nlohmann::json(linears.dtype())}};
  if (!linears.inputs.empty())
    json["model"]["activations"] = llvm::join(linears.inputs, ", ");
  // Checking programs judge each new step.
  if (!options.sanitize.empty() && options.judgesSteps) {
    llvm::SmallVector<event::ProgramOp> programs;
    for (const plan::ProgramLayout &layout : layouts)
      programs.push_back(layout.program);
    json["plan"] = plan::planJson(programs);
  }
  json["target"] = {{"triple", target.triple},
                    {"cpu", target.cpu},
                    {"sanitize", options.sanitize}};
  if (callsAmx(layouts))
    if (auto amx = cpu::hasAmx(target); amx && *amx)
      json["target"]["amx"] = true;
  auto attention = nlohmann::json::array();
  for (auto [window, flops] : linears.attentionFlops)
    attention.push_back(
        {{"window", window}, {"flops_per_position", uint64_t(flops)}});
  auto experts = nlohmann::json::array();
  for (auto [counts, bytes] : linears.expertBytes)
    experts.push_back({{"of_token", counts.first},
                       {"experts", counts.second},
                       {"bytes_per_token", uint64_t(bytes)}});
  json["costs"] = {{"flops_per_token", uint64_t(linears.flops)},
                   {"flops_per_output", uint64_t(linears.flopsPerOutput)},
                   {"weight_bytes_per_token", uint64_t(linears.bytes)},
                   {"kv_bytes_per_position", stateBytes},
                   {"attention", attention}};
  if (!experts.empty())
    json["costs"]["experts"] = experts;
  if (json.contains("training"))
    for (auto [layout, entry] : llvm::zip_equal(layouts, json["programs"]))
      entry["costs"] = costsOf(layout.program);
  // Ranks and stages have parts of it.
  if (json.contains("training") && !json.contains("mesh") &&
      !json.contains("pipeline"))
    json["training"]["flops_per_row"] =
        uint64_t(explain::productFlopsOfRow(program));
  if (options.memory && json.contains("training"))
    json["training"]["memory"] = options.memory->bytes;
  if (options.usualMemory && json.contains("offloading"))
    json["offloading"]["usual"] = {
        {"memory", options.usualMemory->memory},
        {"kv_memory", options.usualMemory->kvMemory},
        {"kv_in_memory", options.usualMemory->kvInMemory}};
  return json;
}

std::string compiler::jsonText(const nlohmann::json &json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
