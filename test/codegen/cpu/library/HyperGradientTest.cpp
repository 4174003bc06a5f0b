//===- HyperGradientTest.cpp - adjoints of hyper-connections --------------===//
//
// Held against differences of the FP64 operators, which know no adjoint.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cpu/library/Gradients.h"
#include "test/oracle/hyper.h"

#include <array>

using namespace baton;
using namespace baton::test;

namespace {

constexpr BatonMixing mixings[] = {BATON_MIXING_NONE, BATON_MIXING_IDENTITY,
                                   BATON_MIXING_FREE, BATON_MIXING_SINKHORN};

/// Within this many roundings of the largest element.
void expect_near(const Buffer &found, const oracle::Matrix &expected,
                 double roundings) {
  double most = 1e-3;
  for (double value : expected.values)
    most = std::max(most, std::fabs(value));
  expect_within(found, expected, [&](int64_t, int64_t) {
    return roundings * rounding * most + 1e-8;
  });
}

TEST(HyperGradient, ProjectMatchesDifferences) {
  Random random(1);
  const float epsilon = 1e-2f;
  for (int64_t outputs : {1, 4, 24})
    for (int64_t width : {8, 37, 64}) {
      const Buffer x = random.buffer(3, width, 2.0f);
      const Buffer dy = random.buffer(3, outputs);
      const std::vector<float> phi = random.vector(outputs * width);
      oracle::Matrix matrix(outputs, width);
      matrix.values = doubles(phi);
      Buffer y(3, outputs), statistics(3, 2), dx(3, width), scaled(3, outputs);
      baton_task_hyper_project(y.data(), y.stride, x.data(), x.stride,
                               phi.data(), 3, width, outputs, epsilon);
      baton_task_norm_statistics(statistics.data(), statistics.stride, x.data(),
                                 x.stride, 3, width, epsilon, 0);
      baton_task_hyper_project_gradient(
          dx.data(), dx.stride, dy.data(), dy.stride, x.data(), x.stride,
          phi.data(), y.data(), y.stride, statistics.data(), statistics.stride,
          3, width, outputs);
      expect_near(dx,
                  differences(x.matrix(), dy.matrix(),
                              [&](const oracle::Matrix &x) {
                                return oracle::hyper_project(x, matrix,
                                                             epsilon);
                              }),
                  100);

      // phi's gradient is the scaled rows' product with x.
      baton_task_scale_rows(scaled.data(), scaled.stride, dy.data(), dy.stride,
                            statistics.data(), statistics.stride, 3, outputs);
      Buffer dphi(outputs, width);
      const int32_t replaces = 0;
      Scratch scratch(baton_product_scratch_bytes(width));
      baton_task_product_gradient(dphi.data(), dphi.stride, scaled.data(), 1,
                                  scaled.stride, x.data(), x.stride, 1, nullptr,
                                  outputs, width, 3, &replaces, scratch.data());
      expect_near(dphi,
                  differences(matrix, dy.matrix(),
                              [&](const oracle::Matrix &phi) {
                                return oracle::hyper_project(x.matrix(), phi,
                                                             epsilon);
                              }),
                  100);
    }
}

TEST(HyperGradient, MapsMatchDifferences) {
  Random random(2);
  const int64_t rows = 3;
  for (BatonMixing mixing : mixings)
    for (int64_t streams : {1, 2, 4, 8})
      for (int64_t iterations : {1, 10, 64}) {
        const auto kind = static_cast<oracle::Mixing>(mixing);
        const int64_t maps = oracle::hyper_maps_count(streams, kind);
        const float epsilon = 1e-3f;
        const Buffer logits = random.buffer(rows, maps, 1.5f);
        const Buffer dy = random.buffer(rows, maps);
        const std::vector<float> scale = {0.7f, -1.2f, 1.4f};
        const std::vector<float> base = random.vector(maps);
        Buffer dlogits(rows, maps), dz(rows, maps);
        baton_task_hyper_maps_gradient(
            dlogits.data(), dlogits.stride, dz.data(), dz.stride, dy.data(),
            dy.stride, logits.data(), logits.stride, scale.data(), base.data(),
            rows, streams, mixing, iterations, epsilon);
        auto operate = [&](const oracle::Matrix &logits,
                           const std::vector<double> &scale,
                           const std::vector<double> &base) {
          return oracle::hyper_maps(logits, scale, base, streams, kind,
                                    iterations, epsilon);
        };
        // Each division of the way back doubles what rounding leaves.
        const double roundings = 200.0 + 20.0 * iterations;
        expect_near(dlogits,
                    differences(logits.matrix(), dy.matrix(),
                                [&](const oracle::Matrix &logits) {
                                  return operate(logits, doubles(scale),
                                                 doubles(base));
                                }),
                    roundings);
        Buffer dbase(1, maps), dscale(1, 3);
        baton_task_sum_rows(dbase.data(), dz.data(), dz.stride, rows, maps,
                            std::array<int32_t, 1>{0}.data());
        expect_near(dbase,
                    differences(row_of(doubles(base)), dy.matrix(),
                                [&](const oracle::Matrix &base) {
                                  return operate(logits.matrix(),
                                                 doubles(scale), base.values);
                                }),
                    roundings);
        const int64_t parts = mixing == BATON_MIXING_NONE       ? 1
                              : mixing == BATON_MIXING_IDENTITY ? 2
                                                                : 3;
        fill(dscale, 0.5f);
        const int32_t replaces = 0;
        baton_task_hyper_scale_gradient(dscale.data(), dz.data(), dz.stride,
                                        logits.data(), logits.stride, rows,
                                        streams, mixing, &replaces);
        oracle::Matrix expected = differences(
            row_of(doubles(scale)), dy.matrix(),
            [&](const oracle::Matrix &scale) {
              return operate(logits.matrix(), scale.values, doubles(base));
            });
        for (int64_t part = parts; part < 3; ++part)
          expected.values[part] = 0.5; // not touched
        expect_near(dscale, expected, 4 * roundings);
        Buffer added = dscale;
        baton_task_hyper_scale_gradient(added.data(), dz.data(), dz.stride,
                                        logits.data(), logits.stride, rows,
                                        streams, mixing, nullptr);
        for (int64_t part = 0; part < parts; ++part)
          EXPECT_EQ(added.at(0, part), 2 * dscale.at(0, part));
      }
}

TEST(HyperGradient, PreMatchesDifferences) {
  Random random(3);
  for (int64_t streams : {1, 2, 4, 8})
    for (int64_t width : {1, 16, 37}) {
      const Buffer x = random.buffer(3, streams * width);
      const Buffer weights = random.buffer(3, streams);
      const Buffer dy = random.buffer(3, width);
      Buffer dx(3, streams * width), dweights(3, streams);
      baton_task_hyper_pre_gradient(dx.data(), dx.stride, dweights.data(),
                                    dweights.stride, dy.data(), dy.stride,
                                    x.data(), x.stride, weights.data(),
                                    weights.stride, 3, streams, width);
      expect_near(dx,
                  differences(x.matrix(), dy.matrix(),
                              [&](const oracle::Matrix &x) {
                                return oracle::hyper_pre(x, weights.matrix(),
                                                         streams);
                              }),
                  20);
      expect_near(dweights,
                  differences(weights.matrix(), dy.matrix(),
                              [&](const oracle::Matrix &weights) {
                                return oracle::hyper_pre(x.matrix(), weights,
                                                         streams);
                              }),
                  100);
    }
}

TEST(HyperGradient, PostMatchesDifferences) {
  Random random(4);
  for (bool mixes : {false, true})
    for (int64_t streams : {1, 2, 4, 8})
      for (int64_t width : {1, 16, 37}) {
        const Buffer x = random.buffer(3, streams * width);
        const Buffer y = random.buffer(3, width);
        const Buffer weights =
            random.buffer(3, streams * (mixes ? streams + 1 : 1));
        const Buffer dout = random.buffer(3, streams * width);
        Buffer dx(3, streams * width), dy(3, width), dweights(3, weights.width);
        baton_task_hyper_post_gradient(
            dx.data(), dx.stride, dy.data(), dy.stride, dweights.data(),
            dweights.stride, dout.data(), dout.stride, x.data(), x.stride,
            y.data(), y.stride, weights.data(), weights.stride, 3, streams,
            width, mixes);
        expect_near(dx,
                    differences(x.matrix(), dout.matrix(),
                                [&](const oracle::Matrix &x) {
                                  return oracle::hyper_post(
                                      x, y.matrix(), weights.matrix(), streams);
                                }),
                    50);
        expect_near(dy,
                    differences(y.matrix(), dout.matrix(),
                                [&](const oracle::Matrix &y) {
                                  return oracle::hyper_post(
                                      x.matrix(), y, weights.matrix(), streams);
                                }),
                    50);
        expect_near(dweights,
                    differences(weights.matrix(), dout.matrix(),
                                [&](const oracle::Matrix &weights) {
                                  return oracle::hyper_post(
                                      x.matrix(), y.matrix(), weights, streams);
                                }),
                    100);
      }
}

} // namespace
