//===- recorder.h - when each task ran, and how long it waited -----------===//
//
// Workers write records of their own without synchronisation, by the CPU's
// time-stamp counter, which runs at one rate on all cores. Records of workers
// on a device come at the end of a run.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRACE_RECORDER_H
#define BATON_RUNTIME_TRACE_RECORDER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace baton {

struct TaskRecord {
  /// Time stamps: before the task's waits, after them, and at its end.
  uint64_t begin, ready, end;
  /// The task's place in the grid, row-major.
  uint64_t task;
  uint32_t phase;
  uint32_t iteration;
  /// The step's number among all that were recorded.
  uint32_t step = 0;
};

/// A step's symbols, and the time stamp before its first task. Tasks of the
/// step before, whose values the last one did not wait for, may still begin.
struct StepRecord {
  uint64_t begin;
  uint32_t rows, past, outputs;
};

class TraceRecorder {
public:
  /// Keeps the first `capacity` records of all workers together.
  explicit TraceRecorder(unsigned workers, size_t capacity = 1 << 20);

  /// Called by the worker itself, at the end of a task.
  void record(unsigned worker, uint32_t step, uint32_t phase,
              uint32_t iteration, uint64_t task, uint64_t begin,
              uint64_t ready);

  /// A task that ran elsewhere, by the system's steady clock in nanoseconds;
  /// its step is the last one that began before it. Called by one thread while
  /// no worker runs.
  void add(unsigned worker, const TaskRecord &times_in_nanoseconds);
  /// Tasks that were not kept elsewhere.
  void drop(unsigned worker, uint64_t tasks) {
    counts[worker].dropped += tasks;
  }
  /// Most records that each worker may have.
  size_t capacity_by_worker() const { return capacity_of_worker; }

  /// Called between two steps, by one thread. Returns the step's number.
  uint32_t record_step(uint32_t rows, uint32_t past, uint32_t outputs);

  /// The rest is for when no worker runs.
  const std::vector<std::vector<TaskRecord>> &records() const {
    return by_worker;
  }
  const std::vector<StepRecord> &steps() const { return all_steps; }
  /// Tasks that were not kept.
  uint64_t dropped() const;
  /// The time stamp of the recorder's construction.
  uint64_t start() const { return first_stamp; }
  /// Against the system's clock, from the construction to now.
  double ticks_per_microsecond() const;

private:
  std::vector<std::vector<TaskRecord>> by_worker;
  std::vector<StepRecord> all_steps;
  /// One for each worker, on a cache line of its own.
  struct alignas(64) Count {
    uint64_t dropped = 0;
  };
  std::vector<Count> counts;
  size_t capacity_of_worker;
  uint64_t first_stamp;
  int64_t first_nanoseconds;
};

} // namespace baton

#endif // BATON_RUNTIME_TRACE_RECORDER_H
