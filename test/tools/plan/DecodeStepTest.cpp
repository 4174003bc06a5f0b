//===- DecodeStepTest.cpp - steps put together from measured ops ----------===//

#include "tools/plan/decode_step.h"

#include "runtime/error.h"
#include "tools/plan/collectives.h"
#include "tools/plan/kernels.h"
#include "tools/plan/measured_ops.h"

#include <gtest/gtest.h>

namespace baton::plan {
namespace {

/// A machine whose ops take a time for each number of weights, or value.
Device machine() {
  Device device;
  device.name = "machine";
  device.memory = 1e9;
  device.bandwidth = 1e10;
  device.matmul_rate = 1e11;
  device.stream_fraction = device.dropout_fraction = 1;
  device.matmul_fraction = device.attention_fraction = .5;
  device.multiprocessors = 2;
  device.devices_per_node = 4;
  device.link_rate = device.network_rate = 1e9;
  auto add = [&](const char *op, const char *type,
                 std::vector<OpTable::Axis> axes, double seconds) {
    size_t points = 1;
    for (const OpTable::Axis &axis : axes)
      points *= axis.values.size();
    const std::vector<double> none(points), ones(points, 1);
    const OpTable grid(op, type, axes, ones, none);
    std::vector<double> values;
    for (size_t place = 0; place < points; ++place) {
      double product = seconds;
      for (double size : grid.point(place))
        product *= size;
      values.push_back(product);
    }
    device.tables.emplace_back(op, type, axes, values, none);
  };
  const std::vector<double> sizes = {16, 4096};
  add("linear", "f32",
      {{"rows", {1, 64}}, {"outputs", sizes}, {"inputs", sizes}}, 1e-10);
  add("gated_linear", "f32",
      {{"rows", {1, 64}}, {"outputs", sizes}, {"inputs", sizes}}, 3e-10);
  add("attention", "f32",
      {{"rows", {1, 64}},
       {"positions", sizes},
       {"key_heads", {1, 8}},
       {"group", {1, 4}},
       {"head_size", {16, 64}}},
      1e-12);
  for (const char *op : {"rope", "append", "embedding"})
    add(op, "f32", {{"rows", {1, 64}}, {"width", {8, 4096}}}, 1e-9);
  add("elementwise", "f32", {{"bytes", {1024, 1048576}}}, 2e-10);
  add("step", "one_sequence", {{"rows", {1, 64}}}, 1e-6);
  add("exchange", "all_to_all", {{"ranks", {2, 4}}, {"bytes", {64, 1e6}}},
      1e-9);
  add("exchange", "all_gather", {{"ranks", {2, 4}}, {"bytes", {64, 1e6}}},
      2e-9);
  return device;
}

Decoder llama() {
  Decoder decoder;
  decoder.hidden = 128;
  decoder.layers = 3;
  decoder.heads = 8;
  decoder.kv_heads = 2;
  decoder.head_size = 16;
  decoder.mlp = 320;
  decoder.vocabulary = 1000;
  decoder.gated = true;
  return decoder;
}

TEST(DecodeStep, AddsUpItsOps) {
  const double rows = 4, layer = 1e-10 * rows *
                                 ((128 + 64) * 128. + 128 * 128 +
                                  3 * 320 * 128. + 128 * 320.);
  DecodeStep step;
  step.rows = 4;
  step.positions = 100;
  const double expected = 1e-9 * rows * 128 +
                          3 * (layer + 1e-9 * rows * (128 + 32 + 2 * 32) +
                               1e-12 * rows * 100 * 2 * 4 * 16) +
                          1e-10 * 1000 * 128 + 1e-6 * rows;
  const std::vector<StepPart> parts = decode_step(llama(), machine(), step);
  EXPECT_NEAR(seconds(parts) / expected, 1, 1e-12);
  for (const StepPart &part : parts)
    EXPECT_TRUE(part.inside) << part.name;

  // Sequences of their own attend one by one, and each has logits.
  step.batched = true;
  step.outputs = 4;
  EXPECT_NEAR(seconds(decode_step(llama(), machine(), step)) /
                  (expected + 3e-10 * 1000 * 128),
              1, 1e-12);
}

TEST(DecodeStep, NamesTheTableThatIsMissing) {
  DecodeStep step;
  step.type = "q4_k";
  try {
    decode_step(llama(), machine(), step);
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("no table of linear q4_k"),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(weight_bytes("f31"), Error);
  EXPECT_EQ(weight_bytes("q8_0"), 34. / 32);
}

TEST(DecodeStep, KernelsAndCollectivesAreMeasuredOnes) {
  const Device device = machine();
  const Kernel product{"", Kernel::Kind::matmul, 32, 1000, 200, 1, 0, 0};
  EXPECT_NEAR(seconds(product, device), 1e-10 * 32 * 1000 * 200, 1e-15);
  const Kernel stream{"", Kernel::Kind::stream, 0, 0, 0, 1, 0, 4096};
  EXPECT_NEAR(seconds(stream, device), 2e-10 * 4096, 1e-15);
  EXPECT_NEAR(all_reduce_seconds(1000, {2, 1}, device), 3e-9 * 2 * 1000, 1e-15);
  EXPECT_NEAR(half_reduce_seconds(1000, {4, 1}, device), 2e-9 * 4 * 1000,
              1e-15);
  // Between nodes nothing was measured.
  Device far = device;
  far.tables.clear();
  EXPECT_EQ(all_reduce_seconds(1000, {2, 4}, device),
            all_reduce_seconds(1000, {2, 4}, far));
}

} // namespace
} // namespace baton::plan
