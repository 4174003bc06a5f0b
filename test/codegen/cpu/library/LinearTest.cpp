//===- LinearTest.cpp - linear, gated linear and matmul bodies ------------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cpu/library/Support.h"

#include <algorithm>

using namespace baton;
using namespace baton::test;

namespace {

/// A chain of k fused multiply-adds errs by at most k roundings of the sum of
/// magnitudes; activations have slopes below 1.13 and a few operations of their
/// own.
double chain_error(int64_t k, double magnitudes) {
  return 1.2 * static_cast<double>(k + 8) * rounding * magnitudes;
}

template <typename Type> class Linear : public ::testing::Test {};
TYPED_TEST_SUITE(Linear, WeightTypes);

TYPED_TEST(Linear, MatchesOracle) {
  Random random(1);
  for (int64_t k : {1, 7, 16, 33, 100})
    for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13, 48})
      for (int64_t columns : {1, 15, 16, 17, 33, 64, 70})
        for (int32_t activation = 0; activation <= BATON_ACTIVATION_RELU;
             ++activation) {
          // All activations at one shape, all shapes with one in turn.
          if (k != 33 && activation != (rows + columns) % 5)
            continue;
          const bool with_bias = (rows + columns) % 2;
          const bool with_residual = (rows + columns / 2) % 2;
          Buffer x = random.buffer(rows, k);
          Weight<TypeParam> weight(random, columns, k);
          std::vector<float> bias = random.vector(columns);
          Buffer residual = random.buffer(rows, columns);
          Buffer out = residual; // in place
          TypeParam::linear(out.data(), out.stride, x.data(), x.stride,
                            weight.packed().data(),
                            with_bias ? bias.data() : nullptr,
                            with_residual ? out.data() : nullptr, out.stride,
                            rows, k, columns, activation);

          std::vector<double> bias64 =
              with_bias ? doubles(bias) : std::vector<double>();
          oracle::Matrix expected =
              oracle::linear(x.matrix(), weight.matrix(), bias64,
                             static_cast<oracle::Activation>(activation));
          if (with_residual)
            for (int64_t r = 0; r < rows; ++r)
              for (int64_t c = 0; c < columns; ++c)
                expected.at(r, c) += residual.at(r, c);
          for (double &value : bias64)
            value = std::fabs(value);
          oracle::Matrix magnitudes =
              oracle::linear(absolute(x.matrix()), absolute(weight.matrix()),
                             bias64, oracle::Activation::none);
          expect_within(out, expected, [&](int64_t r, int64_t c) {
            return chain_error(k, magnitudes.at(r, c)) +
                   2 * rounding * std::fabs(expected.at(r, c));
          });
          if (this->HasFatalFailure())
            FAIL() << "k " << k << " rows " << rows << " columns " << columns
                   << " activation " << activation;
        }
}

TYPED_TEST(Linear, StoredMatricesGiveTheBitsOfPackedOnes) {
  Random random(4);
  for (int64_t k : {1, 7, 16, 100, 128, 300})
    for (int64_t rows : {0, 1, 2, 6, 13})
      for (int64_t columns : {1, 15, 16, 33, 70}) {
        const float *bias_data = nullptr;
        Buffer x = random.buffer(rows, k);
        Weight<TypeParam> weight(random, columns, k);
        std::vector<float> bias = random.vector(columns);
        if ((rows + columns) % 2)
          bias_data = bias.data();
        Buffer packed(rows, columns), out(rows, columns);
        TypeParam::linear(packed.data(), packed.stride, x.data(), x.stride,
                          weight.packed().data(), bias_data, nullptr, 0, rows,
                          k, columns, BATON_ACTIVATION_NONE);
        // Rows that have others between them.
        std::vector<typename TypeParam::Storage> spread(columns * (k + 3));
        for (int64_t n = 0; n < columns; ++n)
          std::copy_n(weight.stored.data() + n * k, k,
                      spread.data() + n * (k + 3));
        TypeParam::stored_linear(out.data(), out.stride, x.data(), x.stride,
                                 spread.data(), k + 3, bias_data, rows, k,
                                 columns);
        expect_same_bits(out, packed);
        if (this->HasFatalFailure())
          FAIL() << "k " << k << " rows " << rows << " columns " << columns;
      }
}

TYPED_TEST(Linear, TransposedOnesHaveTheBitsOfProducts) {
  Random random(5);
  for (int64_t depth : {1, 15, 16, 33, 300})
    for (int64_t rows : {0, 1, 6, 13, 260})
      for (int64_t inputs : {1, 16, 40, 100}) {
        // Of no rows there is memory, too.
        const int64_t room = std::max<int64_t>(rows, 1);
        Buffer a = random.buffer(room, depth),
               old = random.buffer(room, inputs);
        Weight<TypeParam> weight(random, depth, inputs);
        const auto panels = weight.packed();
        const oracle::Matrix numbers = weight.matrix();
        std::vector<float> stored(depth * inputs);
        for (int64_t d = 0; d < depth; ++d)
          for (int64_t i = 0; i < inputs; ++i)
            stored[d * inputs + i] = static_cast<float>(numbers.at(d, i));
        // In tiles of columns; the residual is `out` in place.
        Buffer out = old, expected = old;
        std::vector<float> scratch(
            baton_linear_transposed_scratch_bytes(32) / 4 + 1, Buffer::guard);
        for (int64_t c = 0; c < inputs; c += 32) {
          const int64_t columns = std::min<int64_t>(32, inputs - c);
          TypeParam::linear_transposed(
              out.row(0) + c, out.stride, a.data(), a.stride, panels.data(),
              rows % 2 ? out.row(0) + c : nullptr, out.stride, c, rows, columns,
              depth, inputs, scratch.data());
          baton_task_product(expected.row(0) + c, expected.stride, a.data(),
                             a.stride, 1, stored.data() + c, inputs, 1, nullptr,
                             rows % 2 ? expected.row(0) + c : nullptr,
                             expected.stride, rows, columns, depth,
                             scratch.data());
        }
        EXPECT_EQ(scratch.back(), Buffer::guard) << "scratch overrun";
        expect_same_bits(out, expected);
        if (this->HasFatalFailure())
          FAIL() << "depth " << depth << " rows " << rows << " inputs "
                 << inputs;
      }
}

TYPED_TEST(Linear, RowsAndColumnsTileWithoutChangingBits) {
  Random random(2);
  const int64_t k = 100, rows = 48, columns = 70;
  Buffer x = random.buffer(rows, k);
  Weight<TypeParam> weight(random, columns, k);
  auto panels = weight.packed();
  std::vector<float> bias = random.vector(columns);
  Buffer residual = random.buffer(rows, columns);
  auto run = [&](Buffer &out, int64_t first_row, int64_t row_count,
                 int64_t first_column, int64_t column_count) {
    TypeParam::linear(
        out.row(first_row) + first_column, out.stride, x.row(first_row),
        x.stride, panels.data() + first_column * k, bias.data() + first_column,
        residual.row(first_row) + first_column, residual.stride, row_count, k,
        column_count, BATON_ACTIVATION_GELU);
  };
  Buffer whole(rows, columns);
  run(whole, 0, rows, 0, columns);
  for (int64_t tile_rows : {1, 2, 3, 4, 5, 6, 7, 11, 48})
    for (int64_t tile_columns : {16, 32, 48, 64, 80}) {
      Buffer tiled(rows, columns);
      for (int64_t r = 0; r < rows; r += tile_rows)
        for (int64_t c = 0; c < columns; c += tile_columns)
          run(tiled, r, std::min(tile_rows, rows - r), c,
              std::min(tile_columns, columns - c));
      expect_same_bits(tiled, whole);
    }
}

TYPED_TEST(Linear, IsOneAscendingChain) {
  Random random(3);
  const int64_t k = 33, columns = 17;
  Buffer x = random.buffer(1, k);
  Weight<TypeParam> weight(random, columns, k);
  Buffer out(1, columns);
  TypeParam::linear(out.data(), out.stride, x.data(), x.stride,
                    weight.packed().data(), nullptr, nullptr, 0, 1, k, columns,
                    BATON_ACTIVATION_NONE);
  for (int64_t c = 0; c < columns; ++c) {
    float sum = 0.0f;
    for (int64_t d = 0; d < k; ++d)
      sum = std::fma(
          x.at(0, d),
          static_cast<float>(TypeParam::value(weight.stored[c * k + d])), sum);
    expect_same_bits(out.row(0) + c, &sum, 1);
  }
}

TYPED_TEST(Linear, GatedMatchesOracle) {
  Random random(4);
  for (int64_t k : {1, 7, 33, 100})
    for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 48})
      for (int64_t columns : {1, 16, 17, 33, 70})
        for (int32_t activation :
             {BATON_ACTIVATION_SILU, BATON_ACTIVATION_GELU_TANH,
              BATON_ACTIVATION_CLAMPED_SWIGLU}) {
          const bool with_bias = (rows + columns) % 2;
          Buffer x = random.buffer(rows, k);
          Weight<TypeParam> gate(random, columns, k), up(random, columns, k);
          std::vector<typename TypeParam::Storage> panels;
          gate.pack_into(panels, 0, 2);
          up.pack_into(panels, 1, 2);
          std::vector<float> bias_gate = random.vector(columns);
          std::vector<float> bias_up = random.vector(columns);
          Buffer out(rows, columns);
          TypeParam::gated_linear(out.data(), out.stride, x.data(), x.stride,
                                  panels.data(),
                                  with_bias ? bias_gate.data() : nullptr,
                                  with_bias ? bias_up.data() : nullptr, rows, k,
                                  columns, activation);
          std::vector<double> gate64, up64;
          if (with_bias) {
            gate64 = doubles(bias_gate);
            up64 = doubles(bias_up);
          }
          oracle::Matrix expected = oracle::gated_linear(
              x.matrix(), gate.matrix(), up.matrix(), gate64, up64,
              static_cast<oracle::Activation>(activation));
          for (double &value : gate64)
            value = std::fabs(value);
          for (double &value : up64)
            value = std::fabs(value);
          oracle::Matrix gates =
              oracle::linear(absolute(x.matrix()), absolute(gate.matrix()),
                             gate64, oracle::Activation::none);
          oracle::Matrix ups =
              oracle::linear(absolute(x.matrix()), absolute(up.matrix()), up64,
                             oracle::Activation::none);
          expect_within(out, expected, [&](int64_t r, int64_t c) {
            const double more =
                activation == BATON_ACTIVATION_CLAMPED_SWIGLU ? 1.0 : 0.0;
            return 2.0 * chain_error(k, gates.at(r, c) * (ups.at(r, c) + more));
          });
          if (this->HasFatalFailure())
            FAIL() << "k " << k << " rows " << rows << " columns " << columns;
        }
}

TYPED_TEST(Linear, GatedRowsAndColumnsTileWithoutChangingBits) {
  Random random(5);
  const int64_t k = 33, rows = 20, columns = 70;
  Buffer x = random.buffer(rows, k);
  Weight<TypeParam> gate(random, columns, k), up(random, columns, k);
  std::vector<typename TypeParam::Storage> panels;
  gate.pack_into(panels, 0, 2);
  up.pack_into(panels, 1, 2);
  auto run = [&](Buffer &out, int64_t r, int64_t row_count, int64_t c,
                 int64_t column_count) {
    TypeParam::gated_linear(out.row(r) + c, out.stride, x.row(r), x.stride,
                            panels.data() + 2 * c * k, nullptr, nullptr,
                            row_count, k, column_count, BATON_ACTIVATION_SILU);
  };
  Buffer whole(rows, columns);
  run(whole, 0, rows, 0, columns);
  for (int64_t tile_rows : {1, 2, 3, 5, 7})
    for (int64_t tile_columns : {16, 32, 48}) {
      Buffer tiled(rows, columns);
      for (int64_t r = 0; r < rows; r += tile_rows)
        for (int64_t c = 0; c < columns; c += tile_columns)
          run(tiled, r, std::min(tile_rows, rows - r), c,
              std::min(tile_columns, columns - c));
      expect_same_bits(tiled, whole);
    }
}

TEST(Matmul, MatchesOracleForEveryLayout) {
  Random random(6);
  for (int64_t depth : {1, 7, 64, 100, 300})
    for (int64_t rows : {1, 3, 6, 7, 20})
      for (int64_t columns : {1, 8, 16, 33, 70}) {
        Buffer a = random.buffer(rows, depth);
        oracle::Matrix b(depth, columns);
        for (double &value : b.values)
          value = random.value();
        oracle::Matrix expected = oracle::matmul(a.matrix(), b);
        oracle::Matrix magnitudes =
            oracle::matmul(absolute(a.matrix()), absolute(b));
        Buffer first(rows, columns);
        // Depth contiguous, columns contiguous, neither.
        const int64_t strides[3][2] = {
            {1, columns + 3}, {depth + 2, 1}, {2, 2 * columns + 1}};
        for (const auto &[column_stride, depth_stride] : strides) {
          std::vector<float> stored((columns - 1) * column_stride +
                                    (depth - 1) * depth_stride + 1);
          for (int64_t d = 0; d < depth; ++d)
            for (int64_t j = 0; j < columns; ++j)
              stored[j * column_stride + d * depth_stride] =
                  static_cast<float>(b.at(d, j));
          Buffer out(rows, columns);
          baton_task_matmul(out.data(), out.stride, a.data(), a.stride,
                            stored.data(), column_stride, depth_stride, rows,
                            columns, depth);
          expect_within(out, expected, [&](int64_t r, int64_t c) {
            return chain_error(depth, magnitudes.at(r, c));
          });
          if (first.at(0, 0) == Buffer::guard)
            first = out;
          expect_same_bits(out, first);
          Buffer alone(1, columns);
          baton_task_matmul(alone.data(), alone.stride, a.row(rows - 1),
                            a.stride, stored.data(), column_stride,
                            depth_stride, 1, columns, depth);
          expect_same_bits(alone.row(0), out.row(rows - 1), columns);
        }
      }
}

} // namespace
