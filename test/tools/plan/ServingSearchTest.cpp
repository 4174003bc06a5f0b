//===- ServingSearchTest.cpp - the search against trying everything -------===//

#include "facts_for_tests.h"
#include "tools/plan/serving_search.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace baton::plan {
namespace {

constexpr double never_binds = std::numeric_limits<double>::infinity();

ServedDecoder decoder(int64_t hidden, int64_t layers, int64_t mlp) {
  ServedDecoder served;
  served.decoder.hidden = hidden;
  served.decoder.layers = layers;
  served.decoder.heads = hidden / 128;
  served.decoder.kv_heads = 8;
  served.decoder.head_size = 128;
  served.decoder.mlp = mlp;
  served.decoder.vocabulary = 128256;
  served.decoder.gated = true;
  served.decoder.tied = false;
  return served;
}

ServedDecoder small() { return decoder(4096, 32, 14336); }
ServedDecoder large() { return decoder(8192, 80, 28672); }

ServingSearchOptions options(const ServedDecoder &served, int64_t devices,
                             int64_t requests = 60) {
  ServingSearchOptions wanted;
  wanted.served = served;
  wanted.device = device("h100-80gb");
  wanted.memory = .95 * wanted.device.memory;
  wanted.devices = devices;
  wanted.most_tensor = 8;
  wanted.most_pipeline = 2;
  wanted.batches = {1, 8, 64};
  wanted.rows = {256, 2048};
  TraceOptions trace;
  trace.requests = requests;
  trace.rate = 1;
  trace.prompt = {1000, .5, 4000};
  trace.answer = {60, .5, 200};
  wanted.trace = make_trace(trace);
  return wanted;
}

/// The rates of the best plans, by trying all.
std::pair<double, double> everything(const ServingSearchOptions &wanted) {
  std::string binding;
  const auto plans = replica_plans(wanted, binding);
  double one = 0, two = 0;
  std::vector<double> prompts, answers;
  for (const ReplicaPlan &plan : plans) {
    one = std::max(one, double(wanted.devices / plan.split.devices()) *
                            replica_rate(wanted, plan, Role::both));
    prompts.push_back(replica_rate(wanted, plan, Role::prompts));
    answers.push_back(replica_rate(wanted, plan, Role::answers));
  }
  for (size_t first = 0; first < plans.size(); ++first)
    for (size_t second = 0; second < plans.size(); ++second)
      for (int64_t many = 1; many <= wanted.devices; ++many)
        for (int64_t others = 1; others <= wanted.devices; ++others)
          if (many * plans[first].split.devices() +
                  others * plans[second].split.devices() <=
              wanted.devices)
            two = std::max(two, std::min(double(many) * prompts[first],
                                         double(others) * answers[second]));
  return {one, two};
}

TEST(ServingSearch, FindsTheBestOfAll) {
  for (const auto &[first, between] :
       {std::pair(never_binds, never_binds), std::pair(.5, .02),
        std::pair(.25, .012)}) {
    ServingSearchOptions wanted = options(small(), 4, 40);
    wanted.limits.to_first = first;
    wanted.limits.between = between;
    const auto [one, two] = everything(wanted);
    const ServingSearchResult found = search_serving(wanted);
    ASSERT_TRUE(found.colocated);
    EXPECT_DOUBLE_EQ(found.colocated->rate, one);
    ASSERT_EQ(bool(found.disaggregated), two > 0);
    if (two > 0)
      EXPECT_DOUBLE_EQ(found.disaggregated->rate, two);
    EXPECT_DOUBLE_EQ(found.best->rate, std::max(one, two));
    EXPECT_LE(found.best->devices, 4);
    EXPECT_TRUE(found.complete);
  }
}

TEST(ServingSearch, TheFrontHasAllThatNothingIsBetterThan) {
  const ServingSearchOptions wanted = options(small(), 4, 40);
  std::string binding;
  std::vector<std::pair<double, double>> all;
  for (const ReplicaPlan &plan : replica_plans(wanted, binding)) {
    const Simulation played =
        play(wanted, plan, Role::both, at_once(wanted.trace));
    all.push_back({between_of(played, .9), double(played.generated_tokens) /
                                               played.seconds /
                                               double(plan.split.devices())});
  }
  std::vector<std::pair<double, double>> front;
  for (const auto &one : all)
    if (std::ranges::none_of(all, [&](const auto &other) {
          return other != one && other.first <= one.first &&
                 other.second >= one.second;
        }))
      front.push_back(one);
  std::sort(front.begin(), front.end());
  front.erase(std::unique(front.begin(), front.end()), front.end());
  const ServingSearchResult found = search_serving(wanted);
  ASSERT_EQ(found.front.size(), front.size());
  for (size_t at = 0; at < front.size(); ++at) {
    EXPECT_DOUBLE_EQ(found.front[at].between, front[at].first);
    EXPECT_DOUBLE_EQ(found.front[at].tokens_per_second /
                         double(found.front[at].plan.split.devices()),
                     front[at].second);
  }
  EXPECT_GT(front.size(), 2u);
}

/// Rates are what a simulation has within its limits, and hardly more is not.
TEST(ServingSearch, RatesAreAtTheirLimits) {
  ServingSearchOptions wanted = options(small(), 1);
  wanted.limits.to_first = .4;
  wanted.limits.between = .02;
  std::string binding;
  for (const ReplicaPlan &plan : replica_plans(wanted, binding)) {
    const double rate = replica_rate(wanted, plan, Role::both);
    if (rate == 0 || rate == saturated_rate(wanted, plan, Role::both))
      continue;
    auto meets = [&](double at) {
      const Simulation played =
          play(wanted, plan, Role::both, at_rate(wanted.trace, at));
      return to_first_of(played, .9) <= .4 && between_of(played, .9) <= .02;
    };
    EXPECT_TRUE(meets(rate));
    EXPECT_FALSE(meets(rate * (1 + 2 * wanted.precision)));
  }
}

/// Answers that have to come fast want several devices for each step; prompts,
/// where only their number counts, each device for itself.
TEST(ServingSearch, TightTimesBetweenTokensWantTensorParallelism) {
  ServingSearchOptions wanted = options(large(), 8);
  wanted.disaggregated = false;
  wanted.served->weight_bytes = 1;
  auto tensor = [&](double between) {
    wanted.limits.between = between;
    const ServingSearchResult found = search_serving(wanted);
    EXPECT_TRUE(found.best) << found.binding;
    return found.best ? found.best->pools[0].plan.split.tensor : 0;
  };
  const int64_t loose = tensor(1), tight = tensor(.012);
  EXPECT_LT(loose, tight);
  EXPECT_EQ(tight, 8);
}

TEST(ServingSearch, ManyPromptsWantStagesRatherThanTensorParallelism) {
  // A replica of several devices, as the weights need them.
  ServingSearchOptions wanted = options(large(), 8);
  wanted.rows = {4096};
  auto rate = [&](const ReplicaSplit &split) {
    const ReplicaPlan plan = {split, 64, 4096, 4000};
    return saturated_rate(wanted, plan, Role::prompts);
  };
  EXPECT_GT(rate({1, 1, 8}), rate({8, 1, 1}));
}

/// Where a token may take long, chunks of prompts beside answers cost nobody
/// anything; where it may not, they take the answers' time.
TEST(ServingSearch, PoolsOfTheirOwnWinUnderTightLimitsOnly) {
  ServingSearchOptions wanted = options(small(), 8, 120);
  auto gain = [&](double first, double between) {
    wanted.limits.to_first = first;
    wanted.limits.between = between;
    const ServingSearchResult found = search_serving(wanted);
    EXPECT_TRUE(found.colocated);
    EXPECT_TRUE(found.disaggregated);
    return found.disaggregated->rate / found.colocated->rate;
  };
  EXPECT_LT(gain(never_binds, never_binds), 1.05);
  EXPECT_GT(gain(.3, .009), 1.1);
}

TEST(ServingSearch, SaysWhatBinds) {
  ServingSearchOptions wanted = options(large(), 1);
  EXPECT_NE(search_serving(wanted).binding.find("memory for weights"),
            std::string::npos);
  wanted = options(small(), 1);
  wanted.memory = weight_bytes(*wanted.served, {}) + 3e9;
  wanted.trace[0].prompt = 100000;
  EXPECT_NE(search_serving(wanted).binding.find(
                "room for keys and values of one sequence"),
            std::string::npos);
  wanted = options(small(), 1);
  wanted.limits.to_first = .001;
  EXPECT_NE(search_serving(wanted).binding.find("the time to the first token"),
            std::string::npos);
  wanted = options(small(), 1);
  wanted.limits.between = .001;
  EXPECT_NE(search_serving(wanted).binding.find("the time between tokens"),
            std::string::npos);
  wanted = options(small(), 1);
  wanted.served->decoder.heads = 31;
  wanted.most_tensor = 1;
  wanted.most_pipeline = 1;
  EXPECT_TRUE(search_serving(wanted).best);
  wanted.batches = {64};
  wanted.rows = {32};
  EXPECT_NE(search_serving(wanted).binding.find("rows of a step"),
            std::string::npos);
}

TEST(ServingSearch, AnswersWithTheBestSoFar) {
  ServingSearchOptions wanted = options(small(), 4, 40);
  uint64_t seen = 0;
  wanted.progress = [&](uint64_t, uint64_t, const std::string &best) {
    if (!best.empty() && ++seen == 2)
      throw Error("stopped");
  };
  const ServingSearchResult found = search_serving(wanted);
  EXPECT_FALSE(found.complete);
  EXPECT_TRUE(found.best);
}

TEST(Deployment, MemoryIsDivided) {
  const ServedDecoder served = large();
  const double whole = weight_bytes(served, {});
  // 70.6 billion parameters of two bytes.
  EXPECT_NEAR(whole / 141.1e9, 1, .01);
  const double ends = 2.0 * 2 * 8192 * 128256;
  EXPECT_NEAR(weight_bytes(served, {8, 1, 1}) / ((whole - ends) / 8 + ends), 1,
              .01);
  EXPECT_NEAR(weight_bytes(served, {1, 1, 4}) / ((whole - ends) / 4 + ends / 2),
              1, .01);
  // 80 layers of keys and values of 8 heads.
  EXPECT_DOUBLE_EQ(position_bytes(served, {}), 2.0 * 2 * 80 * 8 * 128);
  EXPECT_DOUBLE_EQ(position_bytes(served, {8, 1, 1}), 2.0 * 2 * 80 * 128);
  // No rank has less than a head.
  EXPECT_DOUBLE_EQ(position_bytes(served, {16, 1, 1}), 2.0 * 2 * 80 * 128);
}

TEST(Deployment, StepsTakeWhatTheirBytesAndProductsDo) {
  const Device h100 = device("h100-80gb");
  const ServedDecoder served = small();
  const ModelledStepTimes times(served, h100, {});
  // One row reads all matrices: no faster than the memory, and not much slower.
  const double bytes =
      weight_bytes(served, {}) - 2.0 * 4096 * 128256; // but the embedding
  const double least = bytes / (h100.bandwidth * h100.stream_fraction);
  const double step = times.seconds({1, 0, 0, 0});
  EXPECT_GT(step, least);
  EXPECT_LT(step, 1.5 * least);
  // A long prompt multiplies.
  const double flops = 2 * 4096.0 * (bytes / 2 - 4096.0 * 128256);
  const double prompt = times.seconds({0, 4096, 0, 4096.0 * 4095 / 2});
  EXPECT_GT(prompt, flops / (h100.matmul_rate * h100.matmul_fraction));
  EXPECT_LT(prompt, 2 * flops / (h100.matmul_rate * h100.matmul_fraction));
  // More rows, more positions, and fewer ranks take longer.
  EXPECT_GT(times.seconds({64, 0, 64e3, 0}), step);
  EXPECT_GT(times.seconds({64, 0, 64e4, 0}), times.seconds({64, 0, 64e3, 0}));
  EXPECT_LT(
      ModelledStepTimes(served, h100, {4, 1, 1}).seconds({64, 0, 64e3, 0}),
      times.seconds({64, 0, 64e3, 0}));
}

TEST(Deployment, ReadsMixtures) {
  const std::string file = testing::TempDir() + "config.json";
  std::ofstream(file) << R"({"model_type": "olmoe", "hidden_size": 2048,
    "intermediate_size": 1024, "num_attention_heads": 16,
    "num_hidden_layers": 16, "num_experts": 64, "num_experts_per_tok": 8,
    "vocab_size": 50304})";
  const ServedDecoder served = read_served_decoder(file);
  EXPECT_EQ(served.experts, 64);
  // 6.9 billion parameters.
  EXPECT_NEAR(weight_bytes(served, {}) / (2 * 6.92e9), 1, .01);
  const Device h100 = device("h100-80gb");
  // A rank has a part of the experts, and all else.
  const double halves = weight_bytes(served, {1, 2, 1});
  EXPECT_GT(halves, weight_bytes(served, {}) / 2);
  EXPECT_LT(halves, weight_bytes(served, {}) * .56);
  // Few rows read few experts.
  const ModelledStepTimes times(served, h100, {});
  EXPECT_LT(times.seconds({1, 0, 0, 0}), .5 * times.seconds({64, 0, 0, 0}));
  EXPECT_NE(check_split(served, {1, 3, 1}, h100), "");
  EXPECT_EQ(check_split(served, {1, 4, 1}, h100), "");
  EXPECT_NE(check_split(small(), {1, 2, 1}, h100), "");
}

} // namespace
} // namespace baton::plan
