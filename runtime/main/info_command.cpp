//===- info_command.cpp - says what a program is and needs ---------------===//

#include "runtime/main/commands.h"

#include "runtime/batch/adapter_shelf.h"
#include "runtime/comm/mesh.h"
#include "runtime/execute/batch_inputs.h"
#include "runtime/execute/pipeline.h"
#include "runtime/main/memory_needs.h"
#include "runtime/main/output.h"
#include "runtime/main/plain_text.h"
#include "runtime/main/table.h"
#include "runtime/train/optimizer_numbers.h"

#include <algorithm>
#include <map>

namespace baton {

namespace {

using Json = nlohmann::ordered_json;

/// Room for adapters of a rank, of one in this stage where ranks are stages, in
/// bytes.
uint64_t adapter_bytes(const Metadata &metadata, uint32_t stage) {
  uint32_t rank = 0;
  if (auto stages = metadata.json.find("stages");
      stages != metadata.json.end()) {
    const Mesh mesh = Mesh::parse(metadata.json);
    const std::vector<std::string> axis = {stages->at("axis")};
    while (rank + 1 < mesh.ranks() && mesh.place(rank, axis).index != stage)
      ++rank;
  }
  uint64_t bytes = 0;
  for (const AdapterRoom &room : parse_adapter_rooms(metadata.json, rank))
    bytes += room.layers * room.layer_bytes;
  return bytes;
}

/// The same of each stage, or of all there is.
std::vector<uint64_t> adapter_bytes_of(const Metadata &metadata,
                                       size_t stages) {
  std::vector<uint64_t> bytes;
  for (uint32_t stage = 0; stage < stages; ++stage)
    bytes.push_back(adapter_bytes(metadata, stage));
  return bytes;
}

/// What of a program that trains ranks have only parts of; empty for nothing.
std::string parts_text(const Metadata &metadata) {
  std::string text;
  bool any = false;
  for (auto [role, what] :
       {std::pair<const char *, const char *>{"parameter", "weights of "},
        {"optimizer", "states of "}}) {
    uint64_t cut = 0, whole = 0;
    for (const nlohmann::json &tensor :
         metadata.json.at("training").at("tensors"))
      if (tensor.at("role") == role)
        ++(tensor.contains("shards") ? cut : whole);
    any |= cut != 0;
    text += (text.empty() ? "" : ", ") + std::string(what) +
            std::to_string(cut) + " tensors in parts, of " +
            std::to_string(whole) + " whole";
  }
  return any ? text : "";
}

/// A member of the description, or null.
Json member(const Metadata &metadata, const char *name) {
  auto found = metadata.json.find(name);
  return found == metadata.json.end() ? Json() : Json(*found);
}

/// What a program that trains says of itself by this name, or null.
Json training_member(const Metadata &metadata, const char *name) {
  Json training = member(metadata, "training");
  return training.is_object() ? training.value(name, Json()) : Json();
}

/// "name value, name value" of an object's scalars, but for those left out.
std::string scalars_text(const Json &object,
                         std::initializer_list<const char *> left_out) {
  std::string text;
  if (!object.is_object())
    return text;
  for (const auto &[name, value] : object.items()) {
    if (value.is_structured() || value.is_null() || value == "" ||
        std::find(left_out.begin(), left_out.end(), name) != left_out.end())
      continue;
    text += (text.empty() ? "" : ", ") + name + " " + plain_text(value);
  }
  return text;
}

/// The name of a program that a stage runs, empty of other programs.
std::string stage_program(const Metadata &metadata, size_t number) {
  Json programs = member(metadata, "programs");
  return programs.is_array() && programs.at(number).contains("part")
             ? plain_text(programs.at(number).at("name"))
             : "";
}

std::string phases_text(const Metadata &metadata) {
  std::string text;
  const auto &phases = metadata.phases;
  size_t number = 0;
  for (const ProgramDescription &program : metadata.programs) {
    if (std::string name = stage_program(metadata, number++); !name.empty())
      text += "  program " + name + "\n";
    else if (metadata.programs.size() > 1)
      text += "  of steps of up to " + std::to_string(program.max_rows) +
              (program.max_rows == 1 ? " row\n" : " rows\n");
    size_t last = program.first_phase + program.phases;
    for (size_t begin = program.first_phase, end; begin < last; begin = end) {
      end = begin;
      Table table;
      while (end < last && phases[end].segment == phases[begin].segment) {
        std::string writes;
        for (const WrittenBuffer &written : phases[end].writes)
          writes += (writes.empty() ? "writes " : ", ") + written.buffer;
        table.add({phases[end].name, writes});
        ++end;
      }
      text += "  segment " + phases[begin].segment;
      if (phases[begin].repeat > 1)
        text += ", " + std::to_string(phases[begin].repeat) + " times";
      text += "\n" + table.text(4);
    }
  }
  return text;
}

std::string proof_text(const Json &proof) {
  std::string text = "proof\n";
  if (!proof.is_object())
    return text + "  none\n";
  text += "  " + proof.value("status", std::string("unknown")) + "\n";
  if (auto assumptions = proof.find("assumptions");
      assumptions != proof.end() && assumptions->is_array())
    for (const Json &assumption : *assumptions)
      text += "  assumes " + plain_text(assumption) + "\n";
  return text;
}

std::string costs_text(const Metadata &metadata) {
  const Costs &costs = *metadata.costs;
  uint64_t half = metadata.max_seq / 2;
  double kv = costs.kv_bytes_per_position * static_cast<double>(half);
  double total = costs.weight_bytes_per_token + kv;
  Table table({1, 2});
  table.add({"weights", bytes_text(costs.weight_bytes_per_token),
             percent_text(costs.weight_bytes_per_token / total)});
  table.add({"keys and values of " + std::to_string(half) + " positions",
             bytes_text(kv), percent_text(kv / total)});
  return "where the time goes: bytes read for one decoded token\n" +
         table.text(2) + "  and " + fixed_text(costs.flops_per_token / 1e6, 1) +
         " million floating-point operations for every token\n";
}

/// What the ranks of a program exchange: of each tensor its bytes, which are
/// those that every rank ends up with.
std::string collectives_text(const Json &metadata) {
  Table table({1, 2});
  double always = 0.0, all = 0.0;
  for (const Json &collective : metadata.at("collectives")) {
    uint64_t iterations = collective.at("iterations").get<uint64_t>();
    double bytes = collective.at("payload_bytes").get<double>() *
                   static_cast<double>(iterations);
    all += bytes;
    if (collective.at("every_step").get<bool>())
      always += bytes;
    std::string over;
    for (const Json &axis : collective.at("axes"))
      over += (over.empty() ? "" : ", ") + plain_text(axis);
    table.add({plain_text(collective.at("name")),
               iterations == 1 ? "" : std::to_string(iterations) + " times",
               bytes_text(bytes),
               plain_text(collective.at("kind")) + " over " + over + " for " +
                   plain_text(collective.at("operation"))});
  }
  return "ranks exchange\n" + table.text(2) + "  tensors of " +
         bytes_text(all) +
         (metadata.contains("training")
              ? " in a step that ends with an update, of " +
                    bytes_text(always) + " in others\n"
              : " in a step\n");
}

/// What the stages of a program that decodes send one another.
std::string messages_text(const Json &messages) {
  Table table;
  for (const Json &message : messages)
    if (message.at("direction") == "send")
      table.add({plain_text(message.at("program")),
                 plain_text(message.at("payload")) + " bytes to the " +
                     plain_text(message.at("peer"))});
  return "stages send\n" + table.text(2);
}

/// What the stages of a program that decodes need, by their places.
std::string stages_text(const std::vector<MemoryNeeds> &stages,
                        const std::vector<uint64_t> &adapters) {
  Table table({1, 2, 3, 4, 5});
  const bool adapts =
      std::ranges::any_of(adapters, [](uint64_t bytes) { return bytes != 0; });
  auto add = [&](std::vector<std::string> row) {
    // No stage has room for any.
    if (!adapts)
      row.pop_back();
    table.add(std::move(row));
  };
  add({"stage", "weights", "keys and values", "activations", "for exchanges",
       "adapters"});
  for (size_t place = 0; place < stages.size(); ++place) {
    const MemoryNeeds &needs = stages[place];
    add({std::to_string(place), bytes_text(double(needs.weights)),
         bytes_text(double(needs.kv)), bytes_text(double(needs.activations)),
         bytes_text(double(needs.persistent - adapters[place])),
         bytes_text(double(adapters[place]))});
  }
  return table.text(2);
}

Json memory_json(const MemoryNeeds &needs) {
  Json json = {{"weights", needs.weights},
               {"kv", needs.kv},
               {"activations", needs.activations},
               {"scratch", needs.scratch}};
  if (needs.persistent)
    json["persistent"] = needs.persistent;
  return json;
}

/// What the stages of a pipeline are planned to do and to need, by their
/// places.
Json pipeline_json(const Pipeline &pipeline) {
  Json ranks = Json::array();
  for (uint32_t place = 0; place < pipeline.places; ++place) {
    const StageLayout layout(pipeline, place);
    uint32_t slots = 0;
    for (const StageCall &call : pipeline.calls(place))
      slots = std::max(slots, call.slot + 1);
    ranks.push_back({{"in_flight", slots},
                     {"bytes", layout.bytes()},
                     {"kept", layout.shared_bytes + layout.stage_bytes},
                     {"microbatch", layout.flight_bytes},
                     {"activations", layout.transient_bytes}});
  }
  return {{"schedule", pipeline.schedule},
          {"microbatches", pipeline.microbatches},
          {"chunks", pipeline.chunks},
          {"bubble", pipeline.bubble},
          {"ranks", std::move(ranks)}};
}

std::string pipeline_text(const Json &pipeline) {
  Table table({1, 2, 3, 4});
  table.add({"stage", "in flight", "kept", "each in flight", "activations"});
  size_t place = 0;
  for (const Json &rank : pipeline.at("ranks"))
    table.add({std::to_string(place++), rank.at("in_flight").dump(),
               bytes_text(rank.at("kept").get<double>()),
               bytes_text(rank.at("microbatch").get<double>()),
               bytes_text(rank.at("activations").get<double>())});
  return "pipeline\n" + table.text(2) + "  " +
         plain_text(pipeline.at("schedule")) + ", " +
         pipeline.at("microbatches").dump() +
         " microbatches; stages are planned to idle " +
         percent_text(pipeline.at("bubble").get<double>()) + " of a step\n";
}

/// What a step on a device is started as.
std::string launch_text(const Json &device) {
  if (device.at("launch") != "graph")
    return "one persistent kernel for all steps";
  std::string text;
  for (const Json &kernel : device.at("kernels")) {
    uint64_t launches = 0;
    for (const Json &segment : kernel.at("segments"))
      launches +=
          segment.at("repeat").get<uint64_t>() * segment.at("phases").size();
    text += (text.empty() ? "a CUDA graph for each step, of " : " or ") +
            std::to_string(launches);
  }
  return text + " kernels" +
         (device.at("programmatic") ? ", each started while the one before runs"
                                    : "");
}

/// Which products cuBLASLt computes, where there are any.
std::string cublaslt_text(const Json &device) {
  std::map<uint64_t, std::string> names;
  for (const Json &kernel : device.at("kernels"))
    for (const Json &product : kernel.value("products", Json::array())) {
      std::string &text = names[product.at("least_rows").get<uint64_t>()];
      text += (text.empty() ? "" : ", ") + plain_text(product.at("name"));
    }
  std::string text;
  for (const auto &[rows, products] : names)
    text += "from " + std::to_string(rows) + " rows on " + products + "; ";
  const Json &needs = device.at("cublaslt");
  const double bytes = needs.at("activation_bytes").get<double>() +
                       needs.at("weight_bytes").get<double>() +
                       needs.at("product_bytes").get<double>();
  return text + bytes_text(bytes) + " besides its workspace; " +
         (needs.at("required").get<bool>()
              ? "the program needs it"
              : "if it is not found, the kernel's own bodies multiply");
}

void print_text(const Metadata &metadata) {
  const std::vector<MemoryNeeds> stages = memory_needs(metadata);
  const MemoryNeeds &needs = stages.front();
  const std::optional<Pipeline> pipeline = Pipeline::parse(metadata.json);
  Json model = member(metadata, "model");
  Json events = member(metadata, "events");
  std::string text = model.value("name", std::string("model")) + "\n";
  Table summary;
  summary.add({"model", scalars_text(model, {"name"})});
  summary.add({"target", scalars_text(member(metadata, "target"), {})});
  if (Json adapter = training_member(metadata, "adapter");
      adapter.is_object()) {
    std::string targets;
    for (const Json &target : adapter.at("targets"))
      targets += " " + plain_text(target);
    summary.add({"adapter", scalars_text(adapter, {}) + ", targets" + targets});
  }
  if (Json recompute = training_member(metadata, "recompute");
      recompute.is_object())
    summary.add({"recompute", scalars_text(recompute, {})});
  if (!metadata.device.is_null())
    summary.add({"launch", launch_text(metadata.device)});
  if (!metadata.device.is_null())
    for (const Json kernel : metadata.device.at("kernels"))
      summary.add({"kernel", scalars_text(kernel, {"name"})});
  if (metadata.device.contains("cublaslt"))
    summary.add({"cuBLASLt", cublaslt_text(metadata.device)});
  summary.add(
      {"limits", std::to_string(metadata.max_seq) + " positions, " +
                     std::to_string(metadata.max_rows) + " rows a step, " +
                     std::to_string(metadata.max_outputs) + " rows of logits"});
  if (metadata.batch)
    summary.add({"batches", std::to_string(metadata.batch->max_sequences) +
                                " sequences a step"});
  size_t tensors = events.contains("tensors") ? events["tensors"].size() : 0;
  summary.add({"events", std::to_string(metadata.event_words) + " words in " +
                             std::to_string(tensors) + " event tensors"});
  if (Mesh mesh = Mesh::parse(metadata.json); mesh.ranks() > 1)
    summary.add(
        {"mesh", mesh.text() + ", " + std::to_string(mesh.ranks()) + " ranks"});
  if (metadata.trains())
    summary.add({"optimizer", OptimizerNumbers(metadata.json).text()});
  if (metadata.trains())
    if (OptimizerNumbers own(metadata.json); own.has_weights())
      summary.add({"its weights", own.weights_text()});
  if (std::string parts = metadata.trains() ? parts_text(metadata) : "";
      !parts.empty())
    summary.add({"ranks have", parts});
  text += summary.text(2);

  if (pipeline)
    text += pipeline_text(pipeline_json(*pipeline));
  Table memory({1});
  std::map<std::string, uint64_t> uses = training_memory(metadata, needs);
  if (pipeline || stages.size() > 1) {
    // Of each stage it is said apart.
  } else if (metadata.trains()) {
    for (auto [use, what] : training_uses)
      if (uint64_t bytes = uses[use])
        memory.add({what, bytes_text(double(bytes)), ""});
  } else {
    memory.add({"weights", bytes_text(double(needs.weights)), ""});
    memory.add({"keys and values", bytes_text(double(needs.kv)),
                metadata.batch
                    ? "for each page of " + std::to_string(page_positions) +
                          " positions"
                    : "at " + std::to_string(metadata.max_seq) + " positions"});
  }
  if (!pipeline && stages.size() == 1)
    memory.add({"activations",
                bytes_text(double(metadata.trains() ? uses["activations"]
                                                    : needs.activations)),
                ""});
  const std::vector<uint64_t> stage_adapters =
      adapter_bytes_of(metadata, stages.size());
  const uint64_t adapters = stage_adapters.front();
  if (adapters && stages.size() == 1)
    memory.add({"adapters", bytes_text(double(adapters)),
                "of " + std::to_string(metadata.batch->adapters->ranks) +
                    " ranks together, each of up to " +
                    std::to_string(metadata.batch->adapters->most)});
  if (!metadata.trains() && stages.size() == 1 && needs.persistent > adapters)
    memory.add({metadata.batch ? "inputs" : "for exchanges",
                bytes_text(double(needs.persistent - adapters)), ""});
  memory.add({"scratch", bytes_text(double(needs.scratch)), "for each worker"});
  text += "memory\n";
  if (stages.size() > 1)
    text += stages_text(stages, stage_adapters);
  text += memory.text(2);
  if (Json collectives = member(metadata, "collectives");
      !collectives.is_null() && !collectives.empty())
    text += collectives_text(metadata.json);
  if (stages.size() > 1)
    text += messages_text(metadata.json.at("stages").at("messages"));
  text += "phases\n" + phases_text(metadata);
  text += proof_text(member(metadata, "proof"));
  if (metadata.costs && !metadata.trains())
    text += costs_text(metadata);
  print(text);
}

void print_json(const Metadata &metadata) {
  const std::vector<MemoryNeeds> stages = memory_needs(metadata);
  Json phases = Json::array();
  for (const PhaseDescription &phase : metadata.phases) {
    Json writes = Json::array();
    for (const WrittenBuffer &written : phase.writes)
      writes.push_back(written.buffer);
    phases.push_back({{"name", phase.name},
                      {"segment", phase.segment},
                      {"repeat", phase.repeat},
                      {"writes", std::move(writes)}});
  }
  Json proof = {{"status", "none"}, {"assumptions", Json::array()}};
  if (Json given = member(metadata, "proof"); given.is_object())
    proof.update(given);
  Json result;
  result["model"] = member(metadata, "model");
  result["target"] = member(metadata, "target");
  result["device"] = metadata.device;
  result["max_rows"] = metadata.max_rows;
  result["max_seq"] = metadata.max_seq;
  result["max_outputs"] = metadata.max_outputs;
  if (metadata.batch)
    result["batch"] = {{"max_sequences", metadata.batch->max_sequences},
                       {"page_positions", page_positions},
                       {"page_bytes", metadata.batch->page_bytes}};
  // Of the stage that has most, where ranks are stages.
  const uint64_t most_adapter_bytes =
      std::ranges::max(adapter_bytes_of(metadata, stages.size()));
  if (metadata.batch && metadata.batch->adapters)
    result["batch"]["adapters"] = {
        {"ranks", metadata.batch->adapters->ranks},
        {"most", metadata.batch->adapters->most},
        {"targets", metadata.json.at("batch").at("adapters").at("targets")},
        {"bytes", most_adapter_bytes}};
  result["phases"] = std::move(phases);
  result["events"] = member(metadata, "events");
  if (stages.size() == 1)
    result["memory"] = memory_json(stages.front());
  for (size_t place = 0; stages.size() > 1 && place < stages.size(); ++place)
    result["stages"].push_back({{"memory", memory_json(stages[place])}});
  const std::optional<Pipeline> pipeline = Pipeline::parse(metadata.json);
  if (metadata.trains() && !pipeline)
    result["training_memory"] = training_memory(metadata, stages.front());
  for (const char *name : {"mesh", "collectives"})
    if (Json value = member(metadata, name); !value.is_null())
      result[name] = std::move(value);
  if (pipeline)
    result["pipeline"] = pipeline_json(*pipeline);
  if (metadata.trains())
    result["optimizer"] = OptimizerNumbers(metadata.json).json();
  for (const char *name : {"adapter", "recompute"})
    if (Json value = training_member(metadata, name); value.is_object())
      result[name] = std::move(value);
  result["proof"] = std::move(proof);
  result["costs"] = member(metadata, "costs");
  print(result.dump() + "\n");
}

} // namespace

void info_command(const Metadata &metadata, const InfoOptions &options) {
  if (options.json)
    print_json(metadata);
  else
    print_text(metadata);
}

} // namespace baton
