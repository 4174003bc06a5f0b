#include "runtime/health/rank_judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <numeric>
#include <random>

namespace baton {
namespace {

/// How steps' times vary; of logarithms, so that 0.02 is about 2 %.
struct Noise {
  /// Of each rank and step by itself, and of each rank over `memory` steps.
  double white = 0.015, wandering = 0, memory = 10;
  /// Of all ranks alike, in each step.
  double common = 0.2;
  /// How often a step of a rank takes up to ten times as long.
  double spikes = 0.01;
};

/// Steps of a job whose ranks all compute the same, of a second each.
class Job {
public:
  Job(uint32_t ranks, const Noise &noise, uint64_t seed)
      : noise(noise), random(seed), wander(ranks) {}

  std::vector<double> next() {
    const double all = std::exp(noise.common * normal(random));
    const double kept = std::exp(-1 / noise.memory);
    std::vector<double> seconds;
    for (double &own : wander) {
      own = kept * own +
            std::sqrt(1 - kept * kept) * noise.wandering * normal(random);
      double time = all * std::exp(own + noise.white * normal(random));
      if (uniform(random) < noise.spikes)
        time *= 1 + 9 * uniform(random);
      seconds.push_back(time);
    }
    return seconds;
  }

private:
  const Noise noise;
  std::mt19937_64 random;
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> wander;
};

std::vector<std::string> alike(uint32_t ranks) {
  return std::vector<std::string>(ranks, "all");
}

/// The events of steps, each as `slowed` makes it of the job's.
std::vector<RankEvent> events_of(
    RankJudge &judge, Job &job, uint64_t steps,
    const std::function<void(uint64_t step, std::vector<double> &)> &slowed =
        [](uint64_t, std::vector<double> &) {}) {
  std::vector<RankEvent> all;
  for (uint64_t step = 1; step <= steps; ++step) {
    std::vector<double> seconds = job.next();
    slowed(step, seconds);
    for (RankEvent &event : judge.add(step, seconds))
      all.push_back(std::move(event));
  }
  return all;
}

/// Events of so many windows of ten steps in which no rank is slow.
size_t false_alarms(const std::vector<std::string> &work, const Noise &noise,
                    uint64_t windows) {
  Job job(static_cast<uint32_t>(work.size()), noise, 7);
  RankJudge judge({"compute"}, work);
  size_t alarms = 0;
  for (const RankEvent &event :
       events_of(judge, job, windows * RankJudge::least_steps))
    alarms += event.slow;
  EXPECT_EQ(judge.windows(), windows);
  return alarms;
}

/// False alarms in a thousand windows, at most, as counted in so many.
void expect_few_false_alarms(uint64_t windows, double most) {
  const Noise usual, rough = {0.05, 0, 10, 0.2, 0.05},
                     wandering = {0.01, 0.01, 10, 0.2, 0.01},
                     slowly = {0.01, 0.008, 40, 0.2, 0.01};
  // Two peers, eight, and four stages that have none.
  for (const auto &work :
       {alike(2), alike(8), std::vector<std::string>{"a", "b", "c", "d"}})
    for (const Noise &noise : {usual, rough, wandering, slowly}) {
      const size_t alarms = false_alarms(work, noise, windows);
      EXPECT_LT(1000.0 * alarms / windows, most)
          << work.size() << " ranks, noise of " << noise.white << " and "
          << noise.wandering << " over " << noise.memory << " steps";
      std::printf("%zu ranks, %g, %g over %g steps: %zu alarms\n", work.size(),
                  noise.white, noise.wandering, noise.memory, alarms);
    }
}

TEST(RankJudge, HasFewFalseAlarms) { expect_few_false_alarms(2000, 1); }
TEST(RankJudge, HasFewerFalseAlarmsThanOneInAThousandWindows) {
  expect_few_false_alarms(20000, 1);
}

TEST(RankJudge, FlagsARankThatIsFivePercentSlowerWithinFiftySteps) {
  for (uint64_t seed = 0; seed < 500; ++seed)
    for (const Noise &noise : {Noise{}, Noise{0.01, 0.005, 10, 0.2, 0.02}}) {
      Job job(8, noise, seed);
      RankJudge judge({"compute"}, alike(8));
      const auto rank = static_cast<uint32_t>(seed % 8);
      // It begins anywhere in a window.
      const uint64_t begin = 21 + seed % 10;
      const auto events = events_of(
          judge, job, begin + 50, [&](uint64_t step, std::vector<double> &all) {
            if (step >= begin)
              all[rank] *= 1.05;
          });
      ASSERT_EQ(events.size(), 1u) << "seed " << seed;
      EXPECT_TRUE(events[0].slow);
      EXPECT_EQ(events[0].rank, rank);
      EXPECT_LE(events[0].step, begin + 49);
      EXPECT_GE(events[0].since + RankJudge::least_steps, begin);
      EXPECT_EQ(events[0].findings[0].indicator, "compute");
      EXPECT_NEAR(events[0].findings[0].excess, 0.05, 0.025);
      EXPECT_TRUE(judge.is_slow(rank));
    }
}

TEST(RankJudge, FindsOneOfManyRanks) {
  for (uint32_t ranks : {8u, 64u, 512u}) {
    Job job(ranks, {}, 2);
    RankJudge judge({"compute", "inputs", "wait.collectives", "step"},
                    alike(ranks));
    std::vector<RankEvent> events;
    constexpr uint64_t steps = 60;
    std::clock_t taken = 0;
    for (uint64_t step = 1; step <= steps; ++step) {
      std::vector<double> seconds = job.next();
      seconds[ranks / 2] *= 1.06;
      seconds.resize(size_t(3) * ranks, 0.01);
      seconds.resize(size_t(4) * ranks, 2);
      const std::clock_t begin = std::clock();
      for (RankEvent &event : judge.add(step, seconds))
        events.push_back(std::move(event));
      taken += std::clock() - begin;
    }
    ASSERT_EQ(events.size(), 1u) << ranks;
    EXPECT_EQ(events[0].rank, ranks / 2);
    std::printf("%u ranks: %.3f ms of processor time a step\n", ranks,
                double(taken) * 1e3 / CLOCKS_PER_SEC / double(steps));
  }
}

TEST(RankJudge, NamesTheSlowerOfTwo) {
  Job job(2, {}, 1);
  RankJudge judge({"compute"}, alike(2));
  const auto events =
      events_of(judge, job, 50,
                [](uint64_t, std::vector<double> &all) { all[1] *= 1.06; });
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].rank, 1u);
  EXPECT_EQ(judge.peers(1).ranks, std::vector<uint32_t>{0});
}

TEST(RankJudge, LeavesSpikesAlone) {
  // Of one rank, in up to four steps of each window; and once of a window.
  for (uint64_t spikes : {1, 4}) {
    Job job(8, {}, 3);
    RankJudge judge({"compute"}, alike(8));
    EXPECT_TRUE(events_of(judge, job, 1000,
                          [&](uint64_t step, std::vector<double> &all) {
                            if (step % 10 < spikes)
                              all[5] *= 20;
                          })
                    .empty());
  }
  Job job(8, {}, 3);
  RankJudge judge({"compute"}, alike(8));
  EXPECT_TRUE(
      events_of(judge, job, 1000, [](uint64_t step, std::vector<double> &all) {
        if (step > 100 && step <= 120)
          all[5] *= 20;
      }).empty());
  EXPECT_EQ(judge.windows_against(5), 2u);
}

TEST(RankJudge, SaysWhenARankIsAsFastAgain) {
  Job job(8, {0.005}, 4);
  RankJudge judge({"compute"}, alike(8));
  const auto events =
      events_of(judge, job, 400, [](uint64_t step, std::vector<double> &all) {
        if (step > 100 && step <= 200)
          all[2] *= 1.1;
      });
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(events[0].slow);
  EXPECT_EQ(events[0].since, 101u);
  EXPECT_EQ(events[0].step, 130u);
  EXPECT_FALSE(events[1].slow);
  EXPECT_EQ(events[1].rank, 2u);
  EXPECT_EQ(events[1].since, 201u);
  EXPECT_EQ(events[1].step, 240u);
  EXPECT_FALSE(judge.is_slow(2));
}

TEST(RankJudge, HoldsAFlagThroughAGoodWindow) {
  Job job(8, {}, 5);
  RankJudge judge({"compute"}, alike(8));
  const auto events =
      events_of(judge, job, 400, [](uint64_t step, std::vector<double> &all) {
        // One window in four is good.
        if ((step - 1) / 10 % 4 != 3)
          all[2] *= 1.1;
      });
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(judge.is_slow(2));
}

TEST(RankJudge, ComparesRanksOfTheSameWork) {
  // Stages of 1 and 2 units, four ranks each: no rank is slow for its stage.
  std::vector<std::string> work;
  for (int rank = 0; rank < 8; ++rank)
    work.push_back(rank % 2 ? "long" : "short");
  auto unequal = [](std::vector<double> &all) {
    for (size_t rank = 1; rank < all.size(); rank += 2)
      all[rank] *= 2;
  };
  Job job(8, {}, 6);
  RankJudge judge({"compute"}, work);
  EXPECT_TRUE(
      events_of(judge, job, 1000, [&](uint64_t, std::vector<double> &all) {
        unequal(all);
      }).empty());
  const auto events =
      events_of(judge, job, 60, [&](uint64_t, std::vector<double> &all) {
        unequal(all);
        all[4] *= 1.07;
      });
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].rank, 4u);
  EXPECT_EQ(judge.peers(4).ranks, (std::vector<uint32_t>{0, 2, 6}));
  EXPECT_FALSE(judge.peers(4).by_history);
}

TEST(RankJudge, ComparesARankWithoutPeersWithItself) {
  // Four stages of different work; after a while the third one slows down, and
  // at another time all do.
  Job job(4, {}, 8);
  RankJudge judge({"compute"}, {"a", "b", "c", "d"});
  const auto events =
      events_of(judge, job, 300, [](uint64_t step, std::vector<double> &all) {
        for (size_t rank = 0; rank < 4; ++rank)
          all[rank] *= double(rank + 1) * (step > 100 && step < 180 ? 1.5 : 1);
        if (step > 200)
          all[2] *= 1.06;
      });
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].rank, 2u);
  EXPECT_EQ(events[0].since, 201u);
  EXPECT_TRUE(judge.peers(2).by_history);

  Job alone(1, {0.01, 0, 10, 0, 0}, 9);
  RankJudge itself({"compute"}, {"a"});
  const auto own = events_of(itself, alone, 200,
                             [](uint64_t step, std::vector<double> &all) {
                               if (step > 100)
                                 all[0] *= 1.06;
                             });
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].since, 101u);
}

/// Of each rank: compute, inputs, wait.collectives, step.
std::vector<double> four_indicators(const std::vector<double> &compute,
                                    const std::vector<double> &inputs,
                                    double step) {
  std::vector<double> all = compute;
  all.insert(all.end(), inputs.begin(), inputs.end());
  for (size_t rank = 0; rank < compute.size(); ++rank)
    all.push_back(std::max(1e-6, step - compute[rank] - inputs[rank]));
  all.insert(all.end(), compute.size(), step);
  return all;
}

TEST(RankJudge, JudgesNeitherWaitsNorWhatIsLittleOfAStep) {
  const std::vector<std::string> names = {"compute", "inputs",
                                          "wait.collectives", "step"};
  Job job(4, {0.01, 0, 10, 0, 0}, 10);
  RankJudge judge(names, alike(4));
  // Rank 1 takes half as long again for its inputs, which are 0.1 % of a step.
  for (uint64_t step = 1; step <= 200; ++step)
    EXPECT_TRUE(judge
                    .add(step, four_indicators(job.next(),
                                               {.001, .0015, .001, .001}, 1.2))
                    .empty());
  // And now they are 5 % of it.
  std::vector<RankEvent> events;
  for (uint64_t step = 201; step <= 240; ++step)
    for (const RankEvent &event : judge.add(
             step, four_indicators(job.next(), {.04, .06, .04, .04}, 1.2)))
      events.push_back(event);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].rank, 1u);
  ASSERT_EQ(events[0].findings.size(), 1u);
  EXPECT_EQ(events[0].findings[0].indicator, "inputs");
  EXPECT_NEAR(events[0].findings[0].excess, 0.5, 1e-3);
}

TEST(RankJudge, HasWindowsOfASecondAtLeast) {
  RankJudge judge({"compute", "step"}, alike(3));
  for (uint64_t step = 1; step <= 200; ++step)
    judge.add(step, std::vector<double>{.009, .009, .009, .01, .01, .01});
  EXPECT_EQ(judge.windows(), 2u);
}

TEST(RankJudge, TakesRanksWithoutTimesAsUnknown) {
  Job job(4, {0.01, 0, 10, 0, 0}, 11);
  RankJudge judge({"compute"}, alike(4));
  const auto events =
      events_of(judge, job, 200, [](uint64_t step, std::vector<double> &all) {
        all[0] = 0;
        all[3] *= 1.1;
        // Of a window where half the steps are missing, nothing is known.
        if (step > 100 && step % 10 < 6)
          all[3] = 0;
      });
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].rank, 3u);
  EXPECT_EQ(judge.windows_against(3), 10u);
  EXPECT_EQ(judge.windows_against(0), 0u);
}

TEST(RankJudge, SeesLessWithAHigherThreshold) {
  Job job(8, {}, 12);
  RankJudge judge({"compute"}, alike(8), 0.1);
  EXPECT_TRUE(
      events_of(judge, job, 500, [](uint64_t, std::vector<double> &all) {
        all[2] *= 1.07;
      }).empty());
}

} // namespace
} // namespace baton
