//===- OpTableTest.cpp - times between and beyond measured sizes ----------===//

#include "tools/plan/op_table.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace baton::plan {
namespace {

/// A table of `seconds_of` over a grid.
OpTable table_of(const std::vector<OpTable::Axis> &axes,
                 const OpTable::Bound &seconds_of) {
  size_t points = 1;
  for (const OpTable::Axis &axis : axes)
    points *= axis.values.size();
  std::vector<double> ones(points, 1);
  const OpTable grid("op", "f32", axes, ones, ones);
  std::vector<double> seconds;
  for (size_t place = 0; place < points; ++place)
    seconds.push_back(seconds_of(grid.point(place)));
  return OpTable("op", "f32", axes, seconds, std::vector<double>(points));
}

const OpTable::Bound no_bound = [](const std::vector<double> &) -> double {
  ADD_FAILURE() << "a roofline inside of the grid";
  return 1;
};

/// Grids of one to four axes with one to four values, and any times.
OpTable random_table(std::mt19937 &random) {
  std::vector<OpTable::Axis> axes(1 + random() % 4);
  for (OpTable::Axis &axis : axes) {
    axis.name = "axis";
    double value = 0;
    for (size_t many = 1 + random() % 4; many > 0; --many)
      axis.values.push_back(value += 1 + double(random() % 1000));
  }
  return table_of(axes, [&](const std::vector<double> &) {
    return 1e-6 * (1 + double(random() % 100000));
  });
}

TEST(OpTable, IsExactAtPoints) {
  std::mt19937 random(1);
  for (int time = 0; time < 200; ++time) {
    const OpTable table = random_table(random);
    for (size_t place = 0; place < table.values().size(); ++place) {
      const std::vector<double> sizes = table.point(place);
      EXPECT_EQ(table.seconds(sizes, no_bound), table.values()[place]);
      EXPECT_TRUE(table.contains(sizes));
    }
  }
}

TEST(OpTable, LiesBetweenTheCornersAround) {
  std::mt19937 random(2);
  for (int time = 0; time < 200; ++time) {
    const OpTable table = random_table(random);
    const auto [least, most] =
        std::minmax_element(table.values().begin(), table.values().end());
    std::vector<double> sizes;
    for (const OpTable::Axis &axis : table.axes())
      sizes.push_back(std::uniform_real_distribution<>(
          axis.values.front(), axis.values.back())(random));
    const double seconds = table.seconds(sizes, no_bound);
    EXPECT_GE(seconds, *least * (1 - 1e-12));
    EXPECT_LE(seconds, *most * (1 + 1e-12));
  }
}

// A launch, bytes of inputs and outputs, bytes of weights and operations.
TEST(OpTable, MeetsSumsOfProductsOfSizes) {
  auto seconds = [](const std::vector<double> &at) {
    return 3e-6 + at[0] * (at[1] + at[2]) * 1e-9 + at[1] * at[2] * 2e-10 +
           at[0] * at[1] * at[2] * 1e-11;
  };
  const OpTable table = table_of({{"rows", {1, 8, 64}},
                                  {"outputs", {256, 1024, 4096}},
                                  {"inputs", {256, 1024}}},
                                 seconds);
  for (const std::vector<double> &at : std::vector<std::vector<double>>{
           {1, 300, 256}, {5, 700, 1000}, {63, 4000, 640}, {64, 4096, 257}})
    EXPECT_NEAR(table.seconds(at, no_bound) / seconds(at), 1, 1e-12);
}

TEST(OpTable, GoesOnByTheRoofline) {
  // A product twice as slow as the roofline, whichever way it leaves the grid.
  auto bound = [](const std::vector<double> &at) {
    return std::max(at[0] * at[1] * 1e-9, at[1] * 2e-8);
  };
  const OpTable table =
      table_of({{"rows", {1, 16, 64}}, {"width", {128, 1024}}},
               [&](const std::vector<double> &at) { return 2 * bound(at); });
  for (const std::vector<double> &at : std::vector<std::vector<double>>{
           {1, 64}, {256, 1024}, {1024, 65536}, {64, 4096}, {128, 2}}) {
    EXPECT_FALSE(table.contains(at));
    EXPECT_NEAR(table.seconds(at, bound) / (2 * bound(at)), 1, 1e-12);
  }
  // It grows, without a jump where the grid ends.
  double before = 0;
  for (double rows = 60; rows < 200; rows += .25) {
    const double seconds = table.seconds({rows, 1024}, bound);
    EXPECT_GT(seconds, before);
    if (before > 0) {
      EXPECT_LT(seconds, before * 1.01);
    }
    before = seconds;
  }
}

TEST(OpTable, IsReadAsItIsWritten) {
  std::mt19937 random(3);
  for (int time = 0; time < 20; ++time) {
    OpTable table = table_of(
        {{"rows", {1, 2}}, {"width", {3, 5, 7}}},
        [&](const std::vector<double> &) { return 1e-6 + double(random()); });
    const auto text = table.to_json().dump();
    const OpTable read = OpTable::parse(nlohmann::ordered_json::parse(text));
    EXPECT_EQ(read.values(), table.values());
    EXPECT_EQ(read.to_json().dump(), text);
  }
}

TEST(OpTable, RefusesWhatIsNoGrid) {
  auto message = [](const char *text) -> std::string {
    try {
      OpTable::parse(nlohmann::ordered_json::parse(text));
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(R"({"op": "linear", "type": "f32", "axes": {"rows": [1, 2]},
                        "seconds": [1, 2, 3], "spread": [0, 0]})"),
            "table linear f32: has 3 seconds, and its axes 2 points");
  EXPECT_EQ(message(R"({"op": "linear", "type": "f32", "axes": {"rows": [2, 1]},
                        "seconds": [1, 2], "spread": [0, 0]})"),
            "table linear f32: axis rows does not ascend from above 0");
  EXPECT_EQ(message(R"({"op": "linear", "type": "f32", "axes": {"rows": [1, 2]},
                        "seconds": [1, 0], "spread": [0, 0]})"),
            "table linear f32: seconds are not all above 0");
  EXPECT_EQ(message(R"({"op": "linear", "type": "f32", "axes": {},
                        "seconds": [], "spread": []})"),
            "table linear f32: has no axes");
  EXPECT_EQ(message(R"({"op": "linear", "type": "f32", "axis": {}})"),
            "a table has 'axis', which is not known here");
  EXPECT_NE(message(R"({"op": "linear"})").find("a table: "),
            std::string::npos);
}

} // namespace
} // namespace baton::plan
