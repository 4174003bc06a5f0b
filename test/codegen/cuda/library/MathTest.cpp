//===- MathTest.cpp - exp, tanh and erf have the CPU's bits ---------------===//
//
// Sweeps over F32 of both signs in steps that visit every binade, infinities
// and NaN.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/math.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

template <typename Actual, typename Expected>
void expect_same(Actual actual, Expected expected) {
  // The lanes take turns in the uppermost four bits.
  std::vector<uint32_t> low = {0, 0x0f800000}; // zeros, and infinities
  for (uint32_t bits = 1; bits < 1u << 28; bits += 1009)
    low.push_back(bits);
  for (uint32_t bits : low) {
    baton::cpu::Vector input;
    std::vector<float> actual_values(16), expected_values(16);
    for (uint32_t lane = 0; lane < 16; ++lane)
      input[lane] = std::bit_cast<float>(bits | lane << 28);
    const baton::cpu::Vector output = expected(input);
    for (int lane = 0; lane < 16; ++lane) {
      actual_values[lane] = actual(input[lane]);
      expected_values[lane] = output[lane];
    }
    expect_twin_bits(actual_values, expected_values);
    if (::testing::Test::HasFatalFailure())
      FAIL() << "bits " << bits << " and lane << 28";
  }
}

TEST(Math, ExpIsTheCpus) {
  expect_same(emulated_exp, [](auto x) { return baton::cpu::exp(x); });
}
TEST(Math, TanhIsTheCpus) {
  expect_same(emulated_tanh, [](auto x) { return baton::cpu::tanh(x); });
}
TEST(Math, ErfIsTheCpus) {
  expect_same(emulated_erf, [](auto x) { return baton::cpu::erf(x); });
}

} // namespace
