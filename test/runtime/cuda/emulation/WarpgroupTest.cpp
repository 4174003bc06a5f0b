//===- WarpgroupTest.cpp - asynchronous multiplications on the host -------===//
//
// What PTX says of wgmma, spelled out here independently: the tables of
// fragments, the pattern of the 128-byte swizzle, and what may be touched when.
//
//===----------------------------------------------------------------------===//

#include <cmath>
#include <csignal>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/cuda/library/matrix_warpgroups.h"
#include "test/runtime/cuda/emulation/Launch.h"

namespace {

/// PTX's figure of the 128-byte swizzle: the eight chunks of 16 bytes of a row
/// of 128 bytes, for each of the eight rows of the pattern.
constexpr unsigned pattern[8][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6},
    {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
    {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
    {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};

TEST(Descriptor, ReachesTheChunksOfAStage) {
  launch({1, 1, 4 * 16384}, [] {
    BATON_DYNAMIC_SHARED(shared);
    for (uint32_t begin : {0, 16384, 3 * 16384})
      for (int depth = 0; depth < 64; depth += 16) {
        const uint64_t descriptor =
            baton::cuda::describe_activations(shared + begin, depth);
        for (unsigned row = 0; row < 128; ++row)
          for (unsigned chunk = 0; chunk < 2; ++chunk) {
            const unsigned place = pattern[row % 8][depth / 8 + chunk];
            const uint32_t expected =
                begin + row / 8 * 1024 + row % 8 * 128 + place * 16;
            EXPECT_EQ(
                baton::emulation::address_in_matrix(descriptor, row, chunk),
                expected);
            // Where the bodies store it.
            EXPECT_EQ(
                begin + baton::cuda::activation_offset(row, depth / 8 + chunk),
                expected);
          }
      }
  });
}

/// The fields by PTX's table, the other way round.
TEST(Descriptor, HasItsFieldsInPlace) {
  launch({1, 1, 65536}, [] {
    BATON_DYNAMIC_SHARED(shared);
    const uint64_t descriptor =
        baton::cuda::describe_activations(shared + 49152, 32);
    EXPECT_EQ(descriptor & 0x3fff, (49152u + 64) / 16);
    EXPECT_EQ(descriptor >> 14 & 3, 0u);
    EXPECT_EQ(descriptor >> 30 & 3, 0u);
    EXPECT_EQ(descriptor >> 32 & 0x3fff, 1024u / 16);
    EXPECT_EQ(descriptor >> 46 & 0xffff, 0u);
    EXPECT_EQ(descriptor >> 62, 1u);
  });
}

/// ldmatrix by depths of different halves gives the fragment of [16 columns, 16
/// depths] that PTX's table of A wants.
TEST(Weights, AreLoadedTransposed) {
  launch({1, 32, 64 * 32}, [] {
    BATON_DYNAMIC_SHARED(shared);
    uint16_t *panel = reinterpret_cast<uint16_t *>(shared);
    for (unsigned i = threadIdx.x; i < 64 * 16; i += 32)
      panel[i] = static_cast<uint16_t>(i); // depth * 16 + column
    __syncthreads();
    const unsigned group = threadIdx.x / 4, pair = threadIdx.x % 4 * 2;
    for (int depth = 0; depth < 64; depth += 16) {
      uint32_t fragment[4];
      baton::cuda::load_weights(fragment, shared, depth, threadIdx.x);
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned column = group + i % 2 * 8;
        const unsigned first = depth + i / 2 * 8 + pair;
        EXPECT_EQ(fragment[i] & 0xffff, first * 16 + column);
        EXPECT_EQ(fragment[i] >> 16, (first + 1) * 16 + column);
      }
    }
  });
}

// Multiplications -------------------------------------------------------------

uint32_t bf16(float value) { return __float_as_uint(value) >> 16; }
uint32_t f16(float value) {
  return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
}

float a(unsigned row, unsigned depth) {
  return static_cast<float>((row * 5 + depth * 3) % 11) - 5.0f;
}
float b(unsigned depth, unsigned column) {
  return static_cast<float>((depth * 7 + column * 2) % 13) - 6.0f;
}

/// [64, 16] of a in the warpgroup's registers, by PTX's table.
void make_fragment(uint32_t (&fragment)[4]) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = warp * 16 + lane / 4 + i % 2 * 8;
    const unsigned depth = lane % 4 * 2 + i / 2 * 8;
    fragment[i] = bf16(a(row, depth)) | bf16(a(row, depth + 1)) << 16;
  }
}

/// The first 16 depths of b, for `columns` columns, as the pattern has it.
void make_matrix(unsigned char *shared, unsigned columns) {
  for (unsigned column = threadIdx.x; column < columns; column += blockDim.x)
    for (unsigned depth = 0; depth < 16; ++depth)
      *reinterpret_cast<uint16_t *>(
          shared + column * 128 + pattern[column % 8][depth / 8] * 16 +
          depth % 8 * 2) = static_cast<uint16_t>(bf16(b(depth, column)));
  baton_shared_proxy_fence();
  __syncthreads();
}

/// Element `i` of a thread's sums after so many multiplications.
float expected(unsigned i, int multiplications) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned row = warp * 16 + lane / 4 + i / 2 % 2 * 8;
  const unsigned column = i / 4 * 8 + lane % 4 * 2 + i % 2;
  float sum = static_cast<float>(i);
  for (unsigned depth = 0; depth < 16; ++depth)
    sum +=
        static_cast<float>(multiplications) * a(row, depth) * b(depth, column);
  return sum;
}

template <int Columns> void multiply(uint64_t seed) {
  launch({1, 128, 16384, seed}, [] {
    BATON_DYNAMIC_SHARED(shared);
    make_matrix(shared, Columns);
    uint32_t fragment[4];
    make_fragment(fragment);
    float sum[Columns / 2];
    for (unsigned i = 0; i < Columns / 2; ++i)
      sum[i] = static_cast<float>(i);
    const uint64_t descriptor = baton::cuda::describe_activations(shared, 0);
    baton_warpgroup_fence();
    for (int repetition = 0; repetition < 3; ++repetition) {
      baton_warpgroup_multiply_bf16(sum, fragment, descriptor);
      baton_warpgroup_commit();
    }
    baton_warpgroup_wait<0>();
    for (unsigned i = 0; i < Columns / 2; ++i)
      EXPECT_EQ(sum[i], expected(i, 3));
  });
}

TEST(Warpgroup, Multiplies) {
  for (uint64_t seed : {0, 1, 2}) {
    multiply<64>(seed);
    multiply<128>(seed);
  }
}

/// Both sides in shared memory: the left one's 64 rows behind the right one.
template <int Columns, typename Multiply>
void multiply_shared(uint64_t seed, uint32_t (&bits)(float),
                     Multiply multiply_into) {
  launch({1, 128, Columns * 128 + 8192, seed}, [&] {
    BATON_DYNAMIC_SHARED(shared);
    auto make = [&](unsigned char *matrix, unsigned lines, auto value) {
      for (unsigned line = threadIdx.x; line < lines; line += blockDim.x)
        for (unsigned depth = 0; depth < 16; ++depth)
          *reinterpret_cast<uint16_t *>(
              matrix + line * 128 + pattern[line % 8][2 + depth / 8] * 16 +
              depth % 8 * 2) = static_cast<uint16_t>(bits(value(line, depth)));
    };
    unsigned char *const left = shared + Columns * 128;
    make(shared, Columns,
         [](unsigned column, unsigned depth) { return b(depth, column); });
    make(left, 64, [](unsigned row, unsigned depth) { return a(row, depth); });
    baton_shared_proxy_fence();
    __syncthreads();
    float sum[Columns / 2];
    for (unsigned i = 0; i < Columns / 2; ++i)
      sum[i] = static_cast<float>(i);
    baton_warpgroup_fence();
    for (int repetition = 0; repetition < 3; ++repetition) {
      multiply_into(sum, baton::cuda::describe_activations(left, 16),
                    baton::cuda::describe_activations(shared, 16));
      baton_warpgroup_commit();
    }
    baton_warpgroup_wait<0>();
    for (unsigned i = 0; i < Columns / 2; ++i)
      EXPECT_EQ(sum[i], expected(i, 3));
  });
}

TEST(Warpgroup, MultipliesWhatIsInSharedMemory) {
  auto bf16s = [](auto &sum, uint64_t left, uint64_t right) {
    baton_warpgroup_multiply_bf16(sum, left, right);
  };
  auto f16s = [](auto &sum, uint64_t left, uint64_t right) {
    baton_warpgroup_multiply_f16(sum, left, right);
  };
  for (uint64_t seed : {0, 1}) {
    multiply_shared<64>(seed, bf16, bf16s);
    multiply_shared<128>(seed, f16, f16s);
    multiply_shared<256>(seed, bf16, bf16s);
  }
}

/// Without a seed multiplications come as late as they may, so that registers
/// or memory that are touched too early show.
TEST(Warpgroup, MultipliesLate) {
  launch({1, 128, 16384}, [] {
    BATON_DYNAMIC_SHARED(shared);
    make_matrix(shared, 64);
    uint32_t first[4], second[4];
    make_fragment(first);
    make_fragment(second);
    float sum[2][32] = {};
    const uint64_t descriptor = baton::cuda::describe_activations(shared, 0);
    baton_warpgroup_fence();
    baton_warpgroup_multiply_bf16(sum[0], first, descriptor);
    baton_warpgroup_commit();
    baton_warpgroup_multiply_bf16(sum[1], second, descriptor);
    baton_warpgroup_commit();
    EXPECT_TRUE(std::isnan(sum[0][5]));
    // Zeros before the second is read.
    for (uint32_t &pair : second)
      pair = 0;
    __syncwarp();
    baton_warpgroup_wait<1>();
    EXPECT_EQ(sum[0][5], expected(5, 1) - 5.0f);
    EXPECT_TRUE(std::isnan(sum[1][5]));
    baton_warpgroup_wait<0>();
    EXPECT_EQ(sum[1][5], 0.0f);
  });
}

// Misuse ----------------------------------------------------------------------

class WarpgroupMisuseTest : public testing::Test {
protected:
  WarpgroupMisuseTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void multiply_by(uint64_t descriptor) {
  uint32_t fragment[4] = {};
  float sum[32] = {};
  baton_warpgroup_multiply_bf16(sum, fragment, descriptor);
}

TEST_F(WarpgroupMisuseTest, NoFence) {
  EXPECT_EXIT(launch({1, 128, 16384},
                     [] {
                       BATON_DYNAMIC_SHARED(shared);
                       baton_warpgroup_fence();
                       baton_warpgroup_wait<0>();
                       multiply_by(
                           baton::cuda::describe_activations(shared, 0));
                     }),
              testing::KilledBySignal(SIGABRT),
              "wgmma.mma_async without wgmma.fence since the last wait");
}

TEST_F(WarpgroupMisuseTest, UnalignedPattern) {
  EXPECT_EXIT(launch({1, 128, 16384},
                     [] {
                       BATON_DYNAMIC_SHARED(shared);
                       baton_warpgroup_fence();
                       multiply_by(
                           baton::cuda::describe_activations(shared + 512, 0));
                     }),
              testing::KilledBySignal(SIGABRT),
              "a matrix that is not in an aligned 128-byte swizzle");
}

TEST_F(WarpgroupMisuseTest, LanesThatDiffer) {
  EXPECT_EXIT(launch({1, 128, 16384},
                     [] {
                       BATON_DYNAMIC_SHARED(shared);
                       baton_warpgroup_fence();
                       multiply_by(baton::cuda::describe_activations(
                           shared, threadIdx.x == 40 ? 16 : 0));
                     }),
              testing::KilledBySignal(SIGABRT),
              "thread 40: a multiplication that differs from that of its "
              "warp's other lanes");
}

} // namespace
