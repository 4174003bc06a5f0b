//===- ConvertTest.cpp - every 16-bit pattern, every rounding border -----===//

#include "fixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace baton::test {
namespace {

/// A 16-bit floating-point format, evaluated from its definition.
struct Format {
  DataType type;
  int exponent_bits;
  int mantissa_bits;

  uint32_t infinity() const {
    return ((1u << exponent_bits) - 1) << mantissa_bits;
  }
  bool is_nan(uint32_t bits) const { return (bits & 0x7fff) > infinity(); }

  double value(uint32_t bits) const {
    int bias = (1 << (exponent_bits - 1)) - 1;
    uint32_t magnitude = bits & 0x7fff;
    int exponent = static_cast<int>(magnitude >> mantissa_bits);
    uint32_t mantissa = magnitude & ((1u << mantissa_bits) - 1);
    double result;
    if (magnitude == infinity())
      result = std::numeric_limits<double>::infinity();
    else if (exponent == 0)
      result = std::ldexp(mantissa, 1 - bias - mantissa_bits);
    else
      result = std::ldexp(mantissa + (1u << mantissa_bits),
                          exponent - bias - mantissa_bits);
    return bits & 0x8000 ? -result : result;
  }

  /// Where infinity would lie if the exponent went on: the border of overflow
  /// is half-way between it and the largest number.
  double extended_value(uint32_t magnitude) const {
    return magnitude == infinity() ? std::ldexp(1.0, 1 << (exponent_bits - 1))
                                   : value(magnitude);
  }
};

constexpr Format formats[] = {{DataType::F16, 5, 10}, {DataType::BF16, 8, 7}};

uint16_t narrow(DataType from, DataType to, const void *value) {
  uint16_t result;
  conversion(from, to)(value, &result, 1);
  return result;
}

uint16_t narrow(double value, DataType to) {
  return narrow(DataType::F64, to, &value);
}

uint16_t narrow(float value, DataType to) {
  return narrow(DataType::F32, to, &value);
}

TEST(Convert, WidensEveryPattern) {
  for (const Format &format : formats) {
    std::vector<uint16_t> patterns(65536);
    for (uint32_t bits = 0; bits < 65536; ++bits)
      patterns[bits] = static_cast<uint16_t>(bits);
    std::vector<float> wide(65536);
    conversion(format.type, DataType::F32)(patterns.data(), wide.data(), 65536);
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      if (format.is_nan(bits)) {
        ASSERT_TRUE(std::isnan(wide[bits])) << bits;
        ASSERT_EQ(std::signbit(wide[bits]), (bits & 0x8000) != 0) << bits;
        continue;
      }
      ASSERT_EQ(wide[bits], format.value(bits)) << bits;
      ASSERT_EQ(std::signbit(wide[bits]), (bits & 0x8000) != 0) << bits;
    }
  }
}

TEST(Convert, EveryPatternSurvivesTheRoundTrip) {
  for (const Format &format : formats)
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      uint16_t pattern = static_cast<uint16_t>(bits);
      float wide;
      conversion(format.type, DataType::F32)(&pattern, &wide, 1);
      uint16_t back = narrow(wide, format.type);
      uint16_t from_double = narrow(static_cast<double>(wide), format.type);
      if (format.is_nan(bits)) {
        ASSERT_TRUE(format.is_nan(back)) << bits;
        ASSERT_TRUE(format.is_nan(from_double)) << bits;
        ASSERT_EQ(back & 0x8000, bits & 0x8000) << bits;
        continue;
      }
      ASSERT_EQ(back, bits);
      ASSERT_EQ(from_double, bits);
    }
}

TEST(Convert, NarrowsToNearestTiesToEven) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const Format &format : formats)
    for (uint32_t low = 0; low < format.infinity(); ++low) {
      uint32_t high = low + 1;
      double middle =
          (format.extended_value(low) + format.extended_value(high)) / 2;
      uint32_t even = low % 2 == 0 ? low : high;
      for (uint32_t sign : {0u, 0x8000u}) {
        double direction = sign ? -1 : 1;
        // The middle of two neighbours, and one step to either side of it, in
        // each of the wider formats.
        ASSERT_EQ(narrow(direction * middle, format.type), sign | even) << low;
        ASSERT_EQ(narrow(direction * std::nextafter(middle, 0), format.type),
                  sign | low)
            << low;
        ASSERT_EQ(
            narrow(direction * std::nextafter(middle, infinity), format.type),
            sign | high)
            << low;
        float narrow_middle = static_cast<float>(direction * middle);
        ASSERT_EQ(narrow_middle, direction * middle) << low;
        ASSERT_EQ(narrow(narrow_middle, format.type), sign | even) << low;
        ASSERT_EQ(narrow(std::nextafterf(narrow_middle, 0), format.type),
                  sign | low)
            << low;
        ASSERT_EQ(
            narrow(std::nextafterf(narrow_middle, float(direction * infinity)),
                   format.type),
            sign | high)
            << low;
      }
    }
}

TEST(Convert, KeepsSpecialsAndOverflows) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const Format &format : formats) {
    for (double huge : {infinity, 1e300, 1e39}) {
      EXPECT_EQ(narrow(huge, format.type), format.infinity());
      EXPECT_EQ(narrow(-huge, format.type), format.infinity() | 0x8000);
    }
    EXPECT_EQ(narrow(-0.0, format.type), 0x8000);
    EXPECT_EQ(narrow(-1e-300, format.type), 0x8000);
    EXPECT_EQ(narrow(1e-300, format.type), 0);
    // A NaN whose whole payload lies below what the format keeps.
    float payload = std::bit_cast<float>(0xff800001u);
    EXPECT_TRUE(format.is_nan(narrow(payload, format.type)));
    EXPECT_TRUE(narrow(payload, format.type) & 0x8000);
    double wide_payload = std::bit_cast<double>(uint64_t(0x7ff0000000000001));
    EXPECT_TRUE(format.is_nan(narrow(wide_payload, format.type)));
  }
}

TEST(Convert, BetweenTheSixteenBitFormats) {
  for (uint32_t bits = 0; bits < 65536; ++bits)
    for (int i : {0, 1}) {
      const Format &from = formats[i], &to = formats[1 - i];
      uint16_t pattern = static_cast<uint16_t>(bits);
      uint16_t result = narrow(from.type, to.type, &pattern);
      if (from.is_nan(bits))
        ASSERT_TRUE(to.is_nan(result)) << bits;
      else
        ASSERT_EQ(result, narrow(from.value(bits), to.type)) << bits;
    }
}

TEST(Convert, DoubleToSingleIsOneRounding) {
  float result;
  for (double value : {0.1, -1e-40, 3.5e38, 1e-46, 16777217.0, -0.0}) {
    conversion(DataType::F64, DataType::F32)(&value, &result, 1);
    EXPECT_EQ(result, static_cast<float>(value));
    EXPECT_EQ(std::signbit(result), std::signbit(value));
  }
}

TEST(Convert, RefusesOtherTypes) {
  EXPECT_EQ(conversion(DataType::I64, DataType::F32), nullptr);
  EXPECT_EQ(conversion(DataType::F8E4M3, DataType::BF16), nullptr);
  EXPECT_EQ(conversion(DataType::F32, DataType::I8), nullptr);
  EXPECT_EQ(conversion(DataType::F64, DataType::I64), nullptr);
}

TEST(Convert, ReadsUnalignedSources) {
  char bytes[1 + 3 * 4];
  float values[3] = {1.5f, -2.25f, 1e-3f};
  std::memcpy(bytes + 1, values, sizeof(values));
  float result[3];
  conversion(DataType::F32, DataType::F32)(bytes + 1, result, 3);
  EXPECT_EQ(std::memcmp(result, values, sizeof(values)), 0);
  uint16_t rounded[3];
  conversion(DataType::F32, DataType::BF16)(bytes + 1, rounded, 3);
  EXPECT_EQ(rounded[1], bf16_from_f32(-2.25f));
}

} // namespace
} // namespace baton::test
