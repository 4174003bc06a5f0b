//===- undisturbed.cpp - how long steps take when nobody disturbs them ---===//

#include "runtime/trace/undisturbed.h"

#include <algorithm>
#include <map>
#include <utility>

namespace baton {

namespace {

/// The ticks that iterations of one segment took.
using Durations = std::map<uint32_t, std::vector<uint64_t>>;

/// From when its first task could run to its last task's end.
struct Span {
  uint64_t begin = UINT64_MAX;
  uint64_t end = 0;
};

/// Of each (segment, iteration) of a step, in the program's order.
using Spans = std::map<std::pair<uint32_t, uint32_t>, Span>;

std::vector<Spans> spans_of_steps(const TraceRecorder &recorder,
                                  const std::vector<uint32_t> &segments) {
  std::vector<Spans> spans(recorder.steps().size());
  for (const std::vector<TaskRecord> &records : recorder.records()) {
    for (const TaskRecord &task : records) {
      Span &span = spans[task.step][{segments[task.phase], task.iteration}];
      span.begin = std::min(span.begin, task.ready);
      span.end = std::max(span.end, task.end);
    }
  }
  return spans;
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
  std::vector<Spans> spans = spans_of_steps(recorder, segments);
  for (size_t step = 0; step < spans.size(); ++step) {
    const StepRecord &record = recorder.steps()[step];
    bool is_prompt = record.past < prompt_tokens;
    Durations own;
    Durations &durations = is_prompt ? own : decode;
    uint64_t before = record.begin;
    for (auto [place, span] : spans[step]) {
      // While one worker is late, another may have begun: its time counts.
      uint64_t begin = std::min(before, span.begin);
      durations[place.first].push_back(std::max(span.end, begin) - begin);
      before = std::max(before, span.end);
    }
    if (is_prompt) {
      times.prefill += sum_of_fastest(own, 1);
    } else {
      double positions = double(record.past) + double(record.rows);
      times.decode_positions = decode_steps
                                   ? std::min(times.decode_positions, positions)
                                   : positions;
      ++decode_steps;
    }
  }
  double ticks_per_second = recorder.ticks_per_microsecond() * 1e6;
  times.prefill /= ticks_per_second;
  if (decode_steps)
    times.decode = sum_of_fastest(decode, decode_steps) / ticks_per_second;
  return times;
}

} // namespace baton
