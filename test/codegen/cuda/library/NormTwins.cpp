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

TWIN_TEST(baton_task_norm_begin) {
  Random random(3);
  for (int64_t rows : row_counts)
    for (int64_t width : widths)
      for (bool in_place : {false, true}) {
        const Buffer x = random.buffer(rows, width, 3.0f);
        const std::vector<float> weight = random.vector(width);
        twin.agree([&](auto body) {
          Buffer scaled = in_place ? x : Buffer(rows, width);
          const Buffer &in = in_place ? scaled : x;
          Buffer squares(rows, 1), both(rows, width + 1);
          body(scaled.data(), scaled.stride, squares.data(), squares.stride,
               in.data(), in.stride, weight.data(), rows, width);
          for (int64_t r = 0; r < rows; ++r) {
            std::copy_n(scaled.row(r), width, both.row(r));
            both.row(r)[width] = squares.at(r, 0);
          }
          return both;
        });
      }
}

TWIN_TEST(baton_task_norm_end) {
  Random random(4);
  for (int64_t rows : row_counts)
    for (int64_t width : widths) {
      const Buffer x = random.buffer(rows, width);
      Buffer squares = random.buffer(rows, 1, 3.0f);
      for (float &value : squares.values)
        value *= value;
      for (bool in_place : {false, true})
        twin.agree([&](auto body) {
          Buffer out = in_place ? x : Buffer(rows, width);
          const Buffer &in = in_place ? out : x;
          body(out.data(), out.stride, in.data(), in.stride, squares.data(),
               squares.stride, rows, width, 2 * width, 1e-5f);
          return out;
        });
    }
}

} // namespace
