//===- CalibrationTest.cpp - what a measured step says --------------------===//

#include "tools/plan/calibration.h"

#include <gtest/gtest.h>

namespace baton::plan {
namespace {

TEST(PlanCalibration, WhoIsWaitedForIsSlow) {
  auto of_device = [](const Slowness &slow) { return 2 * slow.device; };
  const Slowness device = calibrate(of_device, .12, 2.2);
  // Nearly all of it; the rest is noise.
  EXPECT_GT(device.device, 1.07);
  EXPECT_LT(device.device, 1.1);
  EXPECT_EQ(device.host, 1);
  EXPECT_EQ(device.network, 1);

  const Slowness host = calibrate(
      [](const Slowness &slow) {
        return std::max(slow.device, 1.5 * slow.host);
      },
      .12, 1.8);
  EXPECT_EQ(host.device, 1);
  EXPECT_GT(host.host, 1.15);
}

TEST(PlanCalibration, AnOutlierCountsAsOneThatIsNear) {
  auto predict = [](const Slowness &slow) { return slow.device; };
  EXPECT_NEAR(calibrate(predict, .12, 10).device,
              calibrate(predict, .12, 100).device, 1e-9);
  EXPECT_LT(calibrate(predict, .12, 100).device, 1.25);
}

TEST(PlanCalibration, UncertainFactsGiveWay) {
  auto predict = [](const Slowness &slow) { return slow.device; };
  EXPECT_GT(calibrate(predict, .3, 1.4).device, 1.35);
  EXPECT_LT(calibrate(predict, .05, 1.4).device, 1.1);
}

} // namespace
} // namespace baton::plan
