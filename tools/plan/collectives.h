//===- collectives.h - how long ranks take to exchange numbers ------------===//

#ifndef BATON_TOOLS_PLAN_COLLECTIVES_H
#define BATON_TOOLS_PLAN_COLLECTIVES_H

#include "tools/plan/device.h"

#include <cstdint>

namespace baton::plan {

/// Ranks from `first` on that are `stride` apart. Nodes are full of neighbours.
struct Group {
  int64_t ranks = 1, stride = 1, first = 0;
  /// Groups that begin at the ranks from `first` on and do the same at the same
  /// time, this one among them.
  int64_t beside = 1;
};

/// Nodes that a group is in.
int64_t nodes(const Group &group, const Device &device);

/// A ring's all-reduce: each rank sends 2 (n - 1) / n of the bytes. Between
/// nodes, groups that are in the same ones share their network. Inside of a
/// node that was measured it is its two exchanges.
double all_reduce_seconds(double bytes, const Group &group,
                          const Device &device);

/// Half of that: a reduce-scatter, or an all-gather.
double half_reduce_seconds(double bytes, const Group &group,
                           const Device &device);

/// From each of `senders` ranks to the one that is `stride` further (or before,
/// below 0), all at the same time: as long as the node takes that most leave.
double send_seconds(double bytes, int64_t first, int64_t senders,
                    int64_t stride, const Device &device);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_COLLECTIVES_H
