//===- ElementwiseTwins.cpp - element-wise bodies, mask and softmax -------===//

#include "test/codegen/cuda/library/Twins.h"

#include <limits>

using namespace baton::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Fewer rows than any block has sixteens of threads, and more.
constexpr int64_t row_counts[] = {0, 1, 3, 37};
constexpr int64_t widths[] = {1, 7, 16, 33, 100, 517};

/// Values of all magnitudes with the special ones among them.
Buffer arguments(Random &random, int64_t rows, int64_t width) {
  constexpr float special[] = {0.0f,     -0.0f,     infinity,   -infinity,
                               nan,      0x1p-149f, -0x1p-130f, 88.73f,
                               -103.97f, 0.625f,    4.0f,       1e30f};
  Buffer result = random.buffer(rows, width, 12.0f);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < width; c += 1 + random.bits() % 16)
      result.row(r)[c] = special[random.bits() % std::size(special)];
  return result;
}

using Unary = void(float *, int64_t, const float *, int64_t, int64_t, int64_t);
using Binary = void(float *, int64_t, const float *, int64_t, const float *,
                    int64_t, int64_t, int64_t);

void expect_agree(const Twin<Unary> &twin) {
  Random random(1);
  for (int64_t rows : row_counts)
    for (int64_t width : widths) {
      const Buffer x = arguments(random, rows, width);
      twin.agree([&](auto body) {
        Buffer out(rows, width);
        body(out.data(), out.stride, x.data(), x.stride, rows, width);
        return out;
      });
      twin.agree([&](auto body) {
        Buffer out = x;
        body(out.data(), out.stride, out.data(), out.stride, rows, width);
        return out;
      });
    }
}

void expect_agree(const Twin<Binary> &twin) {
  Random random(2);
  for (int64_t rows : row_counts)
    for (int64_t width : widths) {
      const Buffer a = arguments(random, rows, width);
      const Buffer b = arguments(random, rows, width);
      twin.agree([&](auto body) {
        Buffer out(rows, width);
        body(out.data(), out.stride, a.data(), a.stride, b.data(), b.stride,
             rows, width);
        return out;
      });
      twin.agree([&](auto body) {
        Buffer out = a;
        body(out.data(), out.stride, out.data(), out.stride, b.data(), b.stride,
             rows, width);
        return out;
      });
      twin.agree([&](auto body) {
        Buffer out = b;
        body(out.data(), out.stride, a.data(), a.stride, out.data(), out.stride,
             rows, width);
        return out;
      });
    }
}

#define BATON_BODY(name)                                                       \
  TWIN_TEST(name) { expect_agree(twin); }
#include "codegen/bodies/Binary.inc"
#include "codegen/bodies/Unary.inc"
#undef BATON_BODY

TWIN_TEST(baton_task_clamped_swiglu) { expect_agree(twin); }

TWIN_TEST(baton_task_scale) {
  Random random(3);
  for (int64_t rows : row_counts)
    for (int64_t width : widths) {
      const Buffer x = arguments(random, rows, width);
      twin.agree([&](auto body) {
        Buffer out = x;
        body(out.data(), out.stride, out.data(), out.stride, rows, width, 1.7f);
        return out;
      });
    }
}

TWIN_TEST(baton_task_mask_causal) {
  Random random(4);
  for (int64_t rows : row_counts)
    for (int64_t width : widths)
      for (int64_t position : {0, 5, 40, 600})
        for (int64_t window : {0, 1, 30}) {
          const Buffer x = arguments(random, rows, width);
          twin.agree([&](auto body) {
            Buffer out = x;
            body(out.data(), out.stride, out.data(), out.stride, rows, width,
                 position, window);
            return out;
          });
        }
}

TWIN_TEST(baton_task_softmax) {
  Random random(5);
  for (int64_t rows : row_counts)
    for (int64_t width : widths)
      for (float magnitude : {1.0f, 60.0f}) {
        Buffer x = random.buffer(rows, width, magnitude);
        // Rows that are wholly masked, partly, and that have a NaN.
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < width; ++c)
            if (r % 5 == 1 || (r % 5 == 2 && c > width / 2))
              x.row(r)[c] = -infinity;
            else if (r % 5 == 3 && c == width / 3)
              x.row(r)[c] = nan;
        const float numbers[] = {0.3f, 70.0f, -infinity, nan};
        for (int64_t i = -1; i < std::ssize(numbers); ++i) {
          const float *sink = i < 0 ? nullptr : &numbers[i];
          twin.agree([&](auto body) {
            Buffer out(rows, width);
            body(out.data(), out.stride, x.data(), x.stride, rows, width, sink);
            return out;
          });
          twin.agree([&](auto body) {
            Buffer out = x;
            body(out.data(), out.stride, out.data(), out.stride, rows, width,
                 sink);
            return out;
          });
        }
      }
}

} // namespace
