#include "runtime/train/loss_scale.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <cmath>

namespace baton {
namespace {

TEST(LossScale, HalvesWithAnInfinityAndDoublesAfterMany) {
  LossScale scale(1024);
  EXPECT_TRUE(scale.finished(false));
  EXPECT_EQ(scale.value(), 512);
  EXPECT_EQ(scale.skipped(), 1u);
  for (uint64_t step = 0; step + 1 < LossScale::patience; ++step)
    EXPECT_TRUE(scale.finished(true));
  EXPECT_EQ(scale.value(), 512);
  EXPECT_TRUE(scale.finished(true));
  EXPECT_EQ(scale.value(), 1024);
  EXPECT_EQ(scale.skipped(), 1u);
}

TEST(LossScale, AnInfinityBeginsTheCountAnew) {
  LossScale scale(4);
  for (uint64_t step = 0; step + 1 < LossScale::patience; ++step)
    scale.finished(true);
  scale.finished(false);
  scale.finished(true);
  EXPECT_EQ(scale.value(), 2);
}

TEST(LossScale, ARunEndsWhereNothingIsLeftToHalve) {
  LossScale scale(2);
  EXPECT_TRUE(scale.finished(false));
  EXPECT_FALSE(scale.finished(false));
  EXPECT_EQ(scale.value(), 1);
  LossScale fixed;
  EXPECT_TRUE(fixed.finished(true));
  EXPECT_FALSE(fixed.finished(false));
  EXPECT_EQ(fixed.value(), 1);
}

TEST(LossScale, GoesNoFurtherThanItMay) {
  LossScale scale(LossScale::largest);
  for (uint64_t step = 0; step < LossScale::patience; ++step)
    scale.finished(true);
  EXPECT_EQ(scale.value(), LossScale::largest);
}

TEST(LossScale, IsKeptInACheckpoint) {
  LossScale scale(64), other(2);
  scale.finished(false);
  scale.finished(true);
  other.restore(scale.state());
  EXPECT_EQ(other.state(), scale.state());
  EXPECT_EQ(other.value(), 32);
  EXPECT_EQ(other.skipped(), 1u);
  // A run that goes on in another type knows how many updates there were.
  LossScale fixed;
  fixed.restore(scale.state());
  EXPECT_EQ(fixed.value(), 1);
  EXPECT_EQ(fixed.skipped(), 1u);
  EXPECT_ANY_THROW(other.restore({{"value", 3}}));
  EXPECT_ANY_THROW(other.restore(nullptr));
  for (auto [name, value] :
       {std::pair<const char *, nlohmann::json>{"good_steps", -1},
        {"good_steps", LossScale::patience},
        {"skipped_steps", -1},
        {"skipped_steps", 1.5}}) {
    nlohmann::json changed = scale.state();
    changed[name] = value;
    EXPECT_ANY_THROW(other.restore(changed)) << changed;
  }
}

TEST(LossScale, BeginsWithAPowerOfTwo) {
  for (double good : {1.0, 2.0, 65536.0, 0x1p32})
    EXPECT_NO_THROW(check_loss_scale(good));
  for (double bad :
       {0.0, 0.5, 3.0, -2.0, 0x1p33, double(NAN), double(INFINITY)})
    EXPECT_THROW(check_loss_scale(bad), Error) << bad;
}

} // namespace
} // namespace baton
