//===- MeasuredTableTest.cpp - tables as people have them -----------------===//

#include "facts_for_tests.h"
#include "tools/plan/measured_table.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <fstream>

namespace baton::plan {
namespace {

constexpr const char *names =
    "# GPUs,global batch,micro batch,hidden size,attention heads,# "
    "layers,sequence length,tensor parallelism,data parallelism,pipeline "
    "parallelism,iteration time (ms)\n";

std::string written(const std::string &text) {
  // Cases may run side by side.
  const std::string file =
      testing::TempDir() +
      testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv";
  std::ofstream(file) << text;
  return file;
}

std::string refusal(const std::string &text) {
  try {
    read_measured_table(written(text), 51200);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(PlanMeasuredTable, ColumnsInAnyOrder) {
  const MeasuredTable read = read_measured_table(
      written("# somebody's\r\niteration time (ms),pipeline "
              "parallelism,data parallelism,tensor parallelism,sequence "
              "length,# layers,attention heads,hidden size,micro batch,global "
              "batch,# GPUs,Parameters\r\n"
              "12.5,2,4,1,1024,24,16,2048,8,64,8,1.3\r\n\r\n"),
      51200);
  ASSERT_EQ(read.steps.size(), 1u);
  const MeasuredStep &step = read.steps[0];
  EXPECT_EQ(step.line, 3);
  EXPECT_EQ(step.seconds, .0125);
  EXPECT_EQ(step.split.pipeline, 2);
  EXPECT_EQ(step.split.data, 4);
  EXPECT_EQ(step.split.microbatches(), 2);
  EXPECT_EQ(step.decoder.hidden, 2048);
  EXPECT_EQ(step.decoder.mlp, 8192);
}

TEST(PlanMeasuredTable, SaysWhatIsWrong) {
  const std::string row = "8,64,8,2048,16,24,1024,1,4,2,12.5\n";
  EXPECT_EQ(refusal(names + row), "");
  EXPECT_NE(refusal("a,b\n1,2\n").find("has no line that names GPUs"),
            std::string::npos);
  EXPECT_NE(refusal(names).find("has no rows"), std::string::npos);
  EXPECT_NE(refusal(names + std::string("8,64\n")).find(":2: has no micro"),
            std::string::npos);
  const struct {
    const char *row, *why;
  } wrong[] = {
      {"8,64,8,2048,16,24,1024,1,4,2,fast", "'fast' is no number above 0"},
      {"8,64,8,2048,16,24,1024,1,4,2,-3", "'-3' is no number above 0"},
      {"8,64,8,2048,16,24,1024,1,4,2,nan", "'nan' is no number above 0"},
      {"8,64,8.5,2048,16,24,1024,1,4,2,1", "no whole number"},
      {"8,64,8,2048,16,24,1024,2,4,2,1", "8 GPUs are not tensor times"},
      {"8,64,3,2048,16,24,1024,1,4,2,1", "the global batch (64)"},
      {"6,64,8,2048,16,25,1024,1,2,3,1", "the number of layers (25)"},
      {"8,64,8,2049,16,24,1024,1,4,2,1", "no multiple of the heads"}};
  for (const auto &[text, why] : wrong) {
    const std::string message = refusal(names + row + text + "\n");
    EXPECT_NE(message.find(why), std::string::npos) << message;
    EXPECT_NE(message.find(".csv:3"), std::string::npos) << message;
  }
  EXPECT_NE(refusal("case,measured_ms\nmistral_l4_tp1,3\n")
                .find("there is no model 'mistral'"),
            std::string::npos);
}

} // namespace
} // namespace baton::plan
