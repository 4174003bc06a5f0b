//===- RoundedLinearTest.cpp - linears on inputs rounded to BF16 ----------===//
//
// Bodies, bit for bit, against chains of fused multiply-adds as
// codegen/bodies/rounded_linear.td has them, computed here in numbers that have
// no denormal range; and the portable dots against instructions, where the
// machine that runs the test has them.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/library/amx.h"
#include "codegen/cpu/library/dots.h"
#include "test/codegen/cpu/library/Support.h"

#include <array>
#include <limits>

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace baton;
using namespace baton::test;

namespace {

using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 2 * 24 + 2,
              "a sum that is rounded twice is rounded once");

float value_of(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

float without_denormal(float x) {
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}

/// To 24 bits, as if exponents had no limit; then beyond the limits.
float rounded(Wide exact) {
  int exponent;
  const Wide fraction = std::frexp(exact, &exponent);
  const Wide result =
      std::ldexp(std::nearbyint(std::ldexp(fraction, 24)), exponent - 24);
  if (std::fabs(result) < 0x1p-126L)
    return std::copysign(0.0f, static_cast<float>(exact));
  return static_cast<float>(result);
}

float add_product(float sum, uint16_t a, uint16_t b) {
  return rounded(Wide(without_denormal(sum)) +
                 Wide(without_denormal(value_of(a))) *
                     Wide(without_denormal(value_of(b))));
}

/// The chain over k inputs and weights.
float product_of(const uint16_t *x, const uint16_t *weights, int64_t k) {
  float sum = 0;
  for (int64_t i = 0; i < k; i += 2) {
    const bool is_whole = i + 1 < k;
    sum = add_product(sum, is_whole ? x[i + 1] : 0,
                      is_whole ? weights[i + 1] : 0);
    sum = add_product(sum, x[i], weights[i]);
  }
  return sum;
}

float add(float a, float b) {
  return rounded(Wide(without_denormal(a)) + Wide(without_denormal(b)));
}

/// The chains over 32 inputs and weights at a time, zeros behind the last one.
float amx_product_of(const uint16_t *x, const uint16_t *weights, int64_t k) {
  float sum = 0;
  for (int64_t begin = 0; begin < k; begin += 32) {
    float chains[2] = {0, 0};
    for (int64_t i = begin; i < begin + 32; ++i)
      chains[i % 2] =
          add_product(chains[i % 2], i < k ? x[i] : 0, i < k ? weights[i] : 0);
    sum = add(sum, add(chains[0], chains[1]));
  }
  return sum;
}

/// To BF16, digit by digit.
uint16_t nearest(float x) {
  if (std::isnan(x))
    return (std::bit_cast<uint32_t>(x) >> 16) | 0x40;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rest = bits & 0xffff, half = 0x8000;
  uint16_t kept = bits >> 16;
  if (rest > half || (rest == half && kept % 2))
    ++kept;
  return kept;
}

/// Numbers of which many sums are around the least normal one, or around 1, or
/// which are anything.
enum class Size { usual, tiny, any };

uint16_t draw(Random &random, Size size) {
  const uint32_t bits = random.bits();
  switch (size) {
  case Size::usual:
    return std::bit_cast<uint32_t>(random.value()) >> 16;
  case Size::tiny:
    // 2^-68 to 2^-59: products around 2^-126. Some are zero or denormal.
    return (bits & 0x807f) | (bits % 7 ? 59 + bits / 256 % 10 : 0) << 7;
  case Size::any:
    return (bits & 0x807f) | bits / 256 % 255 << 7;
  }
  return 0;
}

Buffer round_rows(const Buffer &x) {
  Buffer out(x.rows, (x.width + 1) / 2);
  baton_task_round_rows(out.data(), out.stride, x.data(), x.stride, x.rows,
                        x.width);
  expect_guards_intact(out);
  return out;
}

const uint16_t *halves_of(const Buffer &rows, int64_t row) {
  return reinterpret_cast<const uint16_t *>(rows.row(row));
}

/// Rows that `round_rows` could have made.
Buffer draw_rows(Random &random, int64_t rows, int64_t k, Size size) {
  Buffer x(rows, k);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < k; ++i)
      x.row(row)[i] = value_of(draw(random, size));
  return round_rows(x);
}

Weight<BF16> draw_weight(Random &random, int64_t columns, int64_t k,
                         Size size) {
  Weight<BF16> weight(random, columns, k);
  for (uint16_t &element : weight.stored)
    element = draw(random, size);
  return weight;
}

TEST(RoundRows, NumbersAreTheNearest) {
  Random random(1);
  for (int64_t k : {1, 2, 15, 16, 17, 40, 97}) {
    Buffer x = random.buffer(5, k, 100.0f);
    for (int64_t i = 0; i < k; ++i) {
      // Halves between two numbers, which go to the even one.
      x.row(1)[i] =
          std::bit_cast<float>(0x3f808000u + (static_cast<uint32_t>(i) << 16));
      x.row(2)[i] *= 0x1p-130f;
      x.row(3)[i] = std::bit_cast<float>(random.bits());
      x.row(4)[i] = std::array{std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::max(), -0.0f,
                               // A NaN whose upper half alone is none.
                               std::bit_cast<float>(0x7f800001u)}[i % 5];
    }
    const Buffer found = round_rows(x);
    for (int64_t row = 0; row < x.rows; ++row) {
      for (int64_t i = 0; i < k; ++i)
        ASSERT_EQ(halves_of(found, row)[i], nearest(x.at(row, i)))
            << x.at(row, i) << ", row " << row << ", input " << i;
      if (k % 2) {
        ASSERT_EQ(halves_of(found, row)[k], 0);
      }
    }
  }
}

/// What baton_dots_pairs() is called with.
struct Dots {
  std::array<float, 16> sums;
  std::array<uint16_t, 32> weights;
  uint32_t x;

  Dots(Random &random, Size size) {
    for (uint16_t &weight : weights)
      weight = draw(random, size);
    x = draw(random, size) | static_cast<uint32_t>(draw(random, size)) << 16;
    for (float &sum : sums) {
      const uint32_t bits = random.bits();
      // Around the least normal number, and some denormal ones.
      sum = std::bit_cast<float>(
          size == Size::tiny ? (bits & 0x80000003) + (bits / 4 % 3 << 23)
                             : static_cast<uint32_t>(draw(random, size)) << 16 |
                                   (bits & 0xffff));
    }
  }
  std::array<float, 16> computed() const {
    auto result = sums;
    const uint32_t state = baton_begin_pairs();
    baton_dots_pairs(result.data(), weights.data(), x);
    baton_end_pairs(state);
    return result;
  }
  void expect(const std::array<float, 16> &expected) const {
    const auto found = computed();
    for (int lane = 0; lane < 16; ++lane) {
      if (std::isnan(expected[lane]) && std::isnan(found[lane]))
        continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(found[lane]),
                std::bit_cast<uint32_t>(expected[lane]))
          << std::hexfloat << sums[lane] << " becomes " << found[lane]
          << " instead of " << expected[lane] << " by " << std::hex << x
          << " and " << weights[lane] << ", " << weights[16 + lane];
    }
  }
};

TEST(PairDots, HaveTheBitsOfFusedMultiplyAdds) {
  Random random(2);
  for (Size size : {Size::usual, Size::tiny, Size::any})
    for (int i = 0; i < 3000; ++i) {
      const Dots dots(random, size);
      auto expected = dots.sums;
      for (int lane = 0; lane < 16; ++lane)
        expected[lane] = add_product(
            add_product(expected[lane], dots.weights[16 + lane], dots.x >> 16),
            dots.weights[lane], dots.x & 0xffff);
      dots.expect(expected);
      if (HasFatalFailure())
        return;
    }
}

__attribute__((target("avx512f,avx512bw,avx512bf16"))) void
add_by_instruction(float *sums, const uint16_t *weights, uint32_t x) {
  uint16_t pairs[32];
  for (int i = 0; i < 32; ++i)
    pairs[i] = weights[i % 2 * 16 + i / 2];
  const __m512 result = _mm512_dpbf16_ps(
      _mm512_loadu_ps(sums), (__m512bh)_mm512_loadu_si512(pairs),
      (__m512bh)_mm512_set1_epi32(static_cast<int>(x)));
  _mm512_storeu_ps(sums, result);
}

TEST(PairDots, HaveTheBitsOfTheInstruction) {
  if (!__builtin_cpu_supports("avx512bf16"))
    GTEST_SKIP() << "this machine has no AVX512-BF16";
  Random random(3);
  for (Size size : {Size::usual, Size::tiny, Size::any})
    for (int i = 0; i < 20000; ++i) {
      const Dots dots(random, size);
      auto expected = dots.sums;
      add_by_instruction(expected.data(), dots.weights.data(), dots.x);
      dots.expect(expected);
      if (HasFatalFailure())
        return;
    }
}

/// One number, without LLVM's vectors, which may be computed before or behind
/// what sets MXCSR.
__attribute__((target("fma"), noinline)) float
add_by_fused_multiply_adds(float sum, uint16_t a, uint16_t b) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);
  asm volatile("vfmadd231ss %1, %2, %0"
               : "+x"(sum)
               : "x"(value_of(a)), "x"(value_of(b)));
  _mm_setcsr(before);
  return sum;
}

TEST(PairDots, HaveTheBitsOfFusedMultiplyAddsWithoutDenormals) {
  if (!__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "this machine has no fused multiply-add";
  Random random(8);
  for (Size size : {Size::usual, Size::tiny, Size::any})
    for (int i = 0; i < 3000; ++i) {
      const Dots dots(random, size);
      auto expected = dots.sums;
      for (int lane = 0; lane < 16; ++lane)
        expected[lane] = add_by_fused_multiply_adds(
            add_by_fused_multiply_adds(expected[lane], dots.weights[16 + lane],
                                       dots.x >> 16),
            dots.weights[lane], dots.x & 0xffff);
      dots.expect(expected);
      if (HasFatalFailure())
        return;
    }
}

/// Sixteen rows of 32 inputs by 32 outputs, and what the sums were.
struct Tiles {
  std::array<uint16_t, 16 * 32> inputs;
  std::array<uint16_t, 2 * 16 * 32> weights;
  std::array<float, 4 * 256> sums;

  Tiles(Random &random, Size size) {
    for (uint16_t &input : inputs)
      input = draw(random, size);
    for (uint16_t &weight : weights)
      weight = draw(random, size);
    for (float &sum : sums)
      sum = value_of(draw(random, size));
  }
};

__attribute__((target("amx-tile,amx-bf16"))) void
multiply_by_instruction(Tiles &tiles, const cpu::AmxShapes &shapes) {
  _tile_loadconfig(&shapes);
  _tile_loadd(0, tiles.sums.data(), 64);
  _tile_loadd(1, tiles.sums.data() + 256, 64);
  _tile_loadd(4, tiles.inputs.data(), 64);
  _tile_loadd(6, tiles.weights.data(), 64);
  _tile_loadd(7, tiles.weights.data() + 512, 64);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_stored(0, tiles.sums.data(), 64);
  _tile_stored(1, tiles.sums.data() + 256, 64);
  _tile_release();
}

TEST(AmxTiles, HaveTheBitsOfTheInstruction) {
  if (!__builtin_cpu_supports("amx-bf16") ||
      syscall(SYS_arch_prctl, 0x1023, 18) != 0)
    GTEST_SKIP() << "this machine has no AMX, or keeps it to itself";
  Random random(9);
  for (Size size : {Size::usual, Size::tiny, Size::any})
    for (int i = 0; i < 60; ++i) {
      Tiles expected(random, size);
      Tiles found = expected;
      cpu::AmxShapes shapes;
      for (int tile = 0; tile < 8; ++tile) {
        shapes.bytes[tile] = 64;
        shapes.rows[tile] = tile < 6 ? 1 + i % 16 : 16;
      }
      multiply_by_instruction(expected, shapes);
      baton_amx_begin(&shapes);
      baton_amx_load_sums(found.sums.data());
      const uint32_t state = baton_begin_chains();
      baton_amx_multiply_first(found.inputs.data(), 64, found.weights.data());
      baton_end_chains(state);
      baton_amx_store_sums(found.sums.data());
      baton_amx_end();
      for (size_t at = 0; at < found.sums.size(); ++at) {
        const float a = found.sums[at], b = expected.sums[at];
        ASSERT_TRUE((std::isnan(a) && std::isnan(b)) ||
                    std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b))
            << std::hexfloat << a << " instead of " << b << ", number " << at
            << " of " << (i % 16 + 1) << " rows";
      }
    }
}

/// The bodies, by the instruction whose sums they have.
struct ByPairs {
  static constexpr auto &linear = baton_task_rounded_linear_bf16;
  static constexpr auto &gated_linear = baton_task_rounded_gated_linear_bf16;
  static constexpr auto &product = product_of;
};
struct ByTiles {
  static constexpr auto &linear = baton_task_amx_linear_bf16;
  static constexpr auto &gated_linear = baton_task_amx_gated_linear_bf16;
  static constexpr auto &product = amx_product_of;
};

template <typename Bodies> class RoundedLinear : public testing::Test {};
using AllBodies = testing::Types<ByPairs, ByTiles>;
struct Names {
  template <typename Bodies> static std::string GetName(int) {
    return std::is_same_v<Bodies, ByPairs> ? "Pairs" : "Tiles";
  }
};
TYPED_TEST_SUITE(RoundedLinear, AllBodies, Names);

/// Runs the body for `count` rows from `first` on.
template <typename Bodies>
void run_linear(Buffer &out, const Buffer &x, int64_t first, int64_t count,
                const std::vector<uint16_t> &panels, int64_t k,
                int64_t columns) {
  Bodies::linear(out.data(), out.stride, x.row(first), x.stride, panels.data(),
                 nullptr, nullptr, 0, count, k, columns, BATON_ACTIVATION_NONE);
  expect_guards_intact(out);
}

TYPED_TEST(RoundedLinear, ProductsAreChains) {
  Random random(4);
  for (Size size : {Size::usual, Size::tiny})
    for (int64_t k : {1, 2, 7, 64, 255, 256, 257, 600})
      for (int64_t columns : {1, 16, 33, 70}) {
        const int64_t rows = 5;
        const Buffer x = draw_rows(random, rows, k, size);
        const Weight<BF16> weight = draw_weight(random, columns, k, size);
        Buffer out(rows, columns);
        run_linear<TypeParam>(out, x, 0, rows, weight.packed(), k, columns);
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t column = 0; column < columns; ++column) {
            const float expected = TypeParam::product(
                halves_of(x, row), weight.stored.data() + column * k, k);
            ASSERT_EQ(std::bit_cast<uint32_t>(out.at(row, column)),
                      std::bit_cast<uint32_t>(expected))
                << out.at(row, column) << " instead of " << expected << ": k "
                << k << ", row " << row << ", column " << column;
          }
      }
}

TYPED_TEST(RoundedLinear, RowsAndColumnsTileWithoutChangingBits) {
  Random random(5);
  for (int64_t k : {100, 301, 513}) {
    const int64_t rows = 101, columns = 70;
    const Buffer x = draw_rows(random, rows, k, Size::usual);
    const auto panels = draw_weight(random, columns, k, Size::usual).packed();
    Buffer whole(rows, columns);
    run_linear<TypeParam>(whole, x, 0, rows, panels, k, columns);
    for (int64_t count :
         {0, 1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 20, 28, 48, 49})
      for (int64_t width : {16, 32, 64}) {
        const int64_t first = (count * 7) % (rows - count);
        Buffer part(count, width);
        run_linear<TypeParam>(part, x, first, count, panels, k, width);
        for (int64_t row = 0; row < count; ++row)
          expect_same_bits(part.row(row), whole.row(first + row), width);
        if (this->HasFatalFailure())
          FAIL() << "k " << k << ", rows " << count << ", columns " << width;
      }
    // From another panel on.
    Buffer part(3, 22);
    TypeParam::linear(part.data(), part.stride, x.row(9), x.stride,
                      panels.data() + 48 * k, nullptr, nullptr, 0, 3, k, 22,
                      BATON_ACTIVATION_NONE);
    for (int64_t row = 0; row < 3; ++row)
      expect_same_bits(part.row(row), whole.row(9 + row) + 48, 22);
  }
}

// More rows and columns than have their sums on the stack.
TYPED_TEST(RoundedLinear, ManyRowsAndColumnsComeInGroups) {
  Random random(12);
  for (int64_t k : {40, 290})
    for (int64_t rows : {129, 300}) {
      const int64_t columns = 272;
      const Buffer x = draw_rows(random, rows, k, Size::usual);
      const Weight<BF16> weight = draw_weight(random, columns, k, Size::usual);
      const auto panels = weight.packed();
      Buffer whole(rows, columns);
      run_linear<TypeParam>(whole, x, 0, rows, panels, k, columns);
      for (int64_t row : {int64_t(0), int64_t(127), int64_t(128), rows - 1})
        for (int64_t column : {0, 127, 128, 150, 255, 271}) {
          const float expected = TypeParam::product(
              halves_of(x, row), weight.stored.data() + column * k, k);
          ASSERT_EQ(std::bit_cast<uint32_t>(whole.at(row, column)),
                    std::bit_cast<uint32_t>(expected))
              << "k " << k << ", row " << row << ", column " << column;
        }
      // Alone, and with an odd number of panels.
      Buffer part(1, 137);
      run_linear<TypeParam>(part, x, rows - 1, 1, panels, k, 137);
      expect_same_bits(part.row(0), whole.row(rows - 1), 137);
    }
}

TYPED_TEST(RoundedLinear, BiasActivationAndResidualAreAddedInF32) {
  Random random(6);
  const int64_t rows = 6, k = 50, columns = 40;
  const Buffer x = draw_rows(random, rows, k, Size::usual);
  const auto panels = draw_weight(random, columns, k, Size::usual).packed();
  const Buffer residual = random.buffer(rows, columns);
  const std::vector<float> bias = random.vector(columns);
  Buffer plain(rows, columns), found = residual; // in place
  run_linear<TypeParam>(plain, x, 0, rows, panels, k, columns);
  TypeParam::linear(found.data(), found.stride, x.data(), x.stride,
                    panels.data(), bias.data(), found.data(), found.stride,
                    rows, k, columns, BATON_ACTIVATION_RELU);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      ASSERT_EQ(found.at(row, column),
                std::max(plain.at(row, column) + bias[column], 0.0f) +
                    residual.at(row, column));
}

TYPED_TEST(RoundedLinear, GatedLinearsAreTwo) {
  Random random(7);
  const int64_t k = 259, columns = 40;
  const Weight<BF16> gate = draw_weight(random, columns, k, Size::usual);
  const Weight<BF16> up = draw_weight(random, columns, k, Size::usual);
  const std::vector<float> gate_bias = random.vector(columns),
                           up_bias = random.vector(columns);
  std::vector<uint16_t> panels;
  gate.pack_into(panels, 0, 2);
  up.pack_into(panels, 1, 2);
  for (int64_t rows : {1, 2, 5, 12, 35}) {
    const Buffer x = draw_rows(random, rows, k, Size::usual);
    Buffer gates(rows, columns), ups(rows, columns), found(rows, columns);
    run_linear<TypeParam>(gates, x, 0, rows, gate.packed(), k, columns);
    run_linear<TypeParam>(ups, x, 0, rows, up.packed(), k, columns);
    TypeParam::gated_linear(found.data(), found.stride, x.data(), x.stride,
                            panels.data(), gate_bias.data(), up_bias.data(),
                            rows, k, columns, BATON_ACTIVATION_RELU);
    expect_guards_intact(found);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        ASSERT_EQ(found.at(row, column),
                  std::max(gates.at(row, column) + gate_bias[column], 0.0f) *
                      (ups.at(row, column) + up_bias[column]))
            << rows << " rows";
  }
}

//===----------------------------------------------------------------------===//
// From the weights' other side
//===----------------------------------------------------------------------===//

/// Gradients of a linear's inputs by chains over its outputs.
void expect_transposed(int64_t rows, int64_t outputs, int64_t inputs,
                       Size size) {
  Random random(10);
  const Weight<BF16> weight = draw_weight(random, outputs, inputs, size);
  const auto panels = weight.packed();
  // Not yet rounded.
  const Buffer a =
      random.buffer(rows, outputs, size == Size::tiny ? 0x1p-64f : 3.0f);
  const Buffer rounded = round_rows(a);
  const Buffer residual = random.buffer(rows, inputs);
  Buffer whole(rows, inputs);
  auto run = [&](Buffer &out, int64_t first, const Buffer *added) {
    baton_task_amx_linear_transposed_bf16(
        out.data(), out.stride, a.data(), a.stride, panels.data(),
        added ? added->row(0) + first : nullptr, added ? added->stride : 0,
        first, rows, out.width, outputs, inputs);
    expect_guards_intact(out);
  };
  run(whole, 0, nullptr);
  std::vector<uint16_t> column(outputs);
  for (int64_t input = 0; input < inputs; ++input) {
    for (int64_t output = 0; output < outputs; ++output)
      column[output] = weight.stored[output * inputs + input];
    for (int64_t row = 0; row < rows; ++row) {
      const float expected =
          amx_product_of(halves_of(rounded, row), column.data(), outputs);
      ASSERT_EQ(std::bit_cast<uint32_t>(whole.at(row, input)),
                std::bit_cast<uint32_t>(expected))
          << whole.at(row, input) << " instead of " << expected << ": row "
          << row << " of " << rows << ", input " << input << " of " << inputs
          << ", " << outputs << " outputs";
    }
  }
  // Some of the columns, and what is added to them.
  for (int64_t first = 16; first < inputs; first += 32) {
    Buffer part(rows, std::min<int64_t>(inputs - first, 40));
    run(part, first, &residual);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < part.width; ++i)
        ASSERT_EQ(part.at(row, i),
                  whole.at(row, first + i) + residual.at(row, first + i));
  }
}

TEST(AmxTransposed, ProductsAreChains) {
  for (Size size : {Size::usual, Size::tiny})
    for (int64_t outputs : {1, 15, 16, 17, 32, 40, 300})
      for (int64_t inputs : {1, 16, 20, 33, 150})
        for (int64_t rows : {1, 5, 17, 33}) {
          expect_transposed(rows, outputs, inputs, size);
          if (HasFatalFailure())
            return;
        }
}

TEST(AmxTransposed, RowsAndOutputsComeInBlocks) {
  for (int64_t outputs : {255, 256, 257, 512, 530})
    for (int64_t rows : {64, 129}) {
      expect_transposed(rows, outputs, 48, Size::usual);
      if (HasFatalFailure())
        return;
    }
}

} // namespace
