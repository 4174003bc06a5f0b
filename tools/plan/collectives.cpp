//===- collectives.cpp - how long ranks take to exchange numbers ----------===//

#include "tools/plan/collectives.h"

#include "tools/plan/measured_ops.h"

#include <algorithm>
#include <cmath>

using namespace baton;
using namespace baton::plan;

int64_t plan::nodes(const Group &group, const Device &device) {
  const int64_t many = device.devices_per_node;
  if (group.stride >= many)
    return group.ranks;
  const int64_t last = group.first + (group.ranks - 1) * group.stride;
  return last / many - group.first / many + 1;
}

/// The latency of a ring is that of a tree over nodes: libraries take a tree
/// for what is short.
static double ring_seconds(double sent, double rounds, const Group &group,
                           const Device &device) {
  if (group.ranks == 1)
    return 0;
  const int64_t many = nodes(group, device);
  if (many == 1)
    return device.link_latency + sent / device.link_rate;
  const double sharing =
      double(std::min(group.beside, device.devices_per_node));
  return rounds * device.network_latency * std::log2(double(many)) +
         sent * sharing / device.network_rate;
}

/// Of ranks of one node that were measured.
static std::optional<OpTime> exchange(const char *kind, double bytes,
                                      const Group &group,
                                      const Device &device) {
  if (group.ranks == 1 || bytes <= 0 || nodes(group, device) > 1)
    return std::nullopt;
  return measured_time(device, "exchange", kind, {double(group.ranks), bytes});
}

double plan::all_reduce_seconds(double bytes, const Group &group,
                                const Device &device) {
  const auto parts = exchange("all_to_all", bytes, group, device);
  const auto sums = exchange("all_gather", bytes, group, device);
  if (parts && sums)
    return parts->seconds + sums->seconds;
  return ring_seconds(2 * double(group.ranks - 1) / double(group.ranks) * bytes,
                      2, group, device);
}

double plan::half_reduce_seconds(double bytes, const Group &group,
                                 const Device &device) {
  if (const auto time = exchange("all_gather", bytes, group, device))
    return time->seconds;
  return ring_seconds(double(group.ranks - 1) / double(group.ranks) * bytes, 1,
                      group, device);
}

double plan::send_seconds(double bytes, int64_t first, int64_t senders,
                          int64_t stride, const Device &device) {
  const int64_t many = device.devices_per_node;
  int64_t most = 0, leaving = 0;
  // Two nodes' worth of senders show what all do.
  for (int64_t rank = first; rank < first + std::min(senders, 2 * many);
       ++rank) {
    if (rank % many == 0)
      leaving = 0;
    leaving += rank / many != (rank + stride) / many;
    most = std::max(most, leaving);
  }
  if (most == 0)
    return device.link_latency + bytes / device.link_rate;
  return device.network_latency + bytes * double(most) / device.network_rate;
}
