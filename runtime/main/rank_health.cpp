//===- rank_health.cpp - warns of ranks that are slow ---------------------===//

#include "runtime/main/rank_health.h"

#include "runtime/execute/pipeline.h"
#include "runtime/health/health_text.h"
#include "runtime/main/output.h"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

namespace baton {

namespace {

/// Ranks of a stage that have about as many parameters compute about as long.
constexpr double same_size = 0.01;

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

uint64_t parameters_of(const TrainingTensors &tensors) {
  uint64_t count = 0;
  for (const TrainingTensor &tensor : tensors.all())
    if (tensor.role == "parameter")
      count += tensor.elements() * tensor.layers;
  return count;
}

/// Where a rank is, what it computes, and with how many parameters.
struct Description {
  std::string host, stage;
  uint64_t parameters;

  std::string text() const {
    return nlohmann::json{host, stage, parameters}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  static Description parse(const std::string &text) {
    const auto json = nlohmann::json::parse(text);
    return {json.at(0), json.at(1), json.at(2)};
  }
};

std::vector<RankIdentity> identify(const std::vector<std::string> &texts) {
  std::vector<Description> firsts;
  std::vector<RankIdentity> ranks;
  for (const std::string &text : texts) {
    const Description own = Description::parse(text);
    const auto like = std::ranges::find_if(firsts, [&](const auto &first) {
      const auto more = std::max(first.parameters, own.parameters),
                 fewer = std::min(first.parameters, own.parameters);
      return first.stage == own.stage &&
             double(more - fewer) <= same_size * double(more);
    });
    const Description &first =
        like == firsts.end() ? firsts.emplace_back(own) : *like;
    ranks.push_back({first.stage + " of " + std::to_string(first.parameters) +
                         " parameters",
                     own.host});
  }
  return ranks;
}

std::vector<std::string> work_of(const std::vector<RankIdentity> &ranks) {
  std::vector<std::string> work;
  for (const RankIdentity &rank : ranks)
    work.push_back(rank.work);
  return work;
}

} // namespace

void check_health_options(const Metadata &metadata,
                          const TrainOptions &options) {
  const auto given = {
      std::pair{"--health-log", options.health_log},
      {"--health-threshold", options.health_threshold.has_value()}};
  for (const auto &[flag, is_given] : given) {
    if (is_given && Mesh::parse(metadata.json).ranks() == 1)
      throw Error(std::string(flag) + ": is for ranks, which are compared, and "
                                      "this program has one; compile with "
                                      "batonc --mesh");
    if (is_given && !options.health)
      throw Error(std::string(flag) + " and --no-health: give one of the two");
  }
  const double threshold =
      options.health_threshold.value_or(usual_health_threshold);
  if (!(threshold > 0 && threshold <= 10))
    throw Error("--health-threshold: expected a number above 0 and of at most "
                "10, as 0.03 for 3 %");
}

RankHealth::RankHealth(const TrainingRun &run, Communicator &communicator,
                       const TrainingTensors &tensors, StepLog *step_log,
                       const std::filesystem::path *folder)
    : times(communicator, Pipeline::parse(run.metadata.json).has_value()),
      options(run.options), step_log(step_log) {
  const std::optional<Pipeline> pipeline = Pipeline::parse(run.metadata.json);
  const Description own = {
      host_name(),
      pipeline ? "stage " + std::to_string(pipeline->place_of(
                                communicator.mesh(), communicator.rank()))
               : "model",
      parameters_of(tensors)};
  const std::vector<std::string> all =
      communicator.share(own.text(), "the comparison of ranks' work", 0);
  if (!folder)
    return;
  ranks = identify(all);
  has_experts =
      std::ranges::any_of(communicator.collectives(), &Collective::moves_rows);
  judge.emplace(times.indicators(), work_of(ranks),
                options.health_threshold.value_or(usual_health_threshold));
  if (options.health_log)
    log.emplace(*folder /
                    ("health-" + std::to_string(run.state.step + 1) + ".csv"),
                times.indicators(), ranks);
}

void RankHealth::hear(std::span<const std::string> told) {
  times.heard();
  if (judge)
    seconds = RankTimes::seconds_of(told, judge->indicators().size());
}

void RankHealth::finished(uint64_t step) {
  if (!judge)
    return;
  const uint64_t windows = judge->windows();
  const std::vector<RankEvent> events = judge->add(step, seconds);
  if (log) {
    log->add(step, seconds);
    if (judge->windows() != windows)
      log->flush();
  }
  for (const RankEvent &event : events)
    say(event);
}

void RankHealth::say(const RankEvent &event) {
  const RankPeers peers = judge->peers(event.rank);
  const RankIdentity &rank = ranks[event.rank];
  if (!options.run.quiet) {
    step_log->clear();
    std::fprintf(stderr, "%s: %s%s\n", event.slow ? "warning" : "note",
                 event_text(event, peers, rank).c_str(),
                 event.slow && has_experts
                     ? "; what its experts compute depends on the tokens"
                     : "");
  }
  if (options.json)
    print(
        nlohmann::ordered_json{{"health", event_json(event, peers, rank)}}.dump(
            -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
        "\n");
}

} // namespace baton
