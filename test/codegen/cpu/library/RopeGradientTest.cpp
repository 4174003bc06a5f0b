//===- RopeGradientTest.cpp - rotary positions of training ---------------===//

#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

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
