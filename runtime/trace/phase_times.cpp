//===- phase_times.cpp - where a traced run's time went -------------------===//

#include "runtime/trace/phase_times.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace baton {

std::vector<StepTimes> step_times(const TraceRecorder &recorder,
                                  const std::vector<uint32_t> &segments) {
  // When the last task of each (segment, iteration, phase) ended, in the
  // program's order.
  using Ends = std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t>;
  const std::vector<StepRecord> &steps = recorder.steps();
  std::vector<Ends> ends(steps.size());
  for (const std::vector<TaskRecord> &records : recorder.records()) {
    for (const TaskRecord &task : records) {
      uint64_t &end =
          ends[task.step][{segments[task.phase], task.iteration, task.phase}];
      end = std::max(end, task.end);
    }
  }
  const double seconds_per_tick = 1e-6 / recorder.ticks_per_microsecond();
  auto seconds = [&](uint64_t begin, uint64_t end) {
    return double(std::max(begin, end) - begin) * seconds_per_tick;
  };
  std::vector<StepTimes> times;
  for (size_t at = 0; at < steps.size(); ++at) {
    const StepRecord &step = steps[at];
    StepTimes own{step, 0, std::nullopt, {}};
    own.phases.resize(segments.size());
    uint64_t before = step.begin;
    for (auto [place, end] : ends[at]) {
      own.phases[std::get<2>(place)].push_back(seconds(before, end));
      before = std::max(before, end);
    }
    own.seconds = seconds(step.begin, before);
    if (at + 1 < steps.size() && steps[at + 1].past == step.past + step.rows)
      own.border = seconds(before, steps[at + 1].begin);
    times.push_back(std::move(own));
  }
  return times;
}

PhaseTimes phase_times(const TraceRecorder &recorder,
                       const std::vector<uint32_t> &segments,
                       uint64_t prompt_tokens) {
  PhaseTimes times(segments.size());
  for (const StepTimes &step : step_times(recorder, segments)) {
    auto &seconds =
        step.step.past < prompt_tokens ? times.prefill : times.decode;
    for (size_t phase = 0; phase < segments.size(); ++phase)
      for (double one : step.phases[phase])
        seconds[phase] += one;
  }
  return times;
}

} // namespace baton
