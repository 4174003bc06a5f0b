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

/// By what a CPU multiplies: the widest fused multiply-add that it has in
/// single precision; products of pairs of BF16 numbers (AVX512-BF16); or of
/// tiles of them (AMX).
enum class Arithmetic { multiply_add, bf16_pairs, bf16_tiles };

/// Floating-point operations per second, of which a product and a sum are two.
/// Where the CPU has no such instruction, those of its multiply-add.
double
measure_arithmetic_peak(unsigned threads,
                        Arithmetic arithmetic = Arithmetic::multiply_add);

/// Seconds from a notification until the worker that waits for it goes on: two
/// threads that wake each other, or, with one, its own notification.
double measure_hand_over(unsigned threads);

/// The best of both so far; zeros before the first measurement. Limits change
/// with the load of a machine's neighbours: they are measured again between a
/// program's runs.
struct MachineLimits {
  Arithmetic products = Arithmetic::multiply_add;
  double bandwidth = 0, arithmetic = 0;

  const char *name_of_arithmetic() const {
    switch (products) {
    case Arithmetic::bf16_pairs:
      return "the peak of BF16 pairs";
    case Arithmetic::bf16_tiles:
      return "the peak of BF16 tiles";
    default:
      return "multiply-add peak";
    }
  }
  void measure(unsigned workers, std::span<const std::byte> memory) {
    bandwidth = std::max(bandwidth, measure_read_bandwidth(workers, memory));
    arithmetic =
        std::max(arithmetic, measure_arithmetic_peak(workers, products));
  }
};

/// Those of the products that a program computes, before they are measured.
MachineLimits limits_of(const Metadata &metadata);

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_MACHINE_SPEED_H
