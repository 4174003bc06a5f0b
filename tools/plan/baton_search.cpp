//===- baton_search.cpp - the fastest of the splits that batonc compiles --===//

#include "tools/plan/baton_search.h"

#include "runtime/error.h"
#include "runtime/main/table.h"

#include <algorithm>
#include <deque>
#include <future>
#include <stdexcept>
#include <tuple>

using namespace baton;
using namespace baton::plan;

namespace {
struct Candidate {
  double bound;
  /// Of equal bounds the simpler split is first, as all_splits() has it.
  size_t order;
  BatonSplit split;
};
} // namespace

/// Splits that fit as far as is known, the lowest bound first.
static std::vector<Candidate> candidates(const BatonSearchOptions &options,
                                         BatonSearchResult &result) {
  std::vector<Candidate> candidates;
  for (const BatonSplit &split : options.splits) {
    if (bytes_at_least(options.decoder, split, options.states) >
        options.memory) {
      ++result.too_large;
      continue;
    }
    candidates.push_back({seconds_at_least(options.decoder, split,
                                           options.device, options.states),
                          candidates.size(), split});
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) {
              return std::tie(a.bound, a.order) < std::tie(b.bound, b.order);
            });
  return candidates;
}

static std::string summary(const BatonSearchResult &result) {
  if (result.plans.empty())
    return "";
  const BatonPlan &best = result.plans[0];
  return "best " + fixed_text(best.forecast.time.total, 3) +
         " s: " + best.split.mesh();
}

static std::vector<BatonPlan> front(std::vector<BatonPlan> plans) {
  auto key = [](const BatonPlan &plan) {
    return std::tuple(plan.forecast.rank.bytes(), plan.forecast.time.total,
                      text_of(plan.split.compile_flags()));
  };
  std::sort(
      plans.begin(), plans.end(),
      [&](const BatonPlan &a, const BatonPlan &b) { return key(a) < key(b); });
  std::vector<BatonPlan> front;
  for (const BatonPlan &plan : plans)
    if (front.empty() ||
        plan.forecast.time.total < front.back().forecast.time.total)
      front.push_back(plan);
  return front;
}

BatonSearchResult plan::search(const BatonSearchOptions &options) {
  BatonSearchResult result;
  result.splits = options.splits.size();
  const std::vector<Candidate> all = candidates(options, result);
  std::vector<BatonPlan> fitting;
  std::deque<std::future<Described>> ahead;
  size_t asked = 0;
  for (size_t at = 0; at < all.size(); ++at) {
    const Candidate &candidate = all[at];
    if (result.plans.size() == options.wanted &&
        candidate.bound > result.plans.back().forecast.time.total)
      break;
    Described described;
    try {
      if (options.progress)
        options.progress(at, all.size(), summary(result));
      for (; asked < all.size() && ahead.size() < options.parallel; ++asked)
        ahead.push_back(
            std::async(std::launch::async, options.describe, all[asked].split));
      described = ahead.front().get();
      ahead.pop_front();
      if (options.progress)
        options.progress(at + 1, all.size(), summary(result));
    } catch (const Error &) {
      // Nothing is known yet that could be said instead.
      if (result.plans.empty())
        throw;
      result.complete = false;
      break;
    }
    if (!described.metadata) {
      ++result.refusals[described.refusal];
      continue;
    }
    ++result.described;
    BatonPlan plan{candidate.split,
                   forecast(*described.metadata, candidate.split,
                            options.device, options.workers)};
    const double memory = double(plan.forecast.rank.bytes());
    if (plan.forecast.time.total < candidate.bound ||
        memory < bytes_at_least(options.decoder, plan.split, options.states))
      throw std::logic_error(text_of(plan.split.compile_flags()) +
                             ": its forecast is below its bound");
    if (!result.smallest ||
        memory < double(result.smallest->forecast.rank.bytes()))
      result.smallest = plan;
    if (memory > options.memory)
      continue;
    ++result.fitting;
    fitting.push_back(plan);
    result.plans.insert(
        std::upper_bound(result.plans.begin(), result.plans.end(), plan,
                         [](const BatonPlan &a, const BatonPlan &b) {
                           return a.forecast.time.total < b.forecast.time.total;
                         }),
        plan);
    if (result.plans.size() > options.wanted)
      result.plans.pop_back();
  }
  result.front = front(std::move(fitting));
  return result;
}
