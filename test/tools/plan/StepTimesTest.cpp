//===- StepTimesTest.cpp - measured times between their points ------------===//

#include "tools/plan/step_times.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <fstream>

namespace baton::plan {
namespace {

/// A step of a grid: one chunk, and all rows behind as many positions.
StepShape shape(double outputs, double rows, double context) {
  return {outputs, rows, outputs * context,
          rows * context + rows * (rows - 1) / 2};
}

const std::vector<double> outputs = {0, 1, 4, 9}, rows = {0, 16, 50},
                          contexts = {0, 100, 300};

double cost(double with, double without, double context) {
  // Neither linear nor a product of functions of each.
  return 1 + with * with * .1 + without * .3 +
         context * context * (with + 2 * without + 1) * 1e-5;
}

MeasuredStepTimes grid() {
  std::vector<double> seconds;
  for (double with : outputs)
    for (double without : rows)
      for (double context : contexts)
        seconds.push_back(cost(with, without, context));
  return {outputs, rows, contexts, seconds};
}

TEST(StepTimes, AreExactAtPointsOfTheGrid) {
  const MeasuredStepTimes times = grid();
  for (double with : outputs)
    for (double without : rows)
      for (double context : contexts)
        if (with + without > 0)
          EXPECT_NEAR(times.seconds(shape(with, without, context)) /
                          cost(with, without, context),
                      1, 1e-12)
              << with << " " << without << " " << context;
}

TEST(StepTimes, AreLinearBetweenAndBeyondPoints) {
  const MeasuredStepTimes times = grid();
  auto at = [&](double with, double without, double context) {
    return times.seconds(shape(with, without, context));
  };
  EXPECT_NEAR(at(2, 0, 100), cost(1, 0, 100) * 2 / 3 + cost(4, 0, 100) / 3,
              1e-12);
  EXPECT_NEAR(at(0, 33, 300), (cost(0, 16, 300) + cost(0, 50, 300)) / 2, 1e-12);
  EXPECT_NEAR(at(9, 0, 250), cost(9, 0, 100) / 4 + cost(9, 0, 300) * 3 / 4,
              1e-12);
  EXPECT_NEAR(at(14, 0, 0), 2 * cost(9, 0, 0) - cost(4, 0, 0), 1e-12);
  EXPECT_NEAR(at(0, 50, 500), 2 * cost(0, 50, 300) - cost(0, 50, 100), 1e-12);
  // Several short chunks see less than the grid's one.
  EXPECT_LT(times.seconds({0, 50, 0, 0}), at(0, 50, 0));
}

TEST(StepTimes, CountPositionsByWhatTheyCostEachKindOfRow) {
  // Positions cost rows of prompts nothing.
  std::vector<double> seconds;
  for (double with : outputs)
    for (double without : rows)
      for (double context : contexts)
        seconds.push_back(1 + without + with * context);
  const MeasuredStepTimes times(outputs, rows, contexts, seconds);
  const StepShape far_prompt = {4, 16, 4 * 100, 16 * 300 + 16 * 15 / 2};
  EXPECT_NEAR(times.seconds(far_prompt), 1 + 16 + 4 * 100, 1e-9);
}

TEST(StepTimes, RefuseWhatIsNoGrid) {
  auto message = [](const std::string &text) -> std::string {
    const std::string file = testing::TempDir() + "step-times.json";
    std::ofstream(file) << text;
    try {
      MeasuredStepTimes times{std::filesystem::path(file)};
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  const std::string rest =
      R"("max_sequences":4,"max_rows":8,"max_outputs":9,"max_positions":64,"workers":2,"spread":0.1,)";
  EXPECT_EQ(message(R"({"kind":"step times",)" + rest +
                    R"("outputs":[0,1],"rows":[0,4],"contexts":[0],
                       "seconds":[[[1],[2]],[[1],[3]]]})"),
            "");
  EXPECT_NE(message(R"({"kind":"step times",)" + rest +
                    R"("outputs":[0,1],"rows":[0,4],"contexts":[0],
                       "seconds":[[[1],[2]],[[1]]]})")
                .find("3 times for a grid of 4"),
            std::string::npos);
  EXPECT_NE(message(R"({"kind":"step times",)" + rest +
                    R"("outputs":[0,1],"rows":[4,4],"contexts":[0],
                       "seconds":[[[1],[2]],[[1],[3]]]})")
                .find("ascend"),
            std::string::npos);
  EXPECT_NE(message("{}").find("bench --step-times"), std::string::npos);
  EXPECT_NE(message("no").find("parse"), std::string::npos);
}

} // namespace
} // namespace baton::plan
