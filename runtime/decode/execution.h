//===- execution.h - a compiled program, ready to run --------------------===//

#ifndef BATON_RUNTIME_DECODE_EXECUTION_H
#define BATON_RUNTIME_DECODE_EXECUTION_H

#include "runtime/decode/metadata.h"
#include "runtime/decode/program_memory.h"
#include "runtime/decode/step_driver.h"
#include "runtime/decode/team.h"
#include "runtime/program.h"
#include "runtime/trace/recorder.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

namespace baton {

struct ExecutionOptions {
  /// 1 ..= max_workers.
  unsigned workers = 1;
  /// What event words count up from (see ProgramMemory::reset_events).
  uint32_t event_origin = 0;
};

/// The program linked into this executable, with memory and threads of its own.
/// States keep their values from one run to the next.
class Execution {
public:
  /// `parameters` outlives the execution.
  Execution(const Metadata &metadata, const void *const *parameters,
            const ExecutionOptions &options);
  Execution(const Execution &) = delete;
  Execution &operator=(const Execution &) = delete;
  ~Execution();

  unsigned workers() const { return team.size(); }

  /// Starts the persistent kernel on every worker and returns. With `observed`
  /// the driver sees the values of every phase; that takes exactly one worker.
  void start(StepDriver &driver, bool observed = false);
  /// Returns when the program has ended. Rethrows what the driver threw.
  void wait();
  void run(StepDriver &driver, bool observed = false) {
    start(driver, observed);
    wait();
  }

  /// Records every task of the runs to come; null ends that. It has room for
  /// all workers and outlives the runs.
  void record(TraceRecorder *next_recorder) { recorder = next_recorder; }

  /// When set, by any thread or signal handler, the program ends after the
  /// current step as if the driver had returned zero rows.
  std::atomic<bool> stop = false;

private:
  static void advance(BatonContext *context, const BatonStep *current,
                      BatonStep *next, const float *logits, int64_t stride,
                      int64_t vocabulary);
  static void observe(BatonContext *context, uint32_t phase, uint32_t iteration,
                      const BatonStep *step);
  static void trace(BatonContext *context, const BatonWorker *worker,
                    uint32_t phase, uint32_t iteration, uint64_t task,
                    uint64_t begin, uint64_t ready);
  void check(const BatonStep &step) const;

  const Metadata &metadata;
  ProgramMemory memory;
  std::vector<int32_t> tokens;
  uint32_t event_origin;
  BatonContext context = {};
  StepDriver *driver = nullptr;
  TraceRecorder *recorder = nullptr;
  /// Written and read by the one worker that holds the step's end, and by the
  /// main thread once all workers have returned.
  std::exception_ptr failure;
  Team team;
};

} // namespace baton

#endif // BATON_RUNTIME_DECODE_EXECUTION_H
