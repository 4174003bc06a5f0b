//===- recorder.cpp - when each task ran, and how long it waited ---------===//

#include "runtime/trace/recorder.h"

#include <algorithm>
#include <chrono>

#include <x86intrin.h>

namespace baton {

namespace {

int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace

TraceRecorder::TraceRecorder(unsigned workers, size_t capacity)
    : by_worker(workers), counts(workers),
      capacity_of_worker(std::max<size_t>(1, capacity / workers)),
      first_stamp(__rdtsc()), first_nanoseconds(nanoseconds_now()) {
  // Page faults and allocations would show up as time of tasks.
  for (auto &records : by_worker)
    records.reserve(capacity_of_worker);
}

void TraceRecorder::record(unsigned worker, uint32_t step, uint32_t phase,
                           uint32_t iteration, uint64_t task, uint64_t begin,
                           uint64_t ready) {
  uint64_t end = __rdtsc();
  auto &records = by_worker[worker];
  if (records.size() == capacity_of_worker)
    ++counts[worker].dropped;
  else
    records.push_back({begin, ready, end, task, phase, iteration, step});
}

void TraceRecorder::add(unsigned worker, const TaskRecord &times) {
  auto &records = by_worker[worker];
  if (records.size() == capacity_of_worker) {
    ++counts[worker].dropped;
    return;
  }
  double rate = ticks_per_microsecond() / 1000;
  auto stamp = [&](uint64_t nanoseconds) {
    auto past = static_cast<int64_t>(nanoseconds) - first_nanoseconds;
    return first_stamp + static_cast<int64_t>(double(past) * rate);
  };
  uint64_t begin = stamp(times.begin);
  auto next = std::upper_bound(
      all_steps.begin(), all_steps.end(), begin,
      [](uint64_t at, const StepRecord &step) { return at < step.begin; });
  auto number = std::max<ptrdiff_t>(1, next - all_steps.begin()) - 1;
  records.push_back({begin, stamp(times.ready), stamp(times.end), times.task,
                     times.phase, times.iteration,
                     static_cast<uint32_t>(number)});
}

uint32_t TraceRecorder::record_step(uint32_t rows, uint32_t past,
                                    uint32_t outputs) {
  all_steps.push_back({__rdtsc(), rows, past, outputs});
  return static_cast<uint32_t>(all_steps.size() - 1);
}

uint64_t TraceRecorder::dropped() const {
  uint64_t sum = 0;
  for (const Count &count : counts)
    sum += count.dropped;
  return sum;
}

double TraceRecorder::ticks_per_microsecond() const {
  return double(__rdtsc() - first_stamp) * 1000 /
         double(std::max<int64_t>(1, nanoseconds_now() - first_nanoseconds));
}

} // namespace baton
