//===- SamplerTest.cpp - choosing tokens ---------------------------------===//

#include "runtime/decode/sampler.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace baton {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Greedy, TakesTheLargestLogit) {
  Sampler sampler({});
  EXPECT_EQ(sampler.sample(std::vector<float>{-3, -1, -2}, 5), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{-3, -1, 2}, 5), 2);
  EXPECT_EQ(sampler.sample(std::vector<float>{7}, 5), 0);
}

TEST(Greedy, TheLowestIdWinsTies) {
  Sampler sampler({});
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 4, 4, 4}, 0), 1);
  // Zeros of both signs are equal.
  EXPECT_EQ(sampler.sample(std::vector<float>{-1, -0.0f, 0.0f}, 0), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{-1, 0.0f, -0.0f}, 0), 1);
}

TEST(Greedy, EqualsTopOneAtAnyTemperature) {
  std::vector<float> logits = {0.5f, 2, -1, 2};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SamplingOptions options;
    options.temperature = 10;
    options.top_k = 1;
    options.seed = seed;
    EXPECT_EQ(Sampler(options).sample(logits, seed), 1);
  }
}

TEST(Sampler, RefusesLogitsThatAreNotFinite) {
  for (float bad : {std::nanf(""), infinity, -infinity})
    for (double temperature : {0.0, 1.0}) {
      SamplingOptions options;
      options.temperature = temperature;
      std::vector<float> logits(100, 1.0f);
      logits[63] = bad;
      try {
        Sampler(options).sample(logits, 17);
        ADD_FAILURE() << "no error for " << bad;
      } catch (const Error &failure) {
        EXPECT_STREQ(failure.what(), "logits at position 17 are not finite");
      }
    }
}

/// Samples at many positions and compares the counts with the expected
/// probabilities (Pearson's chi-square test). The bound is its 99.9 % quantile
/// by Wilson and Hilferty's approximation; seeds are fixed, so that it holds
/// always or never.
void expect_distribution(const SamplingOptions &options,
                         const std::vector<float> &logits,
                         const std::map<int32_t, double> &expected) {
  constexpr int draws = 40000;
  std::map<int32_t, int> counts;
  Sampler sampler(options);
  for (int position = 0; position < draws; ++position)
    ++counts[sampler.sample(logits, static_cast<uint64_t>(position))];
  double statistic = 0;
  for (auto [token, count] : counts)
    EXPECT_TRUE(expected.contains(token)) << "token " << token;
  for (auto [token, probability] : expected) {
    double mean = draws * probability;
    statistic += (counts[token] - mean) * (counts[token] - mean) / mean;
  }
  double freedom = static_cast<double>(expected.size()) - 1;
  double spread = 2 / (9 * freedom);
  double bound = freedom * std::pow(1 - spread + 3.09 * std::sqrt(spread), 3);
  EXPECT_LT(statistic, bound);
}

std::map<int32_t, double> softmax(const std::vector<float> &logits,
                                  double temperature,
                                  const std::vector<int32_t> &tokens) {
  std::map<int32_t, double> result;
  double total = 0;
  for (int32_t token : tokens)
    total += result[token] =
        std::exp(logits[static_cast<size_t>(token)] / temperature);
  for (auto &[token, probability] : result)
    probability /= total;
  return result;
}

const std::vector<float> test_logits = {0, 1, 2, 0.5f, -1, 1.5f};

TEST(Sampler, FollowsTheSoftmaxOfTheTemperature) {
  for (double temperature : {0.5, 1.0, 3.0})
    for (uint64_t seed : {0ull, 1ull, ~0ull}) {
      SamplingOptions options;
      options.temperature = temperature;
      options.seed = seed;
      expect_distribution(
          options, test_logits,
          softmax(test_logits, temperature, {0, 1, 2, 3, 4, 5}));
    }
}

TEST(Sampler, TopKKeepsTheKLargest) {
  SamplingOptions options;
  options.temperature = 1;
  options.top_k = 3;
  expect_distribution(options, test_logits, softmax(test_logits, 1, {2, 5, 1}));
  // More than there are changes nothing.
  options.top_k = 1000;
  expect_distribution(options, test_logits,
                      softmax(test_logits, 1, {0, 1, 2, 3, 4, 5}));
}

TEST(Sampler, TopKPrefersLowIdsAmongEquals) {
  SamplingOptions options;
  options.temperature = 1;
  options.top_k = 2;
  std::vector<float> equal(6, 1.0f);
  expect_distribution(options, equal, {{0, 0.5}, {1, 0.5}});
}

TEST(Sampler, TopPKeepsTheFewestThatReachP) {
  // Probabilities 0.5, 0.25, 0.125, 0.125.
  std::vector<float> logits = {0, std::log(4.0f), std::log(2.0f), 0};
  SamplingOptions options;
  options.temperature = 1;
  options.top_p = 0.6;
  expect_distribution(options, logits, {{1, 2. / 3}, {2, 1. / 3}});
  options.top_p = 0.8;
  expect_distribution(options, logits, {{1, 4. / 7}, {2, 2. / 7}, {0, 1. / 7}});
  options.top_p = 1e-9;
  for (uint64_t position = 0; position < 100; ++position)
    EXPECT_EQ(Sampler(options).sample(logits, position), 1);
}

TEST(Sampler, TopPCountsWithinTopK) {
  // Of the two left by top-k, 0.5 and 0.25, the first is two thirds.
  std::vector<float> logits = {0, std::log(4.0f), std::log(2.0f), 0};
  SamplingOptions options;
  options.temperature = 1;
  options.top_k = 2;
  options.top_p = 0.65;
  for (uint64_t position = 0; position < 100; ++position)
    EXPECT_EQ(Sampler(options).sample(logits, position), 1);
}

TEST(Sampler, SurvivesExtremeTemperatures) {
  SamplingOptions options;
  options.temperature = 1e-300;
  std::vector<float> logits = {-3e38f, 1, 3e38f};
  EXPECT_EQ(Sampler(options).sample(logits, 3), 2);
  options.temperature = 1e300;
  expect_distribution(options, test_logits,
                      {{0, 1. / 6},
                       {1, 1. / 6},
                       {2, 1. / 6},
                       {3, 1. / 6},
                       {4, 1. / 6},
                       {5, 1. / 6}});
}

TEST(Sampler, ANumberDependsOnSeedAndPositionOnly) {
  EXPECT_EQ(uniform(7, 3), uniform(7, 3));
  EXPECT_NE(uniform(7, 3), uniform(7, 4));
  EXPECT_NE(uniform(7, 3), uniform(8, 3));
  double sum = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    double number = uniform(i % 100, i / 100);
    EXPECT_GE(number, 0);
    EXPECT_LT(number, 1);
    sum += number;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Sampler, MinPKeepsThoseNearTheMostProbableOne) {
  // Probabilities 0.5, 0.25, 0.125, 0.125.
  std::vector<float> logits = {0, std::log(4.0f), std::log(2.0f), 0};
  SamplingOptions options;
  options.temperature = 1;
  options.min_p = 0.4;
  expect_distribution(options, logits, {{1, 2. / 3}, {2, 1. / 3}});
  options.min_p = 0.2;
  expect_distribution(options, logits,
                      {{0, 0.125}, {1, 0.5}, {2, 0.25}, {3, 0.125}});
  options.min_p = 1;
  for (uint64_t position = 0; position < 100; ++position)
    EXPECT_EQ(Sampler(options).sample(logits, position), 1);
  // At a higher temperature more are near.
  options.min_p = 0.4;
  options.temperature = 2;
  double root = std::sqrt(2);
  double total = 2 + root + 2;
  expect_distribution(
      options, logits,
      {{0, 1 / total}, {1, 2 / total}, {2, root / total}, {3, 1 / total}});
  // Top-p counts before.
  options.temperature = 1;
  options.min_p = 0.2;
  options.top_p = 0.6;
  expect_distribution(options, logits, {{1, 2. / 3}, {2, 1. / 3}});
}

TEST(Sampler, BiasAndPenaltiesChangeLogits) {
  const std::vector<float> logits = {2, 1, -1, 0.5f, -2, 0};
  // Of the prompt 0, 2 and 4; generated 1 once and 2 twice.
  const std::vector<int32_t> tokens = {0, 2, 4, 0, 1, 2, 2};
  SamplingOptions options;
  options.temperature = 1;
  auto expect = [&](const std::vector<float> &changed) {
    // The same draws as from these logits, and the same again.
    SamplingOptions plain;
    plain.temperature = 1;
    for (uint64_t seed = 0; seed < 300; ++seed) {
      options.seed = plain.seed = seed;
      EXPECT_EQ(Sampler(options).sample(logits, tokens, 4),
                Sampler(plain).sample(changed, 7));
    }
  };
  expect(logits);
  options.repetition_penalty = 2;
  expect({1, 0.5f, -2, 0.5f, -4, 0});
  options.frequency_penalty = 0.25;
  expect({1, 0.25f, -2.5f, 0.5f, -4, 0});
  options.presence_penalty = 1;
  expect({1, -0.75f, -3.5f, 0.5f, -4, 0});
  options.repetition_penalty = 1;
  expect({2, -0.25f, -2.5f, 0.5f, -2, 0});
  // Before the penalties: 2 turns positive.
  options.logit_bias = {{2, 5}, {3, -1}};
  options.repetition_penalty = 2;
  expect({1, -0.75f, 0.5f, -0.5f, -4, 0});
}

TEST(Sampler, BiasedLogitsHaveToBeFinite) {
  SamplingOptions options;
  options.logit_bias = {{1, 3e38f}};
  std::vector<int32_t> tokens = {0, 1};
  EXPECT_EQ(Sampler(options).sample(std::vector<float>{1, 2}, tokens, 2), 1);
  EXPECT_THROW(Sampler(options).sample(std::vector<float>{1, 3e38f}, tokens, 2),
               Error);
}

} // namespace
} // namespace baton
