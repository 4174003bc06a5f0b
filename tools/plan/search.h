//===- search.h - the fastest splits of a model over devices --------------===//

#ifndef BATON_TOOLS_PLAN_SEARCH_H
#define BATON_TOOLS_PLAN_SEARCH_H

#include "tools/plan/training_step.h"

#include <functional>
#include <string>
#include <vector>

namespace baton::plan {

struct SearchOptions {
  Decoder decoder;
  Device device;
  Framework framework;
  Slowness slowness;
  int64_t devices = 1, global_batch = 1, sequence = 1;
  /// Bytes of a device that a plan may take.
  double memory = 0;
  /// As many plans are wanted, the fastest first.
  size_t wanted = 10;
  /// Whether the front is wanted, too.
  bool front = false;
  /// Called as splits are judged. An exception ends the search, which then
  /// answers with the best so far and says that it is not `complete`.
  std::function<void(uint64_t done, uint64_t total, const std::string &best)>
      progress;
};

struct Plan {
  Split split;
  StepTime time;
  StepMemory memory;
};

struct SearchResult {
  std::vector<Plan> plans;
  /// Splits that the model's and the batch's sizes allow, those of them that
  /// fit, and those whose pipelines were played out: others cannot be among the
  /// fastest.
  uint64_t legal = 0, fitting = 0, simulated = 0;
  bool complete = true;
  /// Of all that fit, those than which no other takes both less memory and less
  /// time, by memory; if wanted.
  std::vector<Plan> front;
  /// Where no split fits: the one that takes least, and what most of it is.
  Plan smallest;
};

/// Every split into data, tensor (inside a node) and pipeline degree, up to
/// eight chunks, microbatch size, and with each of recomputing, states cut over
/// data parallel ranks and sequence parallel rows, or without. Exact: splits
/// are played out in the order of a bound that no pipeline is faster than,
/// until the bound is above the slowest wanted. Throws Error where sizes allow
/// no split at all, naming the binding one.
SearchResult search(const SearchOptions &options);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_SEARCH_H
