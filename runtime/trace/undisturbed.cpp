//===- undisturbed.cpp - how long steps take when nobody disturbs them ---===//

#include "runtime/trace/undisturbed.h"

#include <algorithm>
#include <map>
#include <utility>

namespace baton {

namespace {

/// The ticks that iterations of one segment took.
using Durations = std::map<uint32_t, std::vector<uint64_t>>;

/// The end of each (segment, iteration), in the program's order, by step.
using Ends = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;

std::vector<Ends> ends_of_steps(const TraceRecorder &recorder,
                                const std::vector<uint32_t> &segments) {
  const std::vector<StepRecord> &steps = recorder.steps();
  std::vector<Ends> ends(steps.size());
  for (const std::vector<TaskRecord> &records : recorder.records()) {
    size_t step = 0;
    for (const TaskRecord &task : records) {
      while (step + 1 < steps.size() && steps[step + 1].begin <= task.begin)
        ++step;
      uint64_t &end = ends[step][{segments[task.phase], task.iteration}];
      end = std::max(end, task.end);
    }
  }
  return ends;
}

/// Ticks of one step whose iterations all take as long as the fastest tenth of
/// those known; `steps` is how many steps they are from.
double sum_of_fastest(Durations &durations, size_t steps) {
  double total = 0;
  for (auto &[segment, ticks] : durations) {
    auto fast = ticks.begin() + static_cast<ptrdiff_t>(ticks.size() / 10);
    std::nth_element(ticks.begin(), fast, ticks.end());
    total += double(*fast) * double(ticks.size()) / double(steps);
  }
  return total;
}

} // namespace

UndisturbedTimes undisturbed_times(const TraceRecorder &recorder,
                                   const std::vector<uint32_t> &segments,
                                   uint64_t prompt_tokens) {
  UndisturbedTimes times;
  if (recorder.dropped())
    return times;
  Durations decode;
  size_t decode_steps = 0;
  std::vector<Ends> ends = ends_of_steps(recorder, segments);
  for (size_t step = 0; step < ends.size(); ++step) {
    const StepRecord &record = recorder.steps()[step];
    bool is_prompt = record.past < prompt_tokens;
    Durations own;
    Durations &durations = is_prompt ? own : decode;
    uint64_t before = record.begin;
    for (auto [place, end] : ends[step]) {
      durations[place.first].push_back(end > before ? end - before : 0);
      before = std::max(before, end);
    }
    if (is_prompt) {
      times.prefill += sum_of_fastest(own, 1);
    } else {
      ++decode_steps;
      times.decode_positions += double(record.past) + double(record.rows);
    }
  }
  double ticks_per_second = recorder.ticks_per_microsecond() * 1e6;
  times.prefill /= ticks_per_second;
  if (decode_steps) {
    times.decode = sum_of_fastest(decode, decode_steps) / ticks_per_second;
    times.decode_positions /= double(decode_steps);
  }
  return times;
}

} // namespace baton
