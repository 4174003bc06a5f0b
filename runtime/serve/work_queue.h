//===- work_queue.h - a few threads for what takes long -------------------===//

#ifndef BATON_RUNTIME_SERVE_WORK_QUEUE_H
#define BATON_RUNTIME_SERVE_WORK_QUEUE_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace baton {

/// Runs functions, which throw nothing, in the order in which they come.
class WorkQueue {
public:
  explicit WorkQueue(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      threads.emplace_back([this] { run(); });
  }
  /// Leaves out those that no thread has begun.
  ~WorkQueue() {
    {
      std::lock_guard lock(mutex);
      ended = true;
    }
    changed.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }

  void push(std::function<void()> function) {
    {
      std::lock_guard lock(mutex);
      functions.push_back(std::move(function));
    }
    changed.notify_one();
  }

private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return ended || !functions.empty(); });
      if (ended)
        return;
      const std::function<void()> function = std::move(functions.front());
      functions.pop_front();
      lock.unlock();
      function();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> functions;
  bool ended = false;
  std::vector<std::thread> threads;
};

} // namespace baton

#endif // BATON_RUNTIME_SERVE_WORK_QUEUE_H
