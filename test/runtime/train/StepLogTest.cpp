//===- StepLogTest.cpp - a line for programs and one for people ----------===//

#include "runtime/train/step_log.h"

#include "runtime/error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

namespace baton::test {
namespace {

TEST(StepLog, Line) {
  EXPECT_EQ(step_line({1, 5.5, 1.25, 0.001, 8100}),
            "{\"step\":1,\"loss\":5.5,\"grad_norm\":1.25,\"lr\":0.001,"
            "\"tokens_per_s\":8100.0}\n");
  EXPECT_EQ(step_line({1, 5.5, 1.25, 0.001, 8100, 6.5}),
            "{\"step\":1,\"loss\":5.5,\"validation_loss\":6.5,"
            "\"grad_norm\":1.25,\"lr\":0.001,\"tokens_per_s\":8100.0}\n");
  StepReport parts{1, 5.5, 1.25, 0.001, 8100, 6.5};
  parts.loss_parts = {{"cross_entropy", 5.0}, {"balance_loss", 2.0}};
  EXPECT_EQ(step_line(parts),
            "{\"step\":1,\"loss\":5.5,\"cross_entropy\":5.0,"
            "\"balance_loss\":2.0,\"validation_loss\":6.5,"
            "\"grad_norm\":1.25,\"lr\":0.001,\"tokens_per_s\":8100.0}\n");
  double infinity = std::numeric_limits<double>::infinity();
  auto line =
      nlohmann::json::parse(step_line({2, std::nan(""), infinity, 0, 0}));
  EXPECT_EQ(line["step"], 2);
  EXPECT_TRUE(line["loss"].is_null());
  EXPECT_TRUE(line["grad_norm"].is_null());
}

TEST(StepLog, Progress) {
  EXPECT_EQ(step_progress({120, 3.21041, 0, 0, 8123.4}, 1000),
            "step 120/1000 [##..................]  12 %  loss 3.2104  "
            "8123 tokens/s");
  EXPECT_NE(step_progress({7, 1, 0, 0, 1}, 7).find("] 100 %"),
            std::string::npos);
  StepReport report{120, 3.21041, 0, 0, 8123.4};
  report.utilisation = 0.416;
  EXPECT_TRUE(step_progress(report, 1000).ends_with("8123 tokens/s  42 % MFU"));
  // Of pairs of answers, in as many columns.
  report.loss_parts = {{"rewards/chosen", 0.5},
                       {"rewards/margins", 0.34567},
                       {"rewards/accuracies", 0.8333}};
  EXPECT_EQ(step_progress(report, 1000),
            "step 120/1000 [....]  12 %  loss 3.2104  8123 tokens/s  margin "
            "0.346 (83 %)");
  // Nonsense does no harm.
  uint64_t most = ~uint64_t(0);
  for (double value : {std::nan(""), 1e300, -1e300})
    for (uint64_t steps : {uint64_t(0), uint64_t(1), most})
      EXPECT_LT(step_progress({most, value, value, value, value}, steps).size(),
                80u);
}

TEST(StepLog, PrintsEveryStepAndNothingElse) {
  std::string printed;
  testing::internal::CaptureStderr();
  {
    // Captured, standard error is no terminal.
    StepLog log(2, false, [&](std::string_view text) { printed += text; });
    log.add({1, 2, 3, 4, 5});
    log.add({2, 2, 3, 4, 5});
    log.clear();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(printed, step_line({1, 2, 3, 4, 5}) + step_line({2, 2, 3, 4, 5}));
}

TEST(StepLog, PassesOnThatNobodyListens) {
  StepLog log(2, true, [](std::string_view) { throw Error("closed"); });
  EXPECT_THROW(log.add({1, 2, 3, 4, 5}), Error);
}

} // namespace
} // namespace baton::test
