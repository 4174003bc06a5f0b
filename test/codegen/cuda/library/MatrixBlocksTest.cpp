//===- MatrixBlocksTest.cpp - products of blocks on tensor cores ----------===//
//
// Of inputs in F32, against the body of the same tile for weights of BF16,
// which MatrixTest.cpp judges: of the blocks' numbers, rounded, it has to have
// the same bits. Of inputs of 8 bits, against the CPU's body, bit for bit.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/library.h"
#include "test/codegen/cuda/library/BlocksOfFormats.h"
#include "test/codegen/cuda/library/MatrixBlocksBodies.h"
#include "test/codegen/cuda/library/MatrixBodies.h"
#include "test/codegen/cuda/library/PlacedTest.h"

#include <algorithm>
#include <ostream>

using namespace baton;
using namespace baton::test;

void test::PrintTo(const MatrixBlocksBody &body, std::ostream *os) {
  const BatonMatrixShape &tile = body.shape.tile;
  *os << body.formats << (body.of_integers ? ", bytes" : "") << ", "
      << tile.threads << " threads, " << tile.rows << " x " << tile.columns
      << ", sm_" << tile.architecture;
}

void test::PrintTo(const PartlyMatrixBodies &bodies, std::ostream *os) {
  *os << bodies.formats << ", sm_" << bodies.tile.architecture;
}

namespace {

/// In panels, rounded to nearest even.
std::vector<uint16_t> rounded_panels(const QuantisedWeight &weight, int64_t k) {
  const std::vector<float> panels = weight.as_panels(k);
  std::vector<uint16_t> rounded(panels.size());
  std::transform(panels.begin(), panels.end(), rounded.begin(), [](float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  });
  return rounded;
}

/// The body of this tile for weights of BF16.
const MatrixBodies &of_bf16(const BatonMatrixShape &tile) {
  for (const MatrixBodies &bodies : matrix_bodies())
    if (bodies.shape.threads == tile.threads &&
        bodies.shape.rows == tile.rows &&
        bodies.shape.columns == tile.columns &&
        bodies.shape.by_warpgroups() == tile.by_warpgroups())
      return bodies;
  return matrix_bodies().front();
}

struct Problem {
  int64_t rows, k, columns;
  bool gated;
};

class MatrixBlocks : public PlacedTest<MatrixBlocksBody> {
protected:
  /// Tiles that end within the shape, and some beyond; depths that are one
  /// block, and that end within a stage or a chunk where blocks allow it.
  std::vector<Problem> problems() const {
    const BatonMatrixShape &tile = GetParam().shape.tile;
    const int64_t block = blocks::block_inputs(GetParam().formats);
    std::vector<Problem> result;
    const int64_t rows[] = {1, tile.rows / 2 + 1, tile.rows - 1, tile.rows};
    const int64_t columns[] = {8, 21, tile.columns / 2 + 8, tile.columns};
    const int64_t depths[] = {1, 3, 2, 9};
    for (size_t i = 0; i < 8; ++i)
      result.push_back(
          {rows[i % 4],
           block * depths[i % 4] / (block > 64 && i % 4 == 3 ? 3 : 1),
           columns[(i + i / 4) % 4], false});
    result.push_back({tile.rows + 3, block * 2, tile.columns + 17, false});
    return result;
  }
  /// Of gated linears two parts alternate, panel by panel.
  QuantisedWeight weight(int64_t columns, int64_t k, uint64_t seed) const {
    return weight_of(GetParam().formats, columns, k, seed);
  }
  /// Whose bits are expected.
  static const MatrixBodies &of_bf16() {
    return ::of_bf16(GetParam().shape.tile);
  }
};

typedef void (*IntegerLinear)(float *, int64_t, const float *, int64_t,
                              const int8_t *, const float *, const float *,
                              int64_t, int64_t, int64_t, int64_t, int32_t);
typedef void (*IntegerGatedLinear)(float *, int64_t, const float *, int64_t,
                                   const int8_t *, const float *, const float *,
                                   int64_t, int64_t, int64_t, int32_t);

IntegerLinear cpu_linear(const std::string &formats) {
#define BATON_CPU_LINEAR(NAME, BLOCK)                                          \
  if (formats == #NAME)                                                        \
    return baton_task_integer_linear_##NAME;
  BATON_FOR_EACH_INTEGER_BLOCK(BATON_CPU_LINEAR)
#undef BATON_CPU_LINEAR
  return baton_task_integer_linear_mixed;
}
IntegerGatedLinear cpu_gated_linear(const std::string &formats) {
#define BATON_CPU_LINEAR(NAME, BLOCK)                                          \
  if (formats == #NAME)                                                        \
    return baton_task_integer_gated_linear_##NAME;
  BATON_FOR_EACH_INTEGER_BLOCK(BATON_CPU_LINEAR)
#undef BATON_CPU_LINEAR
  return nullptr;
}

TEST_P(MatrixBlocks, LinearHasTheBitsOfItsNumbers) {
  Random random(1);
  int number = 0;
  for (const auto &[rows, k, columns, gated] : problems()) {
    const int32_t activation = number % (BATON_ACTIVATION_RELU + 1);
    const bool with_bias = number % 2, with_residual = number % 3 != 0;
    const QuantisedWeight weight = this->weight(columns, k, number);
    const Buffer x = random.buffer(rows, k);
    const std::vector<float> bias = random.vector(columns);
    const Buffer residual = random.buffer(rows, columns);
    const float *const biases = with_bias ? bias.data() : nullptr;
    Buffer expected = residual, out = residual; // in place
    const Buffer bytes = in_bytes(x);
    if (GetParam().of_integers)
      cpu_linear(GetParam().formats)(
          expected.data(), expected.stride, bytes.data(), bytes.stride,
          weight.data(), biases, with_residual ? expected.data() : nullptr,
          expected.stride, rows, k, columns, activation);
    else {
      const std::vector<uint16_t> panels = rounded_panels(weight, k);
      of_bf16().run({expected.data(), expected.stride, x.data(), x.stride,
                     panels.data(), biases,
                     with_residual ? expected.data() : nullptr, expected.stride,
                     rows, k, columns, activation});
    }
    const Buffer &left = GetParam().of_integers ? bytes : x;
    GetParam().run({out.data(), out.stride, left.data(), left.stride,
                    weight.data(), biases, nullptr,
                    with_residual ? out.data() : nullptr, out.stride, rows, k,
                    columns, activation, false},
                   number++ % 3);
    expect_guards_intact(out);
    expect_same_bits(out, expected);
    if (HasFatalFailure())
      FAIL() << rows << " rows, k " << k << ", " << columns << " columns";
  }
}

TEST_P(MatrixBlocks, GatedLinearHasTheBitsOfItsNumbers) {
  // Panels of gated linears have one format.
  if (GetParam().shape.chunks().are_several())
    return;
  Random random(2);
  const BatonMatrixShape &tile = GetParam().shape.tile;
  const int64_t k = 2 * blocks::block_inputs(GetParam().formats);
  for (const int64_t columns : {21, tile.columns / 2 + 20}) {
    const int64_t rows = tile.rows - 1, padded = (columns + 15) / 16 * 16;
    const QuantisedWeight weight = this->weight(2 * padded, k, columns);
    const Buffer x = random.buffer(rows, k);
    const std::vector<float> gate = random.vector(columns),
                             up = random.vector(columns);
    Buffer expected(rows, columns), out(rows, columns);
    const Buffer bytes = in_bytes(x);
    if (GetParam().of_integers)
      cpu_gated_linear(GetParam().formats)(
          expected.data(), expected.stride, bytes.data(), bytes.stride,
          weight.data(), gate.data(), up.data(), rows, k, columns,
          BATON_ACTIVATION_SILU);
    else {
      const std::vector<uint16_t> panels = rounded_panels(weight, k);
      of_bf16().run(MatrixGatedLinear{
          expected.data(), expected.stride, x.data(), x.stride, panels.data(),
          gate.data(), up.data(), rows, k, columns, BATON_ACTIVATION_SILU});
    }
    const Buffer &left = GetParam().of_integers ? bytes : x;
    GetParam().run({out.data(), out.stride, left.data(), left.stride,
                    weight.data(), gate.data(), up.data(), nullptr, 0, rows, k,
                    columns, BATON_ACTIVATION_SILU, true},
                   1);
    expect_same_bits(out, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Library, MatrixBlocks,
                         ::testing::ValuesIn(matrix_blocks_bodies()),
                         [](const auto &test) {
                           std::string name = test.param.kernel();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

class PartlyIntegers : public ::testing::TestWithParam<PartlyMatrixBodies> {};

/// Of panels of bytes those of the CPU, of others those of their numbers.
TEST_P(PartlyIntegers, LinearHasTheBitsOfEachPanel) {
  Random random(4);
  const BatonMatrixShape &tile = GetParam().tile;
  const std::string &formats = GetParam().formats;
  const int64_t block = blocks::block_inputs(formats);
  int number = 0;
  for (const int64_t rows : {int64_t{1}, tile.rows + int64_t{3}})
    // Of one panel, of neighbours, of more than a tile.
    for (const int64_t columns : {16, 37, 150, 7 * 64})
      for (const int64_t k : {block, block * 3}) {
        const QuantisedWeight weight = weight_of(formats, columns, k, number);
        const Buffer exact = random.buffer(rows, k), x = in_bytes(exact);
        const std::vector<float> bias = random.vector(columns);
        const Buffer residual = random.buffer(rows, columns);
        Buffer whole(rows, columns), plain(rows, columns), out = residual;
        baton_task_partly_integer_linear_mixed(
            whole.data(), whole.stride, x.data(), x.stride, exact.data(),
            exact.stride, weight.data(), bias.data(), residual.data(),
            residual.stride, rows, k, columns, BATON_ACTIVATION_SILU);
        const std::vector<uint16_t> panels = rounded_panels(weight, k);
        of_bf16(tile).run(MatrixLinear{plain.data(), plain.stride, exact.data(),
                                       exact.stride, panels.data(), bias.data(),
                                       residual.data(), residual.stride, rows,
                                       k, columns, BATON_ACTIVATION_SILU});
        GetParam().run({out.data(), out.stride, x.data(), x.stride,
                        exact.data(), exact.stride, weight.data(), bias.data(),
                        out.data(), out.stride, rows, k, columns,
                        BATON_ACTIVATION_SILU},
                       static_cast<uint64_t>(number++ % 3));
        expect_guards_intact(out);
        for (int64_t column = 0; column < columns; ++column) {
          const Buffer &expected =
              is_plain(formats, columns, column) ? plain : whole;
          for (int64_t row = 0; row < rows; ++row)
            ASSERT_EQ(std::bit_cast<uint32_t>(out.at(row, column)),
                      std::bit_cast<uint32_t>(expected.at(row, column)))
                << rows << " rows, k " << k << ", column " << column << " of "
                << columns;
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Library, PartlyIntegers,
                         ::testing::ValuesIn(partly_matrix_bodies()));

TEST(MatrixBlocksShape, FitsTheBlock) {
  // The usual tile of each format, and what llama.cpp's Q4_K_M has.
  for (uint32_t format = 0; format < blocks::first_plain_format; ++format) {
    const BatonBlocksMatrixShape shape{{256, 128, 128, 90}, 1u << format};
    EXPECT_LE(shape.shared_bytes(), 159744) << blocks::formats[format].name;
    EXPECT_LE(shape.integer_shared_bytes(), 159744);
  }
  constexpr BatonBlocksMatrixShape mixed{
      {256, 128, 128, 90}, 1u << blocks::q4_k | 1u << blocks::q6_k};
  static_assert(mixed.chunks().stages() == 4 && mixed.chunks().slots() == 2);
  static_assert(mixed.chunks().bytes() == sizeof(blocks::Q6_K));
  static_assert(mixed.shared_bytes() ==
                3 * 128 * 64 * 2 + 2 * 8 * (64 * 32 + 64) +
                    2 * 8 * int(sizeof(blocks::Q6_K)) + 8 * 4);
  // Of all formats at once, and of numbers as they are beside short blocks.
  constexpr BatonBlocksMatrixShape all{{256, 128, 128, 90},
                                       (1u << blocks::format_count) - 1};
  static_assert(all.shared_bytes() <= 159744 && all.chunks().stages() == 1);
  constexpr BatonBlocksMatrixShape half{{256, 128, 128, 90},
                                        1u << blocks::q8_0 | 1u << blocks::f16};
  static_assert(half.shared_bytes() <= 159744 && half.chunks().slots() == 4);
  static_assert(half.chunks().bytes() == 64 * int(sizeof(blocks::F16)));
  constexpr BatonBlocksMatrixShape long_half{
      {256, 128, 128, 90}, 1u << blocks::q4_k | 1u << blocks::bf16};
  static_assert(long_half.chunks().slots() == 2 &&
                long_half.chunks().stages() == 2);
}

} // namespace
