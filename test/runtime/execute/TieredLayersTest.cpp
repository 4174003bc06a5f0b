//===- TieredLayersTest.cpp - layers of which only some are in memory -----===//

#include "runtime/execute/tiered_layers.h"

#include "test/runtime/execute/array_file.h"
#include "test/runtime/execute/tiered_program.h"

#include <gtest/gtest.h>

#include <optional>

namespace baton {
namespace {

constexpr uint64_t chunk = TieredLayers::chunk_bytes;
constexpr int64_t chunk_floats = chunk / 4;

/// What the plan's tasks and its updates do in a step, one after the other.
void make_step(const TieredLayers &layers, PagedRegion &region) {
  auto touch = [&](uint64_t begin, uint64_t bytes) {
    for (uint64_t at = begin; at < begin + bytes; at += 4096)
      region.data()[at] = std::byte(1);
  };
  for (uint32_t layer = 0; layer < layers.layers(); ++layer) {
    layers.move(region, 0, layer);
    layers.move(region, 1, layer);
  }
  for (uint32_t layer = layers.layers(); layer-- > 0;) {
    layers.move(region, 2, layer);
    layers.move(region, 3, layer);
  }
  for (size_t storage = 0; storage < 4; ++storage)
    touch(layers.begin(storage),
          layers.begin(storage + 1) - layers.begin(storage));
}

TEST(TieredLayers, AreNoneWithoutTasks) {
  EXPECT_FALSE(TieredLayers::parse(Metadata(), {1, 0, 1, 0}));
}

TEST(TieredLayers, CountsWhatIsInMemory) {
  // Each tensor of a layer is three chunks, and what it saves of 8 rows two.
  const Metadata metadata =
      test::tiered_program(64, 3 * chunk_floats, chunk_floats / 4, 2);
  const auto layers = TieredLayers::parse(metadata, {8, 0, 1, 0});
  ASSERT_TRUE(layers);
  EXPECT_EQ(layers->layers(), 64u);
  EXPECT_EQ(layers->slots(), 2u);
  EXPECT_EQ(layers->storages(), (std::vector<size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(layers->bytes(), 64 * 14 * chunk);
  EXPECT_EQ(layers->used_bytes(), 64 * 14 * chunk);
  // A worker needs 64 chunks: that is more than two slots of weight, gradient
  // and saved values.
  EXPECT_EQ(layers->peak({0, 64}, 1), 64 * chunk);
  EXPECT_EQ(layers->peak({0, 0}, 1), (64 + 64 * 2) * chunk);
  EXPECT_EQ(layers->peak({5, 64}, 1), (5 * 12 + 64) * chunk);
  EXPECT_EQ(layers->peak({64, 0}, 1), 64 * 14 * chunk);
  // Fewer rows, fewer bytes: half a chunk of each layer, of which neighbours
  // have a chunk each as they lie two apart.
  const auto few = TieredLayers::parse(metadata, {2, 0, 1, 0});
  EXPECT_EQ(few->peak({0, 0}, 1), (64 + 64) * chunk);
  auto wide = *layers;
  wide.set_slots(20);
  EXPECT_EQ(wide.peak({0, 64}, 1), 20 * (3 + 3 + 2) * chunk);
}

TEST(TieredLayers, CountsWhatMoves) {
  const auto layers = TieredLayers::parse(
      test::tiered_program(64, 3 * chunk_floats, chunk_floats / 4, 2),
      {8, 0, 1, 0});
  const TieredLayers::Moved all = layers->moved({0, 64}, 1);
  EXPECT_EQ(all.forward[0], 5 * chunk);
  // The last two are still there when the backward step begins.
  EXPECT_EQ(all.backward[63], 3 * chunk);
  EXPECT_EQ(all.backward[62], 3 * chunk);
  EXPECT_EQ(all.backward[61], 8 * chunk);
  EXPECT_EQ(all.update, 64 * (12 + 3) * chunk);
  const TieredLayers::Moved some = layers->moved({10, 20}, 1);
  EXPECT_EQ(some.forward[9], 2 * chunk);
  EXPECT_EQ(some.forward[19], 5 * chunk);
  EXPECT_EQ(some.forward[20], 3 * chunk);
  EXPECT_EQ(some.update, 54 * (12 + 3) * chunk);
  EXPECT_EQ(layers->moved({64, 0}, 1).all(), 0u);
}

TEST(TieredLayers, ChoosesTheFewestBytes) {
  const auto layers = TieredLayers::parse(
      test::tiered_program(12, 3 * chunk_floats, chunk_floats, 2),
      {8, 0, 1, 0});
  EXPECT_FALSE(layers->choose(layers->peak({0, 12}, 1) - 1, 1));
  for (uint64_t most : {66, 80, 100, 120, 200, 1000}) {
    std::optional<Residence> best;
    for (uint32_t persistent = 0; persistent <= 12; ++persistent)
      for (uint32_t swapped = 0; swapped <= 12; ++swapped)
        if (layers->peak({persistent, swapped}, 1) <= most * chunk &&
            (!best || layers->moved({persistent, swapped}, 1).all() <
                          layers->moved(*best, 1).all()))
          best = {persistent, swapped};
    const auto chosen = layers->choose(most * chunk, 1);
    ASSERT_EQ(chosen.has_value(), best.has_value()) << most;
    if (best)
      EXPECT_EQ(layers->moved(*chosen, 1).all(), layers->moved(*best, 1).all())
          << most;
  }
  // Where all fits, all is there.
  const auto all = layers->choose(uint64_t(1) << 40, 1);
  ASSERT_TRUE(all);
  EXPECT_EQ(layers->peak(*all, 1), layers->used_bytes());
  EXPECT_EQ(layers->moved(*all, 1).all(), 0u);
}

TEST(TieredLayers, HaveTheirPeak) {
  // Neither tensors nor values of a layer are whole chunks.
  const Metadata metadata =
      test::tiered_program(24, 2 * chunk_floats + 777, chunk_floats / 3, 3);
  const auto layers = TieredLayers::parse(metadata, {7, 0, 1, 0});
  for (const Residence &residence :
       {Residence{0, 24}, Residence{0, 0}, Residence{7, 11}, Residence{24, 0},
        Residence{23, 24}}) {
    const test::TemporaryFolder folder;
    const uint64_t peak = layers->peak(residence, 1);
    PagedRegion region(folder.path(), layers->bytes(), peak,
                       layers->layout(residence));
    for (int step = 0; step < 2; ++step)
      make_step(*layers, region);
    EXPECT_EQ(region.peak(), peak)
        << residence.persistent << " " << residence.swapped;
    const uint64_t fetched = region.fetched();
    make_step(*layers, region);
    const TieredLayers::Moved moved = layers->moved(residence, 1);
    if (residence == Residence{24, 0})
      EXPECT_EQ(region.fetched(), fetched);
    // What updates leave in memory the next step finds there.
    EXPECT_LE((region.fetched() - fetched) * chunk,
              moved.all_forward() + moved.all_backward() + 24 * 4 * chunk);
  }
}

} // namespace
} // namespace baton
