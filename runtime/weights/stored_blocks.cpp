//===- stored_blocks.cpp - quantised weights as files have them -----------===//

#include "runtime/weights/stored_blocks.h"

#include "runtime/weight_blocks.h"
#include "runtime/weights/companions.h"
#include "runtime/weights/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace baton {

namespace {

using Bytes = const uint8_t *;

uint16_t half_at(Bytes bytes) {
  uint16_t half;
  std::memcpy(&half, bytes, sizeof half);
  return half;
}

void one_unit(StoredNumbers &block, unsigned weights, int zero, bool minimum) {
  block.unit = weights;
  block.unit_scales[0] = 1;
  block.unit_minimums[0] = minimum;
  block.zero = zero;
}

/// 16 bytes, of which the lower halves are the first 16 numbers.
void read_nibbles(Bytes bytes, StoredNumbers &block) {
  for (unsigned i = 0; i < 16; ++i) {
    block.numbers[i] = static_cast<int8_t>(bytes[i] & 15);
    block.numbers[i + 16] = static_cast<int8_t>(bytes[i] >> 4);
  }
}

void add_fifth_bits(Bytes bytes, StoredNumbers &block) {
  uint32_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  for (unsigned i = 0; i < 32; ++i)
    block.numbers[i] =
        static_cast<int8_t>(block.numbers[i] | (bits >> i & 1) << 4);
}

void read_q8_0(Bytes bytes, StoredNumbers &block) {
  one_unit(block, 32, 0, false);
  block.scale = half_at(bytes);
  std::memcpy(block.numbers, bytes + 2, 32);
}

void read_q4_0(Bytes bytes, StoredNumbers &block) {
  one_unit(block, 32, 8, false);
  block.scale = half_at(bytes);
  read_nibbles(bytes + 2, block);
}

void read_q4_1(Bytes bytes, StoredNumbers &block) {
  one_unit(block, 32, 0, true);
  block.scale = half_at(bytes);
  block.minimum = half_at(bytes + 2);
  read_nibbles(bytes + 4, block);
}

void read_q5_0(Bytes bytes, StoredNumbers &block) {
  one_unit(block, 32, 16, false);
  block.scale = half_at(bytes);
  read_nibbles(bytes + 6, block);
  add_fifth_bits(bytes + 2, block);
}

void read_q5_1(Bytes bytes, StoredNumbers &block) {
  one_unit(block, 32, 0, true);
  block.scale = half_at(bytes);
  block.minimum = half_at(bytes + 2);
  read_nibbles(bytes + 8, block);
  add_fifth_bits(bytes + 4, block);
}

void read_iq4_nl(Bytes bytes, StoredNumbers &block) {
  static constexpr int8_t words[16] = {
      -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  one_unit(block, 32, 0, false);
  block.scale = half_at(bytes);
  read_nibbles(bytes + 2, block);
  for (unsigned i = 0; i < 32; ++i)
    block.numbers[i] = words[block.numbers[i]];
}

void read_mxfp4(Bytes bytes, StoredNumbers &block) {
  one_unit(block, 32, 0, false);
  block.unit_scales[0] = static_cast<int8_t>(bytes[0]);
  read_nibbles(bytes + 1, block);
}

/// Two bits of each number: 32 bytes hold those of 128, 32 for each pair of
/// bits.
void read_pairs(Bytes bytes, StoredNumbers &block) {
  for (unsigned i = 0; i < 256; ++i)
    block.numbers[i] = static_cast<int8_t>(
        bytes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3);
}

void read_q2_k(Bytes bytes, StoredNumbers &block) {
  block.unit = 16;
  block.zero = 0;
  for (unsigned unit = 0; unit < 16; ++unit) {
    block.unit_scales[unit] = static_cast<int8_t>(bytes[unit] & 15);
    block.unit_minimums[unit] = static_cast<int8_t>(-(bytes[unit] >> 4));
  }
  read_pairs(bytes + 16, block);
  block.scale = half_at(bytes + 80);
  block.minimum = half_at(bytes + 82);
}

void read_q3_k(Bytes bytes, StoredNumbers &block) {
  block.unit = 16;
  block.zero = 4;
  Bytes high = bytes, scales = bytes + 96;
  read_pairs(bytes + 32, block);
  for (unsigned i = 0; i < 256; ++i)
    block.numbers[i] = static_cast<int8_t>(block.numbers[i] |
                                           (high[i % 32] >> (i / 32) & 1) << 2);
  // Of each scale 4 bits are a half of the first 8 bytes, 2 of the last 4.
  for (unsigned unit = 0; unit < 16; ++unit) {
    const unsigned low = scales[unit % 8] >> (unit / 8 * 4) & 15;
    const unsigned top = scales[8 + unit % 4] >> (unit / 4 * 2) & 3;
    block.unit_scales[unit] =
        static_cast<int8_t>(static_cast<int>(low | top << 4) - 32);
    block.unit_minimums[unit] = 0;
  }
  block.scale = half_at(bytes + 108);
}

/// The twelve bytes of 6-bit scales and minimums of eight units.
void read_scales(Bytes bytes, StoredNumbers &block) {
  block.unit = 32;
  block.zero = 0;
  for (unsigned unit = 0; unit < 8; ++unit) {
    unsigned scale, minimum;
    if (unit < 4) {
      scale = bytes[unit] & 63;
      minimum = bytes[unit + 4] & 63;
    } else {
      scale = (bytes[unit + 4] & 15) | (bytes[unit - 4] >> 6) << 4;
      minimum = (bytes[unit + 4] >> 4) | (bytes[unit] >> 6) << 4;
    }
    block.unit_scales[unit] = static_cast<int8_t>(scale);
    block.unit_minimums[unit] = static_cast<int8_t>(-static_cast<int>(minimum));
  }
}

/// Four bits of each number: 32 bytes hold those of 64.
void read_halves(Bytes bytes, StoredNumbers &block) {
  for (unsigned i = 0; i < 256; ++i)
    block.numbers[i] = static_cast<int8_t>(
        bytes[i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15);
}

void read_q4_k(Bytes bytes, StoredNumbers &block) {
  block.scale = half_at(bytes);
  block.minimum = half_at(bytes + 2);
  read_scales(bytes + 4, block);
  read_halves(bytes + 16, block);
}

void read_q5_k(Bytes bytes, StoredNumbers &block) {
  block.scale = half_at(bytes);
  block.minimum = half_at(bytes + 2);
  read_scales(bytes + 4, block);
  Bytes high = bytes + 16;
  read_halves(bytes + 48, block);
  for (unsigned i = 0; i < 256; ++i)
    block.numbers[i] = static_cast<int8_t>(block.numbers[i] |
                                           (high[i % 32] >> (i / 32) & 1) << 4);
}

void read_q6_k(Bytes bytes, StoredNumbers &block) {
  block.unit = 16;
  block.zero = 32;
  Bytes low = bytes, high = bytes + 128, scales = bytes + 192;
  for (unsigned i = 0; i < 256; ++i) {
    const unsigned half = i / 128, place = i % 128;
    const unsigned four = low[half * 64 + place % 64] >> (place / 64 * 4) & 15;
    const unsigned two = high[half * 32 + place % 32] >> (place / 32 * 2) & 3;
    block.numbers[i] = static_cast<int8_t>(four | two << 4);
  }
  for (unsigned unit = 0; unit < 16; ++unit) {
    block.unit_scales[unit] = static_cast<int8_t>(scales[unit]);
    block.unit_minimums[unit] = 0;
  }
  block.scale = half_at(bytes + 208);
}

} // namespace

void read_block(DataType type, const std::byte *stored, StoredNumbers &block) {
  Bytes bytes = reinterpret_cast<Bytes>(stored);
  block.minimum = 0;
  switch (type) {
  case DataType::Q8_0:
    return read_q8_0(bytes, block);
  case DataType::Q4_0:
    return read_q4_0(bytes, block);
  case DataType::Q4_1:
    return read_q4_1(bytes, block);
  case DataType::Q5_0:
    return read_q5_0(bytes, block);
  case DataType::Q5_1:
    return read_q5_1(bytes, block);
  case DataType::Q2_K:
    return read_q2_k(bytes, block);
  case DataType::Q3_K:
    return read_q3_k(bytes, block);
  case DataType::Q4_K:
    return read_q4_k(bytes, block);
  case DataType::Q5_K:
    return read_q5_k(bytes, block);
  case DataType::Q6_K:
    return read_q6_k(bytes, block);
  case DataType::IQ4_NL:
    return read_iq4_nl(bytes, block);
  case DataType::GgufMXFP4:
    return read_mxfp4(bytes, block);
  default:
    std::memset(&block, 0, sizeof block);
    block.unit = 1;
  }
}

namespace {

//===----------------------------------------------------------------------===//
// Weights with companions
//===----------------------------------------------------------------------===//

float f32_at(const std::byte *data, uint64_t index) {
  float value;
  std::memcpy(&value, data + index * sizeof value, sizeof value);
  return value;
}

/// One that a scale may be.
float number_at(const SharedValues &values, uint64_t index) {
  if (values.type == DataType::F32)
    return f32_at(values.data, index);
  uint16_t bits;
  std::memcpy(&bits, values.data + index * sizeof bits, sizeof bits);
  return values.type == DataType::F16 ? f32_from_f16(bits)
                                      : f32_from_bf16(bits);
}

uint8_t byte_at(const SharedValues &values, uint64_t output, uint64_t input) {
  return std::to_integer<uint8_t>(values.data[values.index(output, input)]);
}

float scale_at(const Companions &companions, uint64_t output, uint64_t input) {
  const SharedValues &values = companions.scales;
  const uint64_t index = values.index(output, input);
  if (!companions.nested)
    return number_at(values, index) * companions.scale_factor;
  const NestedScales &nested = *companions.nested;
  const float scale =
      f32_at(nested.numbers, std::to_integer<uint8_t>(values.data[index])) *
      f32_at(nested.scales, index / nested.each);
  return scale + nested.offset;
}

uint32_t word_at(const PackedCodes &codes, uint64_t output, uint64_t input) {
  const uint64_t index =
      (codes.has_outputs ? output / 8 : output) * codes.output_stride +
      (codes.has_outputs ? input : input / 8) * codes.input_stride;
  uint32_t word;
  std::memcpy(&word, codes.data + index * sizeof word, sizeof word);
  return word;
}

int code_of(const PackedCodes &codes, uint32_t word, uint64_t neighbour) {
  return static_cast<int>(word >> (4 * codes.places[neighbour % 8]) & 15);
}

/// Codes of an output, from a multiple of 8 on.
void read_codes(const Companions &companions, const std::byte *data,
                uint64_t output, uint64_t input, unsigned count,
                int8_t *numbers) {
  if (companions.bits == 8) {
    std::memcpy(numbers, data + output * companions.inputs + input, count);
    for (unsigned i = 0; i < count; ++i)
      numbers[i] = static_cast<int8_t>(numbers[i] ^ companions.inverted);
    return;
  }
  const PackedCodes &codes = companions.codes;
  if (codes.has_outputs) {
    for (unsigned i = 0; i < count; ++i)
      numbers[i] = static_cast<int8_t>(
          code_of(codes, word_at(codes, output, input + i), output));
    return;
  }
  for (unsigned i = 0; i < count; i += 8) {
    const uint32_t word = word_at(codes, output, input + i);
    for (unsigned j = 0; j < 8; ++j)
      numbers[i + j] = static_cast<int8_t>(code_of(codes, word, j));
  }
}

/// Exact: a sign, four bits of exponent, three of mantissa; NaN where all seven
/// are set.
float f32_from_e4m3(uint8_t byte) {
  if ((byte & 0x7f) == 0x7f)
    return std::bit_cast<float>(static_cast<uint32_t>(byte & 0x80) << 24 |
                                0x7fc00000u);
  const float magnitude =
      std::bit_cast<float>(static_cast<uint32_t>(byte & 0x7f) << 20) * 0x1p120f;
  return byte & 0x80 ? -magnitude : magnitude;
}

/// A power of two by its exponent in F32; NaN where it is the largest.
float f32_from_e8m0(uint8_t byte) {
  return std::bit_cast<float>(byte == 0 ? 1u << 22
                              : byte == 255
                                  ? 0x7fc00000u
                                  : static_cast<uint32_t>(byte) << 23);
}

/// Weights [begin, end) of a block that was taken apart.
void weights_of(DataType type, const StoredNumbers &block, unsigned begin,
                unsigned end, float *weights) {
  for (unsigned i = begin; i < end; ++i, ++weights) {
    const int8_t code = block.numbers[i];
    const unsigned place = i / block.unit;
    const auto unit = static_cast<uint8_t>(block.unit_scales[place]);
    switch (type) {
    case DataType::Int4_G32:
    case DataType::Int4_G64:
    case DataType::Int4_G128: {
      const float offset = -static_cast<float>(block.zero) * block.factor;
      *weights = std::fma(static_cast<float>(code), block.factor, offset);
      break;
    }
    case DataType::Int8_G64:
      *weights = static_cast<float>(code) * block.factor;
      break;
    case DataType::FP8_G64:
      *weights = f32_from_e4m3(static_cast<uint8_t>(code)) * block.factor;
      break;
    case DataType::NVFP4: {
      const float scale = f32_from_e4m3(unit) / block.factor;
      *weights = blocks::E2M1::numbers[code] * scale;
      break;
    }
    case DataType::GgufMXFP4:
    case DataType::MXFP4:
      *weights = blocks::E2M1::numbers[code] * f32_from_e8m0(unit);
      break;
    case DataType::NF4:
      *weights = blocks::NF4::numbers[code] * block.factor;
      break;
    case DataType::FP4:
      *weights = blocks::FP4::numbers[code] * block.factor;
      break;
    default: {
      const float s = f32_from_f16(block.scale) *
                      static_cast<float>(block.unit_scales[place]);
      // A format has minimums or a zero, not both.
      const float o = block.zero
                          ? s * -static_cast<float>(block.zero)
                          : f32_from_f16(block.minimum) *
                                static_cast<float>(block.unit_minimums[place]);
      *weights = std::fma(static_cast<float>(code), s, o);
    }
    }
  }
}

/// Calls read(block, numbers) for the blocks that the weights are in.
template <typename Read>
void dequantise_blocks(DataType type, uint64_t first, uint64_t count,
                       float *weights, Read read) {
  const uint64_t elements = stored_block(type).elements;
  StoredNumbers block;
  for (uint64_t done = 0; done < count;) {
    const uint64_t begin = (first + done) % elements,
                   end = std::min(elements, begin + count - done);
    read((first + done) / elements, block);
    weights_of(type, block, static_cast<unsigned>(begin),
               static_cast<unsigned>(end), weights + done);
    done += end - begin;
  }
}

} // namespace

void read_block(const Tensor &tensor, uint64_t inputs, uint64_t output,
                uint64_t input, StoredNumbers &block) {
  const StoredBlock size = stored_block(tensor.type);
  if (!tensor.companions)
    return read_block(tensor.type,
                      tensor.data + (output * (inputs / size.elements) +
                                     input / size.elements) *
                                        size.bytes,
                      block);
  const Companions &companions = *tensor.companions;
  const SharedValues &scales = companions.scales;
  read_codes(companions, tensor.data, output, input, size.elements,
             block.numbers);
  block.unit = size.elements;
  block.zero = companions.zero;
  switch (tensor.type) {
  case DataType::NVFP4:
    block.unit = 16;
    for (unsigned unit = 0; unit < size.elements / 16; ++unit)
      block.unit_scales[unit] =
          static_cast<int8_t>(byte_at(scales, output, input + 16 * unit));
    block.factor = companions.divisor;
    break;
  case DataType::MXFP4:
    block.unit_scales[0] = static_cast<int8_t>(byte_at(scales, output, input));
    break;
  default:
    block.unit_scales[0] = 1;
    block.factor = scale_at(companions, output, input);
    if (companions.zeros)
      block.zero += code_of(
          *companions.zeros,
          word_at(*companions.zeros, output, input / scales.inputs), output);
  }
}

bool has_columns(const Tensor &tensor) {
  return tensor.companions && tensor.companions->bits == 4 &&
         (tensor.companions->codes.has_outputs ||
          tensor.companions->codes.output_stride == 1);
}

bool has_nan(DataType type, const StoredNumbers &block) {
  const unsigned elements = stored_block(type).elements;
  const auto is_nan = [](int8_t byte) { return (byte & 0x7f) == 0x7f; };
  switch (type) {
  case DataType::FP8_G64:
    return std::any_of(block.numbers, block.numbers + elements, is_nan);
  case DataType::NVFP4:
    return std::any_of(block.unit_scales,
                       block.unit_scales + elements / block.unit, is_nan);
  case DataType::GgufMXFP4:
  case DataType::MXFP4:
    return static_cast<uint8_t>(block.unit_scales[0]) == 255;
  default:
    return false;
  }
}

void dequantise(DataType type, const std::byte *row, uint64_t first,
                uint64_t count, float *weights) {
  dequantise_blocks(
      type, first, count, weights, [&](uint64_t index, StoredNumbers &block) {
        read_block(type, row + index * stored_block(type).bytes, block);
      });
}

void dequantise(const Tensor &tensor, uint64_t inputs, uint64_t output,
                uint64_t first, uint64_t count, float *weights) {
  dequantise_blocks(tensor.type, first, count, weights,
                    [&](uint64_t index, StoredNumbers &block) {
                      read_block(tensor, inputs, output,
                                 index * stored_block(tensor.type).elements,
                                 block);
                    });
}

} // namespace baton
