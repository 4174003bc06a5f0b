//===- StepCostsTest.cpp - what a training step computes and moves --------===//

#include "runtime/train/step_costs.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace baton::test {
namespace {

const char *program = R"({"costs": {
  "kinds": {"products": {"step": {"flops": 1, "bytes": 1000},
                         "row": {"flops": 60, "bytes": 10}},
            "attention": {"step": {"flops": 0, "bytes": 0},
                          "row": {"flops": 0, "bytes": 4}},
            "updates": {"step": {"flops": 7, "bytes": 5000},
                        "row": {"flops": 0, "bytes": 0}}},
  "attention": [{"window": 0, "flops_per_pair": 2},
                {"window": 3, "flops_per_pair": 1}]}})";

TEST(StepCosts, CountsRowsPairsAndUpdates) {
  const auto json = nlohmann::json::parse(program);
  StepCosts costs = step_costs(json, 2, 5, /*updates=*/true);
  EXPECT_EQ(costs.kinds["products"].flops, 1 + 10 * 60);
  EXPECT_EQ(costs.kinds["products"].bytes, 1000 + 10 * 10);
  // 15 pairs in a sequence of 5; with a window of 3, 1 + 2 + 3 + 3 + 3.
  EXPECT_EQ(costs.kinds["attention"].flops, 2 * (2 * 15 + 12));
  EXPECT_EQ(costs.kinds["attention"].bytes, 40);
  EXPECT_EQ(costs.kinds["updates"].bytes, 5000);
  EXPECT_EQ(costs.flops(), 601 + 84 + 7);
  EXPECT_EQ(costs.bytes(), 1100 + 40 + 5000);
  // Each kind at its own limit.
  EXPECT_DOUBLE_EQ(costs.seconds(1, 1000), 601 + 84 + 7);
  EXPECT_DOUBLE_EQ(costs.seconds(1000, 10), 110 + 4 + 500);

  StepCosts more = step_costs(json, 2, 5, /*updates=*/false);
  EXPECT_FALSE(more.kinds.contains("updates"));
  more += costs;
  EXPECT_EQ(more.flops(), 2 * (601 + 84) + 7);
}

} // namespace
} // namespace baton::test
