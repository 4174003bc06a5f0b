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

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace baton {

/// A token of a request, or, with a result, its end.
struct EngineEvent {
  uint64_t tag = 0;
  uint32_t choice = 0;
  int32_t token = 0;
  /// If wanted: of the token, then of likely ones.
  std::vector<TokenLogprob> logprobs = {};
  std::unique_ptr<BatchResult> result = {};
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
  /// Why the program has ended for good; empty while it has not.
  std::string failure() const;

private:
  void run();
  void push(EngineEvent &&event);

  Execution &execution;
  const std::function<void()> wake;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<EngineEvent> events;
  bool stopping = false;
  std::string failed;
  BatchDriver driver;
  std::thread thread;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_SERVING_ENGINE_H
