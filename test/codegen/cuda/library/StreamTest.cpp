//===- StreamTest.cpp - linears of one row, whose weights flow ahead ------===//
//
// Against the FP64 oracle: activations are F32, so that only the sums round.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cpu/library/Support.h"
#include "test/codegen/cuda/library/PlacedTest.h"
#include "test/codegen/cuda/library/StreamBodies.h"

#include <ostream>

using namespace baton;
using namespace baton::test;

void test::PrintTo(const StreamBodies &bodies, std::ostream *os) {
  *os << bodies.threads << " threads";
}

namespace {

struct Problem {
  int64_t k, columns, tile;
};

/// Depths of less than a stage, and of more than the ring holds; tasks of one
/// panel and of several, the last of which ends within one.
constexpr Problem problems[] = {{1, 16, 16},   {40, 21, 16},  {128, 64, 32},
                                {99, 100, 48}, {331, 40, 16}, {4500, 24, 32}};

std::ostream &operator<<(std::ostream &os, const Problem &problem) {
  return os << "k " << problem.k << ", " << problem.columns
            << " columns in tasks of " << problem.tile;
}

class Stream : public PlacedTest<StreamBodies> {
protected:
  /// A chain of a thread's depths, a tree over a warp, and a chain of warps;
  /// bias, activation and residual.
  double error(int64_t k, double magnitude) const {
    const int64_t depths = GetParam().threads / 2;
    const auto steps = (k + depths - 1) / depths + 4 + GetParam().threads / 32;
    return 1.2 * static_cast<double>(steps + 8) * rounding * magnitude;
  }
};

TEST_P(Stream, LinearMatchesOracle) {
  Random random(1);
  int number = 0;
  for (const Problem &problem : problems) {
    const auto [k, columns, tile] = problem;
    const int32_t activation = number % (BATON_ACTIVATION_RELU + 1);
    const bool with_bias = number % 2, with_residual = number % 3 != 0;
    const Buffer x = random.buffer(1, k);
    Weight<BF16> weight(random, columns, k);
    const std::vector<uint16_t> panels = weight.packed();
    const std::vector<float> bias = random.vector(columns);
    const Buffer residual = random.buffer(1, columns);
    Buffer out = residual; // in place
    GetParam().run_linear(
        {out.data(), x.data(), panels.data(), with_bias ? bias.data() : nullptr,
         with_residual ? out.data() : nullptr, k, columns, tile, activation},
        number++ % 3);
    std::vector<double> bias64 =
        with_bias ? doubles(bias) : std::vector<double>();
    oracle::Matrix expected =
        oracle::linear(x.matrix(), weight.matrix(), bias64,
                       static_cast<oracle::Activation>(activation));
    if (with_residual)
      for (int64_t c = 0; c < columns; ++c)
        expected.at(0, c) += residual.at(0, c);
    for (double &value : bias64)
      value = std::fabs(value);
    const oracle::Matrix magnitudes =
        oracle::linear(absolute(x.matrix()), absolute(weight.matrix()), bias64,
                       oracle::Activation::none);
    expect_within(out, expected, [&](int64_t r, int64_t c) {
      return error(k, magnitudes.at(r, c)) +
             2 * rounding * std::fabs(expected.at(r, c));
    });
    if (HasFatalFailure())
      FAIL() << problem;
  }
}

TEST_P(Stream, GatedLinearMatchesOracle) {
  Random random(2);
  int number = 0;
  for (const Problem &problem : problems) {
    const auto [k, columns, tile] = problem;
    const int32_t activation = number % (BATON_ACTIVATION_RELU + 1);
    const bool with_gate = number % 2, with_up = number % 3 != 0;
    const Buffer x = random.buffer(1, k);
    Weight<BF16> gate(random, columns, k), up(random, columns, k);
    std::vector<uint16_t> panels;
    gate.pack_into(panels, 0, 2);
    up.pack_into(panels, 1, 2);
    const std::vector<float> bias_gate = random.vector(columns);
    const std::vector<float> bias_up = random.vector(columns);
    Buffer out(1, columns);
    GetParam().run_gated_linear({out.data(), x.data(), panels.data(),
                                 with_gate ? bias_gate.data() : nullptr,
                                 with_up ? bias_up.data() : nullptr, k, columns,
                                 tile, activation},
                                number++ % 3);
    std::vector<double> gate64, up64;
    if (with_gate)
      gate64 = doubles(bias_gate);
    if (with_up)
      up64 = doubles(bias_up);
    const oracle::Matrix expected =
        oracle::gated_linear(x.matrix(), gate.matrix(), up.matrix(), gate64,
                             up64, static_cast<oracle::Activation>(activation));
    for (double &value : gate64)
      value = std::fabs(value);
    for (double &value : up64)
      value = std::fabs(value);
    const oracle::Matrix left = absolute(x.matrix());
    const oracle::Matrix gates = oracle::linear(
        left, absolute(gate.matrix()), gate64, oracle::Activation::none);
    const oracle::Matrix ups = oracle::linear(left, absolute(up.matrix()), up64,
                                              oracle::Activation::none);
    expect_within(out, expected, [&](int64_t r, int64_t c) {
      return 2.0 * error(k, gates.at(r, c) * ups.at(r, c));
    });
    if (HasFatalFailure())
      FAIL() << problem;
  }
}

INSTANTIATE_TEST_SUITE_P(Library, Stream, ::testing::ValuesIn(stream_bodies()),
                         [](const auto &test) {
                           return "of" + std::to_string(test.param.threads);
                         });

} // namespace
