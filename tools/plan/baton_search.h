//===- baton_search.h - the fastest of the splits that batonc compiles ----===//

#ifndef BATON_TOOLS_PLAN_BATON_SEARCH_H
#define BATON_TOOLS_PLAN_BATON_SEARCH_H

#include "tools/plan/baton_costs.h"
#include "tools/plan/describe.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace baton::plan {

struct BatonSearchOptions {
  Decoder decoder;
  Device device;
  std::vector<BatonSplit> splits;
  /// Bytes of a rank that a plan may take, and of a parameter that the
  /// optimizer's states take at least.
  double memory = 0, states = 0;
  /// Threads of a rank, on CPUs.
  unsigned workers = 1;
  /// As many plans are wanted, the fastest first.
  size_t wanted = 10;
  /// So many descriptions are made at once.
  unsigned parallel = 1;
  /// Called on several threads.
  std::function<Described(const BatonSplit &)> describe;
  /// An exception ends the search, which then answers with the best so far.
  std::function<void(uint64_t done, uint64_t total, const std::string &best)>
      progress;
};

struct BatonPlan {
  BatonSplit split;
  BatonForecast forecast;
};

struct BatonSearchResult {
  std::vector<BatonPlan> plans;
  /// Splits, those described, and those of them that fit.
  uint64_t splits = 0, described = 0, fitting = 0;
  /// Splits that cannot fit, whatever their activations.
  uint64_t too_large = 0;
  /// What batonc says of those that it refuses, and how often.
  std::map<std::string, uint64_t> refusals;
  bool complete = true;
  /// Of those described that fit: than which no other takes both less memory
  /// and less time, by memory.
  std::vector<BatonPlan> front;
  /// Where none fits: the one that takes least of those described.
  std::optional<BatonPlan> smallest;
};

/// Splits are described in the order of a bound that no description is below,
/// until it is above the slowest wanted: the plans are those that describing
/// everything would find. Throws std::logic_error where a description is below
/// its bound.
BatonSearchResult search(const BatonSearchOptions &options);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_BATON_SEARCH_H
