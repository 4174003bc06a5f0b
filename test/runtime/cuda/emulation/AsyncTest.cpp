//===- AsyncTest.cpp - asynchronous copies and tensor cores on the host ---===//

#include "test/runtime/cuda/emulation/CopyKernels.h"
#include "test/runtime/cuda/emulation/Launch.h"

#include <cmath>
#include <csignal>
#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace {

TEST(Copies, KernelsAreRight) {
  for (uint64_t seed : {0, 1, 2, 3, 4})
    for (unsigned threads : {32u, 128u}) {
      EXPECT_TRUE(
          copies_rows({8, threads, 0, seed}, copy_by_groups<CopyFault::none>));
      EXPECT_TRUE(
          copies_rows({8, threads, 0, seed}, copy_in_bulk<CopyFault::none>));
    }
}

/// Without a seed copies come as late as they may, so that a forgotten wait
/// shows in the results. For the thread sanitizer it is a race.
#if !__has_feature(thread_sanitizer)
TEST(Copies, ComeLate) {
  EXPECT_FALSE(copies_rows({2, 32}, copy_by_groups<CopyFault::missing_wait>));
  alignas(16) float source[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  launch({1, 1, sizeof(source)}, [&] {
    BATON_DYNAMIC_SHARED(bytes);
    float *shared = reinterpret_cast<float *>(bytes);
    baton_copy_async(shared, source);
    baton_copies_commit();
    baton_copy_async(shared + 4, source + 4);
    baton_copies_commit();
    EXPECT_TRUE(std::isnan(shared[0]));
    baton_copies_wait<1>();
    EXPECT_EQ(shared[0], 1.0f);
    EXPECT_TRUE(std::isnan(shared[4]));
    baton_copies_wait<0>();
    EXPECT_EQ(shared[4], 5.0f);

    __shared__ uint64_t barrier;
    baton_barrier_init(&barrier, 1);
    baton_barrier_arrive_expect(&barrier, 16);
    baton_bulk_copy(shared + 8, source + 8, 16, &barrier);
    EXPECT_TRUE(std::isnan(shared[8]));
    baton_barrier_wait(&barrier, 0);
    EXPECT_EQ(shared[8], 9.0f);
  });
}
#endif

TEST(Barrier, CountsArrivalsAndBytesOverPhases) {
  alignas(16) float source[64] = {};
  std::iota(source, source + 64, 0.0f);
  for (uint64_t seed : {0, 1, 2})
    launch({2, 4, sizeof(source), seed}, [&] {
      BATON_DYNAMIC_SHARED(bytes);
      float *shared = reinterpret_cast<float *>(bytes);
      __shared__ uint64_t barrier;
      if (threadIdx.x == 0) {
        baton_barrier_init(&barrier, 4);
        baton_barrier_init_fence();
      }
      __syncthreads();
      for (uint32_t phase = 0; phase < 6; ++phase) {
        // Each thread brings a quarter, and reads its neighbour's.
        baton_barrier_arrive_expect(&barrier, 64);
        baton_bulk_copy(shared + 16 * threadIdx.x,
                        source + 16 * ((threadIdx.x + phase) % 4), 64,
                        &barrier);
        baton_barrier_wait(&barrier, phase % 2);
        unsigned next = (threadIdx.x + 1) % 4;
        for (unsigned i = 0; i < 16; ++i)
          EXPECT_EQ(shared[16 * next + i],
                    source[16 * ((next + phase) % 4) + i]);
        __syncthreads();
      }
    });
}

// Matrices --------------------------------------------------------------------

TEST(Matrices, AreDistributedOverLanes) {
  launch({1, 32, 4 * 8 * 8 * sizeof(uint16_t)}, [] {
    BATON_DYNAMIC_SHARED(bytes);
    uint16_t *shared = reinterpret_cast<uint16_t *>(bytes);
    for (int i = threadIdx.x; i < 4 * 64; i += 32)
      shared[i] = static_cast<uint16_t>(i);
    __syncthreads();
    unsigned lane = threadIdx.x, row = lane / 4, column = lane % 4 * 2;
    uint32_t plain[4], transposed[4];
    baton_load_matrices(plain, shared + lane * 8);
    baton_load_matrices_transposed(transposed, shared + lane * 8);
    for (unsigned i = 0; i < 4; ++i) {
      auto at = [&](unsigned row, unsigned column) {
        return i * 64 + row * 8 + column;
      };
      EXPECT_EQ(plain[i], at(row, column) | at(row, column + 1) << 16);
      EXPECT_EQ(transposed[i], at(column, row) | at(column + 1, row) << 16);
    }
  });
}

uint32_t bf16(float value) { return __float_as_uint(value) >> 16; }
uint32_t f16(float value) {
  return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
}

void multiply(uint32_t (&bits)(float),
              void (&multiply_into)(float (&)[4], const uint32_t (&)[4],
                                    const uint32_t (&)[2])) {
  auto a = [](unsigned row, unsigned depth) {
    return static_cast<float>((row * 5 + depth * 3) % 11) - 5.0f;
  };
  auto b = [](unsigned depth, unsigned column) {
    return static_cast<float>((depth * 7 + column * 2) % 13) - 6.0f;
  };
  auto c = [](unsigned row, unsigned column) {
    return static_cast<float>(row) - static_cast<float>(column);
  };
  launch({1, 64, 0, 1}, [&] {
    // PTX's tables of fragments for mma.m16n8k16.
    unsigned group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
    auto pair_of_a = [&](unsigned row, unsigned depth) {
      return bits(a(row, depth)) | bits(a(row, depth + 1)) << 16;
    };
    auto pair_of_b = [&](unsigned depth, unsigned column) {
      return bits(b(depth, column)) | bits(b(depth + 1, column)) << 16;
    };
    uint32_t left[4] = {
        pair_of_a(group, place * 2), pair_of_a(group + 8, place * 2),
        pair_of_a(group, place * 2 + 8), pair_of_a(group + 8, place * 2 + 8)};
    uint32_t right[2] = {pair_of_b(place * 2, group),
                         pair_of_b(place * 2 + 8, group)};
    float sum[4];
    for (unsigned i = 0; i < 4; ++i)
      sum[i] = c(group + i / 2 * 8, place * 2 + i % 2);
    for (int repetition = 0; repetition < 3; ++repetition)
      multiply_into(sum, left, right);
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = group + i / 2 * 8, column = place * 2 + i % 2;
      float product = 0.0f;
      for (unsigned depth = 0; depth < 16; ++depth)
        product += a(row, depth) * b(depth, column);
      EXPECT_EQ(sum[i], c(row, column) + 3 * product);
    }
  });
}

TEST(Matrices, Multiply) {
  multiply(bf16, baton_multiply_bf16);
  multiply(f16, baton_multiply_f16);
}

/// Numbers of F16 by their bits: subnormal ones, and those at the ends.
TEST(Numbers, AreRoundedToPairs) {
  for (auto [value, bits] : {std::pair(0x1p-24f, 1u),
                             {-0x1.8p-24f, 0x8002u},
                             {0x1p-25f, 0u},
                             {65504.0f, 0x7bffu},
                             {65519.0f, 0x7bffu},
                             {65520.0f, 0x7c00u},
                             {1.0f + 0x1p-11f, 0x3c00u},
                             {1.0f + 0x3p-11f, 0x3c02u},
                             {NAN, 0x7fffu}}) {
    EXPECT_EQ(baton_f16_pair(value, 1.0f), bits | 0x3c000000u) << value;
    const double expected =
        __builtin_bit_cast(_Float16, static_cast<uint16_t>(bits));
    const double found =
        baton::emulation::value_of(baton::emulation::Numbers::f16, bits);
    EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(value)))
        << value << ": " << found;
  }
}

// Misuse ----------------------------------------------------------------------

class AsyncMisuseTest : public testing::Test {
protected:
  AsyncMisuseTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(AsyncMisuseTest, UninitializedBarrier) {
  EXPECT_EXIT(launch({1, 1},
                     [] {
                       __shared__ uint64_t barrier;
                       baton_barrier_arrive(&barrier);
                     }),
              testing::KilledBySignal(SIGABRT),
              "emulation: block 0, thread 0: a barrier that is not "
              "initialized");
}

TEST_F(AsyncMisuseTest, TooManyArrivals) {
  EXPECT_EXIT(launch({1, 1},
                     [] {
                       __shared__ uint64_t barrier;
                       baton_barrier_init(&barrier, 1);
                       baton_barrier_arrive_expect(&barrier, 16);
                       baton_barrier_arrive(&barrier);
                     }),
              testing::KilledBySignal(SIGABRT),
              "a barrier has more arrivals than it was initialized for");
}

TEST_F(AsyncMisuseTest, UnalignedCopy) {
  static float source[8];
  EXPECT_EXIT(launch({1, 1, 16},
                     [] {
                       BATON_DYNAMIC_SHARED(shared);
                       baton_copy_async(shared, source + 1);
                     }),
              testing::KilledBySignal(SIGABRT),
              "a copy of 16 bytes that is not aligned to 16");
}

} // namespace
