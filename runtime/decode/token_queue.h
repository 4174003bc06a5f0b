//===- token_queue.h - hands sampled tokens to the main thread -----------===//

#ifndef BATON_RUNTIME_DECODE_TOKEN_QUEUE_H
#define BATON_RUNTIME_DECODE_TOKEN_QUEUE_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace baton {

/// Lets printing be as slow as it likes: the worker that samples never waits
/// for more than the lock, which nobody holds while doing anything else.
class TokenQueue {
public:
  void push(int32_t token) {
    {
      std::lock_guard lock(mutex);
      tokens.push_back(token);
    }
    ready.notify_one();
  }

  /// No more tokens will come.
  void close() {
    {
      std::lock_guard lock(mutex);
      closed = true;
    }
    ready.notify_one();
  }

  enum class State { Open, Closed };
  /// Replaces `taken` by all tokens that have come, after waiting for one, for
  /// the end, or for `limit`. Closed: none will follow those taken.
  State take(std::vector<int32_t> &taken, std::chrono::milliseconds limit) {
    taken.clear();
    std::unique_lock lock(mutex);
    ready.wait_for(lock, limit, [&] { return closed || !tokens.empty(); });
    taken.swap(tokens);
    return closed ? State::Closed : State::Open;
  }

private:
  std::mutex mutex;
  std::condition_variable ready;
  std::vector<int32_t> tokens;
  bool closed = false;
};

} // namespace baton

#endif // BATON_RUNTIME_DECODE_TOKEN_QUEUE_H
