//===- DeferredNormTest.cpp - the two halves of an RMS norm ---------------===//
//
// One after the other they are the norm, and so are their adjoints.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cpu/library/Gradients.h"

using namespace baton;
using namespace baton::test;

namespace {

constexpr float epsilon = 1e-2f;

struct Halves {
  Halves(const Buffer &x, const std::vector<float> &weight)
      : scaled(x.rows, x.width), squares(x.rows, 1), out(x.rows, x.width) {
    baton_task_norm_begin(scaled.data(), scaled.stride, squares.data(),
                          squares.stride, x.data(), x.stride, weight.data(),
                          x.rows, x.width);
    baton_task_norm_end(out.data(), out.stride, scaled.data(), scaled.stride,
                        squares.data(), squares.stride, x.rows, x.width,
                        x.width, epsilon);
  }

  Buffer scaled, squares, out;
};

TEST(DeferredNorm, HalvesAreTheNorm) {
  Random random(1);
  for (int64_t width : {1, 7, 16, 33, 100})
    for (int64_t rows : {1, 2, 5}) {
      const Buffer x = random.buffer(rows, width, 3.0f);
      const std::vector<float> weight = random.vector(width);
      const Halves halves(x, weight);
      const oracle::Matrix expected =
          oracle::rms_norm(x.matrix(), doubles(weight), epsilon);
      // As for rms_norm (NormTest.cpp).
      const double error = (static_cast<double>(width) / 32 + 10) * rounding;
      expect_within(halves.out, expected, [&](int64_t r, int64_t c) {
        return error * std::fabs(expected.at(r, c));
      });
      expect_guards_intact(halves.squares);

      Buffer in_place = x;
      Buffer squares(rows, 1);
      baton_task_norm_begin(in_place.data(), in_place.stride, squares.data(),
                            squares.stride, in_place.data(), in_place.stride,
                            weight.data(), rows, width);
      expect_same_bits(in_place, halves.scaled);
      expect_same_bits(squares, halves.squares);
      baton_task_norm_end(in_place.data(), in_place.stride, in_place.data(),
                          in_place.stride, squares.data(), squares.stride, rows,
                          width, width, epsilon);
      expect_same_bits(in_place, halves.out);
      Buffer alone(1, width);
      std::copy_n(x.row(rows - 1), width, alone.row(0));
      expect_same_bits(Halves(alone, weight).out.row(0),
                       halves.out.row(rows - 1), width);
    }
}

TEST(DeferredNorm, AdjointsAreThatOfTheNorm) {
  Random random(2);
  for (int64_t width : {1, 13, 16, 20, 100}) {
    const int64_t rows = 5;
    const Buffer x = random.buffer(rows, width, 3.0f),
                 dy = random.buffer(rows, width);
    const std::vector<float> weight = random.vector(width);
    const Halves halves(x, weight);
    Buffer dscaled(rows, width), dsquares(rows, 1), dx(rows, width);
    baton_task_norm_end(dscaled.data(), dscaled.stride, dy.data(), dy.stride,
                        halves.squares.data(), halves.squares.stride, rows,
                        width, width, epsilon);
    baton_task_norm_end_gradient(
        dsquares.data(), dsquares.stride, dy.data(), dy.stride,
        halves.scaled.data(), halves.scaled.stride, halves.squares.data(),
        halves.squares.stride, rows, width, width, epsilon);
    expect_guards_intact(dsquares);
    auto begin_gradient = [&](Buffer &out, const Buffer *scaled,
                              const Buffer *squares) {
      baton_task_norm_begin_gradient(
          out.data(), out.stride, x.data(), x.stride, weight.data(),
          scaled ? scaled->data() : nullptr, scaled ? scaled->stride : 0,
          squares ? squares->data() : nullptr, squares ? squares->stride : 0,
          rows, width);
    };
    begin_gradient(dx, &dscaled, &dsquares);
    const oracle::Matrix expected =
        oracle::norm_gradient(dy.matrix(), x.matrix(), doubles(weight), epsilon,
                              false)
            .dx;
    // As in NormGradientTest.cpp.
    expect_within(dx, expected, [&](int64_t r, int64_t) {
      double squares = 0;
      for (int64_t c = 0; c < width; ++c)
        squares += double(x.at(r, c)) * x.at(r, c);
      const double inverse =
          1 / std::sqrt(squares / static_cast<double>(width) + epsilon);
      return (static_cast<double>(width) / 16 + 24) * rounding * inverse *
             (1.0 + 5.0 * inverse);
    });

    // In the place of one, and of one alone.
    Buffer in_place = dscaled;
    begin_gradient(in_place, &in_place, &dsquares);
    expect_same_bits(in_place, dx);
    Buffer one(rows, width), other(rows, width);
    begin_gradient(one, &dscaled, nullptr);
    begin_gradient(other, nullptr, &dsquares);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < width; ++c) {
        EXPECT_EQ(one.at(r, c), dscaled.at(r, c) * weight[c]);
        EXPECT_EQ(other.at(r, c), x.at(r, c) * (2.0f * dsquares.at(r, 0)));
      }
  }
}

} // namespace
