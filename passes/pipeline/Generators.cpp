//===- Generators.cpp - schedules by name ---------------------------------===//

#include "passes/pipeline/Generators.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

using namespace baton::pipeline;

static Schedule start(const char *name, int stages, int microbatches) {
  Schedule schedule;
  schedule.name = name;
  schedule.stages = stages;
  schedule.microbatches = microbatches;
  schedule.tables.resize(stages);
  return schedule;
}

/// `first` forward steps, then an input step before each. The weight step of a
/// microbatch comes `delay` input steps after its own while there are forward
/// steps; then every input step is followed by the next weight step.
static Table alternate(int microbatches, int first, int delay) {
  Table table;
  int forward = 0, weight = 0;
  while (forward < std::min(first, microbatches))
    table.push_back({Phase::forward, forward++});
  for (int i = 0; i < microbatches; ++i) {
    table.push_back({Phase::input, i});
    bool isLast = forward == microbatches;
    if (isLast || i >= delay)
      table.push_back({Phase::weight, weight++});
    if (!isLast)
      table.push_back({Phase::forward, forward++});
  }
  while (weight < microbatches)
    table.push_back({Phase::weight, weight++});
  return table;
}

namespace {
/// What schedules of one chunk differ in: the numbers that alternate() takes,
/// and how many microbatches are in flight at most.
struct Alternation {
  int first, delay, inFlight;
};
} // namespace

/// `at` says it of a stage.
template <typename Function>
static Schedule makeAlternating(const char *name, int stages, int microbatches,
                                bool fused, Function at) {
  Schedule schedule = start(name, stages, microbatches);
  schedule.fused = fused;
  for (int stage = 0; stage < stages; ++stage) {
    Alternation numbers = at(stage);
    schedule.tables[stage] =
        alternate(microbatches, numbers.first, numbers.delay);
    schedule.inFlight.push_back(std::min(microbatches, numbers.inFlight));
  }
  return schedule;
}

Schedule baton::pipeline::makeGPipe(int stages, int microbatches) {
  return makeAlternating(
      "gpipe", stages, microbatches, /*fused=*/true,
      [&](int) { return Alternation{microbatches, 0, microbatches}; });
}

Schedule baton::pipeline::make1F1B(int stages, int microbatches) {
  return makeAlternating(
      "1f1b", stages, microbatches, /*fused=*/true, [&](int stage) {
        return Alternation{stages - stage, 0, stages - stage};
      });
}

Schedule baton::pipeline::makeZeroBubbleH1(int stages, int microbatches) {
  return makeAlternating(
      "zb-h1", stages, microbatches, /*fused=*/false,
      [&](int stage) { return Alternation{stages - stage, stage, stages}; });
}

Schedule baton::pipeline::makeZeroBubbleH2(int stages, int microbatches) {
  return makeAlternating(
      "zb-h2", stages, microbatches, /*fused=*/false, [&](int stage) {
        return Alternation{2 * (stages - stage) - 1, 2 * stage, 2 * stages - 1};
      });
}

Schedule baton::pipeline::makeInterleaved(int stages, int microbatches,
                                          int chunks) {
  Schedule schedule = start("interleaved", stages, microbatches);
  schedule.chunks = chunks;
  schedule.fused = true;
  int count = microbatches * chunks;
  // As many microbatches as stages go through a chunk before the next one.
  auto chunkOf = [&](int i) { return i / stages % chunks; };
  auto microbatchOf = [&](int i) {
    return i / (stages * chunks) * stages + i % stages;
  };
  for (int stage = 0; stage < stages; ++stage) {
    Table &table = schedule.tables[stage];
    int first = (stages - stage - 1) * 2 + (chunks - 1) * stages + 1;
    if (microbatches == stages)
      first = count;
    first = std::min(first, count);
    int forward = 0;
    auto addForward = [&] {
      table.push_back(
          {Phase::forward, microbatchOf(forward), chunkOf(forward)});
      ++forward;
    };
    while (forward < first)
      addForward();
    for (int i = 0; i < count; ++i) {
      int chunk = chunks - 1 - chunkOf(i);
      table.push_back({Phase::input, microbatchOf(i), chunk});
      table.push_back({Phase::weight, microbatchOf(i), chunk});
      if (forward < count)
        addForward();
    }
    schedule.inFlight.push_back(first);
  }
  return schedule;
}

std::optional<Schedule> baton::pipeline::makeSchedule(const std::string &name,
                                                      int stages,
                                                      int microbatches,
                                                      std::string &error) {
  if (stages < 1 || microbatches < 1) {
    error = "a pipeline has at least one stage and one microbatch, found " +
            std::to_string(stages) + " and " + std::to_string(microbatches);
    return std::nullopt;
  }
  constexpr int64_t kMostSteps = 1 << 22;
  auto isTooLong = [&](int chunks) {
    error = "a schedule of " + std::to_string(stages) + " stages, " +
            std::to_string(microbatches) + " microbatches and " +
            std::to_string(chunks) + " chunks has more than " +
            std::to_string(kMostSteps) + " forward steps";
    return int64_t(stages) * microbatches > kMostSteps / chunks;
  };
  if (isTooLong(1))
    return std::nullopt;
  if (name == "gpipe")
    return makeGPipe(stages, microbatches);
  if (name == "1f1b")
    return make1F1B(stages, microbatches);
  if (name == "zb-h1")
    return makeZeroBubbleH1(stages, microbatches);
  if (name == "zb-h2")
    return makeZeroBubbleH2(stages, microbatches);
  const std::string prefix = "interleaved:";
  if (name.rfind(prefix, 0) != 0) {
    error = "unknown schedule '" + name +
            "', expected gpipe, 1f1b, interleaved:CHUNKS, zb-h1 or zb-h2";
    return std::nullopt;
  }
  int chunks = 0;
  const char *end = name.data() + name.size();
  auto [rest, wrong] =
      std::from_chars(name.data() + prefix.size(), end, chunks);
  if (wrong != std::errc() || rest != end || chunks < 1 || chunks > 1 << 16) {
    error = "schedule '" + name +
            "': expected a number of chunks, such as interleaved:2";
    return std::nullopt;
  }
  if (isTooLong(chunks))
    return std::nullopt;
  if (microbatches % stages != 0) {
    error = "schedule '" + name + "': " + std::to_string(microbatches) +
            " microbatches are no multiple of " + std::to_string(stages) +
            " stages";
    return std::nullopt;
  }
  return makeInterleaved(stages, microbatches, chunks);
}
