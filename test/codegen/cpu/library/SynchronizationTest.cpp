//===- SynchronizationTest.cpp - waiting and notifying --------------------===//

#include "test/codegen/cpu/library/Support.h"

#include <atomic>
#include <sched.h>
#include <thread>

namespace {

std::atomic<int> yields = 0;

} // namespace

extern "C" void baton_yield() {
  ++yields;
  sched_yield();
}

namespace {

/// Two threads hand a plain value back and forth; a missing release or acquire
/// is a data race for ThreadSanitizer.
TEST(Synchronization, HandsValuesOver) {
  constexpr uint32_t rounds = 2000;
  // Begins close below the wrap of the counters.
  const uint32_t base = 0u - rounds / 2;
  alignas(64) uint32_t ping = base, pong = base;
  uint64_t value = 0;
  std::thread other([&] {
    for (uint32_t round = 1; round <= rounds; ++round) {
      baton_wait(&ping, base + round);
      value = value * 3 + 1;
      baton_notify(&pong);
    }
  });
  uint64_t expected = 0;
  for (uint32_t round = 1; round <= rounds; ++round) {
    value += round;
    baton_notify(&ping);
    baton_wait(&pong, base + round);
    expected = (expected + round) * 3 + 1;
    ASSERT_EQ(value, expected);
  }
  other.join();
  EXPECT_EQ(ping, base + rounds);
  EXPECT_EQ(pong, base + rounds);
}

TEST(Synchronization, DoesNotWaitForWhatHasHappened) {
  uint32_t word = 5;
  yields = 0;
  baton_wait(&word, 5);
  baton_wait(&word, 4);
  word = 3;
  baton_wait(&word, 0xfffffffeu);
  EXPECT_EQ(yields, 0);
}

TEST(Synchronization, YieldsWhileWaiting) {
  uint32_t word = 0;
  yields = 0;
  std::thread waiter([&] { baton_wait(&word, 2); });
  while (yields < 3)
    sched_yield();
  baton_notify(&word);
  // Still one short: it must go on yielding.
  for (int seen = yields; yields < seen + 3;)
    sched_yield();
  baton_notify(&word);
  waiter.join();
  EXPECT_EQ(word, 2u);
}

TEST(Synchronization, BorderHoldsEveryWorkerBack) {
  constexpr uint32_t workers = 3, borders = 300;
  uint32_t border = 0;
  uint32_t step[workers] = {};
  std::vector<std::thread> threads;
  std::atomic<bool> behind = false;
  for (uint32_t worker = 0; worker < workers; ++worker)
    threads.emplace_back([&, worker] {
      for (uint32_t i = 1; i <= borders; ++i) {
        step[worker] = i;
        baton_border(&border, workers, (2 * i - 1) * workers);
        for (uint32_t other : step)
          if (other != i)
            behind = true;
        baton_border(&border, workers, 2 * i * workers);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_FALSE(behind);
  EXPECT_EQ(border, 2 * borders * workers);
}

TEST(Synchronization, PrefetchToleratesAnyAddress) {
  const void *unmapped = reinterpret_cast<const void *>(4096);
  baton_prefetch(unmapped, 0);
  baton_prefetch(unmapped, 1000);
}

TEST(FmaProbe, ReturnsTheSumOfItsChains) {
  // Seven chains of 16 lanes that begin at iterations .. iterations + 6.
  EXPECT_EQ(baton_task_fma_probe(10), 16.0f * (7 * 10 + 21));
}

} // namespace
