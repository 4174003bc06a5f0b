//===- goodput.cpp - what a job has of a cluster whose parts fail ---------===//

#include "tools/plan/goodput.h"

#include "tools/plan/minimum.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace baton;
using namespace baton::plan;

/// Expected time until more trays are down than are spare, or the rack is.
static double block_failure(const Cluster &cluster) {
  // E_n = (1 + f_n E_(n+1) + g_n E_(n-1)) / (f_n + g_n + r), nothing behind the
  // last state: a tridiagonal system, whose elimination ends at E_0.
  const double rack = 1 / cluster.rack_failure;
  double constant = 0, factor = 0;
  std::vector<std::pair<double, double>> rows;
  for (int64_t down = 0; down <= cluster.spare_trays; ++down) {
    const double fails = double(cluster.trays - down) / cluster.tray_failure;
    const double heals = double(down) / cluster.repair;
    const double denominator = fails + heals * (1 - factor) + rack;
    constant = (1 + heals * constant) / denominator;
    factor = fails / denominator;
    rows.push_back({constant, factor});
  }
  double expected = 0;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    expected = row->first + row->second * expected;
  return expected;
}

/// The chances of more than 0, 1, ... n of n, each by itself with p.
static std::vector<double> above(int64_t n, double p) {
  std::vector<double> tails(size_t(n) + 1, 0);
  for (int64_t down = n; down > 0; --down) {
    const double chance = p >= 1 ? double(down == n)
                                 : std::exp(std::lgamma(double(n) + 1) -
                                            std::lgamma(double(down) + 1) -
                                            std::lgamma(double(n - down) + 1) +
                                            double(down) * std::log(p) +
                                            double(n - down) * std::log1p(-p));
    tails[size_t(down - 1)] = std::min(tails[size_t(down)] + chance, 1.0);
  }
  return tails;
}

/// Of each number of blocks that are down.
static std::vector<double> blocked(const Cluster &cluster) {
  const double ratio = cluster.repair / block_failure(cluster);
  return above(cluster.blocks, ratio / (1 + ratio));
}

static Goodput goodput_of(const Cluster &cluster,
                          const std::vector<double> &blocked) {
  Goodput result;
  result.block_failure = block_failure(cluster);
  result.open = std::pow(1 - blocked[size_t(cluster.spare_blocks)],
                         double(cluster.zones));
  const int64_t placed =
      (cluster.blocks - cluster.spare_blocks) / cluster.group * cluster.group;
  const double trays = double(cluster.trays - cluster.spare_trays);
  result.working =
      double(placed) / double(cluster.blocks) * trays / double(cluster.trays);
  if (placed == 0)
    return result;
  const double rate = double(placed) * double(cluster.zones) *
                      (trays / cluster.tray_failure + 1 / cluster.rack_failure);
  result.job_failure = 1 / rate;
  const double period = std::expm1(rate * (cluster.interval + cluster.save)) *
                        (1 / rate + cluster.detect + cluster.restart);
  result.kept = cluster.interval / period;
  result.total = result.working * result.open * result.kept;
  return result;
}

Goodput plan::goodput(const Cluster &cluster) {
  return goodput_of(cluster, blocked(cluster));
}

Cluster plan::best_spares(Cluster cluster) {
  const std::vector<double> tails = blocked(cluster);
  Cluster best = cluster;
  double most = -1;
  for (int64_t spare = 0; spare < cluster.blocks; ++spare) {
    cluster.spare_blocks = spare;
    if (const double total = goodput_of(cluster, tails).total; total > most) {
      most = total;
      best = cluster;
    }
  }
  return best;
}

Cluster plan::best_interval(Cluster cluster) {
  // From a second to a month.
  cluster.interval =
      std::exp(minimum(0, std::log(30 * 86400.0), [cluster](double at) mutable {
        cluster.interval = std::exp(at);
        return -goodput(cluster).kept;
      }));
  return cluster;
}
