//===- SearchTest.cpp - the search against trying everything --------------===//

#include "tools/plan/search.h"
#include "facts_for_tests.h"
#include "passes/pipeline/Generators.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace baton::plan {
namespace {

SearchOptions options(int64_t devices, int64_t batch, const char *on) {
  SearchOptions wanted;
  wanted.decoder = gpt_decoder(2048, 16, 24, 51200);
  wanted.device = device(on);
  wanted.framework = framework("megatron-core");
  wanted.devices = devices;
  wanted.global_batch = batch;
  wanted.sequence = 1024;
  wanted.memory = wanted.device.memory;
  wanted.wanted = 5;
  wanted.front = true;
  return wanted;
}

double memory(const SearchOptions &wanted, const Split &split) {
  return step_memory(wanted.decoder, wanted.framework, split).total;
}

/// Time and memory of all splits that fit, played out: by loops over every
/// number, not over divisors.
std::vector<std::pair<double, double>> everything(const SearchOptions &wanted) {
  std::vector<std::pair<double, double>> all;
  Split split;
  split.global_batch = wanted.global_batch;
  split.sequence = wanted.sequence;
  for (split.tensor = 1; split.tensor <= 8; ++split.tensor)
    for (split.pipeline = 1; split.pipeline <= wanted.devices; ++split.pipeline)
      for (split.data = 1; split.data <= wanted.devices; ++split.data)
        for (split.chunks = 1; split.chunks <= 8; ++split.chunks)
          for (split.micro_batch = 1; split.micro_batch <= wanted.global_batch;
               ++split.micro_batch)
            for (int flags = 0; flags < 12; ++flags) {
              split.recompute = Recompute(flags >> 2);
              split.sharded_states = flags & 1;
              split.sequence_parallel = flags & 2;
              if ((wanted.framework.flash_attention &&
                   split.recompute == Recompute::selective) ||
                  split.devices() != wanted.devices || 8 % split.tensor != 0 ||
                  (split.chunks > 1 && split.pipeline == 1) ||
                  (split.sharded_states && split.data == 1) ||
                  (split.sequence_parallel && split.tensor == 1) ||
                  !check_split(wanted.decoder, split).empty() ||
                  memory(wanted, split) > wanted.memory)
                continue;
              const double time = step_time(wanted.decoder, wanted.framework,
                                            wanted.device, split)
                                      .total;
              EXPECT_LE(step_time_bound(wanted.decoder, wanted.framework,
                                        wanted.device, split),
                        time * (1 + 1e-9));
              all.push_back({time, memory(wanted, split)});
            }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(PlanSearch, FindsTheFastestOfAll) {
  const std::tuple<int64_t, int64_t, const char *> cases[] = {
      {8, 32, "a100-80gb"}, {16, 48, "v100-32gb"}, {4, 16, "l4"}};
  for (const auto &[devices, batch, on] : cases) {
    SearchOptions wanted = options(devices, batch, on);
    // One of them with scores in memory.
    if (devices == 16)
      wanted.framework = framework("megatron-lm-2022");
    const auto all = everything(wanted);
    const SearchResult result = search(wanted);
    EXPECT_EQ(result.fitting, all.size());
    EXPECT_TRUE(result.complete);
    ASSERT_EQ(result.plans.size(), 5u);
    for (size_t at = 0; at < 5; ++at)
      EXPECT_DOUBLE_EQ(result.plans[at].time.total, all[at].first) << at;
    EXPECT_LT(result.simulated, result.fitting);
    // By time, each takes less memory than all before it.
    std::vector<std::pair<double, double>> front;
    for (const auto &one : all)
      if (front.empty() || one.second < front.back().second)
        front.push_back(one);
    ASSERT_EQ(result.front.size(), front.size());
    for (size_t at = 0; at < front.size(); ++at) {
      const Plan &plan = result.front[front.size() - 1 - at];
      EXPECT_DOUBLE_EQ(plan.time.total, front[at].first);
      EXPECT_DOUBLE_EQ(plan.memory.total, front[at].second);
    }
  }
}

TEST(PlanSearch, LargeClustersTakeNoTime) {
  SearchOptions wanted = options(3072, 3072, "h100-80gb");
  wanted.decoder.layers = 128;
  wanted.decoder.hidden = 12288;
  wanted.decoder.heads = wanted.decoder.kv_heads = 96;
  wanted.decoder.head_size = 128;
  wanted.decoder.mlp = 4 * 12288;
  const SearchResult result = search(wanted);
  ASSERT_FALSE(result.plans.empty());
  EXPECT_LE(result.plans[0].memory.total, wanted.memory);
  EXPECT_LT(result.simulated, 100u);
}

TEST(PlanSearch, AnswersWithTheBestSoFar) {
  SearchOptions wanted = options(8, 32, "a100-80gb");
  wanted.progress = [](uint64_t done, uint64_t, const std::string &) {
    if (done == 2)
      throw Error("stopped");
  };
  const SearchResult result = search(wanted);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.plans.size(), 2u);
}

TEST(PlanSearch, SaysWhatBinds) {
  SearchOptions wanted = options(8, 32, "a100-80gb");
  wanted.memory = 1e9;
  const SearchResult none = search(wanted);
  EXPECT_TRUE(none.plans.empty());
  EXPECT_GT(none.smallest.memory.total, 1e9);
  wanted.devices = 7;
  wanted.global_batch = 32;
  try {
    search(wanted);
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("7 devices"), std::string::npos)
        << error.what();
  }
}

TEST(PlanPipeline, RoundsOfAFullPipelineAreAlike) {
  for (const auto &[stages, chunks] :
       {std::pair<int64_t, int64_t>(4, 1), {3, 1}, {4, 3}, {8, 2}}) {
    Split split;
    split.pipeline = stages;
    split.chunks = chunks;
    pipeline::PipelineCosts costs;
    for (int64_t position = 0; position < stages * chunks; ++position) {
      pipeline::PositionCosts cost;
      cost.forward = 1 + double(position % 3) / 7;
      cost.input = 2 + double(position % 5) / 11;
      costs.positions.push_back(cost);
    }
    for (int64_t rounds : {3, 8, 20, 41}) {
      split.global_batch = rounds * stages + (chunks == 1 ? 1 : 0);
      const auto schedule =
          chunks == 1 ? pipeline::make1F1B(int(stages), int(split.global_batch))
                      : pipeline::makeInterleaved(
                            int(stages), int(split.global_batch), int(chunks));
      const double played = pipeline::simulate(schedule, costs).total;
      EXPECT_NEAR(pipeline_seconds(split, costs) / played, 1, 1e-9);
    }
  }
}

// A stage keeps what the schedule says: it is told by the last stage's and the
// first stage's memory, whichever is more.
TEST(PlanMemory, KeepsAsManyMicrobatchesAsTheSchedule) {
  const Framework megatron = framework("megatron-core");
  for (const auto &[stages, chunks, microbatches] :
       {std::tuple<int64_t, int64_t, int64_t>(4, 1, 8),
        {4, 2, 8},
        {4, 2, 4},
        {2, 6, 16},
        {8, 1, 3}}) {
    Split split;
    split.sequence = 512;
    split.pipeline = stages;
    split.chunks = chunks;
    split.global_batch = microbatches;
    const auto schedule =
        chunks == 1 ? pipeline::make1F1B(int(stages), int(microbatches))
                    : pipeline::makeInterleaved(int(stages), int(microbatches),
                                                int(chunks));
    // What one layer keeps, of models of one stage, and what there is beside
    // it.
    Split one = split;
    one.pipeline = one.chunks = 1;
    auto activations = [&](int64_t layers, const Split &of, int64_t words) {
      return step_memory(gpt_decoder(1024, 16, layers, words), megatron, of)
          .activations;
    };
    const double kept = activations(2, one, 512) - activations(1, one, 512);
    const double beside = activations(1, one, 512) - kept;
    const double layers = 24 / double(stages);
    EXPECT_NEAR((activations(24, split, 512) - beside) / (kept * layers),
                double(schedule.inFlight[0]) / double(chunks), 1e-6);
    // With so many words, logits make the last stage's more.
    const double last =
        (activations(24, split, 100000000) - beside) / (kept * layers);
    EXPECT_NEAR(last, double(schedule.inFlight.back()) / double(chunks), 1e-6);
  }
}

TEST(PlanMemory, MoreStagesAndShardsTakeLess) {
  const Decoder decoder = gpt_decoder(4096, 32, 32, 51200);
  const Framework megatron = framework("megatron-core");
  Split split;
  split.global_batch = 64;
  split.sequence = 2048;
  auto total = [&](auto change) {
    Split changed = split;
    change(changed);
    return step_memory(decoder, megatron, changed).total;
  };
  const double whole = total([](Split &) {});
  EXPECT_LT(total([](Split &one) { one.tensor = 2; }), whole);
  EXPECT_LT(total([](Split &one) { one.pipeline = 2; }), whole);
  EXPECT_LT(total([](Split &one) { one.recompute = Recompute::full; }), whole);
  EXPECT_EQ(total([](Split &one) { one.data = 2; }), whole);
  EXPECT_LT(total([](Split &one) {
              one.data = 2;
              one.sharded_states = true;
            }),
            whole);
  // ZeRO's table: 7.5 billion parameters over 64 ranks, 16 bytes each
  // (Rajbhandari et al. 2020, figure 1): 120 GB whole, 31.4 with states cut.
  Framework mixed = megatron;
  mixed.gradient_bytes = 2;
  Split ranks;
  ranks.data = 64;
  ranks.sharded_states = true;
  const StepMemory memory = step_memory(decoder, mixed, ranks);
  const double parameters = memory.weights / 2;
  EXPECT_NEAR((memory.weights + memory.gradients + memory.states) / parameters,
              4 + 12.0 / 64, 1e-9);
  EXPECT_NEAR(7.5e9 * (4 + 12.0 / 64), 31.4e9, .05e9);
}

// Autograd's placeholders of gradients stay, one for each shape of a weight:
// neither more layers nor more stages have more of them, and ranks that cut the
// weights cut them. The head's is there with the gradient of the logits only.
TEST(PlanMemory, PlaceholdersAreOneOfEachShape) {
  const Framework kept = framework("megatron-core");
  Framework none = kept;
  none.placeholder_bytes = 0;
  Split split;
  split.global_batch = 8;
  split.sequence = 512;
  auto placeholders = [&](int64_t layers, int64_t tensor, int64_t stages) {
    Split changed = split;
    changed.tensor = tensor;
    changed.pipeline = stages;
    return step_memory(gpt_decoder(1024, 16, layers, 512), kept, changed)
        .placeholders;
  };
  // qkv, output, up and down of a width of 1,024, in 16 bits.
  const double one = 2.0 * 1024 * 1024 * (3 + 1 + 4 + 4);
  EXPECT_EQ(placeholders(1, 1, 1), one);
  EXPECT_EQ(placeholders(24, 1, 1), one);
  EXPECT_EQ(placeholders(24, 1, 4), one);
  EXPECT_EQ(placeholders(24, 2, 1), one / 2);
  // A quarter of the MLP is as wide as the model: up and down are one shape.
  EXPECT_EQ(placeholders(24, 4, 1), 2.0 * 1024 * 1024 * (.75 + .25 + 1));
  // An MLP as wide as the model: its second weight is as attention's output.
  Decoder narrow = gpt_decoder(1024, 16, 2, 512);
  narrow.mlp = 1024;
  EXPECT_EQ(step_memory(narrow, kept, split).placeholders,
            2.0 * 1024 * 1024 * (3 + 1));
  EXPECT_EQ(step_memory(narrow, none, split).placeholders, 0);
  // The head: 100,000 words of 1,024 numbers outweigh 512 rows' logits.
  const Decoder wordy = gpt_decoder(1024, 16, 2, 100000);
  EXPECT_EQ(step_memory(wordy, none, split).logits, 6.0 * 512 * 100000);
  EXPECT_EQ(step_memory(wordy, kept, split).logits,
            2.0 * 512 * 100000 + 2.0 * 1024 * 100000);
}

} // namespace
} // namespace baton::plan
