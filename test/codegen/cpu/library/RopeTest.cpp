//===- RopeTest.cpp - rotary position embedding ---------------------------===//

#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

std::vector<float> frequencies(int64_t half) {
  std::vector<float> result(half);
  for (int64_t i = 0; i < half; ++i)
    result[i] = static_cast<float>(
        std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half)));
  return result;
}

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

TEST(Rope, TableAtPositionsHasTheBitsOfTheTable) {
  const int64_t half = 5;
  const std::vector<int32_t> positions = {0, 1, 2, 0, 4095, 0, 131000};
  Buffer out(7, 2 * half), alone(1, 2 * half);
  const std::vector<float> inverse = frequencies(half);
  baton_task_rope_table_at(out.data(), out.stride, inverse.data(), half,
                           positions.data(), 7, 1.25f);
  expect_within(out, oracle::rope_table_at(inverse, positions, 1.25),
                [](int64_t, int64_t) { return 4 * rounding; });
  for (int64_t r = 0; r < 7; ++r) {
    baton_task_rope_table(alone.data(), alone.stride, inverse.data(), half,
                          positions[r], 1, 1.25f);
    expect_same_bits(out.row(r), alone.row(0), 2 * half);
  }
}

TEST(Rope, BackIsTheAdjoint) {
  Random random(2);
  for (int64_t head_dim : {2, 5, 64})
    for (int64_t half : {int64_t(1), head_dim / 2})
      for (int64_t heads : {1, 3}) {
        const std::vector<int32_t> positions = {7, 8, 0};
        const oracle::Matrix table =
            oracle::rope_table_at(frequencies(half), positions, 1.1);
        Buffer stored(3, 2 * half);
        for (int64_t r = 0; r < 3; ++r)
          for (int64_t c = 0; c < 2 * half; ++c)
            stored.row(r)[c] = static_cast<float>(table.at(r, c));
        const oracle::Matrix x = random.buffer(3, heads * head_dim).matrix();
        Buffer dy = random.buffer(3, heads * head_dim);
        const oracle::Matrix expected = oracle::rope_gradient(
            dy.matrix(), stored.matrix(), heads, head_dim);
        expect_adjoint(
            x, dy.matrix(), expected, [&](const oracle::Matrix &moved) {
              return oracle::rope(moved, stored.matrix(), heads, head_dim);
            });
        Buffer dx(3, heads * head_dim);
        baton_task_rope_back(dx.data(), dx.stride, dy.data(), dy.stride,
                             stored.data(), stored.stride, 3, heads, head_dim,
                             half);
        expect_within(dx, expected, [&](int64_t, int64_t c) {
          return c % head_dim < 2 * half ? 5 * rounding : 0.0;
        });
        baton_task_rope_back(dy.data(), dy.stride, dy.data(), dy.stride,
                             stored.data(), stored.stride, 3, heads, head_dim,
                             half);
        expect_same_bits(dy, dx);
      }
}

} // namespace
