//===- machine_speed.h - what this machine can do at best ----------------===//
//
// The limits that a transformer runs into: reading weights from memory,
// multiplying and adding, and handing work from one worker to another. The
// first two are measured with as many threads as the program has workers; all
// are the best of many short windows, because on shared machines a core may be
// away for most of any longer one.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_MACHINE_SPEED_H
#define BATON_RUNTIME_EXECUTE_MACHINE_SPEED_H

#include "runtime/execute/metadata.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace baton {

/// Whether a measurement of bandwidth can read this memory, which lies in
/// anonymous huge pages: more than the caches hold.
bool can_measure_bandwidth(std::span<const std::byte> memory);

/// Bytes read per second from `memory`, or, if it is too small, from memory
/// taken for this.
double measure_read_bandwidth(unsigned threads,
                              std::span<const std::byte> memory = {});

/// Single-precision floating-point operations per second of the widest fused
/// multiply-add that the processor has, two operations each; or, with `pairs`,
/// of its products of pairs of BF16 numbers, four each, if it has them.
double measure_arithmetic_peak(unsigned threads, bool pairs = false);

/// Seconds from a notification until the worker that waits for it goes on: two
/// threads that wake each other, or, with one, its own notification.
double measure_hand_over(unsigned threads);

/// The best of both so far; zeros before the first measurement. Limits change
/// with the load of a machine's neighbours: they are measured again between a
/// program's runs.
struct MachineLimits {
  /// Whether products are those of pairs.
  bool pairs = false;
  double bandwidth = 0, arithmetic = 0;

  const char *name_of_arithmetic() const {
    return pairs ? "the peak of BF16 pairs" : "multiply-add peak";
  }
  void measure(unsigned workers, std::span<const std::byte> memory) {
    bandwidth = std::max(bandwidth, measure_read_bandwidth(workers, memory));
    arithmetic = std::max(arithmetic, measure_arithmetic_peak(workers, pairs));
  }
};

/// Those of the products that a program computes, before they are measured.
MachineLimits limits_of(const Metadata &metadata);

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_MACHINE_SPEED_H
