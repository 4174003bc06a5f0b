//===- JudgeTest.cpp - predictions beside published measurements ----------===//

#include "tools/plan/judge.h"
#include "facts_for_tests.h"

#include <gtest/gtest.h>

#include <cmath>

namespace baton::plan {
namespace {

Judgement judged(const char *name, size_t calibrating, const char *on,
                 const char *by) {
  return judge(read_measured_table(table(name), 51200).steps, calibrating,
               device(on), framework(by), Recompute::all_or_none);
}

// vTrain's own errors on these are 8.37 % and 14.73 %.
TEST(PlanJudge, OneNodeOfA100s) {
  const Judgement judgement =
      judged("vtrain_single_node_a100", 0, "a100-80gb", "megatron-lm-2022");
  EXPECT_EQ(judgement.rows.size(), 288u);
  EXPECT_FALSE(judgement.recompute);
  EXPECT_LT(judgement.mean_error, .085);
  EXPECT_EQ(judgement.workloads.size(), 67u);
  EXPECT_LE(judgement.best_rank, 3u);
}

TEST(PlanJudge, NodesOfA100s) {
  const Judgement judgement =
      judged("vtrain_multi_node_a100", 0, "a100-80gb", "megatron-lm-2022");
  EXPECT_EQ(judgement.rows.size(), 55u);
  // 175 billion parameters do not fit without.
  EXPECT_TRUE(judgement.recompute);
  EXPECT_LT(judgement.mean_error, .07);
  EXPECT_LE(judgement.best_rank, 3u);
}

// SimuMax's own errors are 0 to 13.5 %.
TEST(PlanJudge, ANodeOfB200s) {
  const MeasuredTable read = read_measured_table(table("simumax_b200"), 51200);
  EXPECT_EQ(read.steps.size(), 12u);
  EXPECT_EQ(read.skipped.size(), 10u);
  const Judgement judgement =
      judged("simumax_b200", 0, "b200", "megatron-core");
  EXPECT_FALSE(judgement.recompute);
  EXPECT_LT(judgement.mean_error, .05);
  EXPECT_EQ(judgement.best_rank, 1u);
  ASSERT_TRUE(judgement.mean_memory_error);
  EXPECT_LT(*judgement.mean_memory_error, .05);
}

// What the other rows measured plays no part.
TEST(PlanJudge, UsesOneRowOnly) {
  std::vector<MeasuredStep> steps =
      read_measured_table(table("vtrain_multi_node_a100"), 51200).steps;
  auto predicted = [&] {
    std::vector<double> times;
    for (const JudgedStep &row :
         judge(steps, 4, device("a100-80gb"), framework("megatron-lm-2022"),
               Recompute::all_or_none)
             .rows)
      times.push_back(row.time.total);
    return times;
  };
  const std::vector<double> before = predicted();
  for (size_t row = 0; row < steps.size(); ++row)
    if (row != 4)
      steps[row].seconds *= 1 + double(row);
  EXPECT_EQ(predicted(), before);
  steps[4].seconds *= 1.1;
  EXPECT_NE(predicted(), before);
}

// A published step on 64 A100s (Narayanan et al. 2021, table 1: 3.6 billion
// parameters, tensor parallel by 2, batch 512, 138 TFLOP/s by a formula that
// counts what is made again).
TEST(PlanJudge, MegatronsTable) {
  Split split;
  split.tensor = 2;
  split.data = 32;
  split.global_batch = 512;
  split.micro_batch = 16;
  split.sequence = 2048;
  split.recompute = true;
  const Decoder decoder = gpt_decoder(3072, 32, 30, 51200);
  const double tokens = 512 * 2048.0, hidden = 3072, layers = 30;
  const double counted =
      96 * tokens * layers * hidden * hidden *
      (1 + 2048 / (6 * hidden) + 51200 / (16 * layers * hidden));
  const StepTime time = step_time(decoder, framework("megatron-lm-2022"),
                                  device("a100-80gb"), split);
  EXPECT_NEAR(counted / time.total / 64 / 138e12, 1, .1);
  EXPECT_NEAR(decoder.parameters(2048) / 3.6e9, 1, .02);
}

} // namespace
} // namespace baton::plan
