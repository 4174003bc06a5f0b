//===- MicroProgramTest.cpp - programs to measure, and exchanges ----------===//

#include "tools/calibrate/micro_program.h"

#include "tools/calibrate/exchanges.h"

#include <gtest/gtest.h>

#include <set>

namespace baton::calibrate {
namespace {

TEST(MicroProgram, LinearsHaveAllPairsOfSizes) {
  for (const std::vector<int64_t> &sizes :
       std::vector<std::vector<int64_t>>{{64}, {64, 96}, {32, 64, 96, 128}}) {
    const MicroProgram made = linear_program("bf16", sizes, {1, 4}, 1e6);
    std::set<std::pair<double, double>> pairs, gated;
    for (const auto &[name, phase] : made.phases) {
      const Point &point = phase.point;
      EXPECT_NE(made.text.find("loc(\"" + name + "\")"), std::string::npos)
          << name;
      if (point.op == "linear")
        pairs.emplace(point.sizes.at("outputs"), point.sizes.at("inputs"));
      else if (point.op == "gated_linear")
        gated.emplace(point.sizes.at("outputs"), point.sizes.at("inputs"));
    }
    EXPECT_EQ(pairs.size(), sizes.size() * sizes.size());
    EXPECT_EQ(gated, pairs);
    EXPECT_EQ(made.steps, (std::vector<Step>{{1, 16}, {4, 4}}));
  }
}

TEST(MicroProgram, WeightsAreRepeatedUntilTheyAreLarge) {
  // Three times 64 x 64 weights of two bytes.
  EXPECT_NE(linear_program("bf16", {64}, {1}, 1e6).text.find("repeat 41 "),
            std::string::npos);
  EXPECT_NE(linear_program("bf16", {64}, {1}, 1).text.find("repeat 1 "),
            std::string::npos);
}

TEST(MicroProgram, StepsGiveSizes) {
  const MicroProgram made =
      attention_program({{2}, {4}, {16}}, {{1, 64}, {8, 64}});
  const Point attention = made.phases.at("attention_2_4_16").in(Step{8, 64});
  EXPECT_EQ(attention.sizes,
            (std::map<std::string, double>{{"rows", 8},
                                           {"positions", 64},
                                           {"key_heads", 2},
                                           {"group", 4},
                                           {"head_size", 16}}));
  // Eight heads of 16 numbers of 4 bytes are read and written.
  const Point product = made.phases.at("product_2_4_16").in(Step{8, 64});
  EXPECT_EQ(product.sizes,
            (std::map<std::string, double>{{"bytes", 8. * 2 * 4 * 128}}));
  EXPECT_EQ(made.phases.at("rope_q_2_4_16").in(Step{8, 64}).sizes.at("width"),
            128);
}

TEST(Exchanges, AreMeasuredOfEachSize) {
  Samples samples;
  samples.begin_round();
  measure_exchanges({{2, 4}, {1024, 4096}}, samples);
  const auto points = samples.estimates();
  EXPECT_EQ(points.size(), 8u);
  for (const auto &[point, estimate] : points)
    EXPECT_GT(estimate.seconds, 0) << point.type;
  EXPECT_EQ(tables_of(points).size(), 2u);
}

} // namespace
} // namespace baton::calibrate
