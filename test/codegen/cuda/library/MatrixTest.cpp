//===- MatrixTest.cpp - linears on tensor cores ---------------------------===//
//
// Against the FP64 oracle of what the bodies compute: activations rounded to
// BF16, which leaves only the sums' roundings.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cpu/library/Support.h"
#include "test/codegen/cuda/library/MatrixBodies.h"
#include "test/codegen/cuda/library/PlacedTest.h"

#include <algorithm>
#include <limits>
#include <ostream>

using namespace baton;
using namespace baton::test;

void test::PrintTo(const MatrixBodies &bodies, std::ostream *os) {
  *os << bodies.shape.threads << " threads, " << bodies.shape.rows << " x "
      << bodies.shape.columns << ", sm_" << bodies.shape.architecture;
}

namespace {

/// To nearest even, by arithmetic instead of bits.
double rounded_to_bf16(double value) {
  int exponent;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, exponent - 8);
  return std::nearbyint(value / unit) * unit;
}

oracle::Matrix rounded_to_bf16(oracle::Matrix matrix) {
  for (double &value : matrix.values)
    value = value == 0.0 ? 0.0 : rounded_to_bf16(value);
  return matrix;
}

/// A product of k depths is rounded after every sixteen; the rest are bias,
/// activation and residual.
double sum_error(int64_t k, double magnitudes) {
  const int64_t steps = k / 16 + 8;
  return 1.2 * static_cast<double>(steps) * roundings_of_a_step() * rounding *
         magnitudes;
}

struct Problem {
  int64_t rows, k, columns;
};

/// Tiles that end within the shape, and some beyond.
std::vector<Problem> problems(const BatonMatrixShape &shape) {
  std::vector<Problem> result;
  const int64_t rows[] = {1, 15, shape.rows / 2 + 1, shape.rows - 1,
                          shape.rows};
  const int64_t columns[] = {8, 16, 21, shape.columns / 2 + 8, shape.columns};
  const int64_t depths[] = {1, 16, 40, 64, 99, 128, 331};
  // Every size of each side, with others in turn.
  for (size_t i = 0; i < 35; ++i)
    result.push_back({rows[i % 5], depths[i % 7], columns[(i + i / 7) % 5]});
  result.push_back({shape.rows + 3, 70, shape.columns + 17});
  return result;
}

std::ostream &operator<<(std::ostream &os, const Problem &problem) {
  return os << problem.rows << " rows, k " << problem.k << ", "
            << problem.columns << " columns";
}

class Matrix : public PlacedTest<MatrixBodies> {};

TEST_P(Matrix, LinearMatchesOracle) {
  Random random(1);
  int number = 0;
  for (const Problem &problem : problems(GetParam().shape)) {
    const auto [rows, k, columns] = problem;
    const int32_t activation = number % (BATON_ACTIVATION_RELU + 1);
    const bool with_bias = number % 2, with_residual = number % 3 != 0;
    // Rows of x that are aligned, and others.
    const int64_t padding = number % 4 ? -(k + Buffer::gap) & 3 : 0;
    ++number;
    Buffer x = random.buffer(rows, k + padding);
    Weight<BF16> weight(random, columns, k);
    const std::vector<uint16_t> panels = weight.packed();
    const std::vector<float> bias = random.vector(columns);
    const Buffer residual = random.buffer(rows, columns);
    Buffer out = residual; // in place
    GetParam().run({out.data(), out.stride, x.data(), x.stride, panels.data(),
                    with_bias ? bias.data() : nullptr,
                    with_residual ? out.data() : nullptr, out.stride, rows, k,
                    columns, activation},
                   number % 3);

    oracle::Matrix left(rows, k);
    for (int64_t r = 0; r < rows; ++r)
      std::copy_n(x.row(r), k, &left.at(r, 0));
    left = rounded_to_bf16(left);
    std::vector<double> bias64 =
        with_bias ? doubles(bias) : std::vector<double>();
    oracle::Matrix expected =
        oracle::linear(left, weight.matrix(), bias64,
                       static_cast<oracle::Activation>(activation));
    if (with_residual)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          expected.at(r, c) += residual.at(r, c);
    for (double &value : bias64)
      value = std::fabs(value);
    const oracle::Matrix magnitudes =
        oracle::linear(absolute(left), absolute(weight.matrix()), bias64,
                       oracle::Activation::none);
    expect_within(out, expected, [&](int64_t r, int64_t c) {
      return sum_error(k, magnitudes.at(r, c)) +
             2 * rounding * std::fabs(expected.at(r, c));
    });
    if (HasFatalFailure())
      FAIL() << problem;
  }
}

TEST_P(Matrix, GatedLinearMatchesOracle) {
  Random random(2);
  int number = 0;
  for (const Problem &problem : problems(GetParam().shape)) {
    const auto [rows, k, columns] = problem;
    const int32_t activation = number % (BATON_ACTIVATION_CLAMPED_SWIGLU + 1);
    const bool with_gate = number % 2, with_up = number % 3 != 0;
    ++number;
    Buffer x = random.buffer(rows, k);
    Weight<BF16> gate(random, columns, k), up(random, columns, k);
    std::vector<uint16_t> panels;
    gate.pack_into(panels, 0, 2);
    up.pack_into(panels, 1, 2);
    const std::vector<float> bias_gate = random.vector(columns);
    const std::vector<float> bias_up = random.vector(columns);
    Buffer out(rows, columns);
    GetParam().run(MatrixGatedLinear{out.data(), out.stride, x.data(), x.stride,
                                     panels.data(),
                                     with_gate ? bias_gate.data() : nullptr,
                                     with_up ? bias_up.data() : nullptr, rows,
                                     k, columns, activation},
                   number % 3);

    const oracle::Matrix left = rounded_to_bf16(x.matrix());
    std::vector<double> gate64, up64;
    if (with_gate)
      gate64 = doubles(bias_gate);
    if (with_up)
      up64 = doubles(bias_up);
    const oracle::Matrix expected =
        oracle::gated_linear(left, gate.matrix(), up.matrix(), gate64, up64,
                             static_cast<oracle::Activation>(activation));
    for (double &value : gate64)
      value = std::fabs(value);
    for (double &value : up64)
      value = std::fabs(value);
    const oracle::Matrix gates =
        oracle::linear(absolute(left), absolute(gate.matrix()), gate64,
                       oracle::Activation::none);
    const oracle::Matrix ups = oracle::linear(
        absolute(left), absolute(up.matrix()), up64, oracle::Activation::none);
    expect_within(out, expected, [&](int64_t r, int64_t c) {
      // One of the activations adds one to the other factor.
      return 2.0 * sum_error(k, gates.at(r, c) * (ups.at(r, c) + 1.0));
    });
    if (HasFatalFailure())
      FAIL() << problem;
  }
}

/// The bits of an element depend neither on the schedule nor on what else is in
/// its tile, nor on what was in shared memory before.
TEST_P(Matrix, BitsDoNotDependOnTilesOrSchedules) {
  Random random(3);
  const BatonMatrixShape shape = GetParam().shape;
  const int64_t rows = shape.rows + 5, k = 331, columns = shape.columns + 16;
  Buffer x = random.buffer(rows, k);
  Weight<BF16> weight(random, columns, k);
  const std::vector<uint16_t> panels = weight.packed();
  auto run = [&](Buffer &out, int64_t top, int64_t row_count, int64_t left,
                 int64_t column_count, uint64_t seed) {
    GetParam().run({out.row(top) + left, out.stride, x.row(top), x.stride,
                    panels.data() + left * k, nullptr, nullptr, 0, row_count, k,
                    column_count, BATON_ACTIVATION_SILU},
                   seed);
  };
  Buffer whole(rows, columns);
  run(whole, 0, rows, 0, columns, 0);
  for (uint64_t seed : {1, 2}) {
    Buffer again(rows, columns);
    run(again, 0, rows, 0, columns, seed);
    expect_same_bits(again, whole);
  }
  // What is beyond a tile may be anything.
  const int64_t tile_columns = shape.columns / 2 + 16;
  for (float &value : x.values)
    if (value == Buffer::guard)
      value = std::numeric_limits<float>::quiet_NaN();
  for (int64_t tile_rows : {shape.rows / 2 - 3, shape.rows - 3}) {
    Buffer tiled(rows, columns);
    for (int64_t r = 0; r < rows; r += tile_rows)
      for (int64_t c = 0; c < columns; c += tile_columns)
        run(tiled, r, std::min(tile_rows, rows - r), c,
            std::min(tile_columns, columns - c), r);
    expect_same_bits(tiled, whole);
    expect_guards_intact(tiled);
  }
}

/// A row's bits are those that it has among many, where warps multiply both: so
/// they do not depend on the other texts of a batch.
TEST(FewRows, HaveTheBitsOfMany) {
  auto of = [](int threads, int rows) -> const MatrixBodies & {
    const auto &all = matrix_bodies();
    return *std::find_if(all.begin(), all.end(), [&](const MatrixBodies &each) {
      return each.shape.threads == threads && each.shape.rows == rows &&
             each.shape.architecture == 80;
    });
  };
  if (!of(256, 128).can_run() || !of(256, 16).can_run())
    GTEST_SKIP() << "no kernels of both where bodies run";
  Random random(5);
  const int64_t rows = 40, k = 331, columns = 48;
  Buffer x = random.buffer(rows, k);
  Weight<BF16> weight(random, columns, k);
  const std::vector<uint16_t> panels = weight.packed();
  auto run = [&](const MatrixBodies &bodies, Buffer &out, int64_t row,
                 int64_t count) {
    bodies.run(MatrixLinear{out.row(row), out.stride, x.row(row), x.stride,
                            panels.data(), nullptr, nullptr, 0, count, k,
                            columns, BATON_ACTIVATION_NONE});
  };
  Buffer many(rows, columns);
  run(of(256, 128), many, 0, rows);
  for (int64_t count : {1, 3, 16}) {
    Buffer few(rows, columns);
    for (int64_t row = 0; row < rows; row += count)
      run(of(256, 16), few, row, std::min(count, rows - row));
    expect_same_bits(few, many);
  }
}

/// Infinities and NaNs stay in their rows and columns.
TEST_P(Matrix, NonfiniteNumbersStayWhereTheyAre) {
  Random random(4);
  const int64_t rows = 9, k = 70, columns = 24;
  Buffer x = random.buffer(rows, k);
  x.row(3)[k - 1] = std::numeric_limits<float>::quiet_NaN();
  x.row(5)[0] = std::numeric_limits<float>::infinity();
  Weight<BF16> weight(random, columns, k);
  weight.stored[7 * k + k - 1] = 0x7f80;
  const std::vector<uint16_t> panels = weight.packed();
  Buffer out(rows, columns);
  GetParam().run(MatrixLinear{out.data(), out.stride, x.data(), x.stride,
                              panels.data(), nullptr, nullptr, 0, rows, k,
                              columns, BATON_ACTIVATION_NONE});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      EXPECT_EQ(std::isfinite(out.at(r, c)), r != 3 && r != 5 && c != 7)
          << r << ", " << c;
      if (r == 3)
        EXPECT_TRUE(std::isnan(out.at(r, c)));
    }
}

INSTANTIATE_TEST_SUITE_P(Library, Matrix, ::testing::ValuesIn(matrix_bodies()),
                         [](const auto &test) {
                           const BatonMatrixShape &shape = test.param.shape;
                           return std::to_string(shape.threads) + "_" +
                                  std::to_string(shape.rows) + "x" +
                                  std::to_string(shape.columns) +
                                  (shape.by_warpgroups() ? "_warpgroups"
                                                         : "_warps");
                         });

TEST(MatrixShape, FitsTheBlock) {
  constexpr BatonMatrixShape typical{256, 128, 128, 80};
  static_assert(typical.is_valid() && !typical.by_warpgroups());
  static_assert(typical.warps_across() == 4 && typical.warps_down() == 2);
  static_assert(typical.shared_bytes() ==
                2 * 128 * 64 * 2 + 4 * 128 * 64 * 2 + 4 * 8);
  constexpr BatonMatrixShape hopper{256, 128, 128, 90};
  static_assert(hopper.is_valid() && hopper.by_warpgroups());
  static_assert(hopper.shared_bytes() ==
                3 * 128 * 64 * 2 + 4 * 128 * 64 * 2 + 4 * 8);
  // A small block has no warpgroup.
  static_assert(!BatonMatrixShape{32, 32, 32, 90}.by_warpgroups());
  // A tile of few rows has a warp that multiplies, and much under way.
  constexpr BatonMatrixShape few{256, 16, 32, 90};
  static_assert(few.is_valid() && !few.by_warpgroups());
  static_assert(few.multiplying_warps() == 1 && few.weight_stages() == 16);
  static_assert(few.shared_bytes() ==
                2 * 16 * 64 * 2 + 16 * 32 * 64 * 2 + 16 * 8);
  static_assert(!BatonMatrixShape{256, 8, 32, 80}.is_valid());
  static_assert(BatonMatrixShape{512, 16, 32, 80}.is_valid());
  static_assert(few.shared_bytes() < typical.shared_bytes());
  // Where the product is larger than what it is computed from.
  constexpr BatonMatrixShape large{256, 256, 256, 80};
  static_assert(large.barrier_offset() == 256 * (256 + 8) * 4);
  for (int threads : {32, 64, 128, 256, 512})
    for (int rows : {32, 64, 128, 256})
      for (int columns : {32, 64, 128, 256}) {
        const BatonMatrixShape shape{threads, rows, columns, 80};
        EXPECT_EQ(shape.warps_across() * shape.warps_down(),
                  std::min(threads / 32, rows / 16 * (columns / 32)));
      }
}

} // namespace
