//===- TablesTest.cpp - whether a table holds what the plan says ----------===//

#include "runtime/execute/tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

using namespace baton;

namespace {

std::string fault(const std::vector<int32_t> &values, int64_t low, int64_t high,
                  TableProperty property) {
  return find_table_fault(values, low, high, property).value_or("");
}

} // namespace

TEST(Tables, NameThePlaceAndTheValue) {
  constexpr TableProperty any = TableProperty::any,
                          distinct = TableProperty::distinct,
                          partition = TableProperty::partition;
  EXPECT_EQ(fault({3, 0, 3}, 0, 4, any), "");
  EXPECT_EQ(fault({3, 4}, 0, 4, any), "holds 4 at place 1, expected 0 to 3");
  EXPECT_EQ(fault({-1}, 0, 4, any), "holds -1 at place 0, expected 0 to 3");
  EXPECT_EQ(fault({}, 0, 4, any), "");
  EXPECT_EQ(fault({2, 0, 1}, 0, 4, distinct), "");
  EXPECT_EQ(fault({2, 0, 1, 0}, 0, 4, distinct),
            "holds 0 at place 1 and at place 3, expected distinct values");
  // Far apart.
  EXPECT_EQ(fault({2000000000, 7, 2000000000}, 0, 2147483648, distinct),
            "holds 2000000000 at place 0 and at place 2, expected distinct "
            "values");
  EXPECT_EQ(fault({0, 0, 3, 3}, 0, 4, partition), "");
  EXPECT_EQ(fault({0}, 0, 1, partition), "");
  EXPECT_EQ(fault({}, 0, 1, partition), "is empty, expected a partition");
  EXPECT_EQ(fault({1, 3}, 0, 4, partition),
            "holds 1 at place 0, expected 0, where a partition begins");
  EXPECT_EQ(fault({0, 2}, 0, 4, partition),
            "holds 2 at place 1, expected 3, where a partition ends");
  EXPECT_EQ(fault({0, 2, 1, 3}, 0, 4, partition),
            "holds 2 at place 1 and 1 at place 2, expected a partition, which "
            "ascends");
}

TEST(Tables, AgreeWithTheirDefinitions) {
  std::mt19937 random(1);
  size_t fine = 0, tries = 20000;
  for (size_t i = 0; i < tries; ++i) {
    int64_t low = random() % 3, high = low + random() % 6;
    std::vector<int32_t> values(random() % 5);
    for (int32_t &value : values)
      value = static_cast<int32_t>(random() % 8);
    if (i % 3 == 0)
      std::sort(values.begin(), values.end());
    bool isInside = std::all_of(values.begin(), values.end(), [&](int32_t v) {
      return low <= v && v < high;
    });
    bool areDistinct =
        std::set<int32_t>(values.begin(), values.end()).size() == values.size();
    bool isPartition = !values.empty() && values.front() == low &&
                       values.back() == high - 1 &&
                       std::is_sorted(values.begin(), values.end());
    EXPECT_EQ(fault(values, low, high, TableProperty::any).empty(), isInside);
    EXPECT_EQ(fault(values, low, high, TableProperty::distinct).empty(),
              isInside && areDistinct);
    EXPECT_EQ(fault(values, low, high, TableProperty::partition).empty(),
              isInside && isPartition);
    fine += isInside && isPartition;
  }
  EXPECT_GT(fine, 100u);
}
