//===- VectorWidthTest.cpp - the same bits on every x86-64 ----------------===//
//
// The library built for the oldest x86-64 (SSE2; every fused multiply-add a
// call) is loaded beside the one built for this machine, and both must agree to
// the bit.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cpu/library/Gradients.h"

#include <dlfcn.h>

using namespace baton::test;

namespace {

class VectorWidth : public ::testing::Test {
protected:
  void SetUp() override {
    baseline = dlopen(BATON_BASELINE_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    ASSERT_NE(baseline, nullptr) << dlerror();
  }
  void TearDown() override {
    if (baseline)
      dlclose(baseline);
  }

  /// The baseline's function of that name.
  template <typename Body> Body *find(Body *native, const char *name) {
    void *address = dlsym(baseline, name);
    EXPECT_NE(address, nullptr) << dlerror();
    EXPECT_NE(address, reinterpret_cast<void *>(native));
    return reinterpret_cast<Body *>(address);
  }

  void *baseline = nullptr;
};

#define BASELINE(body) find(body, #body)

TEST_F(VectorWidth, LinearAgrees) {
  Random random(1);
  const int64_t rows = 7, k = 37, columns = 40;
  Buffer x = random.buffer(rows, k, 3.0f);
  Weight<F16> weight(random, columns, k);
  auto panels = weight.packed();
  for (int32_t activation = 0; activation <= BATON_ACTIVATION_RELU;
       ++activation) {
    Buffer native(rows, columns), other(rows, columns);
    baton_task_linear_f16(native.data(), native.stride, x.data(), x.stride,
                          panels.data(), nullptr, nullptr, 0, rows, k, columns,
                          activation);
    BASELINE(baton_task_linear_f16)
    (other.data(), other.stride, x.data(), x.stride, panels.data(), nullptr,
     nullptr, 0, rows, k, columns, activation);
    expect_same_bits(native, other);
  }
}

TEST_F(VectorWidth, RoundedLinearAgrees) {
  Random random(11);
  const int64_t rows = 7, k = 37, columns = 40;
  Buffer x = random.buffer(rows, k, 3.0f);
  auto panels = Weight<BF16>(random, columns, k).packed();
  Buffer native(rows, columns), other(rows, columns);
  Buffer inputs(rows, (k + 1) / 2), other_inputs(rows, (k + 1) / 2);
  baton_task_round_rows(inputs.data(), inputs.stride, x.data(), x.stride, rows,
                        k);
  BASELINE(baton_task_round_rows)
  (other_inputs.data(), other_inputs.stride, x.data(), x.stride, rows, k);
  expect_same_bits(inputs, other_inputs);
  auto compare = [&](auto &own, auto *old) {
    own(native.data(), native.stride, inputs.data(), inputs.stride,
        panels.data(), nullptr, nullptr, 0, rows, k, columns,
        BATON_ACTIVATION_NONE);
    old(other.data(), other.stride, inputs.data(), inputs.stride, panels.data(),
        nullptr, nullptr, 0, rows, k, columns, BATON_ACTIVATION_NONE);
    expect_same_bits(native, other);
  };
  compare(baton_task_rounded_linear_bf16,
          BASELINE(baton_task_rounded_linear_bf16));
  compare(baton_task_amx_linear_bf16, BASELINE(baton_task_amx_linear_bf16));
}

TEST_F(VectorWidth, AttentionAgrees) {
  Random random(2);
  const int64_t rows = 9, positions = 100, group = 2, width = 24;
  Buffer q = random.buffer(rows, group * width);
  Buffer keys = random.buffer(positions, width, 3.0f);
  Buffer values = random.buffer(positions, width);
  std::vector<float> scratch(
      baton_attention_scratch_bytes(rows, group, width, width) / 4);
  Buffer native(rows, group * width), other(rows, group * width);
  auto run = [&](Buffer &out, decltype(baton_task_attention) *body) {
    body(out.data(), out.stride, q.data(), q.stride, keys.data(), keys.stride,
         values.data(), values.stride, rows, positions - rows, group, width,
         width, 0.3f, 4.0f, 90, q.data(), q.stride, width, values.data(),
         scratch.data());
  };
  run(native, baton_task_attention);
  run(other, BASELINE(baton_task_attention));
  expect_same_bits(native, other);

  // A row by itself, on a state.
  std::vector<float> key_panels(112 * width), value_panels(112 * width);
  baton_task_append_keys(key_panels.data(), keys.data(), keys.stride, 0,
                         positions, width);
  baton_task_append_values(value_panels.data(), values.data(), values.stride, 0,
                           positions, width);
  auto run_row = [&](Buffer &out, decltype(baton_task_attention) *body) {
    body(out.data(), out.stride, q.data(), q.stride, key_panels.data(), 0,
         value_panels.data(), 0, 1, positions - 1, group, width, width, 0.3f,
         4.0f, 90, nullptr, 0, 0, nullptr, scratch.data());
  };
  run_row(native, baton_task_attention);
  run_row(other, BASELINE(baton_task_attention));
  expect_same_bits(native, other);
}

TEST_F(VectorWidth, NormsAndSoftmaxAgree) {
  Random random(3);
  const int64_t rows = 3, width = 100;
  Buffer x = random.buffer(rows, width, 10.0f);
  std::vector<float> weight = random.vector(width);
  Buffer native(rows, width), other(rows, width);
  baton_task_rms_norm(native.data(), native.stride, x.data(), x.stride,
                      weight.data(), rows, width, 1e-6f);
  BASELINE(baton_task_rms_norm)
  (other.data(), other.stride, x.data(), x.stride, weight.data(), rows, width,
   1e-6f);
  expect_same_bits(native, other);
  baton_task_layer_norm(native.data(), native.stride, x.data(), x.stride,
                        weight.data(), weight.data(), rows, width, 1e-6f);
  BASELINE(baton_task_layer_norm)
  (other.data(), other.stride, x.data(), x.stride, weight.data(), weight.data(),
   rows, width, 1e-6f);
  expect_same_bits(native, other);
  baton_task_softmax(native.data(), native.stride, x.data(), x.stride, rows,
                     width, weight.data());
  BASELINE(baton_task_softmax)
  (other.data(), other.stride, x.data(), x.stride, rows, width, weight.data());
  expect_same_bits(native, other);
}

/// Calls the body of this machine and that of the oldest, each with a buffer of
/// its own, and compares what they wrote.
#define EXPECT_AGREE(rows, width, body, ...)                                   \
  do {                                                                         \
    Buffer out(rows, width);                                                   \
    (body)(out.data(), out.stride, __VA_ARGS__);                               \
    const Buffer native = out;                                                 \
    out = Buffer(rows, width);                                                 \
    (*BASELINE(body))(out.data(), out.stride, __VA_ARGS__);                    \
    expect_same_bits(native, out);                                             \
  } while (false)

TEST_F(VectorWidth, ProductsAgree) {
  Random random(4);
  const Buffer left = random.buffer(40, 40), right = random.buffer(40, 40);
  Scratch scratch(baton_product_scratch_bytes(33));
  EXPECT_AGREE(20, 33, baton_task_product, left.data(), left.stride, 1,
               right.data(), 1, right.stride, left.data(), nullptr, 0, 20, 33,
               37, scratch.data());
  const int32_t replaces = 0;
  EXPECT_AGREE(20, 33, baton_task_product_gradient, left.data(), 1, left.stride,
               right.data(), right.stride, 1, nullptr, 20, 33, 37, &replaces,
               scratch.data());
}

TEST_F(VectorWidth, AdjointsWithinRowsAgree) {
  Random random(5);
  const Buffer x = random.buffer(3, 37, 4.0f), dy = random.buffer(3, 37);
  const std::vector<float> weight = random.vector(37);
  for (int32_t activation = 0; activation <= BATON_ACTIVATION_RELU;
       ++activation)
    EXPECT_AGREE(3, 37, baton_task_activate_gradient, dy.data(), dy.stride,
                 x.data(), x.stride, 3, 37, activation);
  EXPECT_AGREE(3, 37, baton_task_softmax_gradient, dy.data(), dy.stride,
               x.data(), x.stride, 3, 37);
  const std::vector<int32_t> positions = {20, 0, 1};
  EXPECT_AGREE(3, 37, baton_task_mask_sequences, x.data(), x.stride, 3, 37,
               positions.data(), 30, 9, -1.0f);
  EXPECT_AGREE(3, 1, baton_task_gate_gradient, dy.data(), dy.stride, x.data(),
               x.stride, x.data(), x.stride, 3, 1, 37, 1);
  for (int32_t centered : {0, 1}) {
    EXPECT_AGREE(3, 2, baton_task_norm_statistics, x.data(), x.stride, 3, 37,
                 1e-5f, centered);
    Buffer statistics(3, 2);
    baton_task_norm_statistics(statistics.data(), statistics.stride, x.data(),
                               x.stride, 3, 37, 1e-5f, centered);
    EXPECT_AGREE(3, 37, baton_task_norm_gradient, dy.data(), dy.stride,
                 x.data(), x.stride, weight.data(), statistics.data(),
                 statistics.stride, 3, 37, centered);
  }
  Buffer squares(3, 1);
  EXPECT_AGREE(3, 37, baton_task_norm_begin, squares.data(), squares.stride,
               x.data(), x.stride, weight.data(), 3, 37);
  const std::vector<float> lengths(37, 2.0f);
  EXPECT_AGREE(3, 37, baton_task_magnitude, x.data(), x.stride, weight.data(),
               lengths.data(), weight.data(), 3, 37);
  EXPECT_AGREE(3, 37, baton_task_norm_end, x.data(), x.stride, squares.data(),
               squares.stride, 3, 37, 37, 1e-5f);
  EXPECT_AGREE(3, 1, baton_task_norm_end_gradient, dy.data(), dy.stride,
               x.data(), x.stride, squares.data(), squares.stride, 3, 37, 37,
               1e-5f);
  EXPECT_AGREE(3, 37, baton_task_norm_begin_gradient, x.data(), x.stride,
               weight.data(), dy.data(), dy.stride, squares.data(),
               squares.stride, 3, 37);
}

TEST_F(VectorWidth, HyperConnectionsAgree) {
  Random random(8);
  const int64_t streams = 4, width = 37, maps = 24;
  const Buffer x = random.buffer(3, streams * width),
               y = random.buffer(3, width);
  const Buffer weights = random.buffer(3, maps);
  const std::vector<float> phi = random.vector(maps * streams * width);
  const std::vector<float> scale = random.vector(3), base = random.vector(maps);
  Buffer read(3, width), found(3, maps);
  EXPECT_AGREE(3, streams * width, baton_task_hyper_turn, read.data(),
               read.stride, found.data(), found.stride, x.data(), x.stride,
               y.data(), y.stride, weights.data(), weights.stride, phi.data(),
               scale.data(), base.data(), 3, streams, width, 1, 1e-5f,
               BATON_MIXING_SINKHORN, 10, 1e-6f);
  EXPECT_AGREE(3, maps, baton_task_hyper_project, x.data(), x.stride,
               phi.data(), 3, streams * width, maps, 1e-5f);
  EXPECT_AGREE(3, maps, baton_task_hyper_maps, weights.data(), weights.stride,
               scale.data(), base.data(), 3, streams, BATON_MIXING_SINKHORN, 10,
               1e-6f);
  Buffer dz(3, maps), dy(3, width), dweights(3, maps);
  EXPECT_AGREE(3, maps, baton_task_hyper_maps_gradient, dz.data(), dz.stride,
               found.data(), found.stride, weights.data(), weights.stride,
               scale.data(), base.data(), 3, streams, BATON_MIXING_SINKHORN, 10,
               1e-6f);
  EXPECT_AGREE(3, streams * width, baton_task_hyper_post_gradient, dy.data(),
               dy.stride, dweights.data(), dweights.stride, x.data(), x.stride,
               x.data(), x.stride, y.data(), y.stride, weights.data(),
               weights.stride, 3, streams, width, 1);
}

TEST_F(VectorWidth, AdjointsOfAttentionAgree) {
  Random random(6);
  const int64_t rows = 90, width = 20;
  const Buffer q = random.buffer(rows, width), k = random.buffer(rows, width);
  const Buffer v = random.buffer(rows, width),
               dout = random.buffer(rows, width);
  std::vector<int32_t> positions(rows);
  for (int32_t r = 0; r < rows; ++r)
    positions[r] = r < 70 ? r : r - 70;
  Scratch scratch(
      baton_sequence_attention_scratch_bytes(rows, 1, width, width));
  Buffer statistics(rows, 2), delta = random.buffer(rows, 1);
  EXPECT_AGREE(rows, width, baton_task_sequence_attention, statistics.data(),
               statistics.stride, q.data(), q.stride, k.data(), k.stride,
               v.data(), v.stride, positions.data(), 0, rows, 1, width, width,
               0.3f, 4.0f, 50, nullptr, scratch.data());
  EXPECT_AGREE(rows, width, baton_task_attention_query_gradient, dout.data(),
               dout.stride, q.data(), q.stride, k.data(), k.stride, v.data(),
               v.stride, delta.data(), delta.stride, statistics.data(),
               statistics.stride, positions.data(), 0, rows, 1, width, width,
               0.3f, 4.0f, 50, scratch.data());
  Buffer dv(rows, width);
  EXPECT_AGREE(rows, width, baton_task_attention_key_value_gradient, dv.data(),
               dv.stride, dout.data(), dout.stride, q.data(), q.stride,
               k.data(), k.stride, v.data(), v.stride, delta.data(),
               delta.stride, statistics.data(), statistics.stride,
               positions.data(), 0, rows, rows, 1, width, width, 0.3f, 4.0f, 50,
               scratch.data());
}

TEST_F(VectorWidth, CrossEntropyAgrees) {
  Random random(7);
  const int64_t rows = 9, tokens = 293;
  Buffer native = random.buffer(rows, tokens, 3.0f), other = native;
  Buffer loss(rows, 1), other_loss(rows, 1);
  const std::vector<float> weights = random.vector(rows);
  const std::vector<int32_t> targets(rows, 5);
  baton_task_cross_entropy(loss.data(), loss.stride, native.data(),
                           native.stride, targets.data(), weights.data(), rows,
                           tokens, 1.0f, 4.0f);
  BASELINE(baton_task_cross_entropy)
  (other_loss.data(), other_loss.stride, other.data(), other.stride,
   targets.data(), weights.data(), rows, tokens, 1.0f, 4.0f);
  expect_same_bits(native, other);
  expect_same_bits(loss, other_loss);
}

} // namespace
