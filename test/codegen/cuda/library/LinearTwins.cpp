//===- LinearTwins.cpp - linear, gated linear and matmul bodies -----------===//

#include "codegen/cpu/library/training.h"
#include "test/codegen/cuda/library/Twins.h"

using namespace baton::test;

namespace {

/// [rows, k], with rows that are aligned to 16 bytes and others that are not.
Buffer left_hand_side(Random &random, int64_t rows, int64_t k, bool aligned) {
  const int64_t padding = aligned ? -(k + Buffer::gap) & 3 : 0;
  Buffer result = random.buffer(rows, k + padding);
  EXPECT_TRUE(!aligned || result.stride % 4 == 0);
  return result;
}

/// Calls body(x, k, columns) with tiles that begin and end off multiples of the
/// bodies' own, and those that do not.
template <typename Body> void for_each_shape(Random &random, Body body) {
  for (int64_t k : {1, 7, 64, 99})
    for (int64_t rows : {0, 1, 2, 8, 13})
      for (int64_t columns : {1, 16, 33, 70})
        for (bool aligned : {false, true})
          body(left_hand_side(random, rows, k, aligned), k, columns);
}

template <typename Type, typename Function>
void expect_linear_agrees(const Twin<Function> &twin) {
  Random random(1);
  int32_t activation = 0;
  for_each_shape(random, [&](const Buffer &x, int64_t k, int64_t columns) {
    Weight<Type> weight(random, columns, k);
    const auto panels = weight.packed();
    const std::vector<float> bias = random.vector(columns);
    const Buffer residual = random.buffer(x.rows, columns);
    // All activations in turn, with and without bias.
    activation = (activation + 1) % (BATON_ACTIVATION_RELU + 1);
    const float *const bias_data = random.bits() % 2 ? bias.data() : nullptr;
    twin.agree([&](auto body) {
      Buffer out(x.rows, columns);
      body(out.data(), out.stride, x.data(), x.stride, panels.data(), bias_data,
           nullptr, 0, x.rows, k, columns, activation);
      return out;
    });
    twin.agree([&](auto body) {
      Buffer out = residual;
      body(out.data(), out.stride, x.data(), x.stride, panels.data(), bias_data,
           out.data(), out.stride, x.rows, k, columns, activation);
      return out;
    });
  });
}

template <typename Type, typename Function>
void expect_gated_linear_agrees(const Twin<Function> &twin) {
  Random random(2);
  int32_t activation = 0;
  for_each_shape(random, [&](const Buffer &x, int64_t k, int64_t columns) {
    std::vector<typename Type::Storage> panels;
    Weight<Type>(random, columns, k).pack_into(panels, 0, 2);
    Weight<Type>(random, columns, k).pack_into(panels, 1, 2);
    const std::vector<float> gate = random.vector(columns);
    const std::vector<float> up = random.vector(columns);
    activation = (activation + 1) % (BATON_ACTIVATION_CLAMPED_SWIGLU + 1);
    const uint32_t with = random.bits();
    twin.agree([&](auto body) {
      Buffer out(x.rows, columns);
      body(out.data(), out.stride, x.data(), x.stride, panels.data(),
           with & 1 ? gate.data() : nullptr, with & 2 ? up.data() : nullptr,
           x.rows, k, columns, activation);
      return out;
    });
  });
}

template <typename Type, typename Function>
void expect_linear_transposed_agrees(const Twin<Function> &twin) {
  Random random(6);
  for_each_shape(random, [&](const Buffer &a, int64_t depth, int64_t inputs) {
    const auto panels = Weight<Type>(random, depth, inputs).packed();
    const int64_t first = inputs > 16 ? 16 : 0, columns = inputs - first;
    const Buffer residual = random.buffer(a.rows, columns);
    std::vector<float> scratch(baton_linear_transposed_scratch_bytes(columns) /
                               4);
    for (const float *added :
         {residual.data(), static_cast<const float *>(nullptr)})
      twin.agree([&](auto body) {
        Buffer out(a.rows, columns);
        body(out.data(), out.stride, a.data(), a.stride, panels.data(), added,
             residual.stride, first, a.rows, columns, depth, inputs,
             scratch.data());
        return out;
      });
  });
}

template <typename Type, typename Function>
void expect_adapted_squares_agree(const Twin<Function> &twin) {
  Random random(7);
  for (int64_t inputs : {1, 7, 64, 99, 300})
    for (int64_t rank : {1, 5, 16})
      for (int64_t columns : {1, 16, 32, 33}) {
        const auto panels = Weight<Type>(random, columns, inputs).packed();
        const Buffer down = random.buffer(rank, inputs),
                     up = random.buffer(columns, rank);
        std::vector<float> scratch(
            baton_adapted_squares_scratch_bytes(columns, rank) / 4);
        twin.agree([&](auto body) {
          std::vector<float> out(columns);
          body(out.data(), panels.data(), down.data(), down.stride, up.data(),
               up.stride, 1.5f, columns, rank, inputs, scratch.data());
          return out;
        });
      }
}

TWIN_TEST(baton_task_adapted_squares_f32) {
  expect_adapted_squares_agree<F32>(twin);
}
TWIN_TEST(baton_task_adapted_squares_bf16) {
  expect_adapted_squares_agree<BF16>(twin);
}
TWIN_TEST(baton_task_adapted_squares_f16) {
  expect_adapted_squares_agree<F16>(twin);
}
TWIN_TEST(baton_task_linear_transposed_f32) {
  expect_linear_transposed_agrees<F32>(twin);
}
TWIN_TEST(baton_task_linear_transposed_bf16) {
  expect_linear_transposed_agrees<BF16>(twin);
}
TWIN_TEST(baton_task_linear_transposed_f16) {
  expect_linear_transposed_agrees<F16>(twin);
}
TWIN_TEST(baton_task_linear_f32) { expect_linear_agrees<F32>(twin); }
TWIN_TEST(baton_task_linear_bf16) { expect_linear_agrees<BF16>(twin); }
TWIN_TEST(baton_task_linear_f16) { expect_linear_agrees<F16>(twin); }
TWIN_TEST(baton_task_gated_linear_f32) {
  expect_gated_linear_agrees<F32>(twin);
}
TWIN_TEST(baton_task_gated_linear_bf16) {
  expect_gated_linear_agrees<BF16>(twin);
}
TWIN_TEST(baton_task_gated_linear_f16) {
  expect_gated_linear_agrees<F16>(twin);
}

template <typename Type, typename Function>
void expect_stored_linear_agrees(const Twin<Function> &twin) {
  Random random(4);
  for_each_shape(random, [&](const Buffer &x, int64_t k, int64_t columns) {
    Weight<Type> weight(random, columns, k);
    const std::vector<float> bias = random.vector(columns);
    const float *const bias_data = random.bits() % 2 ? bias.data() : nullptr;
    twin.agree([&](auto body) {
      Buffer out(x.rows, columns);
      body(out.data(), out.stride, x.data(), x.stride, weight.stored.data(), k,
           bias_data, x.rows, k, columns);
      return out;
    });
  });
}

TWIN_TEST(baton_task_stored_linear_f32) {
  expect_stored_linear_agrees<F32>(twin);
}
TWIN_TEST(baton_task_stored_linear_bf16) {
  expect_stored_linear_agrees<BF16>(twin);
}
TWIN_TEST(baton_task_stored_linear_f16) {
  expect_stored_linear_agrees<F16>(twin);
}

TWIN_TEST(baton_task_matmul) {
  Random random(3);
  for_each_shape(random, [&](const Buffer &a, int64_t depth, int64_t columns) {
    // Depth contiguous, columns contiguous, neither.
    const int64_t strides[3][2] = {
        {1, columns + 3}, {depth + 2, 1}, {2, 2 * columns + 1}};
    for (const auto &[column_stride, depth_stride] : strides) {
      const std::vector<float> b = random.vector(
          (columns - 1) * column_stride + (depth - 1) * depth_stride + 1);
      twin.agree([&, column_stride = column_stride,
                  depth_stride = depth_stride](auto body) {
        Buffer out(a.rows, columns);
        body(out.data(), out.stride, a.data(), a.stride, b.data(),
             column_stride, depth_stride, a.rows, columns, depth);
        return out;
      });
    }
  });
}

} // namespace
