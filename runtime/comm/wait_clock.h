//===- wait_clock.h - how long a rank waits for others --------------------===//

#ifndef BATON_RUNTIME_COMM_WAIT_CLOCK_H
#define BATON_RUNTIME_COMM_WAIT_CLOCK_H

#include <chrono>
#include <mutex>

namespace baton {

/// Counts the time during which at least one of several threads waits: what
/// overlaps counts once. Used by any number of threads.
class WaitClock {
public:
  using Clock = std::chrono::steady_clock;

  void begin(Clock::time_point now) {
    std::lock_guard lock(mutex);
    if (waiting++ == 0)
      since = now;
  }
  void end(Clock::time_point now) {
    std::lock_guard lock(mutex);
    // Threads may have read the clock in another order.
    if (--waiting == 0 && now > since)
      counted += now - since;
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
  Clock::time_point since;
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
