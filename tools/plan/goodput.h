//===- goodput.h - what a job has of a cluster whose parts fail -----------===//

#ifndef BATON_TOOLS_PLAN_GOODPUT_H
#define BATON_TOOLS_PLAN_GOODPUT_H

#include <cstdint>

namespace baton::plan {

/// A cluster of zones of blocks of trays. A block works while no more trays of
/// it are down than are spare, and its rack is up. A zone works while no more
/// blocks are down than are spare. The job is synchronous over all of them, in
/// groups of blocks that are placed together. Seconds; failures are
/// exponential.
struct Cluster {
  int64_t zones = 1, blocks = 1, trays = 1;
  int64_t spare_blocks = 0, spare_trays = 0;
  /// Blocks of a group.
  int64_t group = 1;
  /// Mean times between a tray's failures and a rack's, and to repair either.
  double tray_failure = 0, rack_failure = 0, repair = 0;
  /// Work between two checkpoints, and what writing one stops the job for.
  double interval = 0, save = 0;
  double detect = 0, restart = 0;
};

struct Goodput {
  /// The part of all trays' time that becomes work that is kept.
  double total = 0;
  /// Its factors: trays that are neither spare nor left over by groups, the
  /// chance that no zone is blocked, and work kept of a running job's time.
  double working = 0, open = 0, kept = 0;
  /// Mean time between failures of a block, and of the job.
  double block_failure = 0, job_failure = 0;
};

/// In closed form: a block is a birth-death chain of trays that are down,
/// blocks down in a zone are binomial, and a checkpoint's period takes (exp(l
/// (T + save)) - 1) (1 / l + detect + restart) of a job that fails l times a
/// second.
Goodput goodput(const Cluster &cluster);

/// As many spare blocks as give most.
Cluster best_spares(Cluster cluster);

/// As long an interval as gives most.
Cluster best_interval(Cluster cluster);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_GOODPUT_H
