//===- offloading.cpp - which layers' weights stay in memory --------------===//

#include "runtime/weights/offloading.h"

#include "runtime/error.h"
#include "runtime/weights/memory.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <numeric>

namespace baton {

std::optional<OffloadingDescription>
OffloadingDescription::parse(const nlohmann::json &description) {
  auto found = description.find("offloading");
  if (found == description.end())
    return std::nullopt;
  try {
    OffloadingDescription result{found->at("storage").get<size_t>(), {}, {}};
    if (auto usual = found->find("usual"); usual != found->end())
      result.usual = {usual->at("memory").get<std::string>(),
                      usual->at("kv_memory").get<std::string>(),
                      usual->at("kv_in_memory").get<std::string>()};
    for (const nlohmann::json &entry : found->at("stacks")) {
      Stack stack{entry.at("layers").get<uint64_t>(),
                  entry.at("parameters").get<std::vector<std::string>>(),
                  {}};
      for (const nlohmann::json &state : entry.at("states"))
        stack.states.push_back({state.at("storage").get<size_t>(),
                                state.at("layer_bytes").get<uint64_t>(),
                                state.at("page_bytes").get<uint64_t>()});
      result.stacks.push_back(std::move(stack));
    }
    return result;
  } catch (const nlohmann::json::exception &error) {
    throw Error(
        "the compiled program's description of its layers is damaged: " +
        std::string(error.what()));
  }
}

uint64_t OffloadingDescription::layers() const {
  uint64_t layers = 0;
  for (const Stack &stack : stacks)
    layers += stack.layers;
  return layers;
}

uint64_t LayerPlacement::memory() const {
  return std::accumulate(places.begin(), places.end(), staying_bytes);
}

uint64_t place_of(uint64_t layer, uint64_t layers) {
  return layers % 2 == 1 && layer + 1 == layers ? 2 : layer % 2;
}

/// Each number below `count` once, so that the first ones lie about evenly
/// apart: in the order of their bits read backwards.
static std::vector<uint64_t> spread(uint64_t count) {
  unsigned bits = 0;
  while ((uint64_t(1) << bits) < count)
    ++bits;
  std::vector<uint64_t> order;
  for (uint64_t i = 0; i < uint64_t(1) << bits; ++i) {
    uint64_t reversed = 0;
    for (unsigned bit = 0; bit < bits; ++bit)
      if (i >> bit & 1)
        reversed |= uint64_t(1) << (bits - 1 - bit);
    if (reversed < count)
      order.push_back(reversed);
  }
  return order;
}

std::optional<LayerPlacement> place_layers(std::span<const LayerPiece> pieces,
                                           uint64_t layers, uint64_t budget,
                                           uint64_t *least) {
  // The largest parameters first: what stays of these is done soonest.
  std::map<size_t, std::vector<size_t>> by_parameter;
  for (size_t i = 0; i < pieces.size(); ++i)
    by_parameter[pieces[i].parameter].push_back(i);
  std::vector<const std::vector<size_t> *> parameters;
  for (const auto &[parameter, own] : by_parameter)
    parameters.push_back(&own);
  std::sort(parameters.begin(), parameters.end(),
            [&](const auto *one, const auto *other) {
              const uint64_t bytes = pieces[one->front()].bytes,
                             others = pieces[other->front()].bytes;
              return bytes != others ? bytes > others
                                     : one->front() < other->front();
            });
  std::vector<size_t> order;
  for (const std::vector<size_t> *own : parameters)
    for (uint64_t i : spread(own->size()))
      order.push_back((*own)[i]);

  auto paged = [&](size_t piece) {
    return round_up(pieces[piece].bytes, page_bytes);
  };
  std::vector<uint64_t> of_layer(layers);
  for (size_t i = 0; i < pieces.size(); ++i)
    of_layer[pieces[i].layer] += paged(i);
  auto places = [&] {
    std::vector<uint64_t> result(layers % 2 == 1 ? 3 : 2);
    for (uint64_t layer = 0; layer < layers; ++layer) {
      uint64_t &place = result[place_of(layer, layers)];
      place = std::max(place, of_layer[layer]);
    }
    return result;
  };
  // How many of the order stay: the most that fit. With each that does, the
  // ring may get smaller.
  LayerPlacement now{std::vector<bool>(pieces.size()), 0, places(), 0};
  for (size_t i = 0; i < pieces.size(); ++i)
    now.moved_bytes += pieces[i].bytes;
  std::optional<LayerPlacement> best;
  uint64_t smallest = now.memory();
  if (now.memory() <= budget)
    best = now;
  for (size_t piece : order) {
    now.stays[piece] = true;
    // With a line behind it that belongs to nobody.
    now.staying_bytes += round_up(pieces[piece].bytes + 1, page_bytes);
    now.moved_bytes -= pieces[piece].bytes;
    of_layer[pieces[piece].layer] -= paged(piece);
    now.places = places();
    smallest = std::min(smallest, now.memory());
    if (now.memory() <= budget)
      best = now;
  }
  if (least)
    *least = smallest;
  return best;
}

} // namespace baton
