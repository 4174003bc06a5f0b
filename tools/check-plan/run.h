//===- run.h - all ranks run their programs, as far as they come ----------===//
//
// Whatever times tasks take, a run ends as any other does: words only count up,
// and channels keep their order. So one run tells whether there is a deadlock;
// clocks tell what holds in all of them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_CHECK_PLAN_RUN_H
#define BATON_TOOLS_CHECK_PLAN_RUN_H

#include "tools/check-plan/unroll.h"

#include <deque>
#include <functional>
#include <memory>

namespace baton::check {

/// Which tasks of a rank's program are over when a task begins, whatever the
/// times: of each worker how many, or, where each task has its own, which.
class Clocks {
public:
  Clocks(const Deal &deal, bool each);

  bool before(uint32_t first, uint32_t then) const {
    const uint32_t *of = at(then);
    if (each)
      return of[first / 32] >> (first % 32) & 1;
    return of[deal.worker[first]] > deal.position[first];
  }
  uint32_t *at(uint32_t task) { return all.data() + task * width; }
  const uint32_t *at(uint32_t task) const { return all.data() + task * width; }
  void join(uint32_t *to, const uint32_t *from) const {
    for (size_t i = 0; i < width; ++i)
      to[i] = each ? to[i] | from[i] : std::max(to[i], from[i]);
  }
  /// Joins what is over when a task is, too.
  void join_end(uint32_t *to, uint32_t task) const {
    join(to, at(task));
    if (each)
      to[task / 32] |= 1u << (task % 32);
    else
      to[deal.worker[task]] =
          std::max(to[deal.worker[task]], deal.position[task] + 1);
  }
  /// Whether all that is in the one is in the other.
  bool covers(const uint32_t *all_of, const uint32_t *in) const {
    for (size_t i = 0; i < width; ++i)
      if (each ? all_of[i] & ~in[i] : all_of[i] > in[i])
        return false;
    return true;
  }
  size_t width;

private:
  const Deal &deal;
  const bool each;
  std::vector<uint32_t> all;
};

/// A rank's run of one program.
struct ProgramRun {
  ProgramRun(const Unrolled &unrolled, const Deal &deal, bool each);

  const Unrolled &unrolled;
  const Deal &deal;
  /// Whether each task has a worker of its own.
  const bool each;
  Clocks clocks;
  size_t left;
  /// Of each worker: its next task, and how far it has come with its waits.
  std::vector<uint32_t> next;
  struct Waiting {
    bool begun = false;
    size_t wait = 0, word = 0;
  };
  std::vector<Waiting> waiting;
  /// Of each word: notifications, and the first worker that waits for it; of
  /// each worker the next one.
  std::vector<uint32_t> counts, first_waiting, next_waiting;
  /// Of each iteration of a word: how many, and what they say is over.
  std::vector<uint32_t> iteration_counts, iteration_clocks;
  /// The last exchange of a group, or message of a channel.
  std::map<std::string, uint32_t> last_meeting;
};

class Run {
public:
  /// A rank's programs, one after the other.
  struct Rank {
    std::vector<int64_t> place;
    std::vector<const Unrolled *> programs;
    std::vector<const Deal *> deals;
    /// Programs between which no message is under way: a step ends.
    std::vector<bool> ends_step;
  };
  /// Called when a rank has run a program.
  using Ended =
      std::function<void(size_t rank, size_t program, const ProgramRun &run)>;

  Run(std::vector<Rank> ranks, bool each, Findings &findings, Ended ended)
      : ranks(std::move(ranks)), each(each), findings(findings),
        ended(std::move(ended)) {}

  /// Whether all ran to its end.
  bool run();

private:
  struct Arrival {
    size_t rank;
    uint32_t worker, task;
  };
  struct Parcel {
    std::string name;
    std::vector<std::vector<int64_t>> shapes;
    /// Whose tensors they are.
    int64_t microbatch = 0;
  };
  struct Channel {
    std::deque<Parcel> parcels;
    std::optional<Arrival> waiting;
  };

  void begin(size_t rank);
  void advance(size_t rank, uint32_t worker);
  bool passes_waits(size_t rank, uint32_t worker, uint32_t task);
  void finish(size_t rank, uint32_t worker, uint32_t task);
  void notify(size_t rank, uint32_t task);
  bool meet(size_t rank, uint32_t worker, uint32_t task);
  bool pass_message(size_t rank, uint32_t worker, uint32_t task);
  void compare(const Arrival &one, const Arrival &other);
  void keep_order(size_t rank, uint32_t task, const std::string &with);
  void report_deadlock();
  std::string group_of(size_t rank, const Exchange &exchange) const;
  std::string name(size_t rank, uint32_t task) const;

  std::vector<Rank> ranks;
  const bool each;
  Findings &findings;
  Ended ended;
  std::vector<std::unique_ptr<ProgramRun>> runs;
  std::vector<size_t> numbers;
  std::deque<std::pair<size_t, uint32_t>> ready;
  std::map<std::string, std::vector<Arrival>> groups;
  std::map<std::string, Channel> channels;
  bool broken = false;
};

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_RUN_H
