//===- MessageTest.cpp - names that are nearly right ----------------------===//

#include "runtime/weights/message.h"

#include <gtest/gtest.h>

using namespace baton;

TEST(Message, DistancesCountLettersThatChangePlaces) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("fdsp", "fsdp"), 1u);
  EXPECT_EQ(edit_distance("schedule", "shcedule"), 1u);
  EXPECT_EQ(edit_distance("trian", "train"), 1u);
  // None is changed twice.
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);
}

TEST(Message, TheNearestNameIsAThirdAwayAtMost) {
  EXPECT_EQ(nearest_text("shcedule", {"mode", "schedule"}, "--"),
            "; did you mean --schedule?");
  EXPECT_EQ(nearest_text("fdsp", {"dp", "fsdp"}), "; did you mean fsdp?");
  EXPECT_EQ(nearest_text("sm_90", {"sm_80", "sm_90a"}),
            "; did you mean sm_90a?");
  EXPECT_EQ(nearest_text("f", {"dp", "tp"}), "");
  EXPECT_EQ(nearest_text("quietly", {"mode"}), "");
  EXPECT_EQ(nearest_text(std::string(1000, 'a'), {"a"}), "");
}
