//===- EncoderTest.cpp - weights become blocks ----------------------------===//
//
// Against test/golden/encoded_blocks.json: what another program makes of such
// weights; and errors of random ones.
//
//===----------------------------------------------------------------------===//

#include "tools/quantize/encoder.h"

#include "runtime/weights/stored_blocks.h"
#include "tools/quantize/block_writer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace baton {
namespace {

using Bytes = std::vector<std::byte>;

const std::pair<const char *, DataType> types[] = {
    {"Q8_0", DataType::Q8_0}, {"Q4_0", DataType::Q4_0},
    {"Q4_1", DataType::Q4_1}, {"Q5_0", DataType::Q5_0},
    {"Q5_1", DataType::Q5_1}, {"Q2_K", DataType::Q2_K},
    {"Q3_K", DataType::Q3_K}, {"Q4_K", DataType::Q4_K},
    {"Q5_K", DataType::Q5_K}, {"Q6_K", DataType::Q6_K}};

Bytes bytes_of_hex(const std::string &hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(std::byte(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// Without an importance, all weights have the same.
Bytes encoded(DataType type, ScaleChoice scales,
              const std::vector<float> &weights,
              std::vector<float> importance = {}) {
  const StoredBlock size = stored_block(type);
  Bytes blocks(weights.size() / size.elements * size.bytes);
  if (importance.empty())
    importance.resize(weights.size(), 1);
  encode(type, scales, weights.data(), importance.data(), weights.size(),
         blocks.data());
  return blocks;
}

/// Of each block, whose weights count by `importance`.
std::vector<double> squared_errors(DataType type, const Bytes &blocks,
                                   const std::vector<float> &weights,
                                   const std::vector<float> &importance) {
  std::vector<float> numbers(weights.size());
  dequantise(type, blocks.data(), 0, numbers.size(), numbers.data());
  std::vector<double> errors(weights.size() / stored_block(type).elements);
  for (size_t i = 0; i < weights.size(); ++i) {
    const double error = double(weights[i]) - double(numbers[i]);
    errors[i / stored_block(type).elements] +=
        double(importance[i]) * error * error;
  }
  return errors;
}

std::vector<double> squared_errors(DataType type, ScaleChoice scales,
                                   const std::vector<float> &weights) {
  return squared_errors(type, encoded(type, scales, weights), weights,
                        std::vector<float>(weights.size(), 1));
}

double sum_of(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value;
  return sum;
}

std::vector<float> normal_weights(size_t count, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> weights(count);
  for (float &weight : weights)
    weight = normal(generator);
  return weights;
}

TEST(Encoder, WritesByTheLargestWhatGgmlsReferenceDoes) {
  std::ifstream file(BATON_GOLDEN_BLOCKS);
  const nlohmann::json golden = nlohmann::json::parse(file);
  const Bytes bytes = bytes_of_hex(golden.at("weights"));
  std::vector<float> weights(bytes.size() / sizeof(float));
  std::memcpy(weights.data(), bytes.data(), bytes.size());
  unsigned seen = 0;
  for (auto [name, type] : types) {
    if (!golden.contains(name))
      continue;
    ++seen;
    const Bytes expected = bytes_of_hex(golden.at(name));
    const Bytes found = encoded(type, ScaleChoice::Largest, weights);
    const unsigned size = stored_block(type).bytes;
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); i += size)
      EXPECT_EQ(std::memcmp(&found[i], &expected[i], size), 0)
          << name << ", block " << i / size;
  }
  EXPECT_EQ(seen, 5u);
}

TEST(Encoder, BlocksAreReadBackAsTheyWereWritten) {
  std::mt19937 generator(2);
  for (auto [name, type] : types) {
    const unsigned size = stored_block(type).bytes;
    for (int round = 0; round < 20; ++round) {
      Bytes block(size), again(size);
      for (std::byte &byte : block)
        byte = std::byte(generator());
      StoredNumbers numbers;
      read_block(type, block.data(), numbers);
      write_block(type, numbers, again.data());
      EXPECT_EQ(block, again) << name;
    }
  }
}

TEST(Encoder, ASearchIsNeverWorseThanTheLargest) {
  std::vector<float> weights = normal_weights(256 * 64);
  // Outliers, blocks of zeros, of one sign, and tiny ones.
  for (size_t i = 0; i < weights.size(); i += 97)
    weights[i] *= 12;
  std::fill_n(weights.begin() + 512, 300, 0.0f);
  for (size_t i = 1024; i < 1536; ++i)
    weights[i] = std::fabs(weights[i]) * (i < 1280 ? 1 : -1);
  for (size_t i = 2048; i < 2560; ++i)
    weights[i] *= 1e-6f;
  for (auto [name, type] : types) {
    const auto largest = squared_errors(type, ScaleChoice::Largest, weights);
    const auto search = squared_errors(type, ScaleChoice::Search, weights);
    for (size_t i = 0; i < largest.size(); ++i)
      EXPECT_LE(search[i], largest[i]) << name << ", block " << i;
    EXPECT_LT(sum_of(search), sum_of(largest)) << name;
  }
}

TEST(Encoder, ASearchHeedsHowMuchEachErrorCounts) {
  const std::vector<float> weights = normal_weights(256 * 64);
  std::mt19937 generator(3);
  std::normal_distribution<float> normal;
  std::vector<float> importance(weights.size());
  for (float &number : importance)
    number = std::exp(2 * normal(generator));
  for (auto [name, type] : types) {
    const auto errors = [&](const Bytes &blocks) {
      return squared_errors(type, blocks, weights, importance);
    };
    const auto largest =
        errors(encoded(type, ScaleChoice::Largest, weights, importance));
    const auto heeding =
        errors(encoded(type, ScaleChoice::Search, weights, importance));
    const auto heedless = errors(encoded(type, ScaleChoice::Search, weights));
    for (size_t i = 0; i < largest.size(); ++i)
      EXPECT_LE(heeding[i], largest[i]) << name << ", block " << i;
    EXPECT_LT(sum_of(heeding), 0.95 * sum_of(heedless)) << name;
    // What all count alike, in whatever units, does not matter. A power of two
    // rounds nothing.
    EXPECT_EQ(encoded(type, ScaleChoice::Search, weights,
                      std::vector<float>(weights.size(), 4)),
              encoded(type, ScaleChoice::Search, weights))
        << name;
  }
}

TEST(Encoder, ErrorsOfNormalWeightsAreThoseOfTheFormats) {
  // Root of the mean square error over that of the weights, in percent: what
  // ggml's own quantisers come to, but for the last digits.
  const struct {
    DataType type;
    double most;
  } limits[] = {{DataType::Q8_0, 0.539}, {DataType::Q4_0, 8.65},
                {DataType::Q4_1, 7.86},  {DataType::Q5_0, 4.30},
                {DataType::Q5_1, 3.81},  {DataType::Q2_K, 29.9},
                {DataType::Q3_K, 15.2},  {DataType::Q4_K, 7.19},
                {DataType::Q5_K, 3.63},  {DataType::Q6_K, 1.79}};
  const std::vector<float> weights = normal_weights(256 * 256);
  double squares = 0;
  for (float weight : weights)
    squares += double(weight) * double(weight);
  for (auto [type, most] : limits) {
    const double error =
        100 *
        std::sqrt(sum_of(squared_errors(type, ScaleChoice::Search, weights)) /
                  squares);
    EXPECT_LT(error, most) << stored_type_name(type);
  }
}

TEST(Encoder, TheLargestWeightIsRepresentable) {
  const std::vector<float> weights = normal_weights(256 * 64, 3);
  for (auto [type, unit, part] : {std::tuple(DataType::Q6_K, 16, 1.0 / 32),
                                  std::tuple(DataType::Q8_0, 32, 1.0 / 127)}) {
    const Bytes blocks = encoded(type, ScaleChoice::Largest, weights);
    std::vector<float> numbers(weights.size());
    dequantise(type, blocks.data(), 0, numbers.size(), numbers.data());
    // A step at the range's shorter end, and what the scale's own rounding
    // takes from the largest.
    for (size_t i = 0; i < weights.size(); i += size_t(unit)) {
      float largest = 0, error = 0;
      for (size_t k = i; k < i + size_t(unit); ++k) {
        largest = std::max(largest, std::fabs(weights[k]));
        error = std::max(error, std::fabs(weights[k] - numbers[k]));
      }
      EXPECT_LT(double(error), double(largest) * (part + 0.02)) << i;
    }
  }
}

TEST(Encoder, ZerosAreZeros) {
  const std::vector<float> weights(512);
  for (auto [name, type] : types)
    for (ScaleChoice scales : {ScaleChoice::Largest, ScaleChoice::Search}) {
      EXPECT_TRUE(can_encode(type));
      EXPECT_EQ(sum_of(squared_errors(type, scales, weights)), 0) << name;
    }
  EXPECT_FALSE(can_encode(DataType::IQ4_NL));
  EXPECT_FALSE(can_encode(DataType::F16));
}

} // namespace
} // namespace baton
