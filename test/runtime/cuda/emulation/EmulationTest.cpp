//===- EmulationTest.cpp - kernels on the host ----------------------------===//

#include "test/runtime/cuda/emulation/Launch.h"
#include "test/runtime/cuda/emulation/PersistentKernel.h"

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace {

constexpr unsigned all_lanes = 0xffffffffu;

// Whole kernels ---------------------------------------------------------------

using Shape = std::tuple<unsigned, unsigned, uint64_t>;

class PersistentTest : public testing::TestWithParam<Shape> {};

TEST_P(PersistentTest, IsRight) {
  auto [blocks, threads, seed] = GetParam();
  PersistentProgram program(/*rounds=*/10);
  std::vector<float> expected = program.expected();
  program.run({blocks, threads, PersistentProgram::shared_bytes, seed});
  EXPECT_EQ(program.result(), expected);
}

std::string name(const testing::TestParamInfo<Shape> &info) {
  auto [blocks, threads, seed] = info.param;
  return std::to_string(blocks) + "x" + std::to_string(threads) + "_seed" +
         std::to_string(seed);
}

INSTANTIATE_TEST_SUITE_P(Small, PersistentTest,
                         testing::Combine(testing::Values(4u),
                                          testing::Values(32u, 128u),
                                          testing::Values(0, 1, 2, 3)),
                         name);
INSTANTIATE_TEST_SUITE_P(Wide, PersistentTest,
                         testing::Combine(testing::Values(8u),
                                          testing::Values(256u),
                                          testing::Values(0, 1, 2)),
                         name);
INSTANTIATE_TEST_SUITE_P(Many, PersistentTest,
                         testing::Combine(testing::Values(64u),
                                          testing::Values(64u),
                                          testing::Values(0, 1)),
                         name);

// Grids that overlap ----------------------------------------------------------

struct Early {
  std::atomic<bool> second_began = false, first_ended = false;
  int written = 0, seen = 0;
};

/// The first grid ends only when the second has begun, which can see what it
/// wrote behind its wait.
TEST(Grid, StartsEarlyAndWaits) {
  namespace emulation = baton::emulation;
  for (uint64_t seed : {0, 1, 2}) {
    Early early;
    emulation::Grid first(
        {3, 64, 16, seed},
        [](void *argument) {
          auto &early = *static_cast<Early *>(argument);
          baton_start_kernel_behind();
          while (!early.second_began)
            emulation::yield();
          if (blockIdx.x == 2 && threadIdx.x == 63) {
            early.written = 7;
            early.first_ended = true;
          }
        },
        &early, nullptr);
    first.wait_until_next_may_start();
    emulation::Grid second(
        {2, 32, 16, seed},
        [](void *argument) {
          auto &early = *static_cast<Early *>(argument);
          early.second_began = true;
          baton_wait_for_kernel_before();
          EXPECT_TRUE(early.first_ended);
          if (blockIdx.x == 0 && threadIdx.x == 0)
            early.seen = early.written;
        },
        &early, &first);
    // The end of a block stands for its permission.
    second.wait_until_next_may_start();
    first.join();
    second.join();
    EXPECT_EQ(early.seen, 7);
  }
}

// Indices and memory ----------------------------------------------------------

TEST(Launch, RunsEveryThreadOnce) {
  std::vector<unsigned> seen(3 * 40);
  launch({3, 40}, [&] {
    EXPECT_EQ(blockDim.x, 40u);
    EXPECT_EQ(gridDim.x, 3u);
    EXPECT_EQ(blockDim.y * blockDim.z * gridDim.y * gridDim.z, 1u);
    EXPECT_EQ(threadIdx.y + threadIdx.z + blockIdx.y + blockIdx.z, 0u);
    ++seen[blockIdx.x * blockDim.x + threadIdx.x];
  });
  EXPECT_EQ(seen, std::vector<unsigned>(3 * 40, 1));
}

__shared__ float counters[4];

/// Each block has its own, and after each launch begins anew.
TEST(SharedMemory, IsABlocksOwnAndBeginsUndefined) {
  for (int repetition = 0; repetition < 2; ++repetition) {
    std::vector<float> sums(8);
    launch({8, 32, 4 * sizeof(float)}, [&] {
      BATON_DYNAMIC_SHARED(bytes);
      float *dynamic = reinterpret_cast<float *>(bytes);
      if (threadIdx.x < 4) {
        EXPECT_TRUE(std::isnan(counters[threadIdx.x]));
        EXPECT_TRUE(std::isnan(dynamic[threadIdx.x]));
        counters[threadIdx.x] = static_cast<float>(blockIdx.x);
        dynamic[threadIdx.x] = static_cast<float>(threadIdx.x);
      }
      baton_pause(20);
      __syncthreads();
      if (threadIdx.x == 0)
        for (int i = 0; i < 4; ++i)
          sums[blockIdx.x] += counters[i] + dynamic[i];
    });
    for (int block = 0; block < 8; ++block)
      EXPECT_EQ(sums[block], 4.0f * block + 6.0f);
  }
}

TEST(SharedMemory, IsAligned) {
  launch({2, 1, 100}, [] {
    __shared__ __align__(128) unsigned char buffer[16];
    BATON_DYNAMIC_SHARED(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % 128, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 128, 0u);
  });
}

// Barriers of a block ---------------------------------------------------------

TEST(Syncthreads, CombinesPredicates) {
  launch({2, 48, 0, 1}, [] {
    int thread = static_cast<int>(threadIdx.x);
    for (int round = 0; round < 20; ++round) {
      EXPECT_EQ(__syncthreads_or(thread == round), 1);
      EXPECT_EQ(__syncthreads_or(thread == 48), 0);
      EXPECT_EQ(__syncthreads_and(thread != round), 0);
      EXPECT_EQ(__syncthreads_and(thread != 48), 1);
      EXPECT_EQ(__syncthreads_count(thread < round), round);
    }
  });
}

TEST(Syncthreads, WaitsOnlyForThreadsThatHaveNotReturned) {
  for (uint64_t seed : {0, 1, 2}) {
    std::vector<int> rounds(100);
    launch({1, 100, 0, seed}, [&] {
      // Some return before the others arrive, some after.
      for (unsigned round = 0; round < threadIdx.x / 10; ++round) {
        ++rounds[threadIdx.x];
        EXPECT_EQ(__syncthreads_count(1),
                  100 - 10 * (static_cast<int>(round) + 1));
      }
    });
    for (int thread = 0; thread < 100; ++thread)
      EXPECT_EQ(rounds[thread], thread / 10);
  }
}

// Warps -----------------------------------------------------------------------

template <typename T> void expect_shuffles() {
  launch({1, 64, 0, 3}, [] {
    int lane = static_cast<int>(threadIdx.x % 32);
    T value = static_cast<T>(lane) - static_cast<T>(5);
    auto from = [](int source) {
      return static_cast<T>(source) - static_cast<T>(5);
    };
    EXPECT_EQ(__shfl_sync(all_lanes, value, 7), from(7));
    EXPECT_EQ(__shfl_sync(all_lanes, value, lane + 1), from((lane + 1) % 32));
    EXPECT_EQ(__shfl_sync(all_lanes, value, 9, 8), from(lane / 8 * 8 + 1));
    EXPECT_EQ(__shfl_xor_sync(all_lanes, value, 5), from(lane ^ 5));
    EXPECT_EQ(__shfl_xor_sync(all_lanes, value, 8, 8),
              from(lane % 16 < 8 ? lane : lane ^ 8));
    EXPECT_EQ(__shfl_down_sync(all_lanes, value, 3),
              from(lane + 3 < 32 ? lane + 3 : lane));
    EXPECT_EQ(__shfl_down_sync(all_lanes, value, 3, 4),
              from(lane % 4 == 0 ? lane + 3 : lane));
    EXPECT_EQ(__shfl_up_sync(all_lanes, value, 3),
              from(lane < 3 ? lane : lane - 3));
  });
}

TEST(Warp, ShufflesValuesOfEveryType) {
  expect_shuffles<int>();
  expect_shuffles<unsigned>();
  expect_shuffles<float>();
  expect_shuffles<double>();
  expect_shuffles<int64_t>();
  expect_shuffles<uint64_t>();
}

TEST(Warp, Votes) {
  launch({1, 64}, [] {
    int lane = static_cast<int>(threadIdx.x % 32);
    EXPECT_EQ(__ballot_sync(all_lanes, lane % 3 == 0), 0x49249249u);
    EXPECT_EQ(__any_sync(all_lanes, lane == 31), 1);
    EXPECT_EQ(__any_sync(all_lanes, lane == 32), 0);
    EXPECT_EQ(__all_sync(all_lanes, lane < 31), 0);
    EXPECT_EQ(__all_sync(all_lanes, lane < 32), 1);
  });
}

/// Halves of a warp on different paths, for different numbers of rounds.
TEST(Warp, MeetsUnderPartialMasks) {
  for (uint64_t seed : {0, 1, 2, 3})
    launch({2, 64, 0, seed}, [] {
      unsigned lane = threadIdx.x % 32;
      if (lane < 16) {
        for (unsigned round = 0; round < 10; ++round)
          EXPECT_EQ(__shfl_sync(0x0000ffffu, lane + round, 3), 3 + round);
        __syncwarp(0x0000ffffu);
      } else {
        EXPECT_EQ(__ballot_sync(0xffff0000u, lane % 2), 0xaaaa0000u);
      }
      __syncwarp();
      EXPECT_EQ(__ballot_sync(all_lanes, lane < 16), 0x0000ffffu);
    });
}

/// A warp without all of its lanes: the block ends there, or they have
/// returned.
TEST(Warp, DoesNotWaitForMissingLanes) {
  launch({1, 40, 0, 1}, [] {
    unsigned lane = threadIdx.x % 32;
    if (lane == 2)
      return;
    unsigned expected = threadIdx.x < 32 ? 0xfffffffbu : 0xfbu;
    EXPECT_EQ(__ballot_sync(all_lanes, 1), expected);
    if (lane == 0) {
      EXPECT_TRUE(std::isnan(__shfl_sync(all_lanes, 1.0f, 2)));
    } else {
      EXPECT_EQ(__shfl_sync(all_lanes, 1.0f, 1), 1.0f);
    }
  });
}

// Words -----------------------------------------------------------------------

/// Each thread waits for its neighbour, in its own block or the next, without
/// ever pausing.
TEST(Words, PollingLetsOthersRun) {
  for (uint64_t seed : {0, 1}) {
    constexpr unsigned blocks = 20, threads = 40, count = blocks * threads;
    std::vector<uint32_t> words(count + 1);
    std::vector<unsigned> values(count + 1);
    words[count] = 1;
    launch({blocks, threads, 0, seed}, [&] {
      unsigned self = blockIdx.x * threads + threadIdx.x;
      while (baton_load_acquire(&words[self + 1]) == 0) {
      }
      values[self] = values[self + 1] + 1;
      baton_add_release(&words[self], 1);
    });
    EXPECT_EQ(values[0], count);
  }
}

/// The host's half is the same pair of orders.
TEST(Words, AreHandedOverByAcquireAndRelease) {
  uint32_t asked = 0, answered = 0;
  unsigned question = 0, answer = 0;
  launch({2, 32, 0, 1}, [&] {
    if (threadIdx.x != 0)
      return;
    for (uint32_t round = 1; round <= 20; ++round) {
      if (blockIdx.x == 0) {
        question = round;
        baton_store_release_system(&asked, round);
        while (baton_load_acquire_system(&answered) != round) {
        }
        EXPECT_EQ(answer, round * round);
      } else {
        while (baton_load_acquire_system(&asked) != round)
          baton_pause(100);
        answer = question * question;
        baton_store_release_system(&answered, round);
      }
    }
  });
}

TEST(Words, AreClaimedOnce) {
  uint32_t word = 0, claims = 0, sum = 0, lock = 0;
  launch({4, 64, 0, 5}, [&] {
    if (baton_claim(&word, 7))
      atomicAdd(&claims, 1u);
    while (atomicCAS(&lock, 0u, 1u) != 0u) {
    }
    uint32_t seen = __atomic_load_n(&sum, __ATOMIC_RELAXED);
    baton_pause(20);
    baton_store_relaxed(&sum, seen + 1);
    baton_store_relaxed(&lock, 0);
  });
  EXPECT_EQ(word, 7u);
  EXPECT_EQ(claims, 1u);
  EXPECT_EQ(sum, 4u * 64);
}

TEST(Intrinsics, ConvertBits) {
  EXPECT_EQ(__float_as_uint(1.0f), 0x3f800000u);
  EXPECT_EQ(__uint_as_float(0x3f800000u), 1.0f);
  EXPECT_EQ(__float_as_int(-0.0f), INT32_MIN);
  EXPECT_EQ(__int_as_float(INT32_MIN), -0.0f);
  EXPECT_EQ(baton_half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(baton_half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(baton_half_to_float(0xfc00), -INFINITY);
}

TEST(Intrinsics, HaveAClock) {
  uint64_t before = baton_nanoseconds();
  launch({2, 2}, [&] { EXPECT_GE(baton_nanoseconds(), before); });
}

// Misuse ----------------------------------------------------------------------

class MisuseTest : public testing::Test {
protected:
  // The sanitizers do not survive a fork with fibers.
  MisuseTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(MisuseTest, BarriersOfTwoKinds) {
  EXPECT_EXIT(
      launch({1, 64},
             [] {
               if (threadIdx.x < 16 || threadIdx.x >= 32)
                 __syncthreads();
               else
                 __syncwarp();
             }),
      testing::KilledBySignal(SIGABRT),
      "emulation: block 0 is stuck: threads 0-15,32-63 wait at "
      "__syncthreads; threads 16-31 wait at __syncwarp\\(0xffffffff\\)");
}

TEST_F(MisuseTest, ShufflesUnderTwoMasks) {
  EXPECT_EXIT(launch({3, 32},
                     [] {
                       if (blockIdx.x != 2)
                         return;
                       unsigned mask = threadIdx.x < 8 ? all_lanes : 0xffffff00;
                       __shfl_sync(mask, 1, 31);
                       if (threadIdx.x >= 8)
                         __syncthreads();
                     }),
              testing::KilledBySignal(SIGABRT),
              "emulation: block 2 is stuck: threads 0-7 wait at "
              "__shfl_sync\\(0xffffffff\\); threads 8-31 wait at "
              "__syncthreads");
}

TEST_F(MisuseTest, MaskWithoutTheCaller) {
  EXPECT_EXIT(launch({1, 32},
                     [] {
                       if (threadIdx.x == 5)
                         __ballot_sync(0xf, 1);
                     }),
              testing::KilledBySignal(SIGABRT),
              "emulation: block 0, thread 5: the mask of __ballot_sync lacks "
              "the caller");
}

TEST_F(MisuseTest, TooManyThreads) {
  EXPECT_EXIT(launch({1, 1025}, [] {}), testing::KilledBySignal(SIGABRT),
              "emulation: blocks of 1025 threads");
}

} // namespace
