//===- output_queue.h - hands what a program makes to the main thread ----===//

#ifndef BATON_RUNTIME_DECODE_OUTPUT_QUEUE_H
#define BATON_RUNTIME_DECODE_OUTPUT_QUEUE_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace baton {

/// Lets printing be as slow as it likes: the worker that decides about steps
/// never waits for more than the lock, which nobody holds while doing anything
/// else.
template <typename Output> class OutputQueue {
public:
  void push(Output output) {
    {
      std::lock_guard lock(mutex);
      outputs.push_back(std::move(output));
    }
    ready.notify_one();
  }

  /// No more will come of this run of the program.
  void close() {
    {
      std::lock_guard lock(mutex);
      closed = true;
    }
    ready.notify_one();
  }
  /// It is about to run again.
  void open() {
    std::lock_guard lock(mutex);
    closed = false;
  }

  enum class State { Open, Closed };
  /// Replaces `taken` by all that has come, after waiting for one, for the end,
  /// or for `limit`. Closed: none will follow those taken.
  State take(std::vector<Output> &taken, std::chrono::milliseconds limit) {
    taken.clear();
    std::unique_lock lock(mutex);
    ready.wait_for(lock, limit, [&] { return closed || !outputs.empty(); });
    taken.swap(outputs);
    return closed ? State::Closed : State::Open;
  }

private:
  std::mutex mutex;
  std::condition_variable ready;
  std::vector<Output> outputs;
  bool closed = false;
};

/// Of a generation's tokens.
using TokenQueue = OutputQueue<int32_t>;

} // namespace baton

#endif // BATON_RUNTIME_DECODE_OUTPUT_QUEUE_H
