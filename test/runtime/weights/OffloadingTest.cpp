//===- OffloadingTest.cpp - which layers' weights stay in memory ----------===//

#include "runtime/weights/offloading.h"

#include "runtime/weights/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace baton;

namespace {

/// Every layer has a piece of each of these sizes.
std::vector<LayerPiece> pieces_of(uint64_t layers,
                                  const std::vector<uint64_t> &sizes) {
  std::vector<LayerPiece> pieces;
  for (size_t parameter = 0; parameter < sizes.size(); ++parameter)
    for (uint64_t layer = 0; layer < layers; ++layer)
      pieces.push_back({layer, parameter, sizes[parameter]});
  return pieces;
}

/// Bytes of each layer that move.
std::vector<uint64_t> moved(const std::vector<LayerPiece> &pieces,
                            uint64_t layers, const LayerPlacement &placement) {
  std::vector<uint64_t> result(layers);
  for (size_t i = 0; i < pieces.size(); ++i)
    if (!placement.stays[i])
      result[pieces[i].layer] += round_up(pieces[i].bytes, page_bytes);
  return result;
}

TEST(Offloading, NeighboursHaveDifferentPlaces) {
  for (uint64_t layers = 2; layers < 20; ++layers)
    for (uint64_t layer = 0; layer < layers; ++layer)
      EXPECT_NE(place_of(layer, layers), place_of((layer + 1) % layers, layers))
          << layer << " of " << layers;
}

// Whatever the budget: what moves fits its place, the sum is what it says, more
// memory never moves more, and nothing fits below the least.
TEST(Offloading, PlacementsFitTheirBudget) {
  std::mt19937 random(3);
  for (uint64_t layers : {2, 3, 7, 30}) {
    const std::vector<LayerPiece> pieces =
        pieces_of(layers, {100000, 65536, 300001, 70000});
    uint64_t least = 0;
    EXPECT_FALSE(place_layers(pieces, layers, 0, &least));
    EXPECT_FALSE(place_layers(pieces, layers, least - 1));
    uint64_t before = UINT64_MAX;
    for (uint64_t budget = least; budget < 700000 * (layers + 1);
         budget += random() % 50000) {
      const auto placement = place_layers(pieces, layers, budget);
      ASSERT_TRUE(placement);
      EXPECT_LE(placement->memory(), budget);
      const std::vector<uint64_t> bytes = moved(pieces, layers, *placement);
      uint64_t sum = 0;
      for (size_t i = 0; i < pieces.size(); ++i)
        sum += placement->stays[i] ? 0 : pieces[i].bytes;
      EXPECT_EQ(placement->moved_bytes, sum);
      EXPECT_LE(sum, before);
      before = sum;
      for (uint64_t layer = 0; layer < layers; ++layer)
        EXPECT_LE(bytes[layer], placement->places[place_of(layer, layers)]);
    }
    EXPECT_EQ(before, 0);
  }
}

// Layers wait for about as much: they differ by one tensor at most.
TEST(Offloading, LayersMoveAboutAsMuch) {
  const std::vector<LayerPiece> pieces =
      pieces_of(32, {400000, 200000, 100000});
  for (uint64_t budget = 2000000; budget < 22000000; budget += 777777) {
    const auto placement = place_layers(pieces, 32, budget);
    ASSERT_TRUE(placement);
    const std::vector<uint64_t> bytes = moved(pieces, 32, *placement);
    const auto [low, high] = std::minmax_element(bytes.begin(), bytes.end());
    EXPECT_LE(*high - *low, round_up(400000, page_bytes)) << budget;
    // Of the tensor that some keep, those are spread: halves of the stack keep
    // as many, but for one.
    auto keep = [&](size_t first) {
      return std::count(placement->stays.begin() + ptrdiff_t(first),
                        placement->stays.begin() + ptrdiff_t(first) + 16, true);
    };
    for (size_t parameter = 0; parameter < 3; ++parameter)
      EXPECT_LE(std::abs(keep(parameter * 32) - keep(parameter * 32 + 16)), 1);
  }
}

} // namespace
