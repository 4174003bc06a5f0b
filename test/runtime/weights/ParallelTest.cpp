//===- ParallelTest.cpp - a loop over independent jobs --------------------===//

#include "runtime/weights/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace baton::test {
namespace {

TEST(ParallelFor, RunsEachJobOnce) {
  std::vector<std::atomic<int>> runs(100);
  parallel_for(runs.size(), 4, [&](size_t job) { ++runs[job]; });
  for (const std::atomic<int> &count : runs)
    EXPECT_EQ(count, 1);
}

TEST(ParallelFor, OfSeveralFailuresThatOfTheLowestJobIsThrown) {
  // Job 1 fails long after job 2 has.
  std::atomic<bool> has_failed = false;
  auto job = [&](size_t number) {
    if (number == 1)
      while (!has_failed)
        std::this_thread::yield();
    if (number == 2) {
      has_failed = true;
      throw std::runtime_error("2");
    }
    if (number == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      throw std::runtime_error("1");
    }
  };
  try {
    parallel_for(50, 3, job);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error &error) {
    EXPECT_EQ(error.what(), std::string("1"));
  }
}

} // namespace
} // namespace baton::test
