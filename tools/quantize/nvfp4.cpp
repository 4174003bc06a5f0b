//===- nvfp4.cpp - weights become blocks of NVFP4 -------------------------===//

#include "tools/quantize/nvfp4.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace baton {

static constexpr float e2m1_numbers[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

uint8_t e2m1_code(float value) {
  const float magnitude = std::fabs(value);
  unsigned code = 0;
  for (unsigned i = 1; i < 8; ++i) {
    const float middle = (e2m1_numbers[i - 1] + e2m1_numbers[i]) / 2;
    if (magnitude > middle || (magnitude == middle && i % 2 == 0))
      code = i;
  }
  return static_cast<uint8_t>(code | (std::signbit(value) ? 8 : 0));
}

float e2m1_number(uint8_t code) {
  return code & 8 ? -e2m1_numbers[code & 7] : e2m1_numbers[code & 7];
}

namespace {

constexpr float e2m1_largest = 6, e4m3_largest = 448;
/// The code above it is no number.
constexpr int e4m3_codes = 0x7f;
constexpr int least_step = -2, most_step = 6;

float e4m3_number(int code) {
  const int exponent = code >> 3, mantissa = code & 7;
  return exponent ? std::ldexp(static_cast<float>(8 + mantissa), exponent - 10)
                  : std::ldexp(static_cast<float>(mantissa), -9);
}

/// The code of the nearest number, the even one of two.
int e4m3_code(float value) {
  int code = 0;
  while (code + 1 < e4m3_codes && e4m3_number(code + 1) <= value)
    ++code;
  if (code + 1 == e4m3_codes)
    return code;
  const float below = value - e4m3_number(code),
              above = e4m3_number(code + 1) - value;
  return code + (above < below || (above == below && code % 2));
}

Nvfp4Block with_scale(const float *weights, float tensor_scale, int scale) {
  Nvfp4Block block;
  block.scale = static_cast<uint8_t>(scale);
  const float step = e4m3_number(scale) * tensor_scale;
  for (unsigned i = 0; i < Nvfp4Block::size; ++i) {
    const uint8_t code = step > 0 ? e2m1_code(weights[i] / step) : 0;
    block.numbers[i / 2] |= static_cast<uint8_t>(code << (i % 2 * 4));
  }
  return block;
}

double squared_error_of(const Nvfp4Block &block, const float *weights,
                        const float *importance, float tensor_scale) {
  float numbers[Nvfp4Block::size];
  decode_nvfp4(block, tensor_scale, numbers);
  double sum = 0;
  for (unsigned i = 0; i < Nvfp4Block::size; ++i) {
    const double error = double(weights[i]) - double(numbers[i]);
    sum += double(importance[i]) * (error * error);
  }
  return sum;
}

} // namespace

float nvfp4_tensor_scale(float largest) {
  return largest / (e2m1_largest * e4m3_largest);
}

Nvfp4Block encode_nvfp4(ScaleChoice scales, const float *weights,
                        const float *importance, float tensor_scale) {
  float largest = 0;
  for (unsigned i = 0; i < Nvfp4Block::size; ++i)
    largest = std::max(largest, std::fabs(weights[i]));
  if (largest == 0 || tensor_scale == 0)
    return {};
  const int usual = e4m3_code(largest / e2m1_largest / tensor_scale);
  Nvfp4Block best = with_scale(weights, tensor_scale, usual);
  if (scales == ScaleChoice::Largest)
    return best;
  double least = squared_error_of(best, weights, importance, tensor_scale);
  for (int code = std::max(0, usual + least_step);
       code <= std::min(e4m3_codes - 1, usual + most_step); ++code) {
    const Nvfp4Block block = with_scale(weights, tensor_scale, code);
    const double error =
        squared_error_of(block, weights, importance, tensor_scale);
    if (error < least) {
      least = error;
      best = block;
    }
  }
  return best;
}

void decode_nvfp4(const Nvfp4Block &block, float tensor_scale, float *weights) {
  const float step = e4m3_number(block.scale) * tensor_scale;
  for (unsigned i = 0; i < Nvfp4Block::size; ++i)
    weights[i] = e2m1_number(block.numbers[i / 2] >> (i % 2 * 4) & 15) * step;
}

} // namespace baton
