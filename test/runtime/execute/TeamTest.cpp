//===- TeamTest.cpp - threads that run one job after the other -----------===//

#include "runtime/execute/team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace baton {
namespace {

TEST(Team, RunsEveryWorkerOnceForEachJob) {
  Team team(5);
  for (int job = 0; job < 100; ++job) {
    std::vector<int> calls(5);
    team.start([&](unsigned worker) { ++calls[worker]; });
    team.wait();
    EXPECT_EQ(calls, std::vector<int>(5, 1));
  }
  EXPECT_GE(available_workers(), 1u);
  EXPECT_LE(available_workers(), max_workers);
}

TEST(Team, JobsRunAtTheSameTime) {
  Team team(4);
  std::atomic<int> arrived = 0;
  team.start([&](unsigned) {
    ++arrived;
    while (arrived < 4)
      std::this_thread::yield();
  });
  team.wait();
  EXPECT_EQ(arrived, 4);
}

} // namespace
} // namespace baton
