#include "runtime/train/rank_times.h"

#include "runtime/comm/in_process.h"
#include "runtime/health/rank_judge.h"
#include "test/runtime/comm/exchanges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <thread>

namespace baton {
namespace {

using namespace exchanges;
using std::chrono::milliseconds;

constexpr uint32_t ranks = 3;

void on_each_rank(InProcessWorld &world,
                  const std::function<void(Communicator &)> &job) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { job(world.rank(rank)); });
  for (std::thread &thread : threads)
    thread.join();
}

void gather(Communicator &rank) {
  Exchange one(Collective::Kind::AllGather, {0, 1, 2}, rank.rank(), {4096}, 1);
  rank.exchange(0, 0, one.tensors);
  EXPECT_EQ(one.check(), "");
}

double of(const std::vector<double> &seconds,
          const std::vector<std::string> &names, const std::string &name,
          uint32_t rank) {
  const auto place = std::ranges::find(names, name) - names.begin();
  return seconds.at(size_t(place) * ranks + rank);
}

/// As a driver of steps of two microbatches does it. Rank 1 works for longer,
/// rank 2 takes long to fill in what a step reads.
TEST(RankTimes, TellsOwnTimeFromWaits) {
  InProcessWorld world(
      line(ranks), {collective("all_gather", Collective::Kind::AllGather)}, {});
  constexpr int steps = 5;
  std::vector<std::vector<double>> told_steps;
  on_each_rank(world, [&](Communicator &rank) {
    RankTimes times(rank, /*has_stages=*/false);
    const size_t indicators = times.indicators().size();
    times.begin();
    for (int microbatch = 0; microbatch < 2 * steps; ++microbatch) {
      times.go_on();
      if (rank.rank() == 2)
        std::this_thread::sleep_for(milliseconds(20));
      times.count(RankTimes::Part::Inputs);
      if (rank.rank() == 1)
        std::this_thread::sleep_for(milliseconds(60));
      gather(rank);
      const auto told =
          rank.share(times.tell(RankTimes::Part::Compute), "a test");
      times.heard();
      if (microbatch % 2 == 0)
        continue;
      times.end_step();
      // What is neither is the step's alone.
      std::this_thread::sleep_for(milliseconds(5));
      if (rank.rank() == 0)
        told_steps.push_back(RankTimes::seconds_of(told, indicators));
    }
  });
  const std::vector<std::string> names =
      RankTimes(world.rank(0), false).indicators();
  EXPECT_EQ(names,
            (std::vector<std::string>{"compute", "inputs", "wait.collectives",
                                      "wait.border", "step"}));
  ASSERT_EQ(told_steps.size(), size_t(steps));
  for (const std::vector<double> &seconds : told_steps) {
    // A sleep may be longer, never shorter.
    EXPECT_GE(of(seconds, names, "compute", 1), 0.12);
    EXPECT_GE(of(seconds, names, "inputs", 2), 0.04);
    // Others may begin behind the one that they wait for.
    EXPECT_GE(of(seconds, names, "step", 1), 0.12);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      double sum = 0;
      for (const char *name :
           {"compute", "inputs", "wait.collectives", "wait.border"})
        sum += of(seconds, names, name, rank);
      EXPECT_LE(sum, of(seconds, names, "step", rank) * 1.0001);
    }
  }
  // Who waits is not who is waited for.
  const std::vector<double> &middle =
      *std::ranges::min_element(told_steps, {}, [&](const auto &seconds) {
        return of(seconds, names, "step", 0);
      });
  EXPECT_GE(of(middle, names, "wait.collectives", 0),
            of(middle, names, "wait.collectives", 1));
  EXPECT_GE(of(middle, names, "compute", 1), of(middle, names, "compute", 0));
}

TEST(RankTimes, TellsStagesProgramsApart) {
  InProcessWorld world(line(ranks), {}, {});
  RankTimes times(world.rank(0), /*has_stages=*/true);
  const std::vector<std::string> names = times.indicators();
  using Part = RankTimes::Part;
  times.begin();
  int milliseconds_of = 2;
  for (Part part : {Part::Inputs, Part::Forward, Part::Backward}) {
    times.go_on();
    std::this_thread::sleep_for(milliseconds(milliseconds_of += 2));
    times.count(part);
  }
  times.go_on();
  std::this_thread::sleep_for(milliseconds(10));
  const std::string told = times.tell(Part::Update);
  // Of ranks that tell nothing, nothing is known.
  const std::vector<double> seconds = RankTimes::seconds_of(
      std::vector<std::string>{told, "", ""}, names.size());
  EXPECT_GE(of(seconds, names, "inputs", 0), 0.004);
  EXPECT_GE(of(seconds, names, "forward", 0), 0.006);
  EXPECT_GE(of(seconds, names, "backward", 0), 0.008);
  EXPECT_GE(of(seconds, names, "update", 0), 0.010);
  EXPECT_NEAR(of(seconds, names, "compute", 0),
              of(seconds, names, "forward", 0) +
                  of(seconds, names, "backward", 0) +
                  of(seconds, names, "update", 0),
              1e-8);
  EXPECT_EQ(of(seconds, names, "wait.messages", 0), 0);
  EXPECT_EQ(of(seconds, names, "compute", 1), 0);
}

TEST(RankTimes, FindTheRankThatIsSlow) {
  // Three windows of a second, through the exchanges and texts of a run.
  InProcessWorld world(
      line(ranks), {collective("all_gather", Collective::Kind::AllGather)}, {});
  std::vector<RankEvent> events;
  on_each_rank(world, [&](Communicator &rank) {
    RankTimes times(rank, /*has_stages=*/false);
    const std::vector<std::string> names = times.indicators();
    RankJudge judge(names, {"all", "all", "all"});
    times.begin();
    for (uint64_t step = 1; judge.windows() < 3; ++step) {
      times.go_on();
      std::this_thread::sleep_for(milliseconds(rank.rank() == 1 ? 60 : 10));
      gather(rank);
      const auto told =
          rank.share(times.tell(RankTimes::Part::Compute), "a test");
      times.heard();
      times.end_step();
      const auto found =
          judge.add(step, RankTimes::seconds_of(told, names.size()));
      if (rank.rank() == 0)
        events.insert(events.end(), found.begin(), found.end());
    }
  });
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].slow);
  EXPECT_EQ(events[0].rank, 1u);
  EXPECT_EQ(events[0].since, 1u);
  ASSERT_EQ(events[0].findings.size(), 1u);
  EXPECT_EQ(events[0].findings[0].indicator, "compute");
}

TEST(WaitClock, CountsWhatOverlapsOnce) {
  using Time = WaitClock::Clock::time_point;
  auto at = [](int64_t seconds) { return Time(std::chrono::seconds(seconds)); };
  WaitClock clock;
  clock.begin(at(10));
  clock.begin(at(12));
  clock.end(at(15));
  EXPECT_EQ(clock.total(at(16)), std::chrono::seconds(6));
  clock.end(at(20));
  EXPECT_EQ(clock.total(at(30)), std::chrono::seconds(10));
  clock.begin(at(40));
  clock.end(at(41));
  EXPECT_EQ(clock.total(at(50)), std::chrono::seconds(11));
  // One comes late with what it has read, at its begin and at its end.
  clock.begin(at(62));
  clock.begin(at(60));
  clock.end(at(70));
  clock.end(at(65));
  EXPECT_EQ(clock.total(at(80)), std::chrono::seconds(21));
  clock.begin(at(66));
  clock.end(at(75));
  EXPECT_EQ(clock.total(at(80)), std::chrono::seconds(26));
}

TEST(WaitClock, CountsNoMoreThanThereIs) {
  WaitClocks clocks;
  constexpr int waits = 20000;
  const auto begin = WaitClock::Clock::now();
  const std::clock_t taken = std::clock();
  std::vector<std::thread> threads;
  for (auto kind : {&WaitClocks::collectives, &WaitClocks::messages})
    threads.emplace_back([&clocks, kind] {
      for (int i = 0; i < waits; ++i)
        const CountedWait wait(clocks, kind);
    });
  for (std::thread &thread : threads)
    thread.join();
  std::printf("%.0f ns of processor time a wait\n",
              double(std::clock() - taken) * 1e9 / CLOCKS_PER_SEC / waits / 2);
  const auto end = WaitClock::Clock::now();
  EXPECT_GT(clocks.collectives.total(end).count(), 0);
  EXPECT_LE(clocks.all.total(end), end - begin);
  EXPECT_LE(clocks.collectives.total(end), clocks.all.total(end));
  EXPECT_LE(clocks.messages.total(end), clocks.all.total(end));
}

} // namespace
} // namespace baton
