//===- ProductMatrixTest.cpp - products of training on tensor cores -------===//
//
// Where every sum is exact: the bits of the CPU's bodies. Of other numbers:
// against an FP64 oracle of rounded sides, which leaves only the sums'
// roundings.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cpu/library/Support.h"
#include "test/codegen/cuda/library/PlacedTest.h"
#include "test/codegen/cuda/library/ProductMatrixBodies.h"
#include "test/codegen/cuda/library/Twins.h"

#include <algorithm>
#include <limits>
#include <ostream>

using namespace baton;
using namespace baton::test;

void test::PrintTo(const ProductMatrixBodies &bodies, std::ostream *os) {
  *os << bodies.shape.threads << " threads, " << bodies.shape.rows << " x "
      << bodies.shape.columns << ", sm_" << bodies.shape.architecture
      << (bodies.is_f16 ? ", F16" : ", BF16");
}

namespace {

/// To nearest even, by arithmetic instead of bits.
double rounded(double value, bool is_f16) {
  if (value == 0.0)
    return value;
  int exponent;
  std::frexp(value, &exponent);
  // Of 8 and 11 bits; F16's smallest number is 2^-24.
  const double unit =
      std::ldexp(1.0, is_f16 ? std::max(exponent - 11, -24) : exponent - 8);
  return std::nearbyint(value / unit) * unit;
}

struct Problem {
  int64_t rows, columns, depth;
};

std::ostream &operator<<(std::ostream &os, const Problem &problem) {
  return os << problem.rows << " x " << problem.columns << ", depth "
            << problem.depth;
}

/// Tiles that end within the shape and its stages, and some beyond.
std::vector<Problem> problems(const BatonProductMatrixShape &shape) {
  return {{1, 3, 1},
          {shape.rows, shape.columns, 192},
          {shape.rows / 2 - 1, shape.columns - 4, 64},
          {shape.rows - 4, 21, 331},
          {shape.rows + 7, shape.columns + 12, 100},
          {2 * shape.rows, 8, 32},
          {5, 2 * shape.columns, 31}};
}

/// A side in one of the orders of training, with the values that element(line,
/// depth) has: depths side by side, lines side by side, or neither.
struct Side {
  enum Order { depths, lines, neither };
  static constexpr Order orders[] = {depths, lines, neither};

  template <typename Element>
  Side(Order order, int64_t count, int64_t depth, bool aligned,
       Element element) {
    // Ends of rows are guards, so that reading them shows.
    const int64_t width = order == lines ? count : depth;
    const int64_t padded = width + (aligned ? -width & 3 : 3);
    const int64_t step = order == neither ? 2 : 1;
    line_stride = order == lines ? 1 : padded * step;
    depth_stride = order == lines ? padded : step;
    const int64_t size = (count - 1) * line_stride + (depth - 1) * depth_stride;
    values.assign(size + 1, std::numeric_limits<float>::quiet_NaN());
    for (int64_t line = 0; line < count; ++line)
      for (int64_t d = 0; d < depth; ++d)
        values[line * line_stride + d * depth_stride] = element(line, d);
  }
  float at(int64_t line, int64_t d) const {
    return values[line * line_stride + d * depth_stride];
  }

  std::vector<float> values;
  int64_t line_stride, depth_stride;
};

ProductSides sides_of(const Side &a, const Side &b) {
  return {a.values.data(), a.line_stride,  a.depth_stride,
          b.values.data(), b.depth_stride, b.line_stride};
}

class ProductMatrix : public PlacedTest<ProductMatrixBodies> {
protected:
  /// Calls check(problem, a, b, number) for every problem, in all orders.
  template <typename Left, typename Right, typename Check>
  void each(Left left, Right right, Check check) {
    int number = 0;
    for (const Problem &problem : problems(GetParam().shape))
      for (Side::Order order : Side::orders) {
        // Each with each other once, in the course of three problems.
        const auto other =
            static_cast<Side::Order>((order + number / 3 + number % 2) % 3);
        const Side a(order, problem.rows, problem.depth, number % 2, left);
        const Side b(other, problem.columns, problem.depth, number % 4 < 2,
                     right);
        check(problem, a, b, number++);
        if (HasFatalFailure())
          FAIL() << problem << ", orders " << order << " and " << other;
      }
  }
};

float small(int64_t line, int64_t d) {
  return static_cast<float>((line * 7 + d * 5 + line * d % 3) % 9) - 4.0f;
}

/// Small integers: the CPU's bits, chains that begin at old values and depths
/// that are left out included.
TEST_P(ProductMatrix, HasTheCpusExactSums) {
  auto integers = [&](int64_t rows, int64_t columns) {
    Buffer buffer(rows, columns);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        buffer.row(r)[c] = small(r + 3, c);
    return buffer;
  };
  each(
      small, [](int64_t line, int64_t d) { return small(line + 100, d); },
      [&](const Problem &problem, const Side &a, Side b, int number) {
        const auto [rows, columns, depth] = problem;
        const bool f16 = GetParam().is_f16;
        // The same in orders that the CPU's bodies take, with weights too.
        const Side left(Side::depths, rows, depth, true,
                        [&](int64_t line, int64_t d) { return a.at(line, d); });
        Side right(Side::lines, columns, depth, true,
                   [&](int64_t line, int64_t d) { return b.at(line, d); });
        std::vector<float> scratch(baton_product_scratch_bytes(columns) / 4);
        const Buffer old = integers(rows, columns);
        std::vector<float> bias(columns);
        for (int64_t c = 0; c < columns; ++c)
          bias[c] = small(9, c);
        Buffer expected = old, actual = old; // in place
        const float *const with_bias = number % 2 ? bias.data() : nullptr;
        const bool with_residual = number % 3 != 0;
        (f16 ? baton_task_product_f16 : baton_task_product_bf16)(
            expected.data(), expected.stride, left.values.data(),
            left.line_stride, left.depth_stride, right.values.data(),
            right.depth_stride, right.line_stride, with_bias,
            with_residual ? expected.data() : nullptr, expected.stride, rows,
            columns, depth, scratch.data());
        GetParam().run(MatrixProduct{actual.data(), actual.stride,
                                     sides_of(a, b), with_bias,
                                     with_residual ? actual.data() : nullptr,
                                     actual.stride, rows, columns, depth},
                       number % 3);
        expect_twin_bits(actual, expected);

        // What is left out may be anything, and is zeros for the CPU.
        std::vector<float> weights(depth, 0.5f);
        for (int64_t d = 0; d < depth; d += 1 + d % 5) {
          weights[d] = d % 2 ? 0.0f : -0.0f;
          for (int64_t c = 0; c < columns; ++c) {
            const int64_t place = c * b.line_stride + d * b.depth_stride;
            b.values[place] = std::numeric_limits<float>::quiet_NaN();
            right.values[c + d * right.depth_stride] = 0.0f;
          }
        }
        for (int32_t adds : {0, 1}) {
          const std::vector<int32_t> accumulate(1, adds);
          expected = actual = old;
          (f16 ? baton_task_product_gradient_f16
               : baton_task_product_gradient_bf16)(
              expected.data(), expected.stride, left.values.data(),
              left.line_stride, left.depth_stride, right.values.data(),
              right.depth_stride, right.line_stride, nullptr, rows, columns,
              depth, accumulate.data(), scratch.data());
          GetParam().run(MatrixProductGradient{actual.data(), actual.stride,
                                               sides_of(a, b), weights.data(),
                                               rows, columns, depth,
                                               accumulate.data()},
                         number % 3 + adds);
          expect_twin_bits(actual, expected);
        }
      });
}

/// A sum is rounded after every sixteen depths, and begins with a rounding.
TEST_P(ProductMatrix, MatchesOracle) {
  Random random(2);
  const bool f16 = GetParam().is_f16;
  // Some of F16's subnormal numbers, too.
  auto value = [&](int64_t, int64_t d) {
    return random.value() * (d % 7 ? 1.0f : 0x1p-13f);
  };
  each(value, value,
       [&](const Problem &problem, const Side &a, const Side &b, int number) {
         const auto [rows, columns, depth] = problem;
         const Buffer old = random.buffer(rows, columns);
         Buffer out = old;
         GetParam().run(MatrixProductGradient{out.data(), out.stride,
                                              sides_of(a, b), nullptr, rows,
                                              columns, depth, nullptr},
                        number % 3);
         oracle::Matrix expected = old.matrix(),
                        magnitudes = absolute(expected);
         for (int64_t r = 0; r < rows; ++r)
           for (int64_t c = 0; c < columns; ++c)
             for (int64_t d = 0; d < depth; ++d) {
               const double term =
                   rounded(a.at(r, d), f16) * rounded(b.at(c, d), f16);
               expected.at(r, c) += term;
               magnitudes.at(r, c) += std::fabs(term);
             }
         expect_within(out, expected, [&](int64_t r, int64_t c) {
           return 1.01 * static_cast<double>(depth / 16 + 1) *
                  roundings_of_a_step() * rounding * magnitudes.at(r, c);
         });
       });
}

/// The bits of an element depend neither on the schedule nor on what else is in
/// its tile, nor on what was in shared memory before.
TEST_P(ProductMatrix, BitsDoNotDependOnTilesOrSchedules) {
  Random random(3);
  const BatonProductMatrixShape shape = GetParam().shape;
  const int64_t rows = shape.rows + 5, columns = shape.columns + 16,
                depth = 171;
  auto value = [&](int64_t, int64_t) { return random.value(); };
  for (Side::Order order : Side::orders) {
    const Side a(order, rows, depth, false, value);
    const Side b(order, columns, depth, true, value);
    auto run = [&](Buffer &out, int64_t top, int64_t row_count, int64_t left,
                   int64_t column_count, uint64_t seed) {
      ProductSides sides = sides_of(a, b);
      sides.a += top * a.line_stride;
      sides.b += left * b.line_stride;
      GetParam().run(MatrixProduct{out.row(top) + left, out.stride, sides,
                                   nullptr, nullptr, 0, row_count, column_count,
                                   depth},
                     seed);
    };
    Buffer whole(rows, columns);
    run(whole, 0, rows, 0, columns, 0);
    Buffer again(rows, columns);
    run(again, 0, rows, 0, columns, 1);
    expect_same_bits(again, whole);
    const int64_t tile_rows = shape.rows / 2 - 3,
                  tile_columns = shape.columns / 2 + 16;
    Buffer tiled(rows, columns);
    for (int64_t r = 0; r < rows; r += tile_rows)
      for (int64_t c = 0; c < columns; c += tile_columns)
        run(tiled, r, std::min(tile_rows, rows - r), c,
            std::min(tile_columns, columns - c), r);
    expect_same_bits(tiled, whole);
    expect_guards_intact(tiled);
  }
}

/// Infinities and NaNs stay in their rows and columns, and what F16 does not
/// hold is infinite.
TEST_P(ProductMatrix, NonfiniteNumbersStayWhereTheyAre) {
  const Problem problem = {9, 24, 70};
  for (Side::Order order : Side::orders) {
    Side a(order, problem.rows, problem.depth, true, small);
    Side b(order, problem.columns, problem.depth, false, small);
    a.values[3 * a.line_stride + 69 * a.depth_stride] =
        std::numeric_limits<float>::quiet_NaN();
    a.values[5 * a.line_stride] = std::numeric_limits<float>::infinity();
    b.values[7 * b.line_stride + 69 * b.depth_stride] = 65520.0f;
    Buffer out(problem.rows, problem.columns);
    GetParam().run(MatrixProduct{out.data(), out.stride, sides_of(a, b),
                                 nullptr, nullptr, 0, problem.rows,
                                 problem.columns, problem.depth});
    for (int64_t r = 0; r < problem.rows; ++r)
      for (int64_t c = 0; c < problem.columns; ++c) {
        EXPECT_EQ(std::isfinite(out.at(r, c)),
                  r != 3 && r != 5 && (c != 7 || !GetParam().is_f16))
            << r << ", " << c;
        if (r == 3)
          EXPECT_TRUE(std::isnan(out.at(r, c)));
      }
  }
}

/// A part of a step that has no rows: nothing is added, and nothing is read.
TEST_P(ProductMatrix, NoDepths) {
  Buffer out(5, 9);
  const std::vector<float> number(1, std::numeric_limits<float>::quiet_NaN());
  for (int32_t adds : {1, 0}) {
    // What arguments point to is on the heap.
    const std::vector<int32_t> accumulate(1, adds);
    std::fill_n(out.row(2), 9, 2.5f);
    GetParam().run(
        MatrixProductGradient{out.data(),
                              out.stride,
                              {number.data(), 1, 5, number.data(), 9, 1},
                              nullptr,
                              5,
                              9,
                              0,
                              accumulate.data()});
    EXPECT_EQ(out.at(2, 8), adds ? 2.5f : 0.0f);
    expect_guards_intact(out);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Library, ProductMatrix, ::testing::ValuesIn(product_matrix_bodies()),
    [](const auto &test) {
      const BatonProductMatrixShape &shape = test.param.shape;
      return std::to_string(shape.threads) + "_" + std::to_string(shape.rows) +
             "x" + std::to_string(shape.columns) +
             (shape.by_warpgroups() ? "_warpgroups_" : "_warps_") +
             (test.param.is_f16 ? "f16" : "bf16");
    });

TEST(ProductMatrixShape, FitsTheBlock) {
  constexpr BatonProductMatrixShape typical{256, 128, 128, 80};
  static_assert(typical.is_valid() && !typical.by_warpgroups());
  static_assert(typical.warps_across() == 4 && typical.warps_down() == 2);
  static_assert(typical.shared_bytes() == 2 * (128 + 128) * 128);
  constexpr BatonProductMatrixShape hopper{256, 128, 128, 90};
  static_assert(hopper.is_valid() && hopper.by_warpgroups());
  static_assert(hopper.shared_bytes() == 3 * (128 + 128) * 128);
  // Two stages of 32 depths side by side.
  constexpr BatonProductMatrixShape wide{256, 128, 256, 90};
  static_assert(wide.is_valid() && wide.by_warpgroups());
  static_assert(wide.shared_bytes() == 2 * (128 + 256) * 128);
  // A small block has no warpgroup.
  static_assert(!BatonProductMatrixShape{32, 128, 128, 90}.by_warpgroups());
  static_assert(BatonProductMatrixShape::columns_of(256, 80) == 128 &&
                BatonProductMatrixShape::columns_of(256, 90) == 256);
  for (auto [threads, rows, columns] : {std::array{48, 32, 32},
                                        {512, 128, 128},
                                        {256, 128, 24},
                                        {256, 8, 64}}) {
    const BatonProductMatrixShape shape{threads, rows, columns, 80};
    EXPECT_FALSE(shape.is_valid())
        << threads << ", " << rows << ", " << columns;
  }
}

} // namespace
