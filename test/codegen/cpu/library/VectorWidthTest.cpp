//===- VectorWidthTest.cpp - the same bits on every x86-64 ----------------===//
//
// The library built for the oldest x86-64 (SSE2; every fused multiply-add a
// call) is loaded beside the one built for this machine, and both must agree to
// the bit.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/cpu/library/Support.h"

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
         width, 0.3f, 4.0f, 90, q.data(), q.stride, width, scratch.data());
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
         4.0f, 90, nullptr, 0, 0, scratch.data());
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
                     width);
  BASELINE(baton_task_softmax)
  (other.data(), other.stride, x.data(), x.stride, rows, width);
  expect_same_bits(native, other);
}

} // namespace
