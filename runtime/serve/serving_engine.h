//===- serving_engine.h - the compiled program under a server -------------===//
//
// Runs the batch program while any request is unfinished, and lets its workers
// sleep otherwise. What comes of a step is put into a queue: whoever made the
// engine is woken once, and takes all there is.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_SERVE_SERVING_ENGINE_H
#define BATON_RUNTIME_SERVE_SERVING_ENGINE_H

#include "runtime/batch/batch_driver.h"
#include "runtime/execute/execution.h"
#include "runtime/trace/recorder.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace baton {

/// A token of a request; or, with a prompt's progress, that; or, with a result,
/// its end.
struct EngineEvent {
  uint64_t tag = 0;
  uint32_t choice = 0;
  int32_t token = 0;
  /// If wanted: of the token, then of likely ones.
  std::vector<TokenLogprob> logprobs = {};
  std::unique_ptr<BatchResult> result = {};
  std::optional<PromptProgress> prompt = {};
};

/// What each worker did in a few steps in a row.
struct EngineTimeline {
  struct Interval {
    uint32_t worker, phase;
    /// Microseconds behind the first step's begin: of tasks of one phase.
    double begin, end;
  };
  struct Step {
    double begin, end;
    uint32_t rows;
    std::vector<Interval> intervals;
  };
  uint32_t workers = 0;
  std::vector<Step> steps;
};

class ServingEngine {
public:
  /// `wake` is called, by a worker, when there are events and nobody was woken
  /// for them yet: quick, and never waiting.
  ServingEngine(Execution &execution, const BatchCapacities &shape,
                BatchOptions options, std::function<void()> wake);
  /// Ends what runs behind its current step.
  ~ServingEngine();

  /// As BatchDriver::submit(). Requests have tags and ids of their own.
  bool submit(BatchRequest &&request);
  void cancel(const std::string &id);

  /// Replaces `taken` by all events since the last call, in order.
  void take(std::vector<EngineEvent> &taken);

  BatchCounts counts() const { return driver.counts(); }
  BatchLoad load() const { return driver.load(); }
  /// The latest steps that were recorded, or null. Asks for others, if these
  /// are older than a second and the program runs: it is stopped between two
  /// steps for that, which changes no result.
  std::shared_ptr<const EngineTimeline> timeline();
  /// Why the program has ended for good; empty while it has not.
  std::string failure() const;

private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint64_t recorded_steps = 4;

  void run();
  void run_recorded();
  void push(EngineEvent &&event);

  Execution &execution;
  const std::function<void()> wake;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<EngineEvent> events;
  bool stopping = false, wants_timeline = false;
  std::string failed;
  std::shared_ptr<const EngineTimeline> latest;
  Clock::time_point latest_time = {};
  /// The program has come to its end by itself.
  std::atomic<bool> ended = false;
  BatchDriver driver;
  std::thread thread;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_SERVING_ENGINE_H
