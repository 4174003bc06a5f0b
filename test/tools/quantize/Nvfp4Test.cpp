//===- Nvfp4Test.cpp - blocks of NVFP4 ------------------------------------===//

#include "tools/quantize/nvfp4.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace baton {
namespace {

constexpr unsigned size = Nvfp4Block::size;

std::vector<float> normal(size_t count) {
  std::mt19937 generator(1);
  std::normal_distribution<float> distribution;
  std::vector<float> weights(count);
  for (float &weight : weights)
    weight = distribution(generator);
  return weights;
}

float largest_in(const std::vector<float> &weights) {
  float largest = 0;
  for (float weight : weights)
    largest = std::max(largest, std::fabs(weight));
  return largest;
}

Nvfp4Block encode(ScaleChoice scales, const float *weights,
                  float tensor_scale) {
  const std::vector<float> importance(size, 1);
  return encode_nvfp4(scales, weights, importance.data(), tensor_scale);
}

std::vector<double> squared_errors(ScaleChoice scales,
                                   const std::vector<float> &weights) {
  const float tensor_scale = nvfp4_tensor_scale(largest_in(weights));
  std::vector<double> errors;
  for (size_t i = 0; i < weights.size(); i += size) {
    float numbers[size];
    decode_nvfp4(encode(scales, &weights[i], tensor_scale), tensor_scale,
                 numbers);
    double sum = 0;
    for (unsigned k = 0; k < size; ++k)
      sum += std::pow(double(weights[i + k]) - double(numbers[k]), 2);
    errors.push_back(sum);
  }
  return errors;
}

TEST(Nvfp4, NumbersOfAnExactBlockComeBack) {
  // Scale 1 of the tensor, 2 of the block: E4M3's code 0x40.
  const float weights[size] = {0, 1,  2,  3,  4,  6,  8,  12,
                               0, -1, -2, -3, -4, -6, -8, -12};
  for (ScaleChoice scales : {ScaleChoice::Largest, ScaleChoice::Search}) {
    const Nvfp4Block block = encode(scales, weights, 1);
    EXPECT_EQ(block.scale, 0x40);
    EXPECT_EQ(block.numbers[0], 0x10);
    EXPECT_EQ(block.numbers[3], 0x76);
    EXPECT_EQ(block.numbers[7], 0xfe);
    float numbers[size];
    decode_nvfp4(block, 1, numbers);
    for (unsigned i = 0; i < size; ++i)
      EXPECT_EQ(numbers[i], weights[i]) << i;
  }
}

TEST(Nvfp4, TheLargestScaleIsE4m3s) {
  std::vector<float> weights = normal(size);
  weights[3] = 100;
  const float scale = nvfp4_tensor_scale(100);
  const Nvfp4Block block = encode(ScaleChoice::Largest, weights.data(), scale);
  EXPECT_EQ(block.scale, 0x7e);
  float numbers[size];
  decode_nvfp4(block, scale, numbers);
  EXPECT_NEAR(numbers[3], 100, 1e-4);
}

TEST(Nvfp4, ASearchHeedsHowMuchEachErrorCounts) {
  // The 7 alone would take the scale 3.5 of two, the others 0.25.
  const float weights[size] = {7,    0.25f, 0.5f, 0.25f, 0.5f, 0.25f,
                               0.5f, 0.25f, 0.5f, 0.25f, 0.5f, 0.25f,
                               0.5f, 0.25f, 0.5f, 0.25f};
  std::vector<float> importance(size, 1e-3f);
  const auto error_of_first = [&](float counts) {
    importance[0] = counts;
    float numbers[size];
    decode_nvfp4(
        encode_nvfp4(ScaleChoice::Search, weights, importance.data(), 0.01f),
        0.01f, numbers);
    return std::fabs(numbers[0] - weights[0]);
  };
  EXPECT_LT(error_of_first(1e3f), 0.1f);
  EXPECT_GT(error_of_first(1e-6f), error_of_first(1e3f));
}

TEST(Nvfp4, ZerosAreZeros) {
  const float zeros[size] = {};
  float numbers[size];
  decode_nvfp4(encode(ScaleChoice::Search, zeros, 0.1f), 0.1f, numbers);
  for (float number : numbers)
    EXPECT_EQ(number, 0);
  decode_nvfp4(encode(ScaleChoice::Search, zeros, 0), 0, numbers);
  for (float number : numbers)
    EXPECT_EQ(number, 0);
}

TEST(Nvfp4, ASearchTakesAQuarterOfNormalWeightsError) {
  const std::vector<float> weights = normal(size * 20000);
  const auto usual = squared_errors(ScaleChoice::Largest, weights),
             found = squared_errors(ScaleChoice::Search, weights);
  double before = 0, after = 0;
  for (size_t i = 0; i < usual.size(); ++i) {
    EXPECT_LE(found[i], usual[i]) << i;
    before += usual[i];
    after += found[i];
  }
  EXPECT_NEAR(100 * (1 - after / before), 27.1, 1);
}

} // namespace
} // namespace baton
