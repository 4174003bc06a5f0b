//===- KernelsTest.cpp - times of kernels beside published ones -----------===//

#include "tools/plan/kernels.h"
#include "facts_for_tests.h"
#include "tools/plan/collectives.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace baton::plan {
namespace {

/// What a kernel is for, by the words of its name.
bool is_weight_gradient(const Kernel &kernel) {
  return kernel.name.ends_with(", weight");
}

// "Zero Bubble Pipeline Parallelism" (arXiv 2401.10241): table 3 has the
// shapes, table 9 what a full stage took on A100s, in ms, for the forward, the
// inputs' and the weights' gradients. The A100's file says that it is within
// a fifth of them, and 5 % of the last.
TEST(PlanKernels, AreAsLongAsZeroBubbleMeasured) {
  const struct {
    int64_t layers, hidden, heads, micro_batch;
    double forward, input, weight;
  } stages[] = {{3, 2304, 24, 6, 18.52, 18.09, 9.33},
                {4, 4096, 32, 3, 29.80, 29.45, 19.6},
                {3, 5120, 40, 1, 11.33, 11.27, 8.11},
                {2, 6144, 48, 1, 10.41, 10.22, 7.70}};
  Framework megatron = framework("megatron-lm-2022");
  // That of 2023 adds gradients up in the products.
  megatron.adds_in_product = true;
  const Device a100 = device("a100-80gb");
  for (const auto &stage : stages) {
    Split split;
    split.micro_batch = stage.micro_batch;
    split.sequence = 1024;
    const LayerKernels layer = layer_kernels(
        gpt_decoder(stage.hidden, stage.heads, stage.layers, 50257), megatron,
        split);
    double input = 0, weight = 0;
    for (const Kernel &kernel : layer.backward)
      (is_weight_gradient(kernel) ? weight : input) += seconds(kernel, a100);
    const double ms = 1e3 * double(stage.layers);
    EXPECT_NEAR(ms * seconds(layer.forward, a100) / stage.forward, 1, .2);
    EXPECT_NEAR(ms * input / stage.input, 1, .1);
    EXPECT_NEAR(ms * weight / stage.weight, 1, .05);
  }
}

TEST(PlanKernels, CountTheLayersOperations) {
  // Six operations for each weight and row, twelve for each row's scores and
  // values, whichever way the layer is split; half of the scores are masked
  // where attention stays on the chip, and computed once more backward.
  Decoder decoder = gpt_decoder(1024, 16, 1, 1000);
  for (bool flash : {false, true})
    for (bool gated : {false, true})
      for (int64_t tensor : {1, 2, 8}) {
        decoder.gated = gated;
        Framework megatron = framework("megatron-lm-2022");
        megatron.flash_attention = flash;
        Split split;
        split.tensor = tensor;
        split.micro_batch = 4;
        split.sequence = 512;
        const LayerKernels layer = layer_kernels(decoder, megatron, split);
        double sum = 0;
        for (const auto &kernels : {layer.forward, layer.backward})
          for (const Kernel &kernel : kernels)
            sum += operations(kernel);
        const double rows = 4 * 512;
        EXPECT_NEAR(sum * double(tensor),
                    6 * rows * decoder.layer_matrices() +
                        (flash ? 7 : 12) * rows * 512 * 1024,
                    1);
      }
}

TEST(PlanKernels, WavesOfTiles) {
  const Device a100 = device("a100-80gb");
  auto time = [&](double m) {
    Kernel kernel;
    kernel.kind = Kernel::Kind::matmul;
    kernel.m = m;
    kernel.n = 128;
    kernel.k = 8192;
    return seconds(kernel, a100);
  };
  // 108 multiprocessors take 108 tiles at a time: one row more is a wave more,
  // or smaller tiles.
  EXPECT_GT(time(256 * 108 + 1), 1.2 * time(256 * 108));
  EXPECT_NEAR(time(256 * 216) / time(256 * 108), 2, .05);
}

TEST(PlanKernels, FusedMaskingWantsAMultipleOfFour) {
  Split split;
  split.sequence = 128;
  split.tensor = 8;
  const Decoder decoder = gpt_decoder(1024, 16, 1, 1000);
  EXPECT_TRUE(
      layer_kernels(decoder, framework("megatron-lm-2022"), split).unfused);
  split.micro_batch = 2;
  EXPECT_FALSE(
      layer_kernels(decoder, framework("megatron-lm-2022"), split).unfused);
  split.micro_batch = 1;
  EXPECT_FALSE(
      layer_kernels(decoder, framework("megatron-core"), split).unfused);
}

TEST(PlanCollectives, RingsInsideAndBetweenNodes) {
  Device node = device("a100-80gb");
  node.link_latency = node.network_latency = 0;
  node.link_rate = 200e9;
  node.network_rate = 80e9;
  EXPECT_EQ(all_reduce_seconds(1e9, {1, 1}, node), 0);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(1e9, {8, 1}, node), 2 * 7 / 8. / 200);
  EXPECT_DOUBLE_EQ(half_reduce_seconds(1e9, {4, 2}, node), 3 / 4. / 200);
  // Two whole nodes in a ring: each node's network passes it once.
  EXPECT_EQ(nodes({16, 1}, node), 2);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(1e9, {16, 1}, node), 2 * 15 / 16. / 80);
  // Groups of ranks 4 apart: four of them share each node's network.
  EXPECT_EQ(nodes({4, 4}, node), 2);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(1e9, {4, 4, 0, 4}, node),
                   2 * 3 / 4. * 4 / 80);
  // Six neighbours from rank 6 on are in two nodes, from rank 0 on in one.
  EXPECT_EQ(nodes({6, 1, 6}, node), 2);
  EXPECT_EQ(nodes({6, 1, 0}, node), 1);
  // All eight devices send to the next node; four of a half do, to the other
  // half or to the next node, and back from the last node to the first.
  EXPECT_DOUBLE_EQ(send_seconds(1e9, 0, 8, 8, node), 8 / 80.);
  EXPECT_DOUBLE_EQ(send_seconds(1e9, 0, 32, 32, node), 8 / 80.);
  EXPECT_DOUBLE_EQ(send_seconds(1e9, 0, 4, 4, node), 1 / 200.);
  EXPECT_DOUBLE_EQ(send_seconds(1e9, 4, 4, 4, node), 4 / 80.);
  EXPECT_DOUBLE_EQ(send_seconds(1e9, 12, 4, -12, node), 4 / 80.);
  EXPECT_DOUBLE_EQ(send_seconds(1e9, 4, 4, -4, node), 1 / 200.);
}

TEST(PlanFacts, EveryFileIsWhole) {
  int files = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(BATON_PLAN_FACTS "/devices")) {
    const Device read = read_device(entry.path());
    EXPECT_GT(read.source.size(), 20u);
    ++files;
  }
  EXPECT_GE(files, 8);
  for (const auto &entry :
       std::filesystem::directory_iterator(BATON_PLAN_FACTS "/frameworks"))
    EXPECT_GT(read_framework(entry.path()).source.size(), 20u);
}

} // namespace
} // namespace baton::plan
