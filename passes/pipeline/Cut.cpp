//===- Cut.cpp - a row of costs in parts as even as they can be -----------===//

#include "passes/pipeline/Cut.h"

#include <algorithm>
#include <limits>

/// The best cut by dynamic programming over (parts, items): `join` says what a
/// cut costs whose other parts cost so much, and whose last one has this sum.
template <typename Join>
static std::vector<std::vector<double>> solve(const std::vector<double> &sums,
                                              int parts, Join join) {
  int items = int(sums.size()) - 1;
  double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(parts + 1,
                                        std::vector<double>(items + 1, never));
  best[0][0] = 0;
  for (int part = 1; part <= parts; ++part)
    for (int end = part; end <= items; ++end)
      for (int begin = part - 1; begin < end; ++begin)
        if (best[part - 1][begin] < never)
          best[part][end] =
              std::min(best[part][end],
                       join(best[part - 1][begin], sums[end] - sums[begin]));
  return best;
}

std::vector<int> baton::pipeline::cutEvenly(const std::vector<double> &costs,
                                            int parts) {
  std::vector<double> sums = {0};
  for (double cost : costs)
    sums.push_back(sums.back() + cost);
  int items = int(costs.size());
  double largest = solve(sums, parts, [](double rest, double last) {
    return std::max(rest, last);
  })[parts][items];
  // Sums of the same costs differ by what rounding makes of them.
  double limit = largest * (1 + 1e-12);
  auto join = [&](double rest, double last) {
    return last <= limit ? rest + last * last
                         : std::numeric_limits<double>::infinity();
  };
  std::vector<std::vector<double>> best = solve(sums, parts, join);
  std::vector<int> begins(parts);
  int end = items;
  for (int part = parts; part > 0; --part) {
    int chosen = part - 1;
    double least = std::numeric_limits<double>::infinity();
    for (int begin = part - 1; begin < end; ++begin) {
      double cost = join(best[part - 1][begin], sums[end] - sums[begin]);
      if (cost <= least * (1 + 1e-12)) {
        least = std::min(least, cost);
        chosen = begin;
      }
    }
    begins[part - 1] = end = chosen;
  }
  return begins;
}
