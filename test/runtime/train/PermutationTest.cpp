//===- PermutationTest.cpp - every index once, in any order --------------===//

#include "runtime/train/permutation.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace baton::test {
namespace {

TEST(Permutation, HasEveryIndexOnce) {
  for (uint64_t count : {1, 2, 3, 4, 5, 15, 16, 17, 64, 100, 1000, 65537})
    for (uint64_t key : {0, 1, 12345}) {
      Permutation permutation(count, key);
      std::vector<bool> seen(count);
      for (uint64_t i = 0; i < count; ++i) {
        uint64_t value = permutation(i);
        ASSERT_LT(value, count);
        ASSERT_FALSE(seen[value]) << count << " has " << value << " twice";
        seen[value] = true;
      }
    }
}

TEST(Permutation, OfVeryManyEnds) {
  for (uint64_t count : {(uint64_t(1) << 62), (uint64_t(1) << 61) + 1}) {
    Permutation permutation(count, 7);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < 1000; ++i)
      seen.insert(permutation(count - 1 - i * i));
    EXPECT_EQ(seen.size(), 1000u);
    EXPECT_LT(*seen.rbegin(), count);
  }
}

TEST(Permutation, OrdersAreEquallyLikely) {
  // Of three elements there are six orders: each is expected 10,000 times, with
  // a standard deviation of 91.
  std::map<std::vector<uint64_t>, int> orders;
  for (uint64_t key = 0; key < 60000; ++key) {
    Permutation permutation(3, key);
    ++orders[{permutation(0), permutation(1), permutation(2)}];
  }
  ASSERT_EQ(orders.size(), 6u);
  for (const auto &[order, times] : orders)
    EXPECT_NEAR(times, 10000, 600);
}

TEST(Permutation, PlacesAreEquallyLikely) {
  constexpr uint64_t count = 50, keys = 50000;
  for (uint64_t index : {0, 1, 49}) {
    std::vector<int> times(count);
    for (uint64_t key = 0; key < keys; ++key)
      ++times[Permutation(count, key)(index)];
    double statistic = 0, expected = double(keys) / count;
    for (int time : times)
      statistic += (time - expected) * (time - expected) / expected;
    // The 0.9999 quantile of chi-squared with 49 degrees of freedom is 95.
    EXPECT_LT(statistic, 95) << "of index " << index;
  }
}

TEST(Permutation, NeighboursDoNotStayNeighbours) {
  constexpr uint64_t count = 10000;
  Permutation permutation(count, 3);
  int close = 0, fixed = 0;
  for (uint64_t i = 0; i + 1 < count; ++i) {
    uint64_t here = permutation(i), next = permutation(i + 1);
    close += here + 1 == next;
    fixed += here == i;
  }
  // One of each is expected.
  EXPECT_LT(close, 8);
  EXPECT_LT(fixed, 8);
}

} // namespace
} // namespace baton::test
