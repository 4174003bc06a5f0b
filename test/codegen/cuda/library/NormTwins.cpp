//===- NormTwins.cpp - RMS norm and layer norm ----------------------------===//

#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

constexpr int64_t row_counts[] = {0, 1, 2, 5, 37};
constexpr int64_t widths[] = {1, 7, 16, 33, 100, 1030};

TWIN_TEST(baton_task_rms_norm) {
  Random random(1);
  for (int64_t rows : row_counts)
    for (int64_t width : widths) {
      const Buffer x = random.buffer(rows, width, 3.0f);
      const std::vector<float> weight = random.vector(width);
      twin.agree([&](auto body) {
        Buffer out(rows, width);
        body(out.data(), out.stride, x.data(), x.stride, weight.data(), rows,
             width, 1e-5f);
        return out;
      });
      twin.agree([&](auto body) {
        Buffer out = x;
        body(out.data(), out.stride, out.data(), out.stride, weight.data(),
             rows, width, 1e-5f);
        return out;
      });
    }
}

TWIN_TEST(baton_task_layer_norm) {
  Random random(2);
  for (int64_t rows : row_counts)
    for (int64_t width : widths)
      for (bool with_bias : {false, true}) {
        Buffer x = random.buffer(rows, width);
        for (float &value : x.values)
          value += 20.0f;
        const std::vector<float> weight = random.vector(width);
        const std::vector<float> bias = random.vector(width);
        twin.agree([&](auto body) {
          Buffer out(rows, width);
          body(out.data(), out.stride, x.data(), x.stride, weight.data(),
               with_bias ? bias.data() : nullptr, rows, width, 1e-5f);
          return out;
        });
        twin.agree([&](auto body) {
          Buffer out = x;
          body(out.data(), out.stride, out.data(), out.stride, weight.data(),
               with_bias ? bias.data() : nullptr, rows, width, 1e-5f);
          return out;
        });
      }
}

} // namespace
