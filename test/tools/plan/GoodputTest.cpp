//===- GoodputTest.cpp - spares and checkpoints ---------------------------===//

#include "tools/plan/goodput.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace baton::plan {
namespace {

/// Four zones of 256 racks of 72 devices, in trays of two.
Cluster cluster() {
  Cluster zones;
  zones.zones = 4;
  zones.blocks = 256;
  zones.trays = 36;
  zones.tray_failure = 20000 * 3600.0;
  zones.rack_failure = 10000 * 3600.0;
  zones.repair = 24 * 3600.0;
  zones.interval = 250;
  zones.detect = 60;
  zones.restart = 360;
  return zones;
}

// The best parts of spare blocks that are published for such clusters: 8.6 % of
// blocks of 72, 4.7 % of blocks of 36; and 12.5 % idle where groups of 32 racks
// are placed together.
TEST(PlanGoodput, PublishedSpares) {
  const Cluster whole = best_spares(cluster());
  EXPECT_NEAR(double(whole.spare_blocks) / 256, .086, .0005);
  Cluster halves = cluster();
  halves.blocks = 512;
  halves.trays = 18;
  EXPECT_NEAR(double(best_spares(halves).spare_blocks) / 512, .047, .0005);
  Cluster groups = cluster();
  groups.group = 32;
  groups.spare_blocks = 22;
  EXPECT_NEAR(1 - goodput(groups).working, .125, 1e-12);
}

TEST(PlanGoodput, BlocksAgreeWithMonteCarlo) {
  Cluster block = cluster();
  std::mt19937_64 random(11);
  for (int64_t spare : {0, 1, 2}) {
    block.spare_trays = spare;
    // Fails often, so that few draws are enough.
    block.tray_failure = 400 * 3600.0;
    const double rack = 1 / block.rack_failure;
    double sum = 0;
    const int draws = 40000;
    for (int draw = 0; draw < draws; ++draw) {
      int64_t down = 0;
      for (;;) {
        const double fails = double(block.trays - down) / block.tray_failure;
        const double heals = double(down) / block.repair;
        const double all = fails + heals + rack;
        sum += std::exponential_distribution<double>(all)(random);
        const double which =
            std::uniform_real_distribution<double>(0, all)(random);
        if (which < rack)
          break;
        down += which < rack + fails ? 1 : -1;
        if (down > spare)
          break;
      }
    }
    EXPECT_NEAR(sum / draws / goodput(block).block_failure, 1, .02) << spare;
  }
}

TEST(PlanGoodput, CheckpointsAgreeWithMonteCarlo) {
  Cluster zones = cluster();
  zones.save = 20;
  const Goodput closed = goodput(zones);
  std::mt19937_64 random(3);
  std::exponential_distribution<double> fails(1 / closed.job_failure);
  double time = 0;
  const int periods = 200000;
  for (int period = 0; period < periods; ++period)
    for (;;) {
      const double failure = fails(random);
      if (failure > zones.interval + zones.save) {
        time += zones.interval + zones.save;
        break;
      }
      time += failure + zones.detect + zones.restart;
    }
  EXPECT_NEAR(periods * zones.interval / time / closed.kept, 1, .01);
}

TEST(PlanGoodput, Monotone) {
  Cluster zones = best_spares(cluster());
  const double usual = goodput(zones).total;
  Cluster better = zones;
  better.tray_failure *= 2;
  EXPECT_GT(goodput(better).total, usual);
  better = zones;
  better.repair /= 2;
  EXPECT_GE(goodput(better).total, usual);
  better = zones;
  better.restart /= 2;
  EXPECT_GT(goodput(better).total, usual);
  // The interval that is best is better than its neighbours.
  zones.save = 10;
  const Cluster best = best_interval(zones);
  for (double factor : {.8, 1.25}) {
    Cluster beside = best;
    beside.interval *= factor;
    EXPECT_LT(goodput(beside).kept, goodput(best).kept);
  }
}

} // namespace
} // namespace baton::plan
