//===- ScheduleTest.cpp - schedules against what is published of them -----===//

#include "dialects/Dist/ScheduleProof.h"
#include "passes/pipeline/Generators.h"
#include "passes/pipeline/Simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

using namespace baton::pipeline;

namespace {

/// The same for all positions of a schedule.
PipelineCosts evenCosts(const Schedule &schedule, PositionCosts costs,
                        double transfer = 0) {
  return {std::vector(schedule.countPositions(), costs), transfer};
}

double peakOf(const Timeline &timeline) {
  return *std::max_element(timeline.peakActivations.begin(),
                           timeline.peakActivations.end());
}

struct Sizes {
  int stages, microbatches;
};

class ScheduleTest : public testing::TestWithParam<Sizes> {
protected:
  int p = GetParam().stages, m = GetParam().microbatches;
  PositionCosts costs{3, 4, 2};
  double work = m * 9.0;

  Timeline run(const Schedule &schedule) {
    EXPECT_EQ(findFault(schedule), "") << schedule.name;
    EXPECT_EQ(countInFlight(schedule), schedule.inFlight) << schedule.name;
    return simulate(schedule, evenCosts(schedule, costs));
  }
};

} // namespace

/// Every row of the paper's tables, to its four digits.
TEST(PublishedBubbles, AreReproduced) {
  std::ifstream file(PIPELINE_TABLES "/zero-bubble.csv");
  std::string line;
  int compared = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#' || line.rfind("model,", 0) == 0)
      continue;
    SCOPED_TRACE(line);
    std::vector<double> numbers;
    std::stringstream stream(line.substr(line.find(',') + 1));
    for (std::string field; std::getline(stream, field, ',');)
      numbers.push_back(std::stod(field));
    ASSERT_EQ(numbers.size(), 9u);
    int p = int(numbers[0]), m = int(numbers[1]);
    PositionCosts costs{numbers[2], numbers[3], numbers[4]};
    const Schedule schedules[] = {make1F1B(p, m), makeZeroBubbleH1(p, m),
                                  makeZeroBubbleH2(p, m)};
    for (int i = 0; i < 3; ++i) {
      Timeline timeline =
          simulate(schedules[i], evenCosts(schedules[i], costs, numbers[5]));
      double work = m * (costs.forward + costs.input + costs.weight);
      EXPECT_NEAR(timeline.bubble, 1 - work / timeline.longest, 1e-12);
      EXPECT_EQ(std::round(timeline.bubble * 1e4),
                std::round(numbers[6 + i] * 1e4))
          << schedules[i].name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 36);
}

TEST_P(ScheduleTest, GPipe) {
  Timeline timeline = run(makeGPipe(p, m));
  EXPECT_NEAR(timeline.bubble, (p - 1.0) / (m + p - 1), 1e-12);
  EXPECT_EQ(timeline.total, timeline.longest);
  EXPECT_EQ(timeline.peakActivations, std::vector<double>(p, m));
}

TEST_P(ScheduleTest, OneForwardOneBackward) {
  Schedule schedule = make1F1B(p, m);
  Timeline timeline = run(schedule);
  EXPECT_NEAR(timeline.bubble, (p - 1.0) / (m + p - 1), 1e-12);
  for (int stage = 0; stage < p; ++stage) {
    EXPECT_EQ(schedule.inFlight[stage], p - stage);
    EXPECT_EQ(timeline.peakActivations[stage], p - stage);
  }
}

TEST_P(ScheduleTest, Interleaved) {
  for (int v : {1, 2, 3}) {
    Timeline timeline = run(makeInterleaved(p, m, v));
    // Positions take as long as stages elsewhere: v times as much work.
    double idle = timeline.longest - v * work;
    EXPECT_NEAR(idle / (v * work), (p - 1.0) / (v * m), 1e-12) << v;
    // In units of a stage's activations.
    if (m > p)
      EXPECT_NEAR(peakOf(timeline) / v, p * (1 + (p - 1.0) / (p * v)), 1e-12);
  }
  EXPECT_EQ(makeInterleaved(p, m, 1).tables == make1F1B(p, m).tables, p == 1);
}

TEST_P(ScheduleTest, ZeroBubbleH1) {
  Timeline timeline = run(makeZeroBubbleH1(p, m));
  EXPECT_NEAR(timeline.longest - work,
              (p - 1) * (costs.forward + costs.input - costs.weight), 1e-9);
  EXPECT_EQ(peakOf(timeline), p);
}

TEST_P(ScheduleTest, ZeroBubbleH2) {
  Timeline timeline = run(makeZeroBubbleH2(p, m));
  EXPECT_EQ(peakOf(timeline), std::min(m, 2 * p - 1));
  if (m < 2 * p - 1)
    return;
  EXPECT_NEAR(timeline.longest - work,
              (p - 1) * (costs.forward + costs.input - 2 * costs.weight), 1e-9);
  costs = {1, 1, 1};
  EXPECT_EQ(run(makeZeroBubbleH2(p, m)).bubble, 0);
}

/// What is kept from input to weight counts for itself.
TEST_P(ScheduleTest, ActivationsOfWeightSteps) {
  costs.weightActivations = 0;
  // No delayed weight step keeps anything: as 1F1B.
  Timeline timeline = run(makeZeroBubbleH1(p, m));
  for (int stage = 0; stage < p; ++stage)
    EXPECT_EQ(timeline.peakActivations[stage], p - stage);
}

/// Contributions to a gradient are added in one order, whatever the schedule.
TEST_P(ScheduleTest, WeightStepsAscend) {
  for (const Schedule &schedule :
       {makeGPipe(p, m), make1F1B(p, m), makeInterleaved(p, m, 2),
        makeZeroBubbleH1(p, m), makeZeroBubbleH2(p, m)})
    for (const Table &table : schedule.tables) {
      std::vector<int> next(schedule.chunks);
      for (const Step &step : table)
        if (step.phase == Phase::weight)
          EXPECT_EQ(step.microbatch, next[step.chunk]++) << schedule.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ScheduleTest,
                         testing::Values(Sizes{1, 1}, Sizes{1, 4}, Sizes{2, 2},
                                         Sizes{2, 8}, Sizes{3, 9}, Sizes{4, 12},
                                         Sizes{8, 64}, Sizes{64, 256}));

/// p = 8, m = 64: 7/64 of ideal time, 7/71 of all of it.
TEST(Schedules, TheBubbleOfIdealTime) {
  Schedule schedule = make1F1B(8, 64);
  Timeline timeline = simulate(schedule, evenCosts(schedule, {1, 1, 1}));
  EXPECT_NEAR(timeline.longest / (64 * 3) - 1, 7.0 / 64, 1e-12);
  EXPECT_NEAR(timeline.bubble, 7.0 / 71, 1e-12);
}

/// One slow position sets the pace, whichever it is.
TEST(Schedules, UnevenPositions) {
  for (int slow = 0; slow < 4; ++slow) {
    Schedule schedule = make1F1B(4, 16);
    PipelineCosts costs = evenCosts(schedule, {1, 1, 1});
    costs.positions[slow] = {2, 2, 2};
    Timeline timeline = simulate(schedule, costs);
    // It computes, others lead to its first step and from its last one.
    EXPECT_GE(timeline.total, 16 * 6 + slow * 3) << slow;
    EXPECT_LE(timeline.total, 16 * 6 + 3 * 3) << slow;
  }
}

TEST(Schedules, ByName) {
  std::string error;
  for (const char *name : {"gpipe", "1f1b", "zb-h1", "zb-h2"}) {
    std::optional<Schedule> schedule = makeSchedule(name, 4, 6, error);
    ASSERT_TRUE(schedule) << error;
    EXPECT_EQ(schedule->name, name);
    EXPECT_EQ(findFault(*schedule), "");
  }
  std::optional<Schedule> schedule = makeSchedule("interleaved:3", 2, 6, error);
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->chunks, 3);
  EXPECT_FALSE(makeSchedule("interleaved:2", 4, 6, error));
  EXPECT_EQ(error, "schedule 'interleaved:2': 6 microbatches are no multiple "
                   "of 4 stages");
  EXPECT_FALSE(makeSchedule("interleaved:0", 4, 8, error));
  EXPECT_EQ(error, "schedule 'interleaved:0': expected a number of chunks, "
                   "such as interleaved:2");
  EXPECT_FALSE(makeSchedule("2f2b", 4, 8, error));
  EXPECT_EQ(error, "unknown schedule '2f2b', expected gpipe, 1f1b, "
                   "interleaved:CHUNKS, zb-h1 or zb-h2");
  EXPECT_FALSE(makeSchedule("interleaved:64", 1000, 1000, error));
  EXPECT_EQ(error, "a schedule of 1000 stages, 1000 microbatches and 64 chunks "
                   "has more than 4194304 forward steps");
  EXPECT_FALSE(makeSchedule("1f1b", 1 << 30, 1 << 30, error));
  EXPECT_FALSE(makeSchedule("gpipe", 0, 8, error));
  EXPECT_EQ(error, "a pipeline has at least one stage and one microbatch, "
                   "found 0 and 8");
}

TEST(Steps, AreText) {
  for (const char *text : {"F0", "B12", "W3.1"}) {
    std::optional<Step> step = parseStep(text);
    ASSERT_TRUE(step) << text;
    EXPECT_EQ(toText(*step), text);
  }
  for (const char *text :
       {"", "F", "X1", "F-1", "F1.", "F1.2.3", "B1 ", "W99999999999"})
    EXPECT_FALSE(parseStep(text)) << text;
}
