//===- RopeTest.cpp - rotary position embedding ---------------------------===//

#include "test/codegen/cpu/library/Support.h"

using namespace baton;
using namespace baton::test;

namespace {

TEST(Rope, TableMatchesOracle) {
  for (int64_t half : {1, 5, 16, 33})
    for (int64_t position : {0, 3, 4095, 131000}) {
      const int64_t rows = 3;
      Buffer out(rows, 2 * half);
      std::vector<float> inverse = frequencies(half);
      baton_task_rope_table(out.data(), out.stride, inverse.data(), half,
                            position, rows, 1.25f);
      expect_within(out, oracle::rope_table(inverse, position, rows, 1.25),
                    [](int64_t, int64_t) { return 4 * rounding; });
    }
}

TEST(Rope, RotatesPairsAndCopiesTheRest) {
  Random random(1);
  for (int64_t head_dim : {2, 5, 64, 100})
    for (int64_t half : {int64_t(1), head_dim / 2})
      for (int64_t heads : {1, 3}) {
        const int64_t rows = 3, position = 77;
        Buffer table(rows, 2 * half);
        baton_task_rope_table(table.data(), table.stride,
                              frequencies(half).data(), half, position, rows,
                              1.0f);
        Buffer x = random.buffer(rows, heads * head_dim);
        Buffer out(rows, heads * head_dim);
        baton_task_rope(out.data(), out.stride, x.data(), x.stride,
                        table.data(), table.stride, rows, heads, head_dim,
                        half);
        expect_within(out,
                      oracle::rope(x.matrix(), table.matrix(), heads, head_dim),
                      [&](int64_t, int64_t c) {
                        return c % head_dim < 2 * half ? 4 * rounding : 0.0;
                      });
        Buffer in_place = x;
        baton_task_rope(in_place.data(), x.stride, in_place.data(), x.stride,
                        table.data(), table.stride, rows, heads, head_dim,
                        half);
        expect_same_bits(in_place, out);
      }
}

TEST(Rope, RoundsEveryProduct) {
  // (1 + 2^-12)^2 - 1: a fused form would keep the 2^-24 that rounds away.
  const float one = 1.0f, near_one = 1.0f + 0x1p-12f;
  const std::vector<float> table = {near_one, 1.0f};
  const std::vector<float> x = {near_one, one};
  std::vector<float> out(2);
  baton_task_rope(out.data(), 2, x.data(), 2, table.data(), 2, 1, 1, 2, 1);
  volatile float product = near_one * near_one;
  EXPECT_EQ(out[0], product - one);
}

} // namespace
