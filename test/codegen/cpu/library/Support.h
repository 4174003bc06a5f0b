//===- Support.h - data and comparisons for tests of task bodies ----------===//
//
// Buffers with guarded gaps between rows, reproducible random values, packing,
// and comparisons by bound and by bits.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TEST_CODEGEN_CPU_LIBRARY_SUPPORT_H
#define BATON_TEST_CODEGEN_CPU_LIBRARY_SUPPORT_H

#include "codegen/cpu/library/library.h"
#include "test/oracle/operators.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace baton::test {

/// Half a unit in the last place of F32, relative.
constexpr double rounding = 0x1p-24;

/// [rows, width] floats with a gap after each row that nobody may write.
struct Buffer {
  static constexpr float guard = -12345.75f;
  static constexpr int64_t gap = 5;

  Buffer(int64_t rows, int64_t width)
      : rows(rows), width(width), stride(width + gap),
        values(rows * stride, guard) {}

  float *data() { return values.data(); }
  const float *data() const { return values.data(); }
  float *row(int64_t index) { return values.data() + index * stride; }
  const float *row(int64_t index) const {
    return values.data() + index * stride;
  }
  float at(int64_t r, int64_t c) const { return values[r * stride + c]; }

  oracle::Matrix matrix() const {
    oracle::Matrix result(rows, width);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < width; ++c)
        result.at(r, c) = at(r, c);
    return result;
  }

  int64_t rows;
  int64_t width;
  int64_t stride;
  std::vector<float> values;
};

class Random {
public:
  explicit Random(uint32_t seed) : engine(seed) {}

  /// Uniform in [-1, 1).
  float value() {
    return static_cast<float>(static_cast<int32_t>(engine())) * 0x1p-31f;
  }
  uint32_t bits() { return static_cast<uint32_t>(engine()); }

  Buffer buffer(int64_t rows, int64_t width, float magnitude = 1.0f) {
    Buffer result(rows, width);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < width; ++c)
        result.row(r)[c] = value() * magnitude;
    return result;
  }
  std::vector<float> vector(int64_t size) {
    std::vector<float> result(size);
    for (float &element : result)
      element = value();
    return result;
  }

private:
  std::mt19937 engine;
};

inline std::vector<double> doubles(const std::vector<float> &values) {
  return {values.begin(), values.end()};
}

inline oracle::Matrix absolute(oracle::Matrix matrix) {
  for (double &value : matrix.values)
    value = std::fabs(value);
  return matrix;
}

inline void expect_guards_intact(const Buffer &buffer) {
  for (int64_t r = 0; r < buffer.rows; ++r)
    for (int64_t c = buffer.width; c < buffer.stride; ++c)
      ASSERT_EQ(buffer.at(r, c), Buffer::guard)
          << "written past row " << r << " at column " << c;
}

/// |actual - expected| <= bound(row, column) everywhere.
template <typename Bound>
void expect_within(const Buffer &actual, const oracle::Matrix &expected,
                   Bound bound) {
  ASSERT_EQ(actual.rows, expected.rows);
  ASSERT_EQ(actual.width, expected.columns);
  expect_guards_intact(actual);
  for (int64_t r = 0; r < actual.rows; ++r)
    for (int64_t c = 0; c < actual.width; ++c)
      // Negated, so that NaN fails.
      if (!(std::fabs(actual.at(r, c) - expected.at(r, c)) <= bound(r, c)))
        FAIL() << "row " << r << " column " << c << ": " << actual.at(r, c)
               << " instead of " << expected.at(r, c) << ", bound "
               << bound(r, c);
}

/// The same bits in `count` floats.
inline void expect_same_bits(const float *actual, const float *expected,
                             int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]),
              std::bit_cast<uint32_t>(expected[i]))
        << "element " << i << ": " << actual[i] << " and " << expected[i];
}

inline void expect_same_bits(const Buffer &actual, const Buffer &expected) {
  ASSERT_EQ(actual.rows, expected.rows);
  ASSERT_EQ(actual.width, expected.width);
  for (int64_t r = 0; r < actual.rows; ++r)
    expect_same_bits(actual.row(r), expected.row(r), actual.width);
}

// Storage types: how tests name them, draw values, and reach the bodies.

struct F32 {
  using Storage = float;
  static Storage draw(Random &random) { return random.value(); }
  static double value(Storage stored) { return stored; }
  static constexpr auto embedding = baton_task_embedding_f32;
  static constexpr auto embedding_panels = baton_task_embedding_panels_f32;
  static constexpr auto position_embedding = baton_task_position_embedding_f32;
  static constexpr auto linear = baton_task_linear_f32;
  static constexpr auto gated_linear = baton_task_gated_linear_f32;
  static constexpr auto stored_linear = baton_task_stored_linear_f32;
  static constexpr auto linear_transposed = baton_task_linear_transposed_f32;
  static constexpr auto adapted_squares = baton_task_adapted_squares_f32;
};

struct BF16 {
  using Storage = uint16_t;
  static Storage draw(Random &random) {
    return std::bit_cast<uint32_t>(random.value()) >> 16;
  }
  static double value(Storage stored) { return oracle::bfloat16_value(stored); }
  static constexpr auto embedding = baton_task_embedding_bf16;
  static constexpr auto embedding_panels = baton_task_embedding_panels_bf16;
  static constexpr auto position_embedding = baton_task_position_embedding_bf16;
  static constexpr auto linear = baton_task_linear_bf16;
  static constexpr auto gated_linear = baton_task_gated_linear_bf16;
  static constexpr auto stored_linear = baton_task_stored_linear_bf16;
  static constexpr auto linear_transposed = baton_task_linear_transposed_bf16;
  static constexpr auto adapted_squares = baton_task_adapted_squares_bf16;
};

struct F16 {
  using Storage = uint16_t;
  static Storage draw(Random &random) {
    // Exponents 0 .. 14: magnitudes below one, subnormal ones included.
    uint32_t bits = random.bits();
    return (bits & 0x83ff) | ((bits >> 16) % 15) << 10;
  }
  static double value(Storage stored) { return oracle::float16_value(stored); }
  static constexpr auto embedding = baton_task_embedding_f16;
  static constexpr auto embedding_panels = baton_task_embedding_panels_f16;
  static constexpr auto position_embedding = baton_task_position_embedding_f16;
  static constexpr auto linear = baton_task_linear_f16;
  static constexpr auto gated_linear = baton_task_gated_linear_f16;
  static constexpr auto stored_linear = baton_task_stored_linear_f16;
  static constexpr auto linear_transposed = baton_task_linear_transposed_f16;
  static constexpr auto adapted_squares = baton_task_adapted_squares_f16;
};

using WeightTypes = ::testing::Types<F32, BF16, F16>;

/// A [rows, columns] weight as the checkpoint stores it.
template <typename Type> struct Weight {
  Weight(Random &random, int64_t rows, int64_t columns)
      : rows(rows), columns(columns), stored(rows * columns) {
    for (auto &element : stored)
      element = Type::draw(random);
  }

  oracle::Matrix matrix() const {
    oracle::Matrix result(rows, columns);
    for (size_t i = 0; i < stored.size(); ++i)
      result.values[i] = Type::value(stored[i]);
    return result;
  }

  /// [ceil(rows / 16)][columns][16], zero padded, each panel at
  /// `spacing` panels from the last, the first at panel `first`.
  void pack_into(std::vector<typename Type::Storage> &panels, int64_t first = 0,
                 int64_t spacing = 1) const {
    const int64_t panel_count = (rows + 15) / 16;
    panels.resize(panel_count * spacing * columns * 16);
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t k = 0; k < columns; ++k)
        panels[((n / 16 * spacing + first) * columns + k) * 16 + n % 16] =
            stored[n * columns + k];
  }

  std::vector<typename Type::Storage> packed() const {
    std::vector<typename Type::Storage> panels;
    pack_into(panels);
    return panels;
  }

  int64_t rows;
  int64_t columns;
  std::vector<typename Type::Storage> stored;
};

/// Rotary inverse frequencies of a base of 10,000.
inline std::vector<float> frequencies(int64_t half) {
  std::vector<float> result(half);
  for (int64_t i = 0; i < half; ++i)
    result[i] = static_cast<float>(
        std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half)));
  return result;
}

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CPU_LIBRARY_SUPPORT_H
