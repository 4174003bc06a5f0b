//===- SweepTest.cpp - verdicts on a machine ------------------------------===//

#include "tools/calibrate/sweep.h"

#include <gtest/gtest.h>

namespace baton::calibrate {
namespace {

using Verdict = Indicator::Verdict;

TEST(Sweep, AllRoundsHaveToAgree) {
  auto verdict = [](double least, double ratio, double most) {
    Indicator indicator;
    indicator.least = least;
    indicator.ratio = ratio;
    indicator.most = most;
    return indicator.verdict(.1);
  };
  EXPECT_EQ(verdict(.95, 1, 1.05), Verdict::same);
  EXPECT_EQ(verdict(1.2, 1.3, 2), Verdict::slower);
  EXPECT_EQ(verdict(1.05, 1.3, 2), Verdict::unclear);
  EXPECT_EQ(verdict(.95, 1.05, 2), Verdict::same);
  EXPECT_EQ(verdict(.5, .6, .7), Verdict::faster);
  EXPECT_EQ(verdict(.5, .6, 1), Verdict::unclear);
}

/// With two linears of one row, one of eight, and attention.
plan::Device machine() {
  plan::Device device;
  device.name = "machine";
  device.matmul_rate = 1e11;
  device.bandwidth = 1e10;
  device.measured = {"2026-01-01", "Processor", 2, 2, false};
  device.tables.emplace_back(
      "linear", "bf16",
      std::vector<plan::OpTable::Axis>{
          {"rows", {1, 8}}, {"outputs", {64, 128}}, {"inputs", {64}}},
      std::vector<double>{1e-6, 2e-6, 3e-6, 4e-6}, std::vector<double>(4));
  device.tables.emplace_back(
      "exchange", "all_to_all",
      std::vector<plan::OpTable::Axis>{{"ranks", {2, 4}}, {"bytes", {64}}},
      std::vector<double>{1e-6, 1e-6}, std::vector<double>(2));
  return device;
}

TEST(Sweep, ComparesPointsThatTheFileHas) {
  Calibration calibration;
  calibration.rates = {{.9e11, 1e10, .9e11, 1e-6},
                       {.8e11, .5e10, .8e11, 1e-6},
                       {.7e11, .4e10, .7e11, 1e-6}};
  auto add = [&](double rows, double outputs, std::vector<double> rounds) {
    const double middle = median(rounds);
    calibration
        .points[{"linear",
                 "bf16",
                 {{"rows", rows}, {"outputs", outputs}, {"inputs", 64}}}] = {
        middle, 0, std::move(rounds)};
  };
  add(1, 64, {2e-6, 2e-6, 2e-6});
  add(1, 128, {8e-6, 2e-6, 8e-6});
  add(8, 128, {2e-6, 2e-6, 2e-6});
  // Is not in the file.
  add(8, 256, {9, 9, 9});
  const auto indicators =
      compare(machine(), sweep_options(machine()), calibration);
  ASSERT_EQ(indicators.size(), 4u);
  EXPECT_EQ(indicators[0].name, "multiply-add peak");
  EXPECT_NEAR(indicators[0].ratio, 1 / .8, 1e-12);
  EXPECT_EQ(indicators[0].verdict(.1), Verdict::slower);
  EXPECT_EQ(indicators[0].verdict(.5), Verdict::same);
  EXPECT_EQ(indicators[1].verdict(.1), Verdict::unclear);
  EXPECT_EQ(indicators[2].name, "linear bf16, 1 row");
  // Of each round the median of 2 and 4, 2 and 1, 2 and 4.
  EXPECT_NEAR(indicators[2].ratio, 3, 1e-12);
  EXPECT_NEAR(indicators[2].least, 1.5, 1e-12);
  EXPECT_EQ(indicators[3].name, "linear bf16, 8 rows");
  EXPECT_EQ(indicators[3].verdict(.1), Verdict::faster);
}

TEST(Sweep, MeasuresWhatTheFileHas) {
  const CalibrationOptions options = sweep_options(machine());
  EXPECT_EQ(options.types, std::vector<std::string>{"bf16"});
  EXPECT_EQ(options.ranks, 4);
  EXPECT_FALSE(options.quick);
  EXPECT_TRUE(options.coarse_steps);
  plan::Device quick = machine();
  quick.measured->quick = true;
  EXPECT_TRUE(sweep_options(quick).quick);
}

TEST(Sweep, RefusesOtherMachines) {
  plan::Device device = machine();
  Host host;
  host.processor = "Processor";
  host.cores = 2;
  EXPECT_EQ(check_machine(device, host), "");
  host.cores = 4;
  EXPECT_EQ(check_machine(device, host), "");
  host.cores = 1;
  EXPECT_EQ(check_machine(device, host),
            "is of 2 cores of Processor, and this machine has 1 core of "
            "Processor; batonc calibrate -o FILE.json measures this one");
  host = {"Another", 2, 0, 0, ""};
  EXPECT_NE(check_machine(device, host), "");
  device.measured.reset();
  EXPECT_NE(check_machine(device, host).find("is from data sheets"),
            std::string::npos);
}

} // namespace
} // namespace baton::calibrate
