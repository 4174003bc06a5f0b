//===- rank_judge.h - which rank is slower than its peers -----------------===//
//
// Ranks that exchange tensors in each step take equally long for it: who is
// slow makes the others wait. What tells them apart is the time that each one
// computes for itself. A judge compares it with that of the rank's peers, which
// are ranks of the same work.
//
// A window is at least ten steps and one second. For each indicator, rank and
// step, the deviation is log(rank's time) less the median of its peers', so
// that what makes a step longer on all ranks cancels. The rank's excess is the
// median of its deviations in the window: a spike of one step, or of four, does
// not move it. Its score is the excess over its scale, the largest of
//
//   - the standard error of that median, 1.2533 * 1.4826 * MAD / sqrt(steps),
//     of the rank's own deviations and of the median rank's;
//   - 1.4826 * MAD of the peers' excesses, where there are three peers or more:
//     noise that outlasts a step is in it, which the first term misses;
//   - 1.4826 * MAD of the rank's own excesses in its last 20 windows that did
//     not count against it, from the fifth on: so does noise that outlasts a
//     window;
//   - 0.004, as clocks and machines of one kind differ by as much.
//
// (1.4826 * MAD estimates a standard deviation: Rousseeuw and Croux, 1993.)
//
// A window counts against a rank when the excess is at least the threshold, the
// score is at least 3, and the time is at least a hundredth of the step. A rank
// is slow once three of the last four windows count against it, and no longer
// slow after four windows in a row with excesses below half the threshold.
//
// A rank without peers is compared with itself: its times are divided by their
// medians in the first ten windows, and the peers are then all ranks that
// have none, so that what slows all of them down cancels, too.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_HEALTH_RANK_JUDGE_H
#define BATON_RUNTIME_HEALTH_RANK_JUDGE_H

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// The excess that is a slow rank's where nobody says otherwise.
constexpr double usual_health_threshold = 0.03;

/// What an indicator said of a rank in a window.
struct RankFinding {
  std::string indicator;
  /// By how much longer the rank takes than its peers; 0.05: by 5 %.
  double excess = 0;
  double score = 0;
};

/// A rank becomes slow, or is so no longer.
struct RankEvent {
  bool slow = true;
  uint32_t rank = 0;
  /// The first step of the windows that say so, and the last one.
  uint64_t since = 0, step = 0;
  /// Of the last window, the largest excess first.
  std::vector<RankFinding> findings;
};

/// What a rank is compared with.
struct RankPeers {
  /// Ascending, without itself.
  std::vector<uint32_t> ranks;
  /// Whether times are relative to their own at the beginning.
  bool by_history = false;
};

/// Sees the times of all ranks, step by step. Used by one thread at a time.
class RankJudge {
public:
  static constexpr uint64_t least_steps = 10;
  static constexpr double least_seconds = 1;
  static constexpr unsigned windows_looked_at = 4, windows_to_flag = 3,
                            windows_of_history = 10, windows_of_noise = 20,
                            least_windows_of_noise = 5;
  static constexpr double least_score = 3, least_scale = 0.004,
                          least_part_of_step = 0.01;

  /// The indicator that is the time of the whole step.
  static constexpr const char *step_indicator = "step";
  /// Indicators that begin with it are times of waiting for others, of which a
  /// slow rank has the least: they are not judged.
  static constexpr const char *wait_prefix = "wait";
  static bool is_judged(const std::string &indicator) {
    return !indicator.starts_with(wait_prefix);
  }

  /// `work`: of each rank, a name of what it computes; ranks of one name are
  /// peers.
  RankJudge(std::vector<std::string> indicators,
            const std::vector<std::string> &work,
            double threshold = usual_health_threshold);

  /// Of a step, in seconds: the first indicator of all ranks, then the next
  /// one. What is not above 0 was not measured. Returns what a window that
  /// ends with the step comes to.
  std::vector<RankEvent> add(uint64_t step, std::span<const double> seconds);

  const std::vector<std::string> &indicators() const { return names; }
  uint32_t ranks() const { return count; }
  RankPeers peers(uint32_t rank) const;
  /// Whether it is now.
  bool is_slow(uint32_t rank) const { return slow[rank]; }
  /// Windows so far, and those that count against the rank by any indicator.
  uint64_t windows() const { return all_windows; }
  uint64_t windows_against(uint32_t rank) const { return against[rank]; }

private:
  /// Ranks that are compared with one another.
  struct Group {
    std::vector<uint32_t> ranks;
    bool by_history = false;
  };
  /// What is known of a rank by an indicator.
  struct Standing {
    /// Whether the last windows count against the rank, the last one first,
    /// and their first steps.
    std::vector<bool> counts;
    std::vector<uint64_t> begins;
    /// Windows in a row with a small excess, and the first one's first step.
    unsigned calm = 0;
    uint64_t calm_since = 0;
    /// The last excesses of windows that did not count, as logarithms.
    std::vector<double> usual;
    bool slow = false;
    /// Whether it was until the last window.
    bool was_slow = false;
    RankFinding last;
    /// Of a rank without peers: the logarithms of its first windows' medians,
    /// and the median of these.
    std::vector<double> first_windows;
    std::optional<double> baseline;
  };

  void judge(size_t indicator, const Group &group);
  void take(size_t indicator, uint32_t rank, double deviation, double scale);
  std::vector<RankEvent> close();
  double seconds_of(size_t row, size_t indicator, uint32_t rank) const {
    return window[row * names.size() * count + indicator * count + rank];
  }
  /// The median in the window; nothing without a value.
  std::optional<double> median_seconds(size_t indicator, uint32_t rank) const;

  const std::vector<std::string> names;
  const uint32_t count;
  const double threshold;
  std::vector<Group> groups;
  std::optional<size_t> step_place;
  /// By indicator and rank.
  std::vector<Standing> standings;
  std::vector<bool> slow;
  std::vector<uint64_t> against;
  uint64_t all_windows = 0;

  /// The steps of the window that is not full yet.
  std::vector<double> window;
  std::vector<uint64_t> steps;
  double duration = 0, step_seconds = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_HEALTH_RANK_JUDGE_H
