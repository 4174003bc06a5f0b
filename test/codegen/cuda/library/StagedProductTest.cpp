//===- StagedProductTest.cpp - products through shared memory -------------===//

#include "codegen/cpu/library/training.h"
#include "codegen/cuda/library/product_shape.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

/// Calls check(threads, rows, columns, depth): less than a tile, several, and
/// depths that end within a piece.
template <typename Check> void for_each_problem(Check check) {
  for (unsigned threads : {32u, 64u, 128u, 256u}) {
    const BatonProductShape shape{static_cast<int>(threads)};
    ASSERT_TRUE(shape.is_valid());
    for (auto [rows, columns, depth] : {std::array<int64_t, 3>{1, 3, 1},
                                        {9, 37, 0},
                                        {7, shape.columns() + 9, 50},
                                        {shape.rows() + 5, 12, 33}})
      check(threads, shape, rows, columns, depth);
  }
}

} // namespace

TEST(CudaStagedProduct, ThreadsThatHaveNoShape) {
  for (int threads : {16, 48, 96, 512, 1024})
    EXPECT_FALSE(BatonProductShape{threads}.is_valid()) << threads;
}

/// The CPU's bits, in all orders of both sides.
TEST(CudaStagedProduct, IsTheCpusProduct) {
  if (Place::chosen())
    GTEST_SKIP() << "shared memory is the emulation's";
  Random random(1);
  for_each_problem([&](unsigned threads, BatonProductShape shape, int64_t rows,
                       int64_t columns, int64_t depth) {
    for (bool left_turned : {false, true})
      for (bool right_turned : {false, true}) {
        const Buffer a = left_turned ? random.buffer(depth, rows)
                                     : random.buffer(rows, depth);
        const Buffer b = right_turned ? random.buffer(columns, depth)
                                      : random.buffer(depth, columns);
        const Buffer residual = random.buffer(rows, columns);
        const std::vector<float> bias = random.vector(columns);
        const int64_t a_row = left_turned ? 1 : a.stride,
                      a_depth = left_turned ? a.stride : 1,
                      b_depth = right_turned ? 1 : b.stride,
                      b_column = right_turned ? b.stride : 1;
        std::vector<float> scratch(baton_product_scratch_bytes(columns) / 4);
        std::vector<float> shared(shape.shared_bytes() / 4);
        auto *place = reinterpret_cast<unsigned char *>(shared.data());
        Buffer expected = residual, actual = residual;
        baton_task_product(expected.data(), expected.stride, a.data(), a_row,
                           a_depth, b.data(), b_depth, b_column, bias.data(),
                           residual.data(), residual.stride, rows, columns,
                           depth, scratch.data());
        run_emulated({threads, 3}, staged_product(threads),
                     {place, actual.data(), actual.stride, a.data(), a_row,
                      a_depth, b.data(), b_depth, b_column, bias.data(),
                      residual.data(), residual.stride, rows, columns, depth,
                      nullptr});
        expect_twin_bits(actual, expected);
        for (int32_t adds : {0, 1}) {
          expected = actual = residual;
          baton_task_product_gradient(expected.data(), expected.stride,
                                      a.data(), a_row, a_depth, b.data(),
                                      b_depth, b_column, nullptr, rows, columns,
                                      depth, &adds, scratch.data());
          run_emulated({threads, 5}, staged_gradient(threads),
                       {place, actual.data(), actual.stride, a.data(), a_row,
                        a_depth, b.data(), b_depth, b_column, nullptr, rows,
                        columns, depth, &adds, nullptr});
          expect_twin_bits(actual, expected);
        }
        if (::testing::Test::HasFatalFailure())
          return;
      }
  });
}
