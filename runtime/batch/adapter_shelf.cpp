//===- adapter_shelf.cpp - adapters that requests may name ----------------===//

#include "runtime/batch/adapter_shelf.h"

#include "runtime/comm/mesh.h"
#include "runtime/error.h"
#include "runtime/weights/convert.h"
#include "runtime/weights/description.h"
#include "runtime/weights/message.h"
#include "runtime/weights/packing.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace baton {

namespace {

uint64_t in_whole_panels(uint64_t elements) {
  return (elements + panel_lanes - 1) / panel_lanes * panel_lanes;
}

AdapterRoom parse_room(const nlohmann::json &tensor, const Mesh &mesh,
                       uint32_t rank) {
  AdapterRoom room;
  room.rank = rank;
  room.name = tensor.at("name");
  room.storage = tensor.at("storage");
  room.is_up = tensor.at("kind") == "up";
  const nlohmann::json &parts = tensor.at("parts");
  const std::optional<DataType> type =
      parse_program_type(tensor.at("element").get<std::string>());
  if (parts.size() != 1 || !type ||
      (*type != DataType::F32 && *type != DataType::F64 &&
       *type != DataType::BF16) ||
      tensor.contains("offset"))
    throw Error("the compiled program's room for adapters " +
                quote_name(room.name) + " is malformed");
  room.part = parse_part(room.name, parts.front(), mesh, rank);
  room.type = *type;
  room.width = in_whole_panels(tensor.at("width").get<uint64_t>());
  room.layers = tensor.at("layers");
  room.first_layer = tensor.value("first_layer", uint64_t(0));
  room.layer_step = tensor.value("layer_step", uint64_t(1));
  room.layer_bytes =
      tensor.value("layer_stride", tensor.at("shape").at(0).get<uint64_t>()) *
      bytes_of(room.type);
  return room;
}

std::string file_of(const std::filesystem::path &folder) {
  return (folder / adapter_weights_name).string();
}

} // namespace

std::vector<AdapterRoom> parse_adapter_rooms(const nlohmann::json &description,
                                             uint32_t rank) {
  std::vector<AdapterRoom> rooms;
  const Mesh mesh = Mesh::parse(description);
  std::optional<uint32_t> stage;
  if (auto stages = description.find("stages"); stages != description.end())
    stage = mesh.place(rank, {stages->at("axis").get<std::string>()}).index;
  if (auto batch = description.find("batch"); batch != description.end())
    for (const nlohmann::json &tensor : batch->at("tensors"))
      if (tensor.at("role") == "adapter" &&
          (!stage || tensor.at("stage") == *stage))
        rooms.push_back(parse_room(tensor, mesh, rank));
  return rooms;
}

static std::shared_ptr<const std::vector<AdapterRoom>>
rooms_of_all_ranks(const nlohmann::json &description) {
  auto rooms = std::make_shared<std::vector<AdapterRoom>>();
  for (uint32_t rank = 0; rank < Mesh::parse(description).ranks(); ++rank)
    std::ranges::move(parse_adapter_rooms(description, rank),
                      std::back_inserter(*rooms));
  return rooms;
}

static uint64_t next_number() {
  static std::atomic<uint64_t> numbers = 0;
  return ++numbers;
}

/// Of a tensor of a pair, the module beside which that is.
static std::string_view module_of(std::string_view tensor) {
  return tensor.substr(0, tensor.rfind(".lora_"));
}

static uint64_t largest_rank(const Adapter &config, const Checkpoint &weights) {
  if (config.rank_patterns.empty())
    return config.rank;
  uint64_t largest = 0;
  for (const std::string &name : weights.names())
    largest = std::max(largest, config.rank_of(module_of(name)));
  return largest;
}

ServedAdapter::ServedAdapter(
    std::string name, const std::filesystem::path &folder,
    std::shared_ptr<const std::vector<AdapterRoom>> given, uint32_t most)
    : own_name(std::move(name)), path(folder), config(Adapter::read(folder)),
      weights(Checkpoint::open_file(folder, adapter_weights_name)),
      rooms(std::move(given)),
      padded(static_cast<uint32_t>(in_whole_panels(std::min<uint64_t>(
          largest_rank(config, weights), uint64_t(most) + 1)))),
      own_number(next_number()) {
  if (config.decomposed)
    throw Error((folder / adapter_config_name).string() +
                ": use_dora scales rows of the model's weights, which programs "
                "with room for adapters do not; batonc merge " +
                folder.string() + " -o OUT makes a model of it");
  if (const uint64_t rank = largest_rank(config, weights); rank > most)
    throw Error(
        (folder / adapter_config_name).string() +
        (config.rank_patterns.empty() ? ": r is " : ": the largest rank is ") +
        std::to_string(rank) + ", and the program takes up to " +
        std::to_string(most) +
        " ranks of an adapter; compile with --max-adapter-rank=" +
        std::to_string(rank));
  check_tensors();
}

bool ServedAdapter::has(const AdapterRoom &room, uint64_t layer) const {
  const std::vector<std::string> names = room.part.names(layer);
  return std::any_of(names.begin(), names.end(), [&](const std::string &name) {
    return weights.contains(name);
  });
}

/// That there is room for each tensor, that pairs are whole, and that they fit.
void ServedAdapter::check_tensors() const {
  const std::string file = file_of(path);
  std::set<std::string> known, found;
  for (const AdapterRoom &room : *rooms)
    for (uint64_t layer = 0; layer < room.layers; ++layer) {
      const std::vector<std::string> names =
          room.part.names(room.number_of(layer));
      known.insert(names.begin(), names.end());
      if (!has(room, room.number_of(layer)))
        continue;
      const StoredTensor stored = weights.find(names);
      found.insert(stored.name);
      std::vector<uint64_t> shape = room.part.shape;
      shape[room.is_up ? 1 : 0] = config.rank_of(module_of(stored.name));
      if (stored.tensor->shape != shape)
        throw Error(file + ": tensor " + quote_name(stored.name) +
                    " has shape " + shape_text(stored.tensor->shape) +
                    ", expected " + shape_text(shape));
      if (!conversion(stored.tensor->type, room.type) &&
          stored.tensor->type != room.type)
        throw Error(file + ": tensor " + quote_name(stored.name) +
                    " is not of F32, BF16, F16 or F64");
    }
  for (const std::string &name : weights.names()) {
    if (!known.contains(name))
      throw Error(file + ": the program has no room for tensor " +
                  quote_name(name) +
                  "; there is room for pairs beside the linears that it was "
                  "compiled for (--adapter-targets)");
    // Of both matrices there is one.
    std::string other = name;
    const size_t at = other.rfind(".lora_") + 6;
    other[at] = other[at] == 'A' ? 'B' : 'A';
    if (!weights.contains(other))
      throw Error(file + ": there is tensor " + quote_name(name) + ", but no " +
                  quote_name(other));
  }
  if (found.empty())
    throw Error(file + ": there are no pairs of matrices in it");
}

void ServedAdapter::pack_layer(const AdapterRoom &room, uint64_t layer,
                               std::byte *destination) const {
  const StoredTensor stored = weights.find(room.part.names(layer));
  const Tensor &tensor = *stored.tensor;
  const ParameterPart &part = room.part;
  const std::string_view module = module_of(stored.name);
  const uint64_t rank = config.rank_of(module), elements = room.width * padded;
  PanelPart source{.data = tensor.data,
                   .type = tensor.type,
                   .outputs = rank,
                   .stored_outputs = rank,
                   .transposed = tensor.is_flipped,
                   .blocks = {},
                   .cut = PanelCut{0, rank, part.own_inputs.begin,
                                   part.own_inputs.count, part.all_inputs()}};
  if (room.is_up) {
    source.outputs = part.outputs();
    source.stored_outputs = part.stored_outputs();
    source.blocks = part.blocks;
    source.cut =
        PanelCut{part.own_outputs.begin, part.own_outputs.count, 0, rank, rank};
  }
  // The factor is rounded to before the type in which the program has it.
  const DataType type =
      room.type == DataType::F64 ? DataType::F64 : DataType::F32;
  const uint64_t depth = room.is_up ? padded : part.room_inputs;
  std::vector<std::byte> panels(panel_count(source.outputs, false) *
                                panel_lanes * depth * bytes_of(type));
  pack_panels({{source}, depth, false, type}, 0,
              panel_count(source.outputs, false), panels.data());
  if (panels.size() > elements * bytes_of(type))
    throw Error("room for adapters " + quote_name(room.name) +
                " of the compiled program is too small");
  if (room.is_up) {
    auto scale = [&]<typename T>(T *numbers, T factor) {
      for (size_t i = 0; i < panels.size() / sizeof(T); ++i)
        numbers[i] *= factor;
    };
    if (type == DataType::F64)
      scale(reinterpret_cast<double *>(panels.data()),
            config.factor_of(module));
    else
      scale(reinterpret_cast<float *>(panels.data()),
            static_cast<float>(config.factor_of(module)));
  }
  if (type == room.type)
    std::memcpy(destination, panels.data(), panels.size());
  else
    conversion(type, room.type)(panels.data(), destination,
                                panels.size() / bytes_of(type));
}

PackedAdapter ServedAdapter::pack() const {
  PackedAdapter packed;
  for (const AdapterRoom &room : *rooms) {
    const uint64_t bytes = room.width * padded * bytes_of(room.type);
    std::vector<std::byte> &all = packed.emplace_back(bytes * room.layers);
    for (uint64_t layer = 0; layer < room.layers; ++layer)
      if (has(room, room.number_of(layer)))
        pack_layer(room, room.number_of(layer), all.data() + layer * bytes);
  }
  return packed;
}

void ServedAdapter::write(const PackedAdapter &packed, uint32_t place,
                          const StorageWriter &writer) const {
  for (size_t i = 0; i < rooms->size(); ++i) {
    const AdapterRoom &room = (*rooms)[i];
    const uint64_t rank_bytes = room.width * bytes_of(room.type);
    const std::span<const std::byte> all(packed[i]);
    for (uint64_t layer = 0; layer < room.layers; ++layer)
      writer(room.rank, room.storage,
             layer * room.layer_bytes + place * rank_bytes,
             all.subspan(layer * rank_bytes * padded, rank_bytes * padded));
  }
}

AdapterShelf::AdapterShelf(const Metadata &metadata)
    : rooms(rooms_of_all_ranks(metadata.json)) {
  if (metadata.batch && metadata.batch->adapters)
    most = metadata.batch->adapters->most;
}

void AdapterShelf::add(const std::string &name,
                       const std::filesystem::path &folder) {
  if (most == 0)
    throw Error("the program takes no adapters; batonc --max-batch=16 "
                "--max-adapters=4 makes one that does, and batonc merge one "
                "checkpoint of a model and an adapter");
  if (name.empty())
    throw Error("an adapter needs a name");
  auto adapter = std::make_shared<ServedAdapter>(name, folder, rooms, most);
  if (!adapters.emplace(name, std::move(adapter)).second)
    throw Error("there is an adapter " + quote_name(name) + " already");
}

std::shared_ptr<ServedAdapter>
AdapterShelf::find(const std::string &name) const {
  auto found = adapters.find(name);
  return found == adapters.end() ? nullptr : found->second;
}

std::shared_ptr<ServedAdapter>
AdapterShelf::get(const std::string &name) const {
  if (auto adapter = find(name))
    return adapter;
  std::string names;
  for (const auto &adapter : all())
    names += (names.empty() ? "" : ", ") + quote_name(adapter->name());
  throw Error("there is no adapter " + quote_name(name) +
              (names.empty() ? "; --adapter NAME=DIR names one"
                             : "; there is " + names));
}

std::vector<std::shared_ptr<ServedAdapter>> AdapterShelf::all() const {
  std::vector<std::shared_ptr<ServedAdapter>> result;
  for (const auto &[name, adapter] : adapters)
    result.push_back(adapter);
  return result;
}

} // namespace baton
