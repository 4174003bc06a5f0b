//===- MachineSpeedTest.cpp - the limits of the machine ------------------===//

#include "runtime/execute/machine_speed.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

// No machine that runs the tests is outside these bounds; a loop that the
// compiler has removed, or a clock that was started twice, is.

TEST(MachineSpeed, ReadBandwidthIsThatOfMemory) {
  double bandwidth = measure_read_bandwidth(1);
  EXPECT_GT(bandwidth, 1e8);
  EXPECT_LT(bandwidth, 1e12);
}

TEST(MachineSpeed, ArithmeticPeakIsThatOfACore) {
  double peak = measure_arithmetic_peak(1);
  EXPECT_GT(peak, 1e8);
  EXPECT_LT(peak, 1e12);
}

// An instruction has twice the operations of a multiply-add; of some CPUs it
// takes four times as long.
TEST(MachineSpeed, PairsAreNoSlowerThanAQuarterOfMultiplyAdds) {
  double peak = measure_arithmetic_peak(1, Arithmetic::bf16_pairs);
  EXPECT_GT(peak, measure_arithmetic_peak(1) / 4);
  EXPECT_LT(peak, 4e12);
}

TEST(MachineSpeed, HandOverIsThatOfThreads) {
  for (unsigned threads : {1u, 2u, 5u}) {
    double seconds = measure_hand_over(threads);
    EXPECT_GT(seconds, 1e-10);
    EXPECT_LT(seconds, 1);
  }
}

} // namespace
} // namespace baton
