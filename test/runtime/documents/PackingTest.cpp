//===- PackingTest.cpp - every document whole, once, in few sequences -----===//

#include "runtime/documents/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace baton::test {
namespace {

using Bins = std::vector<std::vector<uint32_t>>;

TEST(PackingTest, LargestFirstWhereItFitsBest) {
  const std::vector<uint32_t> sizes = {3, 7, 2, 5, 3, 10};
  EXPECT_EQ(pack(sizes, 10), (Bins{{5}, {0, 1}, {2, 3, 4}}));
  EXPECT_EQ(pack({}, 10), Bins{});
}

TEST(PackingTest, EachOnceAndWhole) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const uint32_t capacity = 1 + random() % 200;
    std::vector<uint32_t> sizes(random() % 400);
    for (uint32_t &size : sizes)
      size = 1 + (round % 2 ? random() % capacity
                            : std::min(random() % capacity, random() % 20));
    const Bins bins = pack(sizes, capacity);
    std::vector<uint32_t> seen;
    uint64_t sum = 0;
    for (const auto &bin : bins) {
      uint64_t held = 0;
      for (uint32_t item : bin)
        held += sizes.at(item);
      EXPECT_LE(held, capacity);
      EXPECT_TRUE(std::ranges::is_sorted(bin));
      seen.insert(seen.end(), bin.begin(), bin.end());
      sum += held;
    }
    std::ranges::sort(seen);
    std::vector<uint32_t> all(sizes.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(seen, all);
    // No fewer than all together need, and at most 11/9 of it when that is the
    // fewest: two bins of which none is half full would be one.
    EXPECT_GE(bins.size() * capacity, sum);
    EXPECT_LE(bins.size(), 2 * ((sum + capacity - 1) / capacity) + 1);
    EXPECT_EQ(pack(sizes, capacity), bins);
  }
}

TEST(PackingTest, FillsSequences) {
  std::mt19937 random(2);
  std::vector<uint32_t> sizes(4096);
  for (uint32_t &size : sizes)
    size = 1 + random() % 700;
  const uint64_t sum = std::accumulate(sizes.begin(), sizes.end(), uint64_t(0));
  EXPECT_GT(double(sum) / double(pack(sizes, 1024).size() * 1024), 0.99);
}

} // namespace
} // namespace baton::test
