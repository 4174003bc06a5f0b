//===- SamplingTest.cpp - tokens chosen by a kernel and by the host -------===//

#include "runtime/decode/sampler.h"
#include "runtime/error.h"
#include "test/codegen/cuda/library/Bodies.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

using namespace baton;
using namespace baton::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

int32_t emulated(const std::vector<float> &logits,
                 const SamplingOptions &options, uint64_t position,
                 ThreadBlock block = {64, 0}) {
  BatonGeneration wanted = {};
  wanted.temperature = options.temperature;
  wanted.top_k = options.top_k;
  wanted.top_p = options.top_p;
  wanted.seed = options.seed;
  return emulated_sample(block, logits, wanted, position);
}

/// The same tokens at some positions, by a block of another size at each.
void expect_host(const std::vector<float> &logits, SamplingOptions options,
                 int positions) {
  constexpr unsigned sizes[] = {256, 32, 96};
  Sampler sampler(options);
  for (int position = 0; position < positions; ++position) {
    int32_t expected = sampler.sample(logits, position);
    const unsigned threads = sizes[position % 3];
    ASSERT_EQ(
        emulated(logits, options, position, {threads, uint64_t(position)}),
        expected)
        << logits.size() << " logits, position " << position << ", " << threads
        << " threads, temperature " << options.temperature << ", top_k "
        << options.top_k << ", top_p " << options.top_p;
  }
}

std::vector<float> normal(size_t size, float deviation, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> logits(size);
  for (float &logit : logits)
    logit = distribution(random);
  return logits;
}

} // namespace

TEST(CudaSampling, RandomLogits) {
  uint64_t seed = 0;
  for (size_t size : {1, 2, 31, 113, 1000, 5000})
    for (float deviation : {0.1f, 3.0f, 30.0f})
      for (double temperature : {0.0, 0.3, 1.0, 4.0})
        for (auto [top_k, top_p] : {std::pair<uint64_t, double>{0, 1},
                                    {5, 1},
                                    {40, 0.9},
                                    {0, 0.5},
                                    {0, 0.999},
                                    {113, 1e-9},
                                    {1u << 30, 0.95}}) {
          SCOPED_TRACE(deviation);
          ++seed;
          expect_host(normal(size, deviation, seed),
                      {temperature, top_k, top_p, seed}, size > 1000 ? 1 : 3);
          if (HasFatalFailure())
            return;
        }
}

/// Of equal logits the lowest ids stay, and sums of their weights are exact.
TEST(CudaSampling, TiedLogits) {
  std::mt19937 random(1);
  for (int round = 0; round < 12; ++round) {
    std::vector<float> logits(300);
    for (float &logit : logits)
      logit = 0.5f * float(random() % (round % 4 + 1));
    logits[random() % 300] = -0.0f;
    for (uint64_t top_k : {0, 3, 64, 150, 299, 300})
      for (double top_p : {1.0, 0.5, 0.25, 1.0 / 3}) {
        expect_host(logits, {1, top_k, top_p, uint64_t(round)}, 2);
        if (HasFatalFailure())
          return;
      }
  }
  expect_host(std::vector<float>(256, -7.0f), {2, 0, 0.5, 3}, 50);
  expect_host(std::vector<float>(256, 0.0f), {2, 100, 0.25, 3}, 50);
}

TEST(CudaSampling, PeakedLogits) {
  std::vector<float> logits = normal(2000, 1, 5);
  for (float peak : {20.0f, 100.0f, 3.0e38f}) {
    logits[1234] = peak;
    for (double top_p : {0.1, 0.9, 0.999999, 1.0})
      expect_host(logits, {1, 50, top_p, 9}, 5);
  }
  // Weights that underflow, all but some.
  logits.assign(500, -3.0e38f);
  logits[3] = logits[400] = 3.0e38f;
  expect_host(logits, {1e-300, 0, 0.75, 2}, 8);
  expect_host(logits, {1e-310, 10, 0.75, 2}, 8);
  expect_host(normal(500, 1, 6), {1e300, 400, 0.75, 2}, 8);
}

TEST(CudaSampling, LogitsThatAreNotFinite) {
  for (float wrong : {-infinity, infinity, not_a_number, -not_a_number})
    for (size_t at : {size_t(0), size_t(57), size_t(299)}) {
      std::vector<float> logits = normal(300, 1, 7);
      logits[at] = wrong;
      SamplingOptions options = {1, 40, 0.9, 0};
      EXPECT_THROW(Sampler(options).sample(logits, 0), Error);
      EXPECT_EQ(emulated(logits, options, 0), -1);
    }
}

TEST(CudaSampling, LargeVocabulary) {
  expect_host(normal(256 << 10, 3, 8), {1, 0, 0.9, 1}, 1);
  expect_host(normal(256 << 10, 3, 9), {1, 50, 0.9, 2}, 1);
}

/// Without a fixed point that has room for it, the sum of all would overflow.
TEST(CudaSampling, EqualLogitsOfALargeVocabulary) {
  expect_host(std::vector<float>(256 << 10, 1.0f), {1, 0, 0.75, 3}, 2);
}
