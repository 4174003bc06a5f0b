//===- ProductTest.cpp - products of matrices that training stores --------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cpu/library/Support.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace baton;
using namespace baton::test;

namespace {

/// A matrix stored by rows or by columns, with gaps between them.
struct Side {
  Side(Random &random, int64_t rows, int64_t columns, bool by_columns)
      : stored(by_columns ? random.buffer(columns, rows)
                          : random.buffer(rows, columns)),
        row_stride(by_columns ? 1 : stored.stride),
        column_stride(by_columns ? stored.stride : 1), rows(rows),
        columns(columns) {}

  const float *at(int64_t row, int64_t column) const {
    return stored.data() + row * row_stride + column * column_stride;
  }

  oracle::Matrix matrix() const {
    oracle::Matrix result(rows, columns);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        result.at(r, c) = *at(r, c);
    return result;
  }

  Buffer stored;
  int64_t row_stride;
  int64_t column_stride;
  int64_t rows;
  int64_t columns;
};

struct Problem {
  Problem(Random &random, int64_t rows, int64_t columns, int64_t depth,
          bool transposed_left, bool transposed_right)
      : rows(rows), columns(columns), depth(depth),
        left(random, rows, depth, transposed_left),
        right(random, depth, columns, transposed_right),
        bias(random.vector(columns)), old(random.buffer(rows, columns)) {}

  std::vector<float> scratch(int64_t tile_columns) const {
    std::vector<float> result(baton_product_scratch_bytes(tile_columns) / 4 + 1,
                              std::numeric_limits<float>::quiet_NaN());
    result.back() = Buffer::guard;
    return result;
  }

  /// In tiles; the residual is `out` in place.
  Buffer product(bool with_bias, bool with_residual, int64_t tile_rows,
                 int64_t tile_columns) const {
    Buffer out = old;
    std::vector<float> space = scratch(tile_columns);
    for (int64_t r = 0; r < rows; r += tile_rows)
      for (int64_t c = 0; c < columns; c += tile_columns)
        baton_task_product(
            out.row(r) + c, out.stride, left.at(r, 0), left.row_stride,
            left.column_stride, right.at(0, c), right.row_stride,
            right.column_stride, with_bias ? &bias[c] : nullptr,
            with_residual ? out.row(r) + c : nullptr, out.stride,
            std::min(tile_rows, rows - r), std::min(tile_columns, columns - c),
            depth, space.data());
    EXPECT_EQ(space.back(), Buffer::guard) << "scratch overrun";
    expect_guards_intact(out);
    return out;
  }
  Buffer product(bool with_bias = false, bool with_residual = false) const {
    return product(with_bias, with_residual, rows, columns);
  }

  /// Depths in parts of `tile_depth`, of which the first adds as it is told.
  Buffer gradient(const int32_t *accumulate, int64_t tile_rows,
                  int64_t tile_columns, int64_t tile_depth = 1 << 20,
                  const float *weights = nullptr) const {
    Buffer out = old;
    std::vector<float> space = scratch(tile_columns);
    for (int64_t r = 0; r < rows; r += tile_rows)
      for (int64_t c = 0; c < columns; c += tile_columns)
        for (int64_t d = 0; d < depth; d += tile_depth)
          baton_task_product_gradient(
              out.row(r) + c, out.stride, left.at(r, d), left.row_stride,
              left.column_stride, right.at(d, c), right.row_stride,
              right.column_stride, weights ? weights + d : nullptr,
              std::min(tile_rows, rows - r),
              std::min(tile_columns, columns - c),
              std::min(tile_depth, depth - d), d ? nullptr : accumulate,
              space.data());
    EXPECT_EQ(space.back(), Buffer::guard) << "scratch overrun";
    expect_guards_intact(out);
    return out;
  }

  int64_t rows;
  int64_t columns;
  int64_t depth;
  Side left;
  Side right;
  std::vector<float> bias;
  Buffer old;
};

TEST(Product, MatchesOracleForEveryLayout) {
  Random random(1);
  for (int64_t depth : {1, 7, 9, 100, 300})
    for (int64_t rows : {1, 5, 6, 13, 20})
      for (int64_t columns : {1, 16, 33, 70})
        for (int layout = 0; layout < 4; ++layout) {
          const bool with_bias = (rows + columns) % 2;
          const bool with_residual = (depth + columns) % 2;
          Problem problem(random, rows, columns, depth, layout & 1, layout & 2);
          Buffer out = problem.product(with_bias, with_residual);
          const oracle::Matrix left = problem.left.matrix();
          const oracle::Matrix right = problem.right.matrix();
          oracle::Matrix expected = oracle::matmul(left, right);
          const oracle::Matrix magnitudes =
              oracle::matmul(absolute(left), absolute(right));
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c)
              expected.at(r, c) += (with_bias ? problem.bias[c] : 0.0) +
                                   (with_residual ? problem.old.at(r, c) : 0.0);
          expect_within(out, expected, [&](int64_t r, int64_t c) {
            return static_cast<double>(depth + 4) * rounding *
                   (magnitudes.at(r, c) + 2.0);
          });
          if (HasFatalFailure())
            FAIL() << "rows " << rows << " columns " << columns << " depth "
                   << depth << " layout " << layout;
        }
}

TEST(Product, OfNoDepthsIsWhatIsAdded) {
  Random random(8);
  const Problem problem(random, 9, 37, 1, false, false);
  std::vector<float> space = problem.scratch(37);
  const float *none = nullptr;
  auto gradient = [&](int32_t adds) {
    Buffer out = problem.old;
    baton_task_product_gradient(out.data(), out.stride, none, 1, 9, none, 37, 1,
                                nullptr, 9, 37, 0, &adds, space.data());
    return out;
  };
  Buffer zeros(9, 37);
  for (int64_t row = 0; row < 9; ++row)
    std::fill_n(zeros.row(row), 37, 0.0f);
  expect_same_bits(gradient(0), zeros);
  expect_same_bits(gradient(1), problem.old);
  expect_guards_intact(gradient(0));
}

TEST(Product, HasTheBitsOfLinear) {
  Random random(2);
  // More rows than are packed at once, and more than one piece of depth.
  for (int64_t rows : {3, 48, 261, 530})
    for (int64_t depth : {33, 256, 520}) {
      const int64_t columns = 37;
      Problem problem(random, rows, columns, depth, false, true);
      Weight<F32> weight(random, columns, depth);
      for (int64_t c = 0; c < columns; ++c)
        std::copy_n(problem.right.at(0, c), depth, &weight.stored[c * depth]);
      Buffer expected(rows, columns);
      baton_task_linear_f32(expected.data(), expected.stride,
                            problem.left.at(0, 0), problem.left.row_stride,
                            weight.packed().data(), problem.bias.data(),
                            problem.old.data(), problem.old.stride, rows, depth,
                            columns, BATON_ACTIVATION_NONE);
      expect_same_bits(problem.product(true, true), expected);
    }
}

TEST(Product, TilesAndLayoutsDoNotChangeBits) {
  Random random(3);
  const int64_t rows = 50, columns = 70, depth = 300;
  Problem problem(random, rows, columns, depth, false, false);
  const Buffer whole = problem.product();
  for (int layout = 0; layout < 4; ++layout) {
    Problem other(random, rows, columns, depth, layout & 1, layout & 2);
    for (int64_t d = 0; d < depth; ++d) {
      for (int64_t r = 0; r < rows; ++r)
        const_cast<float &>(*other.left.at(r, d)) = *problem.left.at(r, d);
      for (int64_t c = 0; c < columns; ++c)
        const_cast<float &>(*other.right.at(d, c)) = *problem.right.at(d, c);
    }
    for (int64_t tile_rows : {1, 7, 12, 50})
      for (int64_t tile_columns : {1, 16, 23, 70}) {
        expect_same_bits(other.product(false, false, tile_rows, tile_columns),
                         whole);
        const int32_t replaces = 0;
        expect_same_bits(other.gradient(&replaces, tile_rows, tile_columns),
                         whole);
      }
  }
}

TEST(Product, GradientGoesOnFromWhatIsThere) {
  Random random(4);
  Problem problem(random, 20, 33, 270, true, false);
  const Buffer product = problem.product();
  // One chain: what is there is the element's first product.
  Buffer chains(20, 33);
  for (int64_t r = 0; r < 20; ++r)
    for (int64_t c = 0; c < 33; ++c) {
      float chain = problem.old.at(r, c);
      for (int64_t d = 0; d < 270; ++d)
        chain =
            std::fma(*problem.left.at(r, d), *problem.right.at(d, c), chain);
      chains.row(r)[c] = chain;
    }
  const int32_t adds = 1, replaces = 0;
  expect_same_bits(problem.gradient(nullptr, 8, 16), chains);
  expect_same_bits(problem.gradient(&adds, 20, 33), chains);
  // So parts of the depth change no bits, whether the first adds or not.
  for (int64_t part : {1, 100, 256}) {
    expect_same_bits(problem.gradient(&adds, 8, 16, part), chains);
    expect_same_bits(problem.gradient(&replaces, 20, 33, part), product);
  }
  // What is replaced is not looked at.
  for (float &value : problem.old.values)
    if (value != Buffer::guard)
      value = std::numeric_limits<float>::quiet_NaN();
  expect_same_bits(problem.gradient(&replaces, 20, 33), product);
}

TEST(Product, DepthsOfWeightZeroAreZeros) {
  Random random(6);
  Problem clean(random, 20, 33, 270, true, false);
  std::vector<float> weights(270, 2.0f);
  for (int64_t d : {0, 7, 255, 256, 269}) {
    weights[d] = 0.0f;
    for (int64_t c = 0; c < 33; ++c)
      const_cast<float &>(*clean.right.at(d, c)) = 0.0f;
  }
  Problem poisoned = clean;
  for (int64_t d : {0, 7, 255, 256, 269})
    for (int64_t c = 0; c < 33; ++c)
      const_cast<float &>(*poisoned.right.at(d, c)) =
          std::numeric_limits<float>::quiet_NaN();
  const int32_t replaces = 0;
  expect_same_bits(
      poisoned.gradient(&replaces, 20, 33, 1 << 20, weights.data()),
      clean.product());
}

TEST(Product, RowsAndColumnsDoNotReachOneAnother) {
  Random random(5);
  for (int layout = 0; layout < 4; ++layout) {
    Problem problem(random, 13, 21, 40, layout & 1, layout & 2);
    const Buffer clean = problem.product();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const_cast<float &>(*problem.left.at(12, 3)) = nan;
    const_cast<float &>(*problem.right.at(5, 20)) = nan;
    const Buffer poisoned = problem.product();
    for (int64_t r = 0; r < 12; ++r)
      expect_same_bits(poisoned.row(r), clean.row(r), 20);
    EXPECT_TRUE(std::isnan(poisoned.at(12, 0)));
    EXPECT_TRUE(std::isnan(poisoned.at(0, 20)));
  }
}

} // namespace
