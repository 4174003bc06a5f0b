//===- CutTest.cpp - cuts against all cuts --------------------------------===//

#include "passes/pipeline/Cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace baton::pipeline;

namespace {
struct Quality {
  double largest = 0, squares = 0;

  auto operator<=>(const Quality &) const = default;
};
} // namespace

static Quality judge(const std::vector<double> &costs,
                     const std::vector<int> &begins) {
  Quality quality;
  for (size_t part = 0; part < begins.size(); ++part) {
    size_t end = part + 1 < begins.size() ? begins[part + 1] : costs.size();
    double sum = 0;
    for (size_t i = begins[part]; i < end; ++i)
      sum += costs[i];
    quality.largest = std::max(quality.largest, sum);
    quality.squares += sum * sum;
  }
  return quality;
}

TEST(Cut, IsTheBestOfAll) {
  std::mt19937 generator(1);
  for (int trial = 0; trial < 2000; ++trial) {
    int items = 1 + int(generator() % 10), parts = 1 + int(generator() % items);
    std::vector<double> costs;
    for (int i = 0; i < items; ++i)
      costs.push_back(double(generator() % 8));
    std::vector<int> begins = cutEvenly(costs, parts);
    ASSERT_EQ(int(begins.size()), parts);
    ASSERT_EQ(begins.front(), 0);
    for (int part = 1; part < parts; ++part)
      ASSERT_LT(begins[part - 1], begins[part]);
    ASSERT_LT(begins.back(), items);
    Quality best{1e9, 1e9};
    for (unsigned mask = 0; mask < 1u << (items - 1); ++mask) {
      std::vector<int> other = {0};
      for (int i = 1; i < items; ++i)
        if (mask >> (i - 1) & 1)
          other.push_back(i);
      if (int(other.size()) == parts)
        best = std::min(best, judge(costs, other));
    }
    ASSERT_EQ(judge(costs, begins), best);
  }
}

/// An embedding that costs nothing, and a head that costs as much as two
/// layers.
TEST(Cut, CountsTheEnds) {
  EXPECT_EQ(cutEvenly({0, 1, 1, 1, 1, 1, 1, 2}, 4),
            std::vector<int>({0, 3, 5, 7}));
}
