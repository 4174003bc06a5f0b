//===- BodyTest.cpp - what printed bodies call ----------------------------===//

#include "test/codegen/cuda/library/Bodies.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

using namespace baton::test;

namespace {

/// Numbers of all magnitudes, and those where rounding changes.
std::vector<float> numbers() {
  std::vector<float> values;
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (uint32_t mantissa :
         {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu, 0x2000u, 0x3000u, 0x7fffu,
          0x8000u, 0x8001u, 0x18000u, 0x7fe000u, 0x7fefffu, 0x7ff000u,
          0x7fffffu})
      for (uint32_t sign : {0u, 1u})
        values.push_back(
            std::bit_cast<float>(sign << 31 | exponent << 23 | mantissa));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i)
    values.push_back(std::bit_cast<float>(uint32_t(random())));
  return values;
}

} // namespace

TEST(CudaBody, HalvesAreTheHosts) {
  for (float value : numbers()) {
    const uint16_t bits = emulated_half(value);
    if (std::isnan(value))
      EXPECT_TRUE((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff)) << value;
    else
      EXPECT_EQ(bits, std::bit_cast<uint16_t>(static_cast<_Float16>(value)))
          << value;
  }
}

/// No other number of 16 bits is nearer, and ties go to the even one.
TEST(CudaBody, BFloatsAreTheNearest) {
  auto widened = [](uint16_t bits) {
    // The next number behind the largest stands for infinity.
    return (bits & 0x7fff) == 0x7f80
               ? std::copysign(0x1p128, bits & 0x8000 ? -1.0 : 1.0)
               : double(std::bit_cast<float>(uint32_t(bits) << 16));
  };
  for (float value : numbers()) {
    const uint16_t bits = emulated_bfloat(value);
    const float found = std::bit_cast<float>(uint32_t(bits) << 16);
    if (std::isnan(value) || std::isinf(value)) {
      EXPECT_TRUE(std::isnan(value) ? std::isnan(found) : found == value);
      continue;
    }
    EXPECT_EQ(std::signbit(found), std::signbit(value));
    const double off = std::fabs(widened(bits) - value);
    for (uint16_t other : {uint16_t(bits - 1), uint16_t(bits + 1)}) {
      if ((other & 0x7fff) > 0x7f80 || ((other ^ bits) & 0x8000))
        continue;
      const double other_off = std::fabs(widened(other) - value);
      EXPECT_TRUE(off < other_off || (off == other_off && bits % 2 == 0))
          << value;
    }
  }
}

TEST(CudaBody, ExtremesOrderZerosAndPassNaNsOn) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(std::signbit(emulated_maximum(-0.0f, 0.0f)));
  EXPECT_FALSE(std::signbit(emulated_maximum(0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(emulated_minimum(-0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(emulated_minimum(0.0f, -0.0f)));
  EXPECT_EQ(emulated_maximum(-3, 2), 2);
  EXPECT_EQ(emulated_minimum(-3, 2), -3);
  for (auto extreme : {emulated_maximum, emulated_minimum}) {
    EXPECT_TRUE(std::isnan(extreme(none, 1)));
    EXPECT_TRUE(std::isnan(extreme(1, none)));
  }
}
