//===- rank_judge.cpp - which rank is slower than its peers ---------------===//

#include "runtime/health/rank_judge.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace baton {

namespace {

constexpr double deviation_of_mad = 1.4826;
/// The standard error of a median over that of a mean, of normal values.
constexpr double error_of_median = 1.2533;
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Of at least one value.
double median(std::vector<double> values) {
  const auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// The median absolute deviation, as a standard deviation.
double spread(std::vector<double> values) {
  const double centre = median(values);
  for (double &value : values)
    value = std::abs(value - centre);
  return deviation_of_mad * median(std::move(values));
}

/// The median of all but the one at `place`, of two ascending values or more.
double median_without(const std::vector<double> &ascending, size_t place) {
  const size_t others = ascending.size() - 1;
  auto at = [&](size_t i) { return ascending[i < place ? i : i + 1]; };
  return others % 2 ? at(others / 2)
                    : (at(others / 2 - 1) + at(others / 2)) / 2;
}

} // namespace

RankJudge::RankJudge(std::vector<std::string> indicators,
                     const std::vector<std::string> &work, double threshold)
    : names(std::move(indicators)), count(static_cast<uint32_t>(work.size())),
      threshold(threshold), standings(names.size() * count), slow(count),
      against(count) {
  std::map<std::string, std::vector<uint32_t>> same;
  for (uint32_t rank = 0; rank < count; ++rank)
    same[work[rank]].push_back(rank);
  Group alone = {{}, true};
  for (const auto &[name, ranks] : same)
    if (ranks.size() > 1)
      groups.push_back({ranks, false});
    else
      alone.ranks.push_back(ranks.front());
  std::ranges::sort(alone.ranks);
  if (!alone.ranks.empty())
    groups.push_back(std::move(alone));
  if (auto found = std::ranges::find(names, step_indicator);
      found != names.end())
    step_place = static_cast<size_t>(found - names.begin());
}

RankPeers RankJudge::peers(uint32_t rank) const {
  for (const Group &group : groups)
    if (std::ranges::find(group.ranks, rank) != group.ranks.end()) {
      RankPeers result = {group.ranks, group.by_history};
      std::erase(result.ranks, rank);
      return result;
    }
  return {};
}

std::optional<double> RankJudge::median_seconds(size_t indicator,
                                                uint32_t rank) const {
  std::vector<double> values;
  for (size_t row = 0; row < steps.size(); ++row)
    if (const double value = seconds_of(row, indicator, rank); value > 0)
      values.push_back(value);
  // Of fewer it says too little.
  if (values.size() * 2 < steps.size())
    return std::nullopt;
  return median(std::move(values));
}

std::vector<RankEvent> RankJudge::add(uint64_t step,
                                      std::span<const double> seconds) {
  steps.push_back(step);
  window.insert(window.end(), seconds.begin(), seconds.end());
  if (step_place) {
    std::vector<double> all;
    for (uint32_t rank = 0; rank < count; ++rank)
      if (const double value = seconds[*step_place * count + rank]; value > 0)
        all.push_back(value);
    duration += all.empty() ? 0 : median(std::move(all));
  }
  if (steps.size() < least_steps || (step_place && duration < least_seconds))
    return {};
  return close();
}

std::vector<RankEvent> RankJudge::close() {
  step_seconds = duration / double(steps.size());
  std::vector<bool> counted(count);
  for (size_t indicator = 0; indicator < names.size(); ++indicator)
    if (is_judged(names[indicator]))
      for (const Group &group : groups)
        judge(indicator, group);

  std::vector<RankEvent> events;
  for (uint32_t rank = 0; rank < count; ++rank) {
    RankEvent event = {true, rank, 0, steps.back(), {}};
    bool is_slow_now = false;
    uint64_t since = std::numeric_limits<uint64_t>::max(), calm_since = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      Standing &standing = standings[i * count + rank];
      const bool counts = !standing.counts.empty() && standing.counts.front();
      counted[rank] = counted[rank] || (counts && !standing.begins.empty() &&
                                        standing.begins.front() == steps[0]);
      if (standing.was_slow && !standing.slow)
        calm_since = std::max(calm_since, standing.calm_since);
      standing.was_slow = standing.slow;
      if (!standing.slow)
        continue;
      is_slow_now = true;
      for (size_t k = 0; k < standing.counts.size(); ++k)
        if (standing.counts[k])
          since = std::min(since, standing.begins[k]);
      event.findings.push_back(standing.last);
    }
    against[rank] += counted[rank];
    if (is_slow_now == slow[rank])
      continue;
    slow[rank] = is_slow_now;
    event.slow = is_slow_now;
    event.since = is_slow_now ? since : calm_since;
    std::ranges::sort(event.findings, std::greater<>(), &RankFinding::excess);
    events.push_back(std::move(event));
  }
  ++all_windows;
  window.clear();
  steps.clear();
  duration = 0;
  return events;
}

void RankJudge::judge(size_t indicator, const Group &group) {
  // Whose times are known, and by what they are divided.
  std::vector<uint32_t> members;
  std::vector<double> bases;
  for (uint32_t rank : group.ranks) {
    const std::optional<double> seconds = median_seconds(indicator, rank);
    if (!seconds)
      continue;
    Standing &standing = standings[indicator * count + rank];
    if (group.by_history && !standing.baseline) {
      standing.first_windows.push_back(std::log(*seconds));
      if (standing.first_windows.size() == windows_of_history)
        standing.baseline = median(standing.first_windows);
      continue;
    }
    members.push_back(rank);
    bases.push_back(group.by_history ? *standing.baseline : 0);
  }
  // Others may be known later.
  if (members.empty() || (members.size() == 1 && group.ranks.size() > 1))
    return;

  std::vector<std::vector<double>> deviations(members.size());
  for (size_t row = 0; row < steps.size(); ++row) {
    std::vector<std::pair<double, size_t>> present;
    for (size_t i = 0; i < members.size(); ++i)
      if (const double value = seconds_of(row, indicator, members[i]);
          value > 0)
        present.emplace_back(std::log(value) - bases[i], i);
    if (present.size() < std::min<size_t>(2, members.size()))
      continue;
    std::ranges::sort(present);
    std::vector<double> ascending;
    for (const auto &[value, member] : present)
      ascending.push_back(value);
    for (size_t place = 0; place < present.size(); ++place)
      deviations[present[place].second].push_back(
          ascending[place] -
          (present.size() > 1 ? median_without(ascending, place) : 0));
  }

  std::vector<double> excesses, errors;
  for (const std::vector<double> &own : deviations) {
    if (own.empty()) {
      excesses.push_back(unknown);
      continue;
    }
    excesses.push_back(median(own));
    errors.push_back(error_of_median * spread(own) / std::sqrt(own.size()));
  }
  if (errors.empty())
    return;
  const double usual_error = median(errors);
  auto spread_without = [&](size_t place) {
    std::vector<double> others;
    for (size_t k = 0; k < members.size(); ++k)
      if (k != place && !std::isnan(excesses[k]))
        others.push_back(excesses[k]);
    return others.size() < 3 ? 0 : spread(std::move(others));
  };
  // Of many, one more changes nothing.
  const bool has_many = members.size() > 16;
  const double spread_of_all = has_many ? spread_without(members.size()) : 0;
  size_t known = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (std::isnan(excesses[i]))
      continue;
    const double scale =
        std::max({least_scale, usual_error, errors[known++],
                  has_many ? spread_of_all : spread_without(i)});
    take(indicator, members[i], excesses[i], scale);
  }
}

void RankJudge::take(size_t indicator, uint32_t rank, double deviation,
                     double scale) {
  Standing &standing = standings[indicator * count + rank];
  if (standing.usual.size() >= least_windows_of_noise)
    scale = std::max(scale, spread(standing.usual));
  const double excess = std::expm1(deviation), score = deviation / scale;
  standing.last = {names[indicator], excess, score};
  const double own = median_seconds(indicator, rank).value_or(0);
  const bool matters = !step_place || own >= least_part_of_step * step_seconds;
  const bool counts = excess >= threshold && score >= least_score && matters;
  if (!counts) {
    standing.usual.push_back(deviation);
    if (standing.usual.size() > windows_of_noise)
      standing.usual.erase(standing.usual.begin());
  }
  standing.counts.insert(standing.counts.begin(), counts);
  standing.begins.insert(standing.begins.begin(), steps.front());
  if (standing.counts.size() > windows_looked_at) {
    standing.counts.pop_back();
    standing.begins.pop_back();
  }
  if (excess >= threshold / 2 && matters)
    standing.calm = 0;
  else if (standing.calm++ == 0)
    standing.calm_since = steps.front();
  if (!standing.slow)
    standing.slow =
        std::ranges::count(standing.counts, true) >= ptrdiff_t(windows_to_flag);
  else if (standing.calm >= windows_looked_at)
    standing.slow = false;
}

} // namespace baton
