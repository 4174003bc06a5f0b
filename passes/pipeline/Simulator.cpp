//===- Simulator.cpp - when each step of a schedule runs ------------------===//

#include "passes/pipeline/Simulator.h"

#include <algorithm>

using namespace baton::pipeline;

double PipelineCosts::timeOf(const Schedule &schedule, int stage,
                             const Step &step) const {
  const PositionCosts &costs =
      positions[schedule.positionOf(stage, step.chunk)];
  switch (step.phase) {
  case Phase::forward:
    return costs.forward;
  case Phase::input:
    return costs.input;
  case Phase::weight:
    return costs.weight;
  }
  return 0;
}

namespace {

/// When steps have ended; less than zero before.
class Ends {
public:
  explicit Ends(const Schedule &schedule)
      : schedule(schedule),
        ends(size_t(schedule.countPositions()) * schedule.microbatches * 3,
             -1) {}

  double &of(int stage, const Step &step) {
    size_t position = schedule.positionOf(stage, step.chunk);
    return ends[(position * schedule.microbatches + step.microbatch) * 3 +
                size_t(step.phase)];
  }

private:
  const Schedule &schedule;
  std::vector<double> ends;
};

} // namespace

static double peakOf(const Schedule &schedule, int stage,
                     const PipelineCosts &costs) {
  double now = 0, peak = 0;
  for (const Step &step : schedule.tables[stage]) {
    const PositionCosts &kept =
        costs.positions[schedule.positionOf(stage, step.chunk)];
    if (step.phase == Phase::forward)
      now += kept.activations;
    else if (step.phase == Phase::input)
      now += kept.weightActivations - kept.activations;
    else
      now -= kept.weightActivations;
    peak = std::max(peak, now);
  }
  return peak;
}

Timeline baton::pipeline::simulate(const Schedule &schedule,
                                   const PipelineCosts &costs) {
  Timeline timeline;
  timeline.stages.resize(schedule.stages);
  Ends ends(schedule);
  // Runs a stage until it waits; whether it has run at all.
  auto advance = [&](int stage) {
    const Table &table = schedule.tables[stage];
    std::vector<Timeline::Entry> &done = timeline.stages[stage];
    size_t before = done.size();
    while (done.size() < table.size()) {
      const Step &step = table[done.size()];
      double start = done.empty() ? 0 : done.back().end;
      for (const Dependence &read : dependencesOf(schedule, stage, step)) {
        double made = ends.of(read.stage, read.step);
        if (made < 0)
          return done.size() > before;
        bool isMessage = read.stage != stage;
        start = std::max(start, made + (isMessage ? costs.transfer : 0));
      }
      double end = start + costs.timeOf(schedule, stage, step);
      ends.of(stage, step) = end;
      done.push_back({step, start, end});
    }
    return done.size() > before;
  };
  // Activations go up, gradients go down: a turn upwards and one downwards each
  // carry theirs through all stages.
  for (bool any = true; any;) {
    any = false;
    for (int stage = 0; stage < schedule.stages; ++stage)
      any |= advance(stage);
    for (int stage = schedule.stages - 1; stage >= 0; --stage)
      any |= advance(stage);
  }
  double busy = 0;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    const std::vector<Timeline::Entry> &entries = timeline.stages[stage];
    timeline.total = std::max(timeline.total, entries.back().end);
    timeline.longest =
        std::max(timeline.longest, entries.back().end - entries.front().start);
    for (const Step &step : schedule.tables[stage])
      busy += costs.timeOf(schedule, stage, step);
    timeline.peakActivations.push_back(peakOf(schedule, stage, costs));
  }
  if (timeline.longest > 0)
    timeline.bubble = 1 - busy / schedule.stages / timeline.longest;
  return timeline;
}
