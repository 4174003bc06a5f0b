//===- baton_search.cpp - the fastest of the splits that batonc compiles --===//

#include "tools/plan/baton_search.h"

#include "runtime/error.h"
#include "runtime/main/table.h"

#include <algorithm>
#include <deque>
#include <future>
#include <queue>
#include <stdexcept>
#include <tuple>

using namespace baton;
using namespace baton::plan;

namespace {
struct Candidate {
  BatonBound bound;
  /// Of equal bounds the simpler split is first, as all_splits() has it.
  size_t order = 0;
  BatonSplit split;
  /// By its schedule, too.
  bool scheduled = false;

  /// For a heap, whose first is the largest.
  bool operator<(const Candidate &other) const {
    return std::tie(bound.seconds, order) >
           std::tie(other.bound.seconds, other.order);
  }
};

/// Splits that fit as far as is known, the lowest bound first. A pipeline is
/// played out for those only whose simple bound comes to be the lowest.
class Candidates {
public:
  Candidates(const BatonSearchOptions &options, BatonSearchResult &result)
      : options(options), result(result) {
    for (const BatonSplit &split : options.splits)
      add({bound(options.decoder, split, options.device, options.states),
           order++, split});
  }

  /// None once there is no more.
  std::optional<Candidate> next() {
    while (!heap.empty() && !heap.top().scheduled) {
      Candidate candidate = heap.top();
      heap.pop();
      candidate.bound = scheduled_bound(options.decoder, candidate.split,
                                        options.device, options.states);
      candidate.scheduled = true;
      add(std::move(candidate));
    }
    if (heap.empty())
      return std::nullopt;
    Candidate candidate = heap.top();
    heap.pop();
    return candidate;
  }

private:
  void add(Candidate candidate) {
    if (candidate.bound.bytes > options.memory)
      ++result.too_large;
    else
      heap.push(std::move(candidate));
  }

  const BatonSearchOptions &options;
  BatonSearchResult &result;
  std::priority_queue<Candidate> heap;
  size_t order = 0;
};

/// A candidate, and what batonc will have said of it.
struct Asked {
  Candidate candidate;
  std::future<Described> described;
};
} // namespace

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
  Candidates candidates(options, result);
  std::vector<BatonPlan> fitting;
  std::deque<Asked> ahead;
  const auto is_too_slow = [&](const Candidate &candidate) {
    return result.plans.size() == options.wanted &&
           candidate.bound.seconds > result.plans.back().forecast.time.total;
  };
  const auto ask = [&] {
    while (ahead.size() < options.parallel) {
      std::optional<Candidate> candidate = candidates.next();
      // All that follow are as slow.
      if (!candidate || is_too_slow(*candidate))
        break;
      std::future<Described> described =
          std::async(std::launch::async, options.describe, candidate->split);
      ahead.push_back({std::move(*candidate), std::move(described)});
    }
  };
  for (uint64_t done = 0;;) {
    Candidate candidate;
    Described described;
    try {
      if (options.progress)
        options.progress(done, result.splits, summary(result));
      ask();
      if (ahead.empty() || is_too_slow(ahead.front().candidate))
        break;
      candidate = ahead.front().candidate;
      described = ahead.front().described.get();
      ahead.pop_front();
      ++done;
      if (options.progress)
        options.progress(done, result.splits, summary(result));
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
    if (plan.forecast.time.total < candidate.bound.seconds ||
        memory < candidate.bound.bytes)
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
