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

#include <algorithm>
#include <functional>

namespace baton::check {

/// Which tasks of a rank's program are over, whatever the times: of each worker
/// how many, or, where each task has its own, which. The first clocks are of
/// the tasks, when they begin; more are for whom tasks notify.
class Clocks {
public:
  Clocks(const Deal &deal, bool each, size_t more)
      : deal(deal), each(each), tasks(deal.worker.size()),
        width(each ? (tasks + 31) / 32 : deal.lists.size()),
        all(width * (tasks + more)) {}

  bool before(uint32_t first, uint32_t then) const {
    const uint32_t known = all[then * width + slot(first)];
    return merge(known, mark(first)) == known;
  }
  void join(size_t to, size_t from) {
    for (size_t i = 0; i < width; ++i)
      all[to * width + i] = merge(all[to * width + i], all[from * width + i]);
  }
  /// What is over when a task is.
  void join_end(size_t to, uint32_t task) {
    join(to, task);
    uint32_t &known = all[to * width + slot(task)];
    known = merge(known, mark(task));
  }
  /// Whether all that is in the one is in the other.
  bool covers(size_t one, size_t other) const {
    for (size_t i = 0; i < width; ++i)
      if (const uint32_t known = all[other * width + i];
          merge(known, all[one * width + i]) != known)
        return false;
    return true;
  }

private:
  size_t slot(uint32_t task) const {
    return each ? task / 32 : deal.worker[task];
  }
  uint32_t mark(uint32_t task) const {
    return each ? 1u << task % 32 : deal.position[task] + 1;
  }
  uint32_t merge(uint32_t one, uint32_t other) const {
    return each ? one | other : std::max(one, other);
  }

  const Deal &deal;
  const bool each;
  const size_t tasks, width;
  std::vector<uint32_t> all;
};

struct ProgramRun;

/// A rank, its programs, one after the other, and who runs their tasks.
struct Rank {
  /// "rank 1 ", where there are several.
  std::string name;
  Index place;
  std::vector<const Unrolled *> programs;
  std::vector<const Deal *> deals;
  /// So many programs are a step.
  size_t calls = 1;
  /// Looks at a program when it has run.
  std::function<void(const ProgramRun &)> ended;
};

/// A rank's run of one program.
struct ProgramRun {
  ProgramRun(const Rank &rank, size_t number, bool each)
      : rank(rank), number(number), unrolled(*rank.programs[number]),
        deal(*rank.deals[number]), each(each),
        clocks(deal, each, unrolled.iterations) {}

  const Rank &rank;
  const size_t number;
  const Unrolled &unrolled;
  const Deal &deal;
  /// Whether each task has a worker of its own.
  const bool each;
  Clocks clocks;

  /// "rank 1 @main phase 'x' [0] (worker 2)"
  std::string name(uint32_t task) const {
    std::string name =
        rank.name + "@" + unrolled.program->name + " " + unrolled.name(task);
    return each ? name : text(name, " (worker ", deal.worker[task], ")");
  }
};

/// Looks at a rank's programs, one after the other as they end, in its memory.
/// Tasks are looked at in order of rank, which is what a plan means: each reads
/// what it finds then, and who touches a region later has to come later.
std::function<void(const ProgramRun &)> follow_memory(const Regions &regions,
                                                      Findings &findings);

void run_ranks(const std::vector<Rank> &ranks, bool each, Findings &findings);

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_RUN_H
