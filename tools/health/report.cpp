//===- report.cpp - what a log of ranks' times comes to -------------------===//

#include "tools/health/report.h"

#include "runtime/health/health_text.h"
#include "runtime/main/table.h"
#include "tools/plan/page.h"

#include <algorithm>
#include <set>

namespace baton {

namespace {

std::vector<std::string> work_of(const HealthLog &log) {
  std::vector<std::string> work;
  for (const RankIdentity &rank : log.ranks)
    work.push_back(rank.work);
  return work;
}

std::string many(uint64_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// "412.34 ms"
std::string time_text(double seconds) {
  return seconds > 0 ? fixed_text(seconds * 1e3, 3) + " ms" : "-";
}

std::string peers_text(const RankPeers &peers) {
  return peers.by_history ? "itself" : many(peers.ranks.size(), "peer");
}

} // namespace

HealthReport::HealthReport(HealthLog given, double threshold)
    : log(std::move(given)), judge(log.indicators, work_of(log), threshold),
      medians(log.indicators.size() * log.ranks.size()) {
  for (const HealthLog::Step &step : log.steps)
    for (RankEvent &event : judge.add(step.step, step.seconds))
      events.push_back(std::move(event));
  for (size_t place = 0; place < medians.size(); ++place) {
    std::vector<double> values;
    for (const HealthLog::Step &step : log.steps)
      if (step.seconds[place] > 0)
        values.push_back(step.seconds[place]);
    if (values.empty())
      continue;
    const auto middle = values.begin() + ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    medians[place] = *middle;
  }
}

std::string HealthReport::extent() const {
  return many(log.ranks.size(), "rank") + ", " +
         many(log.steps.size(), "step") + " from " +
         std::to_string(log.steps.front().step) + " to " +
         std::to_string(log.steps.back().step) + ", " +
         many(judge.windows(), "window");
}

std::string HealthReport::verdict() const {
  if (judge.windows() == 0)
    return "too few steps for a window: nothing is known\n";
  std::string slow;
  uint64_t count = 0;
  for (uint32_t rank = 0; rank < log.ranks.size(); ++rank)
    if (judge.is_slow(rank)) {
      slow += (slow.empty() ? "" : ", ") + std::to_string(rank);
      ++count;
    }
  if (count == 0)
    return "no rank is slow at the end\n";
  return (count == 1 ? "rank " + slow + " is" : "ranks " + slow + " are") +
         " slow at the end\n";
}

std::vector<std::vector<std::string>> HealthReport::table() const {
  std::vector<std::vector<std::string>> rows = {{"rank", "compared with"}};
  const bool has_hosts = std::ranges::any_of(
      log.ranks, [](const RankIdentity &rank) { return !rank.host.empty(); });
  if (has_hosts)
    rows[0].insert(rows[0].begin() + 1, "host");
  for (const std::string &name : log.indicators)
    rows[0].push_back(name);
  rows[0].push_back("windows against it");
  for (uint32_t rank = 0; rank < log.ranks.size(); ++rank) {
    std::vector<std::string> &row = rows.emplace_back();
    row.push_back(std::to_string(rank));
    if (has_hosts)
      row.push_back(log.ranks[rank].host);
    row.push_back(peers_text(judge.peers(rank)));
    for (size_t i = 0; i < log.indicators.size(); ++i)
      row.push_back(time_text(median_of(i, rank)));
    row.push_back(std::to_string(judge.windows_against(rank)));
  }
  return rows;
}

std::string HealthReport::text() const {
  const auto rows = table();
  std::set<size_t> numbers = {0};
  for (size_t column = rows[0].size() - log.indicators.size() - 1;
       column < rows[0].size(); ++column)
    numbers.insert(column);
  Table columns(numbers);
  for (const std::vector<std::string> &row : rows)
    columns.add(row);
  std::string text = extent() + "\n" + columns.text(2);
  for (const RankEvent &event : events)
    text += "step " + std::to_string(event.step) + ": " +
            event_text(event, judge.peers(event.rank), log.ranks[event.rank]) +
            "\n";
  return text + verdict();
}

nlohmann::ordered_json HealthReport::json() const {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array(),
                         all = nlohmann::ordered_json::array();
  for (uint32_t rank = 0; rank < log.ranks.size(); ++rank) {
    nlohmann::ordered_json medians = nlohmann::ordered_json::object();
    for (size_t i = 0; i < log.indicators.size(); ++i)
      if (const double median = median_of(i, rank); median > 0)
        medians[log.indicators[i]] = median;
    const RankPeers peers = judge.peers(rank);
    ranks.push_back({{"rank", rank},
                     {"host", log.ranks[rank].host},
                     {"work", log.ranks[rank].work},
                     {"peers", peers.ranks},
                     {"by_history", peers.by_history},
                     {"median_s", std::move(medians)},
                     {"windows_against", judge.windows_against(rank)},
                     {"slow", judge.is_slow(rank)}});
  }
  for (const RankEvent &event : events)
    all.push_back(
        event_json(event, judge.peers(event.rank), log.ranks[event.rank]));
  return {{"steps", log.steps.size()},
          {"windows", judge.windows()},
          {"events", std::move(all)},
          {"ranks", std::move(ranks)}};
}

void HealthReport::write_page(const std::filesystem::path &file) const {
  // What a step consists of, each part once.
  const bool has_parts =
      std::ranges::find(log.indicators, "forward") != log.indicators.end();
  std::vector<size_t> places;
  std::vector<std::string> parts;
  for (size_t i = 0; i < log.indicators.size(); ++i) {
    const std::string &name = log.indicators[i];
    if (name == RankJudge::step_indicator || (has_parts && name == "compute"))
      continue;
    places.push_back(i);
    parts.push_back(name);
  }
  std::vector<plan::Bar> bars;
  for (uint32_t rank = 0; rank < log.ranks.size(); ++rank) {
    plan::Bar bar = {"rank " + std::to_string(rank), {}};
    for (size_t place : places)
      bar.parts.push_back(median_of(place, rank) * 1e3);
    bars.push_back(std::move(bar));
  }
  std::vector<std::vector<std::string>> said = {{"step", "what"}};
  for (const RankEvent &event : events)
    said.push_back(
        {std::to_string(event.step),
         event_text(event, judge.peers(event.rank), log.ranks[event.rank])});
  std::vector<plan::Section> sections = {
      {"Verdict", extent() + ": " + verdict(),
       events.empty() ? "" : plan::html_table(said)},
      {"A step of each rank",
       "Medians of all steps. A slow rank computes for longer than its peers, "
       "and waits less for others.",
       "<div class=\"wide\">" + plan::stacked_bars(parts, bars, "ms") +
           "</div>\n"},
      {"Ranks", "",
       "<div class=\"wide\">" + plan::html_table(table()) + "</div>\n"}};
  plan::write_page(file, "Ranks and their peers", sections);
}

} // namespace baton
