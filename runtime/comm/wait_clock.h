//===- wait_clock.h - how long a rank waits for others --------------------===//

#ifndef BATON_RUNTIME_COMM_WAIT_CLOCK_H
#define BATON_RUNTIME_COMM_WAIT_CLOCK_H

#include <algorithm>
#include <chrono>
#include <mutex>

namespace baton {

/// Counts the time during which at least one of several threads waits: what
/// overlaps counts once. Used by any number of threads, which may come in
/// another order than they have read the clock.
class WaitClock {
public:
  using Clock = std::chrono::steady_clock;

  void begin(Clock::time_point now) {
    std::lock_guard lock(mutex);
    // What is counted already does not count again.
    now = std::max(now, latest_counted);
    since = waiting++ == 0 ? now : std::min(since, now);
  }
  void end(Clock::time_point now) {
    std::lock_guard lock(mutex);
    latest_end = std::max(latest_end, now);
    if (--waiting != 0 || latest_end <= since)
      return;
    counted += latest_end - since;
    latest_counted = latest_end;
  }
  /// All until now, with what is not over.
  Clock::duration total(Clock::time_point now) const {
    std::lock_guard lock(mutex);
    return counted +
           (waiting && now > since ? now - since : Clock::duration::zero());
  }

private:
  mutable std::mutex mutex;
  unsigned waiting = 0;
  Clock::time_point since, latest_end, latest_counted;
  Clock::duration counted = Clock::duration::zero();
};

/// Of a rank: in collectives, for messages of neighbours, and in either.
struct WaitClocks {
  WaitClock collectives, messages, all;

  void begin(WaitClock WaitClocks::*kind) {
    const auto now = WaitClock::Clock::now();
    (this->*kind).begin(now);
    all.begin(now);
  }
  void end(WaitClock WaitClocks::*kind) {
    const auto now = WaitClock::Clock::now();
    (this->*kind).end(now);
    all.end(now);
  }
};

/// A wait, while it exists.
class CountedWait {
public:
  CountedWait(WaitClocks &clocks, WaitClock WaitClocks::*kind)
      : clocks(clocks), kind(kind) {
    clocks.begin(kind);
  }
  CountedWait(const CountedWait &) = delete;
  ~CountedWait() { clocks.end(kind); }

private:
  WaitClocks &clocks;
  WaitClock WaitClocks::*kind;
};

} // namespace baton

#endif // BATON_RUNTIME_COMM_WAIT_CLOCK_H
