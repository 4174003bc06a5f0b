//===- search.cpp - the fastest splits of a model over devices ------------===//

#include "tools/plan/search.h"

#include "runtime/error.h"
#include "runtime/main/table.h"
#include "tools/plan/divisors.h"

#include <algorithm>
#include <tuple>

using namespace baton;
using namespace baton::plan;

/// Calls `visit` with every split that sizes allow; returns why the last of the
/// others is none.
template <typename Visit>
static std::string each_split(const SearchOptions &options, Visit visit) {
  Split split;
  split.global_batch = options.global_batch;
  split.sequence = options.sequence;
  std::string why;
  auto refuse = [&](const std::string &reason) {
    why = "tensor " + std::to_string(split.tensor) + ", pipeline " +
          std::to_string(split.pipeline) + ", data " +
          std::to_string(split.data) + ": " + reason;
  };
  for (int64_t tensor : divisors(options.devices)) {
    // Ranks that meet twice a layer share a node.
    if (options.device.devices_per_node % tensor != 0)
      continue;
    for (int64_t pipeline : divisors(options.devices / tensor)) {
      split = Split();
      split.global_batch = options.global_batch;
      split.sequence = options.sequence;
      split.tensor = tensor;
      split.pipeline = pipeline;
      split.data = options.devices / tensor / pipeline;
      if (std::string reason = check_split(options.decoder, split);
          !reason.empty()) {
        refuse(reason);
        continue;
      }
      for (int64_t micro : divisors(options.global_batch / split.data))
        for (int64_t chunks : divisors(options.decoder.layers / pipeline)) {
          if (chunks > (pipeline > 1 ? most_chunks : 1))
            break;
          for (int flags = 0; flags < 12; ++flags) {
            split.micro_batch = micro;
            split.chunks = chunks;
            split.sharded_states = flags & 1;
            split.sequence_parallel = flags & 2;
            split.recompute = Recompute(flags / 4);
            // On the chip, attention keeps nothing that could be made again.
            if ((split.recompute == Recompute::selective &&
                 options.framework.flash_attention) ||
                (split.sharded_states && split.data == 1) ||
                (split.sequence_parallel && tensor == 1) ||
                !check_split(options.decoder, split).empty())
              continue;
            visit(split);
          }
        }
    }
  }
  return why;
}

static std::string summary(const Plan &plan) {
  return "best " + fixed_text(plan.time.total, 3) +
         " s: tp=" + std::to_string(plan.split.tensor) +
         " pp=" + std::to_string(plan.split.pipeline) +
         " dp=" + std::to_string(plan.split.data);
}

namespace {
struct Candidate {
  double bound;
  /// Of those that are as fast, the first stays the first.
  uint64_t order;
  Split split;
  StepMemory memory;
};
} // namespace

static std::vector<Plan> front(const SearchOptions &options,
                               std::vector<Candidate> candidates) {
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) {
              return std::tie(a.memory.total, a.bound, a.order) <
                     std::tie(b.memory.total, b.bound, b.order);
            });
  std::vector<Plan> plans;
  for (const Candidate &candidate : candidates) {
    if (!plans.empty() && candidate.bound >= plans.back().time.total)
      continue;
    if (options.progress)
      options.progress(1, 1, "memory against time");
    const Plan plan{candidate.split,
                    step_time(options.decoder, options.framework,
                              options.device, candidate.split,
                              options.slowness),
                    candidate.memory};
    if (!plans.empty() && plan.time.total >= plans.back().time.total)
      continue;
    // One that takes as much memory and longer.
    if (!plans.empty() && plans.back().memory.total == plan.memory.total)
      plans.pop_back();
    plans.push_back(plan);
  }
  return plans;
}

SearchResult plan::search(const SearchOptions &options) {
  SearchResult result;
  std::vector<Candidate> candidates;
  const std::string why = each_split(options, [&](const Split &split) {
    if (options.progress && result.legal % 64 == 0)
      options.progress(0, 1, "");
    ++result.legal;
    const StepMemory memory =
        step_memory(options.decoder, options.framework, split);
    if (result.smallest.memory.total == 0 ||
        memory.total < result.smallest.memory.total)
      result.smallest = {split, {}, memory};
    if (memory.total > options.memory)
      return;
    candidates.push_back(
        {step_time_bound(options.decoder, options.framework, options.device,
                         split, options.slowness),
         result.legal, split, memory});
  });
  if (result.legal == 0)
    throw Error(std::to_string(options.devices) +
                " devices: no split has whole parts; of the last one tried, " +
                why);
  result.fitting = candidates.size();
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) {
              return std::tie(a.bound, a.order) < std::tie(b.bound, b.order);
            });
  for (const Candidate &candidate : candidates) {
    if (result.plans.size() == options.wanted &&
        candidate.bound > result.plans.back().time.total)
      break;
    try {
      if (options.progress)
        options.progress(result.simulated, candidates.size(),
                         result.plans.empty() ? "" : summary(result.plans[0]));
    } catch (const Error &) {
      result.complete = false;
      break;
    }
    ++result.simulated;
    Plan plan{candidate.split,
              step_time(options.decoder, options.framework, options.device,
                        candidate.split, options.slowness),
              candidate.memory};
    result.plans.insert(std::upper_bound(result.plans.begin(),
                                         result.plans.end(), plan,
                                         [](const Plan &a, const Plan &b) {
                                           return a.time.total < b.time.total;
                                         }),
                        plan);
    if (result.plans.size() > options.wanted)
      result.plans.pop_back();
  }
  if (result.complete && options.front)
    result.front = front(options, std::move(candidates));
  return result;
}
