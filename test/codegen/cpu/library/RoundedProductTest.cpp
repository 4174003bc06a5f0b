//===- RoundedProductTest.cpp - products that round their operands --------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cpu/library/Support.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace baton;
using namespace baton::test;

namespace {

/// To so many bits behind the leading one, no smaller than the type's least
/// number, ties to even: from the definition.
float rounded(float value, int bits, int least_exponent, float largest) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = std::max(std::ilogb(value), least_exponent);
  double unit = std::ldexp(1.0, exponent - bits);
  double result = std::nearbyint(value / unit) * unit;
  return std::abs(result) > largest
             ? std::copysign(std::numeric_limits<float>::infinity(), value)
             : static_cast<float>(result);
}

float to_bf16(float value) { return rounded(value, 7, -126, 0x1.fep127f); }
float to_f16(float value) { return rounded(value, 10, -14, 65504); }

using Product = decltype(baton_task_product);
using Gradient = decltype(baton_task_product_gradient);

struct Form {
  Product *product;
  Gradient *gradient;
  float (*round)(float);
};

const Form forms[] = {
    {baton_task_product_bf16, baton_task_product_gradient_bf16, to_bf16},
    {baton_task_product_f16, baton_task_product_gradient_f16, to_f16}};

void round_all(Buffer &buffer, float (*round)(float)) {
  for (float &value : buffer.values)
    if (value != Buffer::guard)
      value = round(value);
}

TEST(RoundedProduct, HasTheBitsOfOneOfRoundedOperands) {
  Random random(1);
  for (const Form &form : forms)
    for (int64_t rows : {1, 6, 13, 261})
      for (int64_t columns : {1, 16, 37})
        for (int64_t depth : {1, 7, 100, 300}) {
          Buffer left = random.buffer(rows, depth);
          Buffer right = random.buffer(depth, columns);
          Buffer old = random.buffer(rows, columns);
          std::vector<float> bias = random.vector(columns);
          std::vector<float> scratch(baton_product_scratch_bytes(columns) / 4);
          const int32_t adds = 1;
          auto run = [&](Product *product, Gradient *gradient, Buffer &out,
                         Buffer &sum) {
            product(out.data(), out.stride, left.data(), left.stride, 1,
                    right.data(), right.stride, 1, bias.data(), out.data(),
                    out.stride, rows, columns, depth, scratch.data());
            gradient(sum.data(), sum.stride, left.data(), left.stride, 1,
                     right.data(), right.stride, 1, nullptr, rows, columns,
                     depth, &adds, scratch.data());
          };
          Buffer found = old, found_sum = old, expected = old,
                 expected_sum = old;
          run(form.product, form.gradient, found, found_sum);
          round_all(left, form.round);
          round_all(right, form.round);
          run(baton_task_product, baton_task_product_gradient, expected,
              expected_sum);
          expect_same_bits(found, expected);
          expect_same_bits(found_sum, expected_sum);
        }
}

/// What an operand becomes, multiplied by 1.
float seen(Product *product, float value) {
  std::vector<float> scratch(baton_product_scratch_bytes(1) / 4);
  const float one = 1;
  float out = 0;
  product(&out, 1, &value, 1, 1, &one, 1, 1, nullptr, nullptr, 0, 1, 1, 1,
          scratch.data());
  float other = 0;
  product(&other, 1, &one, 1, 1, &value, 1, 1, nullptr, nullptr, 0, 1, 1, 1,
          scratch.data());
  EXPECT_TRUE(out == other || (std::isnan(out) && std::isnan(other)));
  return out;
}

TEST(RoundedProduct, RoundsAllNumbers) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Form &form : forms) {
    // Every exponent; ties, their neighbours, and the largest carry.
    for (uint32_t high = 0; high < 0x7f80; high += 0x20)
      for (uint32_t low : {0x0000u, 0x0fffu, 0x1000u, 0x1001u, 0x2000u, 0x3000u,
                           0x7fffu, 0x8000u, 0x8001u, 0x18000u, 0xfffffu}) {
        float value = std::bit_cast<float>((high << 16) + low);
        if (!std::isfinite(value))
          continue;
        EXPECT_EQ(seen(form.product, value), form.round(value)) << value;
        EXPECT_EQ(seen(form.product, -value), form.round(-value)) << -value;
      }
    EXPECT_EQ(seen(form.product, infinity), infinity);
    EXPECT_EQ(seen(form.product, -infinity), -infinity);
    // Also one whose bits are all in the half that is cut off.
    for (uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xffffffffu, 0x7fffffffu})
      EXPECT_TRUE(std::isnan(seen(form.product, std::bit_cast<float>(bits))));
  }
  EXPECT_EQ(seen(baton_task_product_f16, 65519), 65504);
  EXPECT_EQ(seen(baton_task_product_f16, 65520), infinity);
}

} // namespace
