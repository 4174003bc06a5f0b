//===- StreamBlocksTest.cpp - quantised weights that flow ahead -----------===//
//
// Against the FP64 oracle on the blocks' numbers: inputs are F32, so that only
// the sums round. Of inputs of 8 bits, on the numbers that these stand for.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cuda/library/BlocksOfFormats.h"
#include "test/codegen/cuda/library/PlacedTest.h"
#include "test/codegen/cuda/library/StreamBlocksBodies.h"

#include <algorithm>
#include <ostream>

using namespace baton;
using namespace baton::test;

void test::PrintTo(const StreamBlocksBody &body, std::ostream *os) {
  *os << body.formats << (body.of_integers ? ", bytes, " : ", ") << body.threads
      << " threads";
}

namespace {

/// The body's left side, what quantise_rows has made it of, if it has, and the
/// numbers that it stands for.
struct StreamedRow {
  Buffer x, exact;
  oracle::Matrix numbers;
};

/// A weight of the body's formats.
struct StreamedWeight {
  std::vector<std::byte> panels;
  /// [outputs, k]
  oracle::Matrix numbers;
  int64_t stride;
};

class StreamBlocks : public PlacedTest<StreamBlocksBody> {
protected:
  static bool is_bf16() { return GetParam().formats == "bf16"; }

  static StreamedWeight weight(int64_t columns, int64_t k, uint32_t seed) {
    if (is_bf16()) {
      Random random(seed);
      Weight<BF16> weight(random, columns, k);
      const std::vector<uint16_t> panels = weight.packed();
      StreamedWeight result{std::vector<std::byte>(panels.size() * 2),
                            weight.matrix(), k * 32};
      std::memcpy(result.panels.data(), panels.data(), panels.size() * 2);
      return result;
    }
    QuantisedWeight weight = weight_of(GetParam().formats, columns, k, seed);
    oracle::Matrix numbers(columns, k);
    std::copy_n(weight.numbers.begin(), columns * k, numbers.values.begin());
    return {std::move(weight.panels), numbers,
            blocks::lanes * blocks::bytes_of_output(GetParam().formats, k)};
  }
  static StreamedRow row_of(Random &random, int64_t k) {
    const Buffer x = random.buffer(1, k);
    if (!GetParam().of_integers)
      return {x, x, x.matrix()};
    Buffer bytes = in_bytes(x);
    oracle::Matrix numbers(1, k);
    const auto *const inputs =
        reinterpret_cast<const blocks::QuantisedInputs *>(bytes.data());
    for (int64_t i = 0; i < k; ++i) {
      const blocks::QuantisedInputs &place = inputs[i / 32];
      numbers.at(0, i) = double{place.scale} * place.quants[i % 32];
    }
    return {std::move(bytes), x, std::move(numbers)};
  }
  /// Columns of numbers as they are multiply the exact row.
  static oracle::Matrix linear(const oracle::Matrix &numbers,
                               const oracle::Matrix &exact,
                               const oracle::Matrix &weight, int64_t columns,
                               const std::vector<double> &bias,
                               oracle::Activation activation) {
    oracle::Matrix out = oracle::linear(numbers, weight, bias, activation);
    if (!GetParam().of_integers)
      return out;
    const oracle::Matrix of_exact =
        oracle::linear(exact, weight, bias, activation);
    for (int64_t c = 0; c < columns; ++c)
      if (is_plain(GetParam().formats, columns, c))
        out.at(0, c) = of_exact.at(0, c);
    return out;
  }
  /// Chunks of less than one for each warp, and of more than the ring holds;
  /// where blocks are short, of which the last is cut.
  static std::vector<int64_t> depths() {
    if (is_bf16())
      return {1, 40, 331, 4500};
    const int64_t block = blocks::block_inputs(GetParam().formats);
    return {block, 3 * block, block > 64 ? 9 * block : 41 * block};
  }
  /// A chain of a thread's inputs, and of warps; bias, activation, residual. Of
  /// bytes and of weights each product's factors are rounded, too.
  static double error(int64_t k, double magnitude) {
    const int64_t steps = k / 2 + GetParam().threads / 32 + 12;
    return 1.2 * static_cast<double>(steps) * rounding * magnitude;
  }
};

TEST_P(StreamBlocks, LinearMatchesOracle) {
  Random random(1);
  int number = 0;
  for (const int64_t k : depths())
    for (const auto [columns, tile] :
         {std::pair<int64_t, int64_t>{16, 16}, {40, 16}, {100, 48}}) {
      const int32_t activation = number % (BATON_ACTIVATION_RELU + 1);
      const StreamedWeight weight = this->weight(columns, k, 5 + number);
      const auto [x, exact, numbers] = row_of(random, k);
      const std::vector<float> bias = random.vector(columns);
      const Buffer residual = random.buffer(1, columns);
      Buffer out = residual; // in place
      GetParam().run(
          {out.data(), x.data(), exact.data(),
           reinterpret_cast<const unsigned char *>(weight.panels.data()),
           bias.data(), out.data(), k, weight.stride, columns, tile, activation,
           false},
          number++ % 3);
      std::vector<double> bias64 = doubles(bias);
      oracle::Matrix expected =
          linear(numbers, exact.matrix(), weight.numbers, columns, bias64,
                 static_cast<oracle::Activation>(activation));
      for (int64_t c = 0; c < columns; ++c)
        expected.at(0, c) += residual.at(0, c);
      for (double &value : bias64)
        value = std::fabs(value);
      const oracle::Matrix magnitudes = linear(
          absolute(numbers), absolute(exact.matrix()), absolute(weight.numbers),
          columns, bias64, oracle::Activation::none);
      expect_within(out, expected, [&](int64_t r, int64_t c) {
        return error(k, magnitudes.at(r, c)) +
               2 * rounding * std::fabs(expected.at(r, c));
      });
      if (HasFatalFailure())
        FAIL() << "k " << k << ", " << columns << " columns in tasks of "
               << tile;
    }
}

TEST_P(StreamBlocks, GatedLinearMatchesOracle) {
  Random random(2);
  // Panels of gated linears have one format.
  if (GetParam().formats.find('|') != std::string::npos)
    return;
  const int64_t columns = 96, tile = 32, half = columns / 2;
  for (const int64_t k : depths()) {
    const StreamedWeight weight = this->weight(columns, k, 9);
    const auto [x, exact, numbers] = row_of(random, k);
    const std::vector<float> gate = random.vector(half),
                             up = random.vector(half);
    Buffer out(1, half);
    GetParam().run(
        {out.data(), x.data(), exact.data(),
         reinterpret_cast<const unsigned char *>(weight.panels.data()),
         gate.data(), up.data(), k, weight.stride, half, tile,
         BATON_ACTIVATION_SILU, true},
        k % 3);
    // Panel by panel the two alternate.
    oracle::Matrix gates(half, k), ups(half, k);
    for (int64_t c = 0; c < half; ++c)
      for (int64_t i = 0; i < k; ++i) {
        gates.at(c, i) = weight.numbers.at(c / 16 * 32 + c % 16, i);
        ups.at(c, i) = weight.numbers.at(c / 16 * 32 + 16 + c % 16, i);
      }
    const oracle::Matrix expected =
        oracle::gated_linear(numbers, gates, ups, doubles(gate), doubles(up),
                             oracle::Activation::silu);
    auto magnitudes = [&](const oracle::Matrix &matrix,
                          const std::vector<float> &bias) {
      std::vector<double> bias64 = doubles(bias);
      for (double &value : bias64)
        value = std::fabs(value);
      return oracle::linear(absolute(numbers), absolute(matrix), bias64,
                            oracle::Activation::none);
    };
    const oracle::Matrix of_gates = magnitudes(gates, gate),
                         of_ups = magnitudes(ups, up);
    expect_within(out, expected, [&](int64_t r, int64_t c) {
      return 2.0 * error(k, of_gates.at(r, c) * of_ups.at(r, c));
    });
    if (HasFatalFailure())
      FAIL() << "k " << k;
  }
}

/// Nor do they depend on which other columns its task has.
TEST_P(StreamBlocks, BitsDoNotDependOnTilesOrSchedules) {
  Random random(3);
  const int64_t columns = 64, k = depths().back();
  const StreamedWeight weight = this->weight(columns, k, 3);
  const auto [x, exact, numbers] = row_of(random, k);
  const std::vector<float> zeros(columns);
  auto run = [&](int64_t tile, uint64_t seed) {
    Buffer out(1, columns);
    GetParam().run(
        {out.data(), x.data(), exact.data(),
         reinterpret_cast<const unsigned char *>(weight.panels.data()),
         zeros.data(), zeros.data(), k, weight.stride, columns, tile,
         BATON_ACTIVATION_NONE, false},
        seed);
    return out;
  };
  const Buffer whole = run(64, 0);
  expect_same_bits(run(64, 1), whole);
  expect_same_bits(run(48, 2), whole);
  expect_same_bits(run(16, 0), whole);
}

INSTANTIATE_TEST_SUITE_P(Library, StreamBlocks,
                         ::testing::ValuesIn(stream_blocks_bodies()),
                         [](const auto &test) {
                           std::string name = test.param.kernel();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

} // namespace
