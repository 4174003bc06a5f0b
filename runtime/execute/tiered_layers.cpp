//===- tiered_layers.cpp - layers of which only some are in memory --------===//

#include "runtime/execute/tiered_layers.h"

#include "runtime/error.h"
#include "runtime/weights/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

namespace baton {

namespace {

uint64_t bytes_of_element(const std::string &element) {
  return element == "f64" || element == "i64"    ? 8
         : element == "bf16" || element == "f16" ? 2
         : element == "i8"                       ? 1
                                                 : 4;
}

/// From a layer's first byte to its last one, in steps of these symbols.
uint64_t span_bytes(const WrittenBuffer &buffer, const BatonStep &step) {
  uint64_t last = 0;
  for (size_t d = 0; d < buffer.extents.size(); ++d) {
    const int64_t extent = std::clamp<int64_t>(buffer.extents[d].evaluate(step),
                                               0, buffer.capacity[d]);
    if (extent == 0)
      return 0;
    last += static_cast<uint64_t>((extent - 1) * buffer.strides[d]);
  }
  return (last + 1) * bytes_of_element(buffer.element);
}

} // namespace

uint64_t TieredLayers::count(std::vector<PagedRegion::Part> parts) {
  std::ranges::sort(parts, {}, &PagedRegion::Part::begin);
  uint64_t sum = 0, end = 0;
  for (const PagedRegion::Part &part : parts) {
    if (!part.bytes)
      continue;
    const uint64_t first = std::max(end, part.begin / chunk_bytes);
    end = std::max(end, (part.begin + part.bytes - 1) / chunk_bytes + 1);
    sum += end > first ? end - first : 0;
  }
  return sum;
}

std::map<std::string, std::vector<size_t>>
TieredLayers::place_storages(const Metadata &metadata) {
  begins.resize(metadata.storages.size());
  std::set<size_t> storages;
  for (const TierDescription &tier : metadata.tiers)
    for (const WrittenBuffer &tensor : tier.tensors)
      storages.insert(tensor.storage);
  std::map<std::string, std::vector<size_t>> states;
  for (const nlohmann::json &entry : metadata.json.at("training").at("tensors"))
    if (entry.at("role") == "optimizer") {
      const size_t storage = entry.at("storage");
      if (storages.insert(storage).second)
        states[entry.value("of", std::string()) + ".weights"].push_back(
            storage);
    }
  for (size_t storage : storages) {
    tiered.push_back(storage);
    begins[storage] = region_bytes;
    // Of what no two storages share, counts simply add up.
    region_bytes += round_up(
        std::max<uint64_t>(metadata.storages[storage].bytes, 1), chunk_bytes);
  }
  return states;
}

std::optional<TieredLayers> TieredLayers::parse(const Metadata &metadata,
                                                const BatonStep &step) {
  if (metadata.tiers.empty())
    return std::nullopt;
  TieredLayers result;
  const auto states = result.place_storages(metadata);

  // Which layers a tier's are: those of the forward stack that touches one of
  // its tensors, too.
  std::map<size_t, uint32_t> first_block;
  std::set<size_t> done;
  std::vector<PagedRegion::Part> gradients;
  std::vector<std::vector<PagedRegion::Part>> forward, backward;
  for (const TierDescription &description : metadata.tiers) {
    Tier &tier = result.tiers.emplace_back();
    tier.phase = description.phase;
    tier.fetches = description.fetches;
    tier.reverse = description.reverse;
    tier.layers = description.layers;
    result.slot_count = description.slots;
    std::optional<uint32_t> first;
    for (const WrittenBuffer &tensor : description.tensors)
      if (auto found = first_block.find(tensor.storage);
          found != first_block.end())
        first = found->second;
    if (!first) {
      first = static_cast<uint32_t>(result.blocks.size());
      result.blocks.resize(result.blocks.size() + tier.layers);
      forward.resize(result.blocks.size());
      backward.resize(result.blocks.size());
    }
    for (const WrittenBuffer &tensor : description.tensors) {
      const StorageDescription &storage = metadata.storages[tensor.storage];
      const uint64_t bytes = bytes_of_element(tensor.element);
      Tensor &added = tier.tensors.emplace_back();
      added.first = {result.begins[tensor.storage] +
                         static_cast<uint64_t>(tensor.offset) * bytes,
                     span_bytes(tensor, step)};
      added.stride = static_cast<uint64_t>(tensor.layer_stride) * bytes;
      added.saved = !storage.persistent;
      first_block.emplace(tensor.storage, *first);
      if (!tier.fetches)
        continue;
      if (*first + tier.layers > result.blocks.size())
        throw Error("this program's description is damaged: layers of tier \"" +
                    description.name + "\" are more than its tensors have");
      const bool is_new = done.insert(tensor.storage).second;
      const auto of = states.find(tensor.buffer);
      for (uint32_t layer = 0; layer < tier.layers; ++layer) {
        Block &block = result.blocks[*first + layer];
        const PagedRegion::Part part = added.part(layer);
        if (!added.saved)
          (tier.reverse ? backward : forward)[*first + layer].push_back(part);
        if (!is_new)
          continue;
        result.used.push_back(part);
        (added.saved ? block.saved_parts : block.state_parts).push_back(part);
        if (!added.saved && tier.reverse)
          gradients.push_back(part);
        if (of == states.end() || added.saved)
          continue;
        // Of each layer an equal share.
        for (size_t state : of->second) {
          const uint64_t all = metadata.storages[state].bytes,
                         begin = all * layer / tier.layers,
                         end = all * (layer + 1) / tier.layers;
          if (end > begin)
            block.state_parts.push_back(
                {result.begins[state] + begin, end - begin});
        }
      }
    }
  }
  for (const auto &[owner, list] : states)
    for (size_t state : list)
      if (metadata.storages[state].bytes)
        result.used.push_back(
            {result.begins[state], metadata.storages[state].bytes});

  for (size_t i = 0; i < result.blocks.size(); ++i) {
    Block &block = result.blocks[i];
    block.forward = count(forward[i]);
    block.backward = count(backward[i]);
    block.states = count(block.state_parts);
    block.saved = count(block.saved_parts);
  }
  result.count_chunks();
  result.gradient_chunks = count(gradients);
  return result;
}

void TieredLayers::count_chunks() {
  // Layers behind one another share a chunk here and there.
  std::vector<PagedRegion::Part> parts;
  staying_states = {0};
  for (const Block &block : blocks) {
    parts.insert(parts.end(), block.state_parts.begin(),
                 block.state_parts.end());
    staying_states.push_back(count(parts));
  }
  parts.clear();
  staying_saved.assign(blocks.size() + 1, 0);
  for (size_t i = blocks.size(); i-- > 0;) {
    parts.insert(parts.end(), blocks[i].saved_parts.begin(),
                 blocks[i].saved_parts.end());
    staying_saved[i] = count(parts);
  }
  used_chunks = count(used);
  update_chunks = used_chunks - staying_saved[0];
}

uint64_t TieredLayers::used_bytes() const { return used_chunks * chunk_bytes; }

uint64_t TieredLayers::staying(const Residence &residence) const {
  return staying_states.at(residence.persistent) +
         staying_saved.at(residence.swapped);
}

uint64_t TieredLayers::peak(const Residence &residence,
                            unsigned workers) const {
  uint64_t largest = 0;
  for (uint32_t i = 0; i < layers(); ++i) {
    uint64_t chunks = i < residence.swapped ? blocks[i].saved : 0;
    if (i >= residence.persistent)
      chunks += std::max(blocks[i].forward, blocks[i].backward);
    largest = std::max(largest, chunks);
  }
  const uint64_t room =
      std::max(slot_count * largest,
               workers * PagedRegion::bytes_of_worker / chunk_bytes);
  return std::min(staying(residence) + room, used_chunks) * chunk_bytes;
}

uint64_t TieredLayers::Moved::all_forward() const {
  return std::accumulate(forward.begin(), forward.end(), uint64_t(0));
}

uint64_t TieredLayers::Moved::all_backward() const {
  return std::accumulate(backward.begin(), backward.end(), uint64_t(0));
}

TieredLayers::Moved TieredLayers::moved(const Residence &residence,
                                        unsigned workers) const {
  Moved moved;
  moved.forward.resize(layers());
  moved.backward.resize(layers());
  // All of it is there, always.
  if (peak(residence, workers) == used_bytes())
    return moved;
  // What the backward step finds is what the forward one had last.
  const uint32_t kept =
      layers() > slot_count ? layers() - slot_count : uint32_t(0);
  for (uint32_t i = 0; i < layers(); ++i) {
    const Block &block = blocks[i];
    const uint64_t saved = i < residence.swapped ? block.saved : 0;
    const bool stays = i < residence.persistent;
    const uint64_t forward = stays ? 0 : block.forward;
    const uint64_t backward = stays ? 0 : block.backward;
    moved.forward[i] = (forward + saved) * chunk_bytes;
    moved.backward[i] =
        (i < kept ? backward + saved : backward - std::min(backward, forward)) *
        chunk_bytes;
  }
  // Updates read and write all, and the norm of gradients reads those before.
  const uint64_t staying =
      std::min(update_chunks, staying_states.at(residence.persistent));
  const uint64_t gradients =
      layers() ? gradient_chunks * (layers() - residence.persistent) / layers()
               : 0;
  moved.update = (update_chunks - staying + gradients) * chunk_bytes;
  return moved;
}

std::optional<Residence> TieredLayers::choose(uint64_t most,
                                              unsigned workers) const {
  std::optional<Residence> best;
  uint64_t fewest = 0;
  for (uint32_t swapped = 0; swapped <= layers(); ++swapped)
    for (uint32_t persistent = 0; persistent <= layers(); ++persistent) {
      const Residence residence = {persistent, swapped};
      if (peak(residence, workers) > most)
        break;
      const uint64_t bytes = moved(residence, workers).all();
      if (!best || bytes < fewest) {
        best = residence;
        fewest = bytes;
      }
    }
  return best;
}

PagedRegion::Layout TieredLayers::layout(const Residence &residence) const {
  PagedRegion::Layout layout = {chunk_bytes, used, {}};
  auto stay = [&](const std::vector<PagedRegion::Part> &parts) {
    layout.staying.insert(layout.staying.end(), parts.begin(), parts.end());
  };
  for (uint32_t i = 0; i < layers(); ++i) {
    if (i < residence.persistent)
      stay(blocks[i].state_parts);
    if (i >= residence.swapped)
      stay(blocks[i].saved_parts);
  }
  return layout;
}

void TieredLayers::move(PagedRegion &region, uint32_t phase,
                        uint32_t layer) const {
  const Tier &tier = *std::ranges::find(tiers, phase, &Tier::phase);
  if (!tier.fetches) {
    for (const Tensor &tensor : tier.tensors)
      region.release(tensor.part(layer));
    return;
  }
  for (const Tensor &tensor : tier.tensors)
    region.fetch(tensor.part(layer));
  // The disk has until this layer has computed.
  const bool has_next = tier.reverse ? layer > 0 : layer + 1 < tier.layers;
  if (has_next)
    for (const Tensor &tensor : tier.tensors)
      region.ask(tensor.part(tier.reverse ? layer - 1 : layer + 1));
}

} // namespace baton
