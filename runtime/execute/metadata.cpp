//===- metadata.cpp - what a compiled program says about itself ----------===//

#include "runtime/execute/metadata.h"

#include "runtime/error.h"
#include "runtime/execute/step_expression.h"
#include "runtime/step_sequence.h"
#include "runtime/weights/packing.h"

#include <algorithm>
#include <cmath>

namespace baton {

namespace {

constexpr int supported_format = 1;

Extent parse_extent(const nlohmann::json &extent) {
  if (extent.is_number_integer())
    return {Extent::Kind::Number, extent.get<int64_t>()};
  if (extent.is_array())
    return {Extent::Kind::Other, 0, extent};
  const auto &name = extent.get_ref<const std::string &>();
  if (name == "rows")
    return {Extent::Kind::Rows, 0};
  if (name == "past+rows")
    return {Extent::Kind::PastAndRows, 0};
  if (name == "outputs")
    return {Extent::Kind::Outputs, 0};
  return {Extent::Kind::Other, 0, extent};
}

WrittenBuffer parse_written_buffer(const nlohmann::json &entry,
                                   size_t storage_count) {
  WrittenBuffer buffer;
  buffer.buffer = entry.at("buffer").get<std::string>();
  buffer.element = entry.at("element").get<std::string>();
  buffer.storage = entry.at("storage").get<size_t>();
  if (buffer.storage >= storage_count)
    throw Error("buffer \"" + buffer.buffer + "\" has no storage");
  buffer.offset = entry.value("offset", int64_t(0));
  buffer.strides = entry.at("strides").get<std::vector<int64_t>>();
  buffer.capacity = entry.at("capacity").get<std::vector<int64_t>>();
  buffer.layers = entry.value("layers", int64_t(1));
  buffer.layer_stride = entry.value("layer_stride", int64_t(0));
  buffer.ring = entry.value("ring", false);
  if (buffer.layers < 1)
    throw Error("buffer \"" + buffer.buffer + "\" has no layers");
  buffer.interleave = entry.value("interleave", int64_t(1));
  buffer.interleave_columns = entry.value("interleave_columns", int64_t(1));
  if (buffer.interleave < 1 || buffer.interleave_columns < 1)
    throw Error("buffer \"" + buffer.buffer + "\" is interleaved by nothing");
  for (const nlohmann::json &extent : entry.at("extents"))
    buffer.extents.push_back(parse_extent(extent));
  if (buffer.extents.empty() ||
      buffer.extents.size() != buffer.strides.size() ||
      buffer.extents.size() != buffer.capacity.size())
    throw Error("buffer \"" + buffer.buffer + "\" has no consistent rank");
  return buffer;
}

void parse_tiers(const nlohmann::json &training, Metadata &metadata) {
  metadata.memory_cap = training.value("memory", uint64_t(0));
  for (const nlohmann::json &entry :
       training.value("tiers", nlohmann::json::array())) {
    TierDescription tier;
    tier.name = entry.at("name").get<std::string>();
    tier.phase = entry.at("phase").get<uint32_t>();
    tier.fetches = entry.at("move") == "fetch";
    tier.reverse = entry.value("reverse", false);
    tier.layers = entry.at("layers").get<uint32_t>();
    tier.slots = entry.at("slots").get<uint32_t>();
    for (const nlohmann::json &tensor : entry.at("tensors")) {
      tier.tensors.push_back(
          parse_written_buffer(tensor, metadata.storages.size()));
      if (tier.tensors.back().layers != tier.layers)
        throw Error("tier \"" + tier.name + "\" moves buffer \"" +
                    tier.tensors.back().buffer + "\", which has other layers");
    }
    metadata.tiers.push_back(std::move(tier));
  }
}

std::optional<LogitsPlace> parse_logits(const nlohmann::json &json,
                                        const Metadata &metadata) {
  auto logits = json.find("logits");
  if (logits == json.end() || !logits->contains("storage"))
    return std::nullopt;
  LogitsPlace place = {logits->at("storage").get<size_t>(),
                       logits->at("offset").get<int64_t>(),
                       logits->at("stride").get<int64_t>(),
                       logits->at("vocabulary").get<int64_t>()};
  if (place.storage >= metadata.storages.size())
    throw Error("the logits lie in a storage that does not exist");
  return place;
}

/// A description without programs is of one.
void parse_programs(const nlohmann::json &json, Metadata &metadata) {
  auto phases = static_cast<uint32_t>(metadata.phases.size());
  auto list = json.find("programs");
  if (list == json.end()) {
    metadata.programs = {
        {metadata.max_rows, 0, phases, parse_logits(json, metadata)}};
    return;
  }
  for (const nlohmann::json &entry : *list) {
    ProgramDescription program = {entry.at("max_rows").get<uint32_t>(),
                                  entry.at("first_phase").get<uint32_t>(),
                                  entry.at("phases").get<uint32_t>(),
                                  parse_logits(entry, metadata)};
    if (program.first_phase > phases ||
        program.phases > phases - program.first_phase)
      throw Error("a program has phases that do not exist");
    metadata.programs.push_back(program);
  }
  if (metadata.programs.empty() ||
      metadata.programs.front().max_rows != metadata.max_rows)
    throw Error("no program takes steps of " +
                std::to_string(metadata.max_rows) + " rows");
}

BatchDescription parse_batch(const nlohmann::json &json,
                             const std::vector<StorageDescription> &storages) {
  auto shared = [&](std::string_view name) {
    for (const nlohmann::json &tensor : json.at("tensors"))
      if (tensor.at("name") == name && !tensor.contains("offset"))
        if (size_t storage = tensor.at("storage"); storage < storages.size())
          return storage;
    throw Error("a batch has no tensor \"" + std::string(name) + "\"");
  };
  BatchDescription batch = {json.at("sequences").get<uint32_t>(),
                            json.at("longest_sequence").get<uint32_t>(),
                            json.at("changes").get<uint32_t>(),
                            shared("tokens"),
                            shared("positions"),
                            shared("sequences"),
                            shared("slots"),
                            shared("pages"),
                            shared("sampling"),
                            shared("changes"),
                            shared(batch_step_masks),
                            shared(batch_step_draws),
                            0};
  for (const nlohmann::json &tensor : json.at("tensors")) {
    if (tensor.at("name") == batch_step_hidden) {
      batch.hidden_states = shared(batch_step_hidden);
      batch.hidden_width = tensor.at("shape").at(1).get<uint32_t>();
    }
    if (tensor.at("name") == batch_step_wanted)
      batch.wanted_panels = shared(batch_step_wanted);
  }
  if (auto adapters = json.find("adapters"); adapters != json.end()) {
    batch.adapters = {adapters->at("ranks").get<uint32_t>(),
                      adapters->at("most").get<uint32_t>(),
                      shared(batch_adapter_inputs[0]),
                      shared(batch_adapter_inputs[1])};
    if (batch.adapters->most == 0 || batch.adapters->most % panel_lanes ||
        batch.adapters->ranks % panel_lanes ||
        batch.adapters->ranks < batch.adapters->most)
      throw Error("a batch has no room for an adapter");
  }
  for (const StorageDescription &storage : storages)
    batch.page_bytes += storage.paged ? storage.bytes : 0;
  if (batch.max_sequences == 0 || batch.max_positions == 0)
    throw Error("a batch has no sequences or positions");
  return batch;
}

Metadata parse_checked(const nlohmann::json &json) {
  if (json.at("format").get<int>() != supported_format)
    throw Error("format " + json.at("format").dump() + " is not supported");

  Metadata metadata;
  metadata.vocabulary = json.at("model").at("vocabulary").get<uint64_t>();
  metadata.max_rows = json.at("max_rows").get<uint32_t>();
  metadata.max_seq = json.at("max_seq").get<uint32_t>();
  metadata.max_outputs = json.at("max_outputs").get<uint32_t>();
  metadata.scratch_bytes = json.at("scratch_bytes").get<uint64_t>();
  metadata.event_words = json.at("events").at("words").get<uint64_t>();
  if (metadata.vocabulary == 0 || metadata.max_outputs == 0 ||
      metadata.max_outputs > metadata.max_rows ||
      metadata.max_rows > metadata.max_seq)
    throw Error("max_outputs, max_rows and max_seq do not fit together");

  for (const nlohmann::json &entry : json.at("storages")) {
    StorageDescription storage;
    storage.name = entry.at("name").get<std::string>();
    storage.bytes = entry.at("bytes").get<uint64_t>();
    std::string kind = entry.at("kind");
    storage.state = kind == "state";
    storage.persistent = kind == "persistent";
    storage.paged = entry.value("paged", false);
    metadata.storages.push_back(std::move(storage));
  }
  for (const nlohmann::json &entry : json.at("phases")) {
    PhaseDescription phase;
    phase.name = entry.at("name").get<std::string>();
    phase.segment = entry.at("segment").get<std::string>();
    phase.repeat = entry.at("repeat").get<int64_t>();
    phase.reverse = entry.value("reverse", false);
    phase.ahead = entry.value("ahead", false);
    for (const nlohmann::json &written :
         entry.value("writes", nlohmann::json::array()))
      phase.writes.push_back(
          parse_written_buffer(written, metadata.storages.size()));
    for (const nlohmann::json &product :
         entry.value("products", nlohmann::json::array())) {
      phase.products.push_back(
          {product.at("parameter").get<std::string>(), std::nullopt});
      if (const nlohmann::json &inputs = product.at("inputs");
          inputs.is_object())
        phase.products.back().inputs =
            parse_written_buffer(inputs, metadata.storages.size());
    }
    phase.tables = entry.value("tables", phase.tables);
    for (const nlohmann::json &extent :
         entry.value("grid", nlohmann::json::array()))
      phase.grid.push_back(extent);
    metadata.phases.push_back(std::move(phase));
  }
  if (auto costs = json.find("costs");
      costs != json.end() && costs->is_object()) {
    metadata.costs = Costs{costs->at("flops_per_token").get<double>(),
                           costs->at("flops_per_output").get<double>(),
                           costs->at("weight_bytes_per_token").get<double>(),
                           costs->at("kv_bytes_per_position").get<double>(),
                           {},
                           {}};
    for (const nlohmann::json &entry :
         costs->value("experts", nlohmann::json::array()))
      metadata.costs->experts.push_back(
          {entry.at("of_token").get<double>(),
           entry.at("experts").get<double>(),
           entry.at("bytes_per_token").get<double>()});
    for (const nlohmann::json &entry :
         costs->value("attention", nlohmann::json::array()))
      metadata.costs->attention.push_back(
          {entry.at("window").get<uint64_t>(),
           entry.at("flops_per_position").get<double>()});
  }
  parse_programs(json, metadata);
  if (auto batch = json.find("batch"); batch != json.end())
    metadata.batch = parse_batch(*batch, metadata.storages);
  // A step has no past then, and rows of longer sequences, or shorter ones.
  if (metadata.batch)
    metadata.max_seq = metadata.batch->max_positions;
  metadata.device = json.value("device", nlohmann::json());
  if (auto training = json.find("training"); training != json.end())
    parse_tiers(*training, metadata);
  return metadata;
}

} // namespace

double Costs::weight_bytes(double tokens) const {
  double bytes = weight_bytes_per_token;
  for (const auto &[of_token, count, bytes_per_token] : experts) {
    const double missed = std::pow(1 - of_token / count, tokens);
    bytes += bytes_per_token * (count / of_token * (1 - missed) - 1);
  }
  return bytes;
}

double Costs::prompt_flops(uint64_t tokens) const {
  double flops =
      double(tokens) * (flops_per_token - flops_per_output) + flops_per_output;
  for (auto [window, flops_per_position] : attention) {
    // The first rows see fewer positions than a window holds.
    uint64_t growing = window ? std::min(window, tokens) : tokens;
    double pairs = double(growing) * double(growing + 1) / 2 +
                   double(tokens - growing) * double(window);
    flops += pairs * flops_per_position;
  }
  return flops;
}

uint64_t StorageDescription::bytes_of(uint64_t pages) const {
  uint64_t all = bytes;
  if (paged && __builtin_mul_overflow(bytes, pages, &all))
    return std::numeric_limits<uint64_t>::max();
  return all;
}

int64_t Extent::evaluate(const BatonStep &step) const {
  switch (kind) {
  case Kind::Rows:
    return step.rows;
  case Kind::PastAndRows:
    return int64_t(step.past) + step.rows;
  case Kind::Outputs:
    return step.outputs;
  case Kind::Other:
    return baton::evaluate(expression, step);
  case Kind::Number:
    break;
  }
  return number;
}

uint64_t PhaseDescription::tasks(const BatonStep &step) const {
  uint64_t count = 1;
  for (const nlohmann::json &extent : grid)
    count *=
        static_cast<uint64_t>(std::max<int64_t>(0, evaluate(extent, step)));
  return count;
}

Metadata Metadata::parse(std::string_view text) {
  try {
    nlohmann::json json = nlohmann::json::parse(text);
    Metadata metadata = parse_checked(json);
    metadata.json = std::move(json);
    return metadata;
  } catch (const nlohmann::json::exception &failure) {
    throw Error(std::string("this program's description is damaged: ") +
                failure.what());
  } catch (const Error &failure) {
    throw Error(std::string("this program's description is damaged: ") +
                failure.what());
  }
}

size_t Metadata::program_of(uint32_t rows) const {
  size_t best = 0;
  for (size_t i = 1; i < programs.size(); ++i)
    if (rows <= programs[i].max_rows &&
        programs[i].max_rows < programs[best].max_rows)
      best = i;
  return best;
}

std::vector<std::pair<uint32_t, uint32_t>>
program_order(const std::vector<PhaseDescription> &phases,
              const ProgramDescription &program) {
  std::vector<std::pair<uint32_t, uint32_t>> order;
  uint32_t last = program.first_phase + program.phases;
  for (uint32_t begin = program.first_phase, end; begin < last; begin = end) {
    end = begin + 1;
    while (end < last && phases[end].segment == phases[begin].segment)
      ++end;
    for (uint32_t iteration = 0; iteration < phases[begin].repeat; ++iteration)
      for (uint32_t phase = begin; phase < end; ++phase)
        order.emplace_back(phase, iteration);
  }
  return order;
}

} // namespace baton
