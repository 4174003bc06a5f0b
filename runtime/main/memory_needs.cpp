//===- memory_needs.cpp - what a program's memory is for ------------------===//

#include "runtime/main/memory_needs.h"

#include "runtime/comm/mesh.h"
#include "runtime/decode/decoding_stages.h"
#include "runtime/weights/description.h"
#include "runtime/weights/parameter_slots.h"

#include <algorithm>
#include <optional>

namespace baton {

MemoryNeeds memory_needs(const Metadata &metadata, uint32_t rank) {
  const std::optional<DecodingStages> stages =
      DecodingStages::parse(metadata.json);
  MemoryNeeds needs;
  size_t number = 0;
  const std::vector<ParameterDescription> parameters =
      parse_parameters(metadata.json, rank);
  std::vector<ParameterSlot> slots = make_slots(parameters, nullptr);
  auto slot = slots.begin();
  for (const ParameterDescription &parameter : parameters) {
    const nlohmann::json &entry = metadata.json.at("parameters").at(number++);
    const bool is_table = entry.at("kind") == "table";
    for (uint64_t layer = 0; layer < parameter.layers; ++layer)
      (slot++)->in_place = is_table;
    if (parameter.is_elsewhere)
      continue;
    uint64_t bytes = 0;
    for (uint64_t layer = 0; layer < parameter.layers; ++layer) {
      const auto own = parameter.form->of_layer(layer);
      bytes += own ? own->layer_bytes() : parameter.form->layer_bytes();
    }
    needs.weights += bytes;
    if (is_table)
      needs.tables += bytes;
  }
  needs.weight_region = assign_offsets(slots);
  auto add = [&](const StorageDescription &storage, uint64_t bytes) {
    (storage.state        ? needs.kv
     : storage.persistent ? needs.persistent
                          : needs.activations) += bytes;
  };
  if (!stages) {
    for (const StorageDescription &storage : metadata.storages)
      add(storage, storage.bytes);
  } else {
    const uint32_t stage = stages->stage_of(Mesh::parse(metadata.json), rank);
    for (const nlohmann::json &program : metadata.json.at("programs"))
      if (program.at("stage") == stage)
        for (const nlohmann::json &use : program.at("storages"))
          add(metadata.storages.at(use.at("storage").get<size_t>()),
              use.at("bytes"));
  }
  needs.scratch = metadata.scratch_bytes;
  return needs;
}

std::vector<MemoryNeeds> memory_needs(const Metadata &metadata) {
  const std::optional<DecodingStages> stages =
      DecodingStages::parse(metadata.json);
  if (!stages)
    return {memory_needs(metadata, 0)};
  std::vector<MemoryNeeds> result;
  for (uint32_t rank : Mesh::parse(metadata.json).group(0, {stages->axis}))
    result.push_back(memory_needs(metadata, rank));
  return result;
}

std::map<std::string, uint64_t>
training_memory(const Metadata &metadata, const MemoryNeeds &needs,
                const std::vector<uint64_t> &transient,
                const std::vector<size_t> &elsewhere) {
  std::map<std::string, uint64_t> result;
  size_t number = 0;
  for (const nlohmann::json &storage : metadata.json.at("storages")) {
    const bool is_kept = metadata.storages[number].persistent;
    if (!std::ranges::binary_search(elsewhere, number))
      result[storage.value("use", "activations")] +=
          is_kept || transient.empty() ? storage.at("bytes").get<uint64_t>()
                                       : transient[number];
    ++number;
  }
  // What is frozen beside an adapter is packed, as in programs that decode.
  if (needs.weights)
    result["frozen"] = needs.weights;
  return result;
}

} // namespace baton
