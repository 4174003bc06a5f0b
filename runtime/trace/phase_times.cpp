//===- phase_times.cpp - where a traced run's time went -------------------===//

#include "runtime/trace/phase_times.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace baton {

PhaseTimes phase_times(const TraceRecorder &recorder,
                       const std::vector<uint32_t> &segments,
                       uint64_t prompt_tokens) {
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
  PhaseTimes times(segments.size());
  double seconds_per_tick = 1e-6 / recorder.ticks_per_microsecond();
  for (size_t step = 0; step < steps.size(); ++step) {
    auto &seconds =
        steps[step].past < prompt_tokens ? times.prefill : times.decode;
    uint64_t before = steps[step].begin;
    for (auto [place, end] : ends[step]) {
      seconds[std::get<2>(place)] +=
          double(std::max(end, before) - before) * seconds_per_tick;
      before = std::max(before, end);
    }
  }
  return times;
}

} // namespace baton
