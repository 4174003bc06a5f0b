//===- rank_times.h - what a rank's part of a step takes ------------------===//

#ifndef BATON_RUNTIME_TRAIN_RANK_TIMES_H
#define BATON_RUNTIME_TRAIN_RANK_TIMES_H

#include "runtime/comm/communicator.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// Splits the time of steps into what a rank does and what it waits for. Reads
/// the clock twice for each exchange, and a few times at borders. Used by
/// whoever calls a driver.
class RankTimes {
public:
  /// What the time since the last call went to: work of the program, of one of
  /// a stage's programs, or of the runtime, which fills in what a step reads.
  enum class Part { Compute, Forward, Backward, Update, Inputs };

  /// `has_stages`: whether the program tells forward, backward and update
  /// apart.
  RankTimes(Communicator &communicator, bool has_stages);

  /// In the order of what is told:
  ///   compute           the program's, without waits
  ///   forward, backward, update
  ///                     of stages, what it consists of
  ///   inputs            the runtime's: tokens are filled in
  ///   wait.collectives  in exchanges, until all have come and all is moved
  ///   wait.messages     of stages, for what neighbours send
  ///   wait.border       until all ranks are at the end of a microbatch or step
  ///   step              from the end of the step before to its own end
  std::vector<std::string> indicators() const;

  /// A run's first step begins.
  void begin();
  /// What follows counts, after a border or what belongs to no part.
  void go_on();
  void count(Part part);
  /// At a border: what the step has come to so far, for all ranks.
  std::string tell(Part part);
  /// All ranks are there.
  void heard();
  /// What was told last is all of a step.
  void end_step();

  /// What all ranks have told, as RankJudge::add() takes it; of a rank that has
  /// told something else, zeros.
  static std::vector<double> seconds_of(std::span<const std::string> told,
                                        size_t indicators);

private:
  using Clock = std::chrono::steady_clock;
  enum Indicator {
    Compute,
    Forward,
    Backward,
    Update,
    Inputs,
    Collectives,
    Messages,
    Border,
    Step,
    Indicators
  };

  struct Waits {
    Clock::duration collectives = {}, messages = {}, all = {};
  };
  Waits waits(Clock::time_point now) const;
  bool is_told(Indicator indicator) const;

  WaitClocks &clocks;
  const bool has_stages;
  std::array<Clock::duration, Indicators> sums = {};
  Clock::time_point step_began, counted_until, at_border;
  Waits waited;
  /// The last border's, until the next part begins.
  Clock::duration border = {};
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_RANK_TIMES_H
