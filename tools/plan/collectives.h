//===- collectives.h - how long ranks take to exchange numbers ------------===//

#ifndef BATON_TOOLS_PLAN_COLLECTIVES_H
#define BATON_TOOLS_PLAN_COLLECTIVES_H

#include "tools/plan/device.h"

#include <cstdint>

namespace baton::plan {

/// Ranks that are `stride` apart, in nodes that are full.
struct Group {
  int64_t ranks = 1, stride = 1;
};

/// Nodes that a group is in.
int64_t nodes(const Group &group, const Device &device);

/// A ring's all-reduce: each rank sends 2 (n - 1) / n of the bytes. Between
/// nodes, groups that pass the same node at the same time share its network;
/// each has as many members there as fit.
double all_reduce_seconds(double bytes, const Group &group,
                          const Device &device);

/// Half of that: a reduce-scatter, or an all-gather.
double half_reduce_seconds(double bytes, const Group &group,
                           const Device &device);

/// From each rank to the one that is `stride` further, all at the same time.
double send_seconds(double bytes, int64_t stride, const Device &device);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_COLLECTIVES_H
