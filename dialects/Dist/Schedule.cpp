//===- Schedule.cpp - which stage does what, in which order ---------------===//

#include "dialects/Dist/Schedule.h"

#include <algorithm>
#include <charconv>

using namespace baton::pipeline;

static constexpr std::string_view kLetters = "FBW";

std::vector<Dependence> baton::pipeline::dependencesOf(const Schedule &schedule,
                                                       int stage,
                                                       const Step &step) {
  int position = schedule.positionOf(stage, step.chunk);
  auto at = [&](int other, Phase phase) {
    return Dependence{schedule.stageOf(other),
                      {phase, step.microbatch, schedule.chunkOf(other)}};
  };
  switch (step.phase) {
  case Phase::forward:
    if (position == 0)
      return {};
    return {at(position - 1, Phase::forward)};
  case Phase::input:
    if (position + 1 == schedule.countPositions())
      return {at(position, Phase::forward)};
    return {at(position, Phase::forward),
            at(position + 1, schedule.fused ? Phase::weight : Phase::input)};
  case Phase::weight:
    return {at(position, Phase::input)};
  }
  return {};
}

std::vector<int> baton::pipeline::countInFlight(const Schedule &schedule) {
  std::vector<int> most;
  for (const Table &table : schedule.tables) {
    int now = 0, peak = 0;
    for (const Step &step : table) {
      now += step.phase == Phase::forward;
      now -= step.phase == Phase::weight;
      peak = std::max(peak, now);
    }
    most.push_back(peak);
  }
  return most;
}

std::string baton::pipeline::toText(const Step &step) {
  std::string text =
      kLetters[size_t(step.phase)] + std::to_string(step.microbatch);
  if (step.chunk)
    text += "." + std::to_string(step.chunk);
  return text;
}

std::string baton::pipeline::toText(const Table &table) {
  std::string text;
  for (const Step &step : table)
    text += (text.empty() ? "" : " ") + toText(step);
  return text;
}

std::optional<Step> baton::pipeline::parseStep(std::string_view text) {
  size_t letter = text.empty() ? kLetters.npos : kLetters.find(text.front());
  if (letter == kLetters.npos)
    return std::nullopt;
  Step step{Phase(letter), 0};
  const char *end = text.data() + text.size();
  auto number = [&](const char *begin, int &value) {
    auto [rest, error] = std::from_chars(begin, end, value);
    return error == std::errc() && value >= 0 ? rest : nullptr;
  };
  const char *rest = number(text.data() + 1, step.microbatch);
  if (rest && rest != end && *rest == '.')
    rest = number(rest + 1, step.chunk);
  if (rest != end)
    return std::nullopt;
  return step;
}
