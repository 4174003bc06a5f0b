//===- result_queue.h - hands results to the main thread -----------------===//

#ifndef BATON_RUNTIME_BATCH_RESULT_QUEUE_H
#define BATON_RUNTIME_BATCH_RESULT_QUEUE_H

#include "runtime/batch/batch_request.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace baton {

/// As TokenQueue: writing results may be as slow as it likes. A program runs
/// several times.
class ResultQueue {
public:
  void push(BatchResult &&result) {
    {
      std::lock_guard lock(mutex);
      results.push_back(std::move(result));
    }
    ready.notify_one();
  }

  /// Before the program starts.
  void open() {
    std::lock_guard lock(mutex);
    closed = false;
  }
  /// It has ended.
  void close() {
    {
      std::lock_guard lock(mutex);
      closed = true;
    }
    ready.notify_one();
  }

  enum class State { Open, Closed };
  /// Replaces `taken` by all results that have come, after waiting for one, for
  /// the end, or for `limit`. Closed: none will follow those taken.
  State take(std::vector<BatchResult> &taken, std::chrono::milliseconds limit) {
    taken.clear();
    std::unique_lock lock(mutex);
    ready.wait_for(lock, limit, [&] { return closed || !results.empty(); });
    taken.swap(results);
    return closed ? State::Closed : State::Open;
  }

private:
  std::mutex mutex;
  std::condition_variable ready;
  std::vector<BatchResult> results;
  bool closed = false;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_RESULT_QUEUE_H
