//===- SamplesTest.cpp - what rounds of measurements say ------------------===//

#include "tools/calibrate/samples.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

namespace baton::calibrate {
namespace {

using Json = nlohmann::ordered_json;

Point elementwise(double bytes) {
  return {"elementwise", "f32", {{"bytes", bytes}}};
}

TEST(Samples, TheMedianOfRoundsFastestTenthsCounts) {
  Samples samples;
  for (double base : {3., 1., 2.}) {
    samples.begin_round();
    // A core that was away for most of the time.
    for (int time = 0; time < 20; ++time)
      samples.add(elementwise(8), time < 2   ? base - .5
                                  : time < 5 ? base
                                             : base + 100);
  }
  const Estimate estimate = samples.estimates().at(elementwise(8));
  EXPECT_EQ(estimate.seconds, 2);
  EXPECT_EQ(estimate.spread, 1);
  EXPECT_EQ(estimate.rounds, (std::vector<double>{3, 1, 2}));
}

TEST(Samples, TablesAreWholeGrids) {
  auto point = [](double rows, double width) {
    return Point{"rope", "f32", {{"rows", rows}, {"width", width}}};
  };
  std::map<Point, Estimate> points = {{point(1, 64), {1, .1, {}}},
                                      {point(1, 8), {2, .2, {}}},
                                      {point(4, 64), {3, .3, {}}},
                                      {point(4, 8), {4, .4, {}}},
                                      {elementwise(8), {5, .5, {}}}};
  const std::vector<plan::OpTable> tables = tables_of(points);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].op(), "elementwise");
  EXPECT_EQ(tables[1].values(), (std::vector<double>{2, 1, 4, 3}));
  EXPECT_EQ(tables[1].spreads(), (std::vector<double>{.2, .1, .4, .3}));
  points.erase(point(4, 8));
  try {
    tables_of(points);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "nothing was measured of rope f32 with rows 4 width 8");
  }
}

/// A program of one phase that counts, one that does not, and another.
MicroProgram program() {
  MicroProgram made;
  made.name = "small";
  made.phases["product"] = {{"elementwise", "f32", {}}, false, false, 8};
  made.others = {"head"};
  made.between_steps = true;
  return made;
}

Json step(int64_t rows, int64_t past, double product) {
  return {{"rows", rows},
          {"past", past},
          {"border_s", 1},
          {"phases_s", {{product, product}, {50}, {2}}}};
}

TEST(Samples, StepsOfABenchAreTakenByRowsAndPositions) {
  Json bench = {
      {"phases", {"product", "head", "advance"}},
      {"steps",
       {step(4, 0, 100), step(4, 4, 7), step(1, 8, 90), step(1, 20, 3)}}};
  Samples samples;
  samples.begin_round();
  samples.add(program(), {4, 8}, bench);
  samples.add(program(), {1, 22}, bench);
  const auto points = samples.estimates();
  EXPECT_EQ(points.at(elementwise(32)).seconds, 7);
  EXPECT_EQ(points.at(elementwise(8)).seconds, 3);
  // What is between steps, and the phase that nobody knows.
  EXPECT_EQ(points.at({"step", "one_sequence", {{"rows", 4}}}).seconds, 3);
  EXPECT_EQ(points.size(), 4u);
  EXPECT_THROW(samples.add(program(), {2, 8}, bench), Error);
  bench["phases"][0] = "product+head";
  try {
    samples.add(program(), {4, 8}, bench);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "the program small has no phase product: batonc "
                               "has fused it with others");
  }
}

} // namespace
} // namespace baton::calibrate
