//===- MathTest.cpp - accuracy of exp, log, tanh and erf ------------------===//
//
// Sweeps over F32 in steps that visit every binade, against the double
// precision functions of the C library.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/math.h"
#include "test/codegen/cpu/library/Support.h"

#include <limits>

using namespace baton::test;

namespace {

/// The distance in units in the last place of the F32 nearest to `expected`.
double ulps(float actual, double expected) {
  if (std::isnan(expected))
    return std::isnan(actual) ? 0.0 : 1e9;
  const float nearest = static_cast<float>(expected);
  if (std::isinf(nearest) || std::isinf(actual))
    return actual == nearest ? 0.0 : 1e9;
  const int exponent =
      std::max(expected == 0.0 ? -126 : std::ilogb(expected), -126);
  return std::fabs(actual - expected) / std::ldexp(1.0, exponent - 23);
}

/// The worst distance over F32 numbers whose bits are `stride` apart, of both
/// signs.
template <typename Actual, typename Expected>
double worst_ulps(Actual actual, Expected expected) {
  constexpr uint32_t stride = 3001;
  constexpr uint32_t infinity = 0x7f800000;
  double worst = 0.0;
  for (uint32_t first = 0; first < infinity; first += stride * 8) {
    baton::cpu::Vector input;
    for (int lane = 0; lane < 16; ++lane) {
      uint32_t bits =
          std::min(first + stride * static_cast<uint32_t>(lane / 2), infinity);
      input[lane] = std::bit_cast<float>(bits | uint32_t(lane % 2) << 31);
    }
    baton::cpu::Vector output = actual(input);
    for (int lane = 0; lane < 16; ++lane)
      worst = std::max(worst, ulps(output[lane],
                                   expected(static_cast<double>(input[lane]))));
  }
  return worst;
}

const float infinity = std::numeric_limits<float>::infinity();

TEST(Math, ExpWithinTwoUlps) {
  EXPECT_LE(worst_ulps([](auto x) { return baton::cpu::exp(x); },
                       [](double x) { return std::exp(x); }),
            2.0);
}

TEST(Math, ExpWithinTwoUlpsWhereResultsAreFinite) {
  for (double x = -105.0; x < 89.0; x += 0x1p-10 + 0x1p-20) {
    float argument = static_cast<float>(x);
    ASSERT_LE(ulps(baton::cpu::exp(argument),
                   std::exp(static_cast<double>(argument))),
              2.0)
        << argument;
  }
}

TEST(Math, LogWithinTwoUlps) {
  EXPECT_LE(worst_ulps([](auto x) { return baton::cpu::log(x); },
                       [](double x) { return std::log(x); }),
            2.0);
}

TEST(Math, LogWithinTwoUlpsAroundOne) {
  for (double x = 0.5; x < 8.0; x += 0x1p-17 + 0x1p-22) {
    float argument = static_cast<float>(x);
    ASSERT_LE(ulps(baton::cpu::log(argument),
                   std::log(static_cast<double>(argument))),
              2.0)
        << argument;
  }
}

TEST(Math, TanhWithinThreeUlps) {
  EXPECT_LE(worst_ulps([](auto x) { return baton::cpu::tanh(x); },
                       [](double x) { return std::tanh(x); }),
            3.0);
}

TEST(Math, ErfWithinThreeUlps) {
  EXPECT_LE(worst_ulps([](auto x) { return baton::cpu::erf(x); },
                       [](double x) { return std::erf(x); }),
            3.0);
}

TEST(Math, SpecialValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(baton::cpu::exp(0.0f), 1.0f);
  EXPECT_EQ(baton::cpu::exp(-infinity), 0.0f);
  EXPECT_EQ(baton::cpu::exp(infinity), infinity);
  EXPECT_EQ(baton::cpu::exp(1e30f), infinity);
  EXPECT_EQ(baton::cpu::exp(-1e30f), 0.0f);
  EXPECT_TRUE(std::isnan(baton::cpu::exp(nan)));
  EXPECT_EQ(baton::cpu::log(1.0f), 0.0f);
  EXPECT_EQ(baton::cpu::log(infinity), infinity);
  EXPECT_EQ(baton::cpu::log(0.0f), -infinity);
  EXPECT_EQ(baton::cpu::log(-0.0f), -infinity);
  EXPECT_TRUE(std::isnan(baton::cpu::log(-1.0f)));
  EXPECT_TRUE(std::isnan(baton::cpu::log(-infinity)));
  EXPECT_TRUE(std::isnan(baton::cpu::log(nan)));
  for (float sign : {1.0f, -1.0f}) {
    baton::cpu::Vector large(sign * infinity);
    EXPECT_EQ(baton::cpu::tanh(large).x, sign);
    EXPECT_EQ(baton::cpu::erf(large).x, sign);
    baton::cpu::Vector zero(sign * 0.0f);
    EXPECT_EQ(std::signbit(baton::cpu::tanh(zero).x), sign < 0);
    EXPECT_EQ(std::signbit(baton::cpu::erf(zero).x), sign < 0);
  }
  EXPECT_TRUE(std::isnan(baton::cpu::tanh(baton::cpu::Vector(nan)).x));
  EXPECT_TRUE(std::isnan(baton::cpu::erf(baton::cpu::Vector(nan)).x));
}

} // namespace
