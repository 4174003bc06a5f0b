//===- rank_times.cpp - what a rank's part of a step takes ----------------===//

#include "runtime/train/rank_times.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace baton {

namespace {

constexpr std::array<const char *, 9> indicator_names = {
    "compute",          "forward",       "backward",    "update", "inputs",
    "wait.collectives", "wait.messages", "wait.border", "step"};

} // namespace

RankTimes::RankTimes(Communicator &communicator, bool has_stages)
    : clocks(communicator.waits()), has_stages(has_stages) {
  static_assert(indicator_names.size() == Indicators);
  begin();
}

bool RankTimes::is_told(Indicator indicator) const {
  return has_stages || (indicator != Forward && indicator != Backward &&
                        indicator != Update && indicator != Messages);
}

std::vector<std::string> RankTimes::indicators() const {
  std::vector<std::string> result;
  for (int i = 0; i < Indicators; ++i)
    if (is_told(Indicator(i)))
      result.emplace_back(indicator_names[size_t(i)]);
  return result;
}

RankTimes::Waits RankTimes::waits(Clock::time_point now) const {
  return {clocks.collectives.total(now), clocks.messages.total(now),
          clocks.all.total(now)};
}

void RankTimes::begin() {
  sums = {};
  border = {};
  step_began = at_border = Clock::now();
  go_on();
}

void RankTimes::go_on() {
  sums[Border] += std::exchange(border, Clock::duration::zero());
  counted_until = Clock::now();
  waited = waits(counted_until);
}

void RankTimes::count(Part part) {
  const Clock::time_point now = Clock::now();
  const Waits then = std::exchange(waited, waits(now));
  const Clock::duration own = std::max(
      Clock::duration::zero(), now - counted_until - (waited.all - then.all));
  counted_until = now;
  sums[Collectives] += waited.collectives - then.collectives;
  sums[Messages] += waited.messages - then.messages;
  switch (part) {
  case Part::Inputs:
    sums[Inputs] += own;
    return;
  case Part::Compute:
    break;
  case Part::Forward:
    sums[Forward] += own;
    break;
  case Part::Backward:
    sums[Backward] += own;
    break;
  case Part::Update:
    sums[Update] += own;
    break;
  }
  sums[Compute] += own;
}

std::string RankTimes::tell(Part part) {
  count(part);
  at_border = counted_until;
  sums[Step] = at_border - step_began;
  std::string text;
  for (int i = 0; i < Indicators; ++i)
    if (is_told(Indicator(i))) {
      const auto nanoseconds = static_cast<uint64_t>(
          std::chrono::nanoseconds(sums[size_t(i)]).count());
      text.append(reinterpret_cast<const char *>(&nanoseconds),
                  sizeof nanoseconds);
    }
  return text;
}

void RankTimes::heard() { border = Clock::now() - at_border; }

void RankTimes::end_step() {
  sums = {};
  step_began = at_border;
}

std::vector<double> RankTimes::seconds_of(std::span<const std::string> told,
                                          size_t indicators) {
  std::vector<double> result(indicators * told.size());
  for (size_t rank = 0; rank < told.size(); ++rank) {
    if (told[rank].size() != indicators * sizeof(uint64_t))
      continue;
    for (size_t i = 0; i < indicators; ++i) {
      uint64_t nanoseconds;
      std::memcpy(&nanoseconds, told[rank].data() + i * sizeof nanoseconds,
                  sizeof nanoseconds);
      // The number that its decimals are, as a log has them.
      result[i * told.size() + rank] = double(nanoseconds) / 1e9;
    }
  }
  return result;
}

} // namespace baton
