//===- parallel.cpp - a loop over independent jobs -----------------------===//

#include "runtime/weights/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace baton {

void parallel_for(size_t jobs, unsigned threads,
                  const std::function<void(size_t)> &job) {
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<size_t> next = 0;
  // Jobs before one that failed have all begun, and end: whichever thread is
  // first, the failure of the first job is found.
  std::exception_ptr failure;
  size_t failed = jobs;
  std::mutex failure_mutex;
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < jobs;) {
      try {
        job(i);
      } catch (...) {
        std::lock_guard lock(failure_mutex);
        if (i < failed) {
          failure = std::current_exception();
          failed = i;
        }
        next.store(jobs, std::memory_order_relaxed);
      }
    }
  };

  std::vector<std::thread> helpers;
  size_t wanted = std::min<size_t>(threads, jobs);
  try {
    while (helpers.size() + 1 < wanted)
      helpers.emplace_back(work);
  } catch (const std::system_error &) {
    // Without more threads the same work only takes longer.
  }
  work();
  for (std::thread &helper : helpers)
    helper.join();
  if (failure)
    std::rethrow_exception(failure);
}

} // namespace baton
