//===- health_text.cpp - what a judge of ranks has found, in words --------===//

#include "runtime/health/health_text.h"

#include <cstdio>

namespace baton {

namespace {

std::string name_of(uint32_t rank, const RankIdentity &identity) {
  return "rank " + std::to_string(rank) +
         (identity.host.empty() ? "" : " (" + identity.host + ")");
}

std::string one_digit(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

/// What it is compared with, as the end of a sentence.
std::string than(const RankPeers &peers) {
  if (peers.by_history)
    return peers.ranks.empty() ? "than in the first windows"
                               : "than in the first windows, where other ranks "
                                 "do not";
  if (peers.ranks.size() == 1)
    return "than that of rank " + std::to_string(peers.ranks[0]) +
           ", its only peer";
  return "than that of its " + std::to_string(peers.ranks.size()) + " peers";
}

} // namespace

std::string event_text(const RankEvent &event, const RankPeers &peers,
                       const RankIdentity &rank) {
  const std::string name = name_of(event.rank, rank),
                    since = " since step " + std::to_string(event.since);
  if (!event.slow)
    return name + " is no longer slow" + since;
  std::string text = name + " is slow" + since + ": ";
  for (size_t i = 0; i < event.findings.size(); ++i) {
    const RankFinding &finding = event.findings[i];
    text += (i ? ", " : "") + finding.indicator + (i ? " " : " takes ") +
            one_digit(finding.excess * 100) + " %" +
            (i ? "" : " longer " + than(peers)) + " (score " +
            one_digit(finding.score) + ")";
  }
  return text;
}

nlohmann::ordered_json event_json(const RankEvent &event,
                                  const RankPeers &peers,
                                  const RankIdentity &rank) {
  nlohmann::ordered_json indicators = nlohmann::ordered_json::array();
  for (const RankFinding &finding : event.findings)
    indicators.push_back({{"name", finding.indicator},
                          {"excess", finding.excess},
                          {"score", finding.score}});
  nlohmann::ordered_json json = {{"event", event.slow ? "slow" : "recovered"},
                                 {"rank", event.rank},
                                 {"host", rank.host},
                                 {"step", event.step},
                                 {"since", event.since}};
  if (event.slow)
    json["indicators"] = std::move(indicators);
  json["peers"] = peers.ranks;
  json["by_history"] = peers.by_history;
  return json;
}

} // namespace baton
