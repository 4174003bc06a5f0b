//===- team.cpp - the threads that run a persistent kernel ---------------===//

#include "runtime/execute/team.h"

#include "runtime/error.h"

#include <algorithm>
#include <system_error>

#include <sched.h>

/// What a waiting task of the compiled program calls once spinning has not
/// helped for a while.
extern "C" void baton_yield(void) { sched_yield(); }

namespace baton {

unsigned available_workers() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // The call fails on machines with more cores than cpu_set_t has bits.
  unsigned count = sched_getaffinity(0, sizeof(cores), &cores) == 0
                       ? static_cast<unsigned>(CPU_COUNT(&cores))
                       : std::thread::hardware_concurrency();
  return std::clamp(count, 1u, max_workers);
}

Team::Team(unsigned size) {
  threads.reserve(size);
  try {
    for (unsigned worker = 0; worker < size; ++worker)
      threads.emplace_back([this, worker] { work(worker); });
  } catch (const std::system_error &) {
    end_threads();
    throw Error("--workers: the system refuses " + std::to_string(size) +
                " threads; use fewer workers");
  }
}

Team::~Team() {
  wait();
  end_threads();
}

void Team::end_threads() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  wake.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void Team::start(std::function<void(unsigned)> next_job) {
  wait();
  {
    std::lock_guard lock(mutex);
    job = std::move(next_job);
    running = size();
    ++jobs_started;
  }
  wake.notify_all();
}

void Team::wait() {
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return running == 0; });
}

void Team::work(unsigned worker) {
  uint64_t jobs_seen = 0;
  std::unique_lock lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return ending || jobs_started != jobs_seen; });
    if (ending)
      return;
    jobs_seen = jobs_started;
    lock.unlock();
    // `job` stays as it is until every thread has come back from it.
    job(worker);
    lock.lock();
    if (--running == 0)
      done.notify_all();
  }
}

} // namespace baton
