//===- team.h - the threads that run a persistent kernel -----------------===//

#ifndef BATON_RUNTIME_EXECUTE_TEAM_H
#define BATON_RUNTIME_EXECUTE_TEAM_H

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace baton {

/// Cores that this process may run on, at least 1 and at most max_workers.
unsigned available_workers();

inline constexpr unsigned max_workers = 256;

/// Threads that live as long as the team and all run the same job. They are
/// not pinned: on shared machines a core may vanish for seconds, and the
/// system must be free to move a worker elsewhere.
class Team {
public:
  /// Throws Error when the system refuses so many threads.
  explicit Team(unsigned size);
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;
  /// Waits for a job under way.
  ~Team();

  unsigned size() const { return static_cast<unsigned>(threads.size()); }

  /// Calls job(0) ... job(size() - 1), each on its own thread, all at once.
  /// Returns immediately; the job must not throw.
  void start(std::function<void(unsigned worker)> job);
  /// Returns when every thread has returned from the job.
  void wait();

private:
  void work(unsigned worker);
  void end_threads();

  std::mutex mutex;
  std::condition_variable wake;
  std::condition_variable done;
  std::function<void(unsigned)> job;
  uint64_t jobs_started = 0;
  unsigned running = 0;
  bool ending = false;
  std::vector<std::thread> threads;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_TEAM_H
