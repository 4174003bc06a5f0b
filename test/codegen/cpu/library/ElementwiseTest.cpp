//===- ElementwiseTest.cpp - element-wise bodies, mask and softmax --------===//

#include "test/codegen/cpu/library/Support.h"

#include <algorithm>
#include <limits>

using namespace baton;
using namespace baton::test;

namespace {

const std::vector<int64_t> widths = {1, 7, 16, 33, 100};
constexpr int64_t rows = 3;

struct Unary {
  const char *name;
  void (*body)(float *, int64_t, const float *, int64_t, int64_t, int64_t);
  double (*expected)(double);
  /// Error in roundings: relative to the result and to the argument. GELU
  /// cancels for negative arguments, as its F32 definition does.
  double relative, to_argument;
};

const Unary unary_bodies[] = {
    {"copy", baton_task_copy, [](double x) { return x; }, 0, 0},
    {"tanh", baton_task_tanh, [](double x) { return std::tanh(x); }, 6, 0},
    {"silu", baton_task_silu,
     [](double x) { return oracle::activate(x, oracle::Activation::silu); }, 8,
     0},
    {"gelu", baton_task_gelu,
     [](double x) { return oracle::activate(x, oracle::Activation::gelu); }, 8,
     4},
    {"gelu_tanh", baton_task_gelu_tanh,
     [](double x) {
       return oracle::activate(x, oracle::Activation::gelu_tanh);
     },
     8, 6},
    {"relu", baton_task_relu,
     [](double x) { return oracle::activate(x, oracle::Activation::relu); }, 0,
     0}};

TEST(Elementwise, EveryUnaryBodyHasAnOracle) {
  auto expect_oracle = [](auto *body, const char *name) {
    EXPECT_TRUE(std::ranges::any_of(unary_bodies, [&](const Unary &unary) {
      return unary.body == body;
    })) << name;
  };
#define BATON_BODY(name) expect_oracle(name, #name);
#include "codegen/bodies/Unary.inc"
#undef BATON_BODY
}

TEST(Elementwise, UnaryMatchesOracle) {
  Random random(1);
  for (const Unary &unary : unary_bodies)
    for (int64_t width : widths) {
      Buffer x = random.buffer(rows, width, 8.0f);
      Buffer out(rows, width);
      unary.body(out.data(), out.stride, x.data(), x.stride, rows, width);
      oracle::Matrix expected = x.matrix();
      for (double &value : expected.values)
        value = unary.expected(value);
      expect_within(out, expected, [&](int64_t r, int64_t c) {
        return rounding * (unary.relative * std::fabs(expected.at(r, c)) +
                           unary.to_argument * std::fabs(x.at(r, c)));
      });
      if (HasFatalFailure())
        FAIL() << unary.name << " width " << width;
      Buffer in_place = x;
      unary.body(in_place.data(), x.stride, in_place.data(), x.stride, rows,
                 width);
      expect_same_bits(in_place, out);
      // An element's bits do not depend on its place in the row.
      Buffer tail(1, 1);
      unary.body(tail.data(), 1, x.row(0) + width / 2, 1, 1, 1);
      expect_same_bits(tail.data(), out.row(0) + width / 2, 1);
    }
}

TEST(Elementwise, UnaryKeepsNaN) {
  const std::vector<float> nan = {std::numeric_limits<float>::quiet_NaN()};
  for (const Unary &unary : unary_bodies) {
    std::vector<float> out = {0.0f};
    unary.body(out.data(), 1, nan.data(), 1, 1, 1);
    EXPECT_TRUE(std::isnan(out[0])) << unary.name;
  }
}

TEST(Elementwise, AddMulScaleRoundOnce) {
  Random random(2);
  for (int64_t width : widths) {
    Buffer a = random.buffer(rows, width), b = random.buffer(rows, width);
    Buffer sum(rows, width), product(rows, width), scaled(rows, width);
    baton_task_add(sum.data(), sum.stride, a.data(), a.stride, b.data(),
                   b.stride, rows, width);
    baton_task_mul(product.data(), product.stride, a.data(), a.stride, b.data(),
                   b.stride, rows, width);
    baton_task_scale(scaled.data(), scaled.stride, a.data(), a.stride, rows,
                     width, 1.7f);
    expect_guards_intact(sum);
    expect_guards_intact(product);
    expect_guards_intact(scaled);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < width; ++c) {
        double left = a.at(r, c), right = b.at(r, c);
        ASSERT_EQ(sum.at(r, c), static_cast<float>(left + right));
        ASSERT_EQ(product.at(r, c), static_cast<float>(left * right));
        ASSERT_EQ(scaled.at(r, c), static_cast<float>(left * 1.7f));
      }
    Buffer in_place = b;
    baton_task_add(in_place.data(), in_place.stride, a.data(), a.stride,
                   in_place.data(), in_place.stride, rows, width);
    expect_same_bits(in_place, sum);
  }
}

TEST(Elementwise, ClampedSwigluMatchesOracle) {
  Random random(5);
  for (int64_t width : widths) {
    // A half of them are clamped.
    Buffer gate = random.buffer(rows, width, 14.0f),
           up = random.buffer(rows, width, 14.0f);
    up.row(0)[0] = std::numeric_limits<float>::quiet_NaN();
    Buffer out(rows, width);
    baton_task_clamped_swiglu(out.data(), out.stride, gate.data(), gate.stride,
                              up.data(), up.stride, rows, width);
    EXPECT_TRUE(std::isnan(out.at(0, 0)));
    expect_guards_intact(out);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = !r; c < width; ++c) {
        const double expected =
            oracle::clamped_swiglu(gate.at(r, c), up.at(r, c));
        ASSERT_NEAR(out.at(r, c), expected,
                    rounding * (16.0 * std::fabs(expected) + 8.0));
      }
    Buffer in_place = up;
    baton_task_clamped_swiglu(in_place.data(), in_place.stride, gate.data(),
                              gate.stride, in_place.data(), in_place.stride,
                              rows, width);
    expect_same_bits(in_place, out);
  }
}

TEST(Softmax, MaskMatchesOracle) {
  Random random(3);
  for (int64_t width : widths)
    for (int64_t position : {0, 5, 40, 200})
      for (int64_t window : {0, 1, 4, 30}) {
        Buffer x = random.buffer(rows, width);
        Buffer out(rows, width);
        baton_task_mask_causal(out.data(), out.stride, x.data(), x.stride, rows,
                               width, position, window);
        oracle::Matrix expected =
            oracle::mask_causal(x.matrix(), position, window);
        expect_guards_intact(out);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < width; ++c)
            ASSERT_EQ(out.at(r, c), expected.at(r, c))
                << "row " << r << " column " << c << " position " << position
                << " window " << window;
      }
}

TEST(Softmax, MatchesOracle) {
  Random random(4);
  for (int64_t width : widths)
    for (float magnitude : {1.0f, 60.0f}) {
      Buffer x = random.buffer(rows, width, magnitude);
      // A wholly and a partly masked row.
      for (int64_t c = 0; c < width; ++c) {
        x.row(1)[c] = -std::numeric_limits<float>::infinity();
        if (c > width / 2)
          x.row(2)[c] = -std::numeric_limits<float>::infinity();
      }
      // Without a sink, with one of the row's size, and one that is all there
      // is.
      for (float sink :
           {-std::numeric_limits<float>::infinity(), 0.4f, 90.0f}) {
        const std::vector<float> sinks = {sink};
        const float *own = std::isinf(sink) ? nullptr : sinks.data();
        Buffer out(rows, width);
        baton_task_softmax(out.data(), out.stride, x.data(), x.stride, rows,
                           width, own);
        oracle::Matrix expected =
            oracle::softmax(x.matrix(), static_cast<double>(sink));
        // The subtraction rounds arguments of up to twice the magnitude.
        double error = rounding * (20.0 + static_cast<double>(width) / 16 +
                                   2 * magnitude + (own ? 90 : 0));
        expect_within(out, expected, [&](int64_t r, int64_t c) {
          return error * expected.at(r, c) + 0x1p-149;
        });
        Buffer in_place = x;
        baton_task_softmax(in_place.data(), x.stride, in_place.data(), x.stride,
                           rows, width, own);
        expect_same_bits(in_place, out);
      }
    }
}

TEST(Softmax, NaNSpreadsOverItsRowOnly) {
  Random random(5);
  Buffer x = random.buffer(rows, 33);
  x.row(1)[32] = std::numeric_limits<float>::quiet_NaN();
  baton_task_softmax(x.data(), x.stride, x.data(), x.stride, rows, 33, nullptr);
  for (int64_t c = 0; c < 33; ++c) {
    EXPECT_FALSE(std::isnan(x.at(0, c)));
    EXPECT_TRUE(std::isnan(x.at(1, c)));
    EXPECT_FALSE(std::isnan(x.at(2, c)));
  }
}

} // namespace
