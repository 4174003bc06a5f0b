//===- OffloadPlanTest.cpp - decoding in less memory than a model takes ---===//

#include "tools/plan/offload_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace baton;
using namespace baton::plan;

namespace {

struct Problem {
  OffloadNeeds needs;
  OffloadStep step;
  OffloadMachine machine;
};

Problem random_problem(std::mt19937 &random) {
  auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  Problem problem;
  OffloadNeeds &needs = problem.needs;
  needs.process = 20 << 20;
  needs.activations = uint64_t(between(1e6, 1e8));
  needs.weights.fixed = uint64_t(between(1e6, 1e8));
  needs.layers = 2 + random() % 40;
  const auto piece = uint64_t(between(1e5, 4e6));
  for (uint64_t parameter = 0; parameter < 4; ++parameter)
    for (uint64_t layer = 0; layer < needs.layers; ++layer)
      needs.weights.pieces.push_back({layer, parameter, piece});
  needs.pages = 1 + random() % 500;
  needs.page_layer = 4096 * (1 + random() % 30);
  needs.page_moves = needs.page_layer * needs.layers;
  needs.page_rest = random() % 2 ? 0 : 4096;
  needs.page_bytes = needs.page_moves + needs.page_rest;

  OffloadStep &step = problem.step;
  step.layers = double(needs.layers);
  step.layer_weights = 4 * double(piece);
  step.layer_seconds = between(1e-5, 1e-2);
  step.tail_seconds = between(0, 1e-2);
  step.layer_read = between(.1, 1) * double(needs.pages * needs.page_layer);
  step.layer_written = between(0, .3) * step.layer_read;
  OffloadMachine &machine = problem.machine;
  machine.disk_rate = between(1e8, 4e9);
  // Both are slower beside one another, on some machines.
  machine.share_beside_disk = random() % 2 ? 1 : between(.3, 1);
  machine.busy_disk_rate =
      machine.disk_rate * between(1 - machine.share_beside_disk, 1);
  return problem;
}

// The linear program is never worse than any point of a grid, and what it
// answers fits.
TEST(OffloadPlan, SharesAreThoseOfTryingAll) {
  std::mt19937 random(11);
  constexpr int points = 40;
  int limited = 0;
  for (int round = 0; round < 200; ++round) {
    const auto [needs, step, machine] = random_problem(random);
    const double least = std::min(
        {shares_memory(step, needs, 0, 0), shares_memory(step, needs, 0, 1),
         shares_memory(step, needs, 1, 0), shares_memory(step, needs, 1, 1)});
    const double most = shares_memory(step, needs, 1, 1);
    const double limit =
        least + (std::uniform_real_distribution<double>(0, 1.1)(random)) *
                    std::max(most - least, 1e6);
    const auto found = best_shares(step, needs, machine, limit);
    ASSERT_TRUE(found);
    EXPECT_LE(shares_memory(step, needs, found->weights, found->pages),
              limit * (1 + 1e-6));
    double best = 1e9;
    for (int w = 0; w <= points; ++w)
      for (int p = 0; p <= points; ++p)
        if (shares_memory(step, needs, double(w) / points,
                          double(p) / points) <= limit)
          best = std::min(best, layer_seconds(step, machine, double(w) / points,
                                              double(p) / points));
    EXPECT_LE(found->layer_seconds, best * (1 + 1e-6));
    limited += found->layer_seconds > step.layer_seconds * 1.001;
    EXPECT_FALSE(best_shares(step, needs, machine, least - 2e6));
  }
  // Problems are of both kinds.
  EXPECT_GT(limited, 30);
  EXPECT_LT(limited, 200);
}

// Bytes that come while a layer computes, and those that it waits for.
TEST(OffloadPlan, DiskAndWorkersShareAMachine) {
  OffloadMachine machine;
  machine.disk_rate = 1e9;
  machine.busy_disk_rate = 5e8;
  machine.share_beside_disk = .8;
  EXPECT_DOUBLE_EQ(overlapped_seconds(machine, 1, 0), 1);
  // Half a second of reading, in which .4 of computing are done.
  EXPECT_DOUBLE_EQ(overlapped_seconds(machine, 1, 2.5e8), 1.1);
  // Computing takes 1.25, in which 6.25e8 come.
  EXPECT_DOUBLE_EQ(overlapped_seconds(machine, 1, 6.25e8), 1.25);
  EXPECT_DOUBLE_EQ(overlapped_seconds(machine, 1, 1.625e9), 2.25);
  EXPECT_DOUBLE_EQ(overlapped_seconds(machine, 0, 1e9), 1);
}

// Whole tensors and pages take what they may, and no more time than a layer
// more.
TEST(OffloadPlan, WholePiecesFit) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    const auto [needs, step, machine] = random_problem(random);
    uint64_t ring = 0;
    place_layers(needs.weights.pieces, needs.layers, 0, &ring);
    const double all = shares_memory(step, needs, 1, 1);
    const double limit = all * (.7 + .3 * double(random() % 100) / 100);
    const double slack = std::max(0.0, double(ring) - 2 * step.layer_weights) +
                         double(HugeRegion::alignment);
    const auto shares = best_shares(step, needs, machine, limit - slack);
    if (!shares)
      continue;
    const OffloadForecast found =
        forecast(step, needs, machine, uint64_t(limit), *shares, "--memory");
    EXPECT_LE(double(found.plan.memory), limit);
    EXPECT_LE(double(found.plan.staying_pages),
              shares->pages * double(needs.pages) + 1e-3);
    EXPECT_GE(found.step_seconds, step.layers * step.layer_seconds);
  }
}

// What cannot be is told with what takes how much.
TEST(OffloadPlan, TellsWhatBinds) {
  std::mt19937 random(7);
  const auto [needs, step, machine] = random_problem(random);
  try {
    plan_offload(needs, 1 << 20, {}, "--memory: 1MiB");
    FAIL() << "a mebibyte is enough";
  } catch (const std::exception &error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("--memory: 1MiB is less than the "), 0) << text;
    for (const char *part :
         {"the process", "buffers", "weights outside of layers",
          "two layers' weights", "keys and values"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

} // namespace
