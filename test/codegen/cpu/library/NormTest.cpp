//===- NormTest.cpp - RMS norm and layer norm -----------------------------===//

#include "test/codegen/cpu/library/Support.h"

using namespace baton;
using namespace baton::test;

namespace {

TEST(RmsNorm, MatchesOracle) {
  Random random(1);
  for (int64_t width : {1, 7, 16, 33, 100})
    for (int64_t rows : {1, 2, 5}) {
      Buffer x = random.buffer(rows, width, 3.0f);
      std::vector<float> weight = random.vector(width);
      Buffer out(rows, width);
      baton_task_rms_norm(out.data(), out.stride, x.data(), x.stride,
                          weight.data(), rows, width, 1e-5f);
      oracle::Matrix expected =
          oracle::rms_norm(x.matrix(), doubles(weight), 1e-5f);
      // The sum's relative error is at most width / 16 + 5 roundings, halved by
      // the root; six more operations follow.
      double error = (static_cast<double>(width) / 32 + 10) * rounding;
      expect_within(out, expected, [&](int64_t r, int64_t c) {
        return error * std::fabs(expected.at(r, c));
      });
      // In place, and a row on its own, give the same bits.
      Buffer in_place = x;
      baton_task_rms_norm(in_place.data(), x.stride, in_place.data(), x.stride,
                          weight.data(), rows, width, 1e-5f);
      expect_same_bits(in_place, out);
      Buffer alone(1, width);
      baton_task_rms_norm(alone.data(), alone.stride, x.row(rows - 1), 0,
                          weight.data(), 1, width, 1e-5f);
      expect_same_bits(alone.data(), out.row(rows - 1), width);
    }
}

TEST(LayerNorm, MatchesOracle) {
  Random random(2);
  for (int64_t width : {1, 7, 16, 33, 100})
    for (bool with_bias : {false, true})
      // An offset far from zero: a one-pass variance would cancel.
      for (float offset : {0.0f, 20.0f}) {
        const int64_t rows = 3;
        Buffer x = random.buffer(rows, width);
        for (float &value : x.values)
          value += offset;
        Buffer clean = x;
        std::vector<float> weight = random.vector(width);
        std::vector<float> bias = random.vector(width);
        Buffer out(rows, width);
        baton_task_layer_norm(out.data(), out.stride, x.data(), x.stride,
                              weight.data(), with_bias ? bias.data() : nullptr,
                              rows, width, 1e-5f);
        oracle::Matrix expected = oracle::layer_norm(
            x.matrix(), doubles(weight),
            with_bias ? doubles(bias) : std::vector<double>(), 1e-5f);
        // The mean's error enters every difference and is amplified by up to
        // 1 / sqrt(epsilon) where the variance vanishes (width 1).
        double amplification = width == 1 ? 320.0 : 8.0;
        double error = (static_cast<double>(width) / 16 + 12) * rounding *
                       amplification * (1.0 + offset);
        expect_within(out, expected, [&](int64_t, int64_t) { return error; });
        Buffer in_place = clean;
        baton_task_layer_norm(
            in_place.data(), x.stride, in_place.data(), x.stride, weight.data(),
            with_bias ? bias.data() : nullptr, rows, width, 1e-5f);
        expect_same_bits(in_place, out);
      }
}

} // namespace
