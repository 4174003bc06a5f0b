//===- IntegerLinearTest.cpp - linears on inputs of 8 bits ----------------===//
//
// Rounded rows against what codegen/bodies/integer_linear.td says of them, and
// products against sums in F64 of the weights that runtime/weights decodes.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cpu/library/BlocksProblem.h"
#include "test/codegen/cpu/library/Support.h"

#include <cmath>
#include <limits>

using namespace baton;
using namespace baton::test;
using baton::blocks::QuantisedInputs;

namespace {

constexpr int64_t kUnit = QuantisedInputs::inputs;

Buffer quantise(const Buffer &x, int64_t k) {
  Buffer out(x.rows, k / kUnit * 10);
  baton_task_quantise_rows(out.data(), out.stride, x.data(), x.stride, x.rows,
                           k);
  return out;
}

const QuantisedInputs &unit_of(const Buffer &rows, int64_t row, int64_t unit) {
  return reinterpret_cast<const QuantisedInputs *>(rows.row(row))[unit];
}

TEST(QuantiseRows, NumbersAreTheNearest) {
  Random random(1);
  Buffer x = random.buffer(5, 96);
  for (int64_t i = 0; i < 32; ++i) {
    x.row(1)[i] = 0;
    // Halves between two numbers, which go to the even one.
    x.row(2)[i] = i == 0 ? 127.0f : static_cast<float>(i) - 15.5f;
    x.row(3)[i] *= 0x1p-130f;
    x.row(4)[i] *= 0x1p100f;
  }
  const Buffer found = quantise(x, 96);
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t unit = 0; unit < 3; ++unit) {
      const QuantisedInputs &made = unit_of(found, row, unit);
      const float *source = x.row(row) + unit * kUnit;
      float largest = 0;
      for (int64_t i = 0; i < kUnit; ++i)
        largest = std::max(largest, std::abs(source[i]));
      const float scale = largest / 127 < 0x1p-126f ? 0.0f : largest / 127;
      EXPECT_EQ(made.scale, scale);
      int sums[2] = {0, 0};
      for (int64_t i = 0; i < kUnit; ++i) {
        const int8_t q = made.quants[i];
        sums[i / 16] += q;
        if (scale == 0)
          EXPECT_EQ(q, 0);
        else
          EXPECT_LE(std::abs(double(source[i]) - double(q) * scale),
                    scale * (0.5 + 1e-5));
        EXPECT_LE(std::abs(q), 127);
      }
      EXPECT_EQ(made.sums[0], sums[0]);
      EXPECT_EQ(made.sums[1], sums[1]);
    }
  for (int64_t i = 1; i < kUnit; ++i)
    EXPECT_EQ(unit_of(found, 2, 0).quants[i] % 2, 0) << i;
}

TEST(QuantiseRows, WhatIsNotFiniteMakesNoNumber) {
  for (float wrong : {std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity(),
                      std::numeric_limits<float>::quiet_NaN()}) {
    Random random(2);
    Buffer x = random.buffer(1, 64);
    x.row(0)[40] = wrong;
    const Buffer found = quantise(x, 64);
    EXPECT_TRUE(std::isfinite(unit_of(found, 0, 0).scale));
    const QuantisedInputs &made = unit_of(found, 0, 1);
    EXPECT_FALSE(std::isfinite(made.scale));
    for (int64_t i = 0; i < kUnit; ++i)
      EXPECT_EQ(made.quants[i], 0);
    const QuantisedWeight weight({DataType::Q4_0}, 16, 64, "q4_0", 3);
    Buffer out(1, 16);
    baton_task_integer_linear_q4_0(
        out.data(), out.stride, found.data(), found.stride, weight.data(),
        nullptr, nullptr, 0, 1, 64, 16, BATON_ACTIVATION_NONE);
    for (int64_t column = 0; column < 16; ++column)
      EXPECT_TRUE(std::isnan(out.at(0, column)));
  }
}

struct Bodies {
  decltype(&baton_task_integer_linear_q8_0) linear;
  decltype(&baton_task_integer_gated_linear_q8_0) gated;
};

Bodies bodies_of(std::string_view format) {
#define BATON_BODIES_OF(NAME, BLOCK)                                           \
  if (format == #NAME)                                                         \
    return {baton_task_integer_linear_##NAME,                                  \
            baton_task_integer_gated_linear_##NAME};
  BATON_FOR_EACH_INTEGER_BLOCK(BATON_BODIES_OF)
#undef BATON_BODIES_OF
  return {baton_task_integer_linear_mixed, nullptr};
}

/// A product, and what it may be off: an error of each unit's two fused
/// additions, and of the scales' product, in sums of absolute values.
struct Expected {
  double value = 0, tolerance = 0;

  Expected(const Buffer &rows, int64_t row, const float *weights, int64_t k) {
    double absolute = 0;
    for (int64_t i = 0; i < k; ++i) {
      const QuantisedInputs &unit = unit_of(rows, row, i / kUnit);
      const double term =
          double(weights[i]) * unit.scale * unit.quants[i % kUnit];
      value += term;
      absolute += std::abs(term);
    }
    // A weight's own terms, q d and an offset, may be larger than it: up to 32
    // times for Q6_K's least ones.
    tolerance = 8 * (double(k) / 16 + 8) * 0x1p-24 * absolute + 1e-30;
  }
};

void expect_products(const QuantisedWeight &weight, int64_t k,
                     std::string_view format, Random &random) {
  const int64_t outputs = static_cast<int64_t>(weight.numbers.size()) / k;
  const Buffer x = quantise(random.buffer(13, k), k);
  Buffer whole(x.rows, outputs);
  auto run = [&](Buffer &out, int64_t first, int64_t rows, int64_t columns) {
    bodies_of(format).linear(out.data(), out.stride, x.row(first), x.stride,
                             weight.data(), nullptr, nullptr, 0, rows, k,
                             columns, BATON_ACTIVATION_NONE);
  };
  run(whole, 0, x.rows, outputs);
  for (int64_t row = 0; row < x.rows; ++row)
    for (int64_t column = 0; column < outputs; ++column) {
      const Expected expected(x, row, weight.numbers.data() + column * k, k);
      ASSERT_NEAR(whole.at(row, column), expected.value, expected.tolerance)
          << format << " of " << k << ", row " << row << ", column " << column;
    }
  // Whatever tile a row is in.
  for (int64_t rows : {1, 2, 3, 4, 5, 8})
    for (int64_t columns : {int64_t(1), int64_t(16), int64_t(33), outputs}) {
      Buffer part(rows, columns);
      run(part, x.rows - rows, rows, columns);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          ASSERT_EQ(part.at(row, column), whole.at(x.rows - rows + row, column))
              << format << ", " << rows << " rows, " << columns << " columns";
    }
}

TEST(IntegerLinear, ProductsAreThoseOfRoundedRows) {
  Random random(3);
  for (const StoredFormat &stored : stored_formats) {
    if (!is_integer(stored))
      continue;
    const int64_t block = stored_block(stored.type).elements;
    for (int64_t k : {block, 3 * block})
      expect_products(QuantisedWeight({stored.type}, 72, k, stored.format, k),
                      k, stored.format, random);
  }
}

TEST(IntegerLinear, PanelsMayHaveSeveralFormats) {
  Random random(4);
  std::vector<DataType> types;
  for (const StoredFormat &stored : stored_formats)
    if (stored.type != DataType::IQ4_NL && is_integer(stored))
      types.push_back(stored.type);
  expect_products(QuantisedWeight(types, 32, 512, all_formats(), 5), 512,
                  "mixed", random);
}

/// What is not quantised is multiplied as it is, whatever is beside it.
TEST(IntegerLinear, PlainPanelsMultiplyExactRows) {
  Random random(8);
  const int64_t k = 512, outputs = 32;
  const std::vector<DataType> types = {DataType::Q4_K, DataType::F16,
                                       DataType::BF16, DataType::Q8_0,
                                       DataType::Q6_K, DataType::F32};
  const QuantisedWeight weight(types, outputs, k, "q8_0|q4_k|q6_k|f16|bf16|f32",
                               5);
  const std::vector<float> panels = weight.as_panels(k);
  const int64_t columns = outputs * static_cast<int64_t>(types.size()) - 7;
  const std::vector<float> bias = random.vector(columns);
  for (int64_t rows : {0, 1, 2, 5, 13}) {
    const Buffer exact = random.buffer(rows, k), x = quantise(exact, k);
    const Buffer residual = random.buffer(rows, columns);
    Buffer found(rows, columns), plain(rows, columns), whole(rows, columns);
    baton_task_partly_integer_linear_mixed(
        found.data(), found.stride, x.data(), x.stride, exact.data(),
        exact.stride, weight.data(), bias.data(), residual.data(),
        residual.stride, rows, k, columns, BATON_ACTIVATION_SILU);
    baton_task_linear_f32(plain.data(), plain.stride, exact.data(),
                          exact.stride, panels.data(), bias.data(),
                          residual.data(), residual.stride, rows, k, columns,
                          BATON_ACTIVATION_SILU);
    for (size_t part = 0; part < types.size(); ++part) {
      const int64_t first = static_cast<int64_t>(part) * outputs;
      const int64_t count = std::min(outputs, columns - first);
      const int64_t stride = static_cast<int64_t>(weight.panels.size()) /
                             (outputs / 16) /
                             static_cast<int64_t>(types.size());
      if (is_quantised(types[part]))
        baton_task_integer_linear_mixed(
            whole.data() + first, whole.stride, x.data(), x.stride,
            weight.data() + first / 16 * stride, bias.data() + first,
            residual.data() + first, residual.stride, rows, k, count,
            BATON_ACTIVATION_SILU);
      const Buffer &expected = is_quantised(types[part]) ? whole : plain;
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = first; column < first + count; ++column)
          ASSERT_EQ(found.at(row, column), expected.at(row, column))
              << "part " << part << ", row " << row << ", column " << column;
    }
  }
}

TEST(IntegerLinear, BiasActivationAndResidualAreAddedInF32) {
  Random random(5);
  const QuantisedWeight weight({DataType::Q5_K}, 40, 256, "q5_k", 7);
  const Buffer x = quantise(random.buffer(6, 256), 256);
  const Buffer residual = random.buffer(6, 40);
  const std::vector<float> bias = random.vector(40);
  Buffer plain(6, 40), found(6, 40);
  baton_task_integer_linear_q5_k(plain.data(), plain.stride, x.data(), x.stride,
                                 weight.data(), nullptr, nullptr, 0, 6, 256, 40,
                                 BATON_ACTIVATION_NONE);
  baton_task_integer_linear_q5_k(found.data(), found.stride, x.data(), x.stride,
                                 weight.data(), bias.data(), residual.data(),
                                 residual.stride, 6, 256, 40,
                                 BATON_ACTIVATION_RELU);
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t column = 0; column < 40; ++column)
      EXPECT_EQ(found.at(row, column),
                std::max(plain.at(row, column) + bias[column], 0.0f) +
                    residual.at(row, column));
}

TEST(IntegerLinear, GatedLinearsAreTwo) {
  Random random(6);
  for (const StoredFormat &stored : stored_formats) {
    if (!is_integer(stored))
      continue;
    const int64_t k = 256, columns = 40;
    // 96 outputs in six panels: gate and up in turn.
    const QuantisedWeight weight({stored.type}, 96, k, stored.format, 9);
    for (int64_t rows : {1, 2, 6, 35}) {
      const Buffer x = quantise(random.buffer(rows, k), k);
      Buffer found(rows, columns), both(rows, 96);
      const Bodies bodies = bodies_of(stored.format);
      bodies.gated(found.data(), found.stride, x.data(), x.stride,
                   weight.data(), nullptr, nullptr, rows, k, columns,
                   BATON_ACTIVATION_RELU);
      bodies.linear(both.data(), both.stride, x.data(), x.stride, weight.data(),
                    nullptr, nullptr, 0, rows, k, 96, BATON_ACTIVATION_NONE);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column) {
          const int64_t gate = column / 16 * 32 + column % 16;
          ASSERT_EQ(found.at(row, column), std::max(both.at(row, gate), 0.0f) *
                                               both.at(row, gate + 16))
              << stored.format;
        }
    }
  }
}

} // namespace
