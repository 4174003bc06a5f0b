//===- block_writer.cpp - quantised weights as files have them, written ---===//

#include "tools/quantize/block_writer.h"

#include <cstring>
#include <stdexcept>

namespace baton {

namespace {

using Bytes = uint8_t *;

void put_half(Bytes bytes, uint16_t half) {
  std::memcpy(bytes, &half, sizeof half);
}

unsigned bits_of_number(const StoredNumbers &block, unsigned index) {
  return static_cast<uint8_t>(block.numbers[index]);
}

/// The lower four bits of 32 numbers; byte i has those of i and i + 16.
void put_nibbles(Bytes bytes, const StoredNumbers &block) {
  for (unsigned i = 0; i < 16; ++i)
    bytes[i] = static_cast<uint8_t>((bits_of_number(block, i) & 15) |
                                    (bits_of_number(block, i + 16) & 15) << 4);
}

void put_fifth_bits(Bytes bytes, const StoredNumbers &block) {
  uint32_t bits = 0;
  for (unsigned i = 0; i < 32; ++i)
    bits |= (bits_of_number(block, i) >> 4 & 1) << i;
  std::memcpy(bytes, &bits, sizeof bits);
}

/// Two bits of each of 256 numbers, behind `shift`.
void put_pairs(Bytes bytes, const StoredNumbers &block) {
  for (unsigned i = 0; i < 256; ++i)
    bytes[i / 128 * 32 + i % 32] |= static_cast<uint8_t>(
        (bits_of_number(block, i) & 3) << (i % 128 / 32 * 2));
}

/// The lower four bits of each of 256 numbers.
void put_halves(Bytes bytes, const StoredNumbers &block) {
  for (unsigned i = 0; i < 256; ++i)
    bytes[i / 64 * 32 + i % 32] |= static_cast<uint8_t>(
        (bits_of_number(block, i) & 15) << (i % 64 / 32 * 4));
}

/// One bit of each of 256 numbers.
void put_bits(Bytes bytes, const StoredNumbers &block, unsigned bit) {
  for (unsigned i = 0; i < 256; ++i)
    bytes[i % 32] |=
        static_cast<uint8_t>((bits_of_number(block, i) >> bit & 1) << (i / 32));
}

/// Six bits of a scale and of a minimum, of each of eight units.
void put_scales(Bytes bytes, const StoredNumbers &block) {
  for (unsigned unit = 0; unit < 8; ++unit) {
    const unsigned scale = static_cast<uint8_t>(block.unit_scales[unit]);
    const auto minimum = static_cast<unsigned>(-block.unit_minimums[unit]);
    if (unit < 4) {
      bytes[unit] |= static_cast<uint8_t>(scale);
      bytes[unit + 4] |= static_cast<uint8_t>(minimum);
    } else {
      bytes[unit + 4] =
          static_cast<uint8_t>((scale & 15) | (minimum & 15) << 4);
      bytes[unit - 4] |= static_cast<uint8_t>(scale >> 4 << 6);
      bytes[unit] |= static_cast<uint8_t>(minimum >> 4 << 6);
    }
  }
}

void put_q2_k(Bytes bytes, const StoredNumbers &block) {
  for (unsigned unit = 0; unit < 16; ++unit)
    bytes[unit] = static_cast<uint8_t>(block.unit_scales[unit] |
                                       -block.unit_minimums[unit] << 4);
  put_pairs(bytes + 16, block);
  put_half(bytes + 80, block.scale);
  put_half(bytes + 82, block.minimum);
}

void put_q3_k(Bytes bytes, const StoredNumbers &block) {
  put_bits(bytes, block, 2);
  put_pairs(bytes + 32, block);
  Bytes scales = bytes + 96;
  for (unsigned unit = 0; unit < 16; ++unit) {
    const auto scale = static_cast<unsigned>(block.unit_scales[unit] + 32);
    scales[unit % 8] |= static_cast<uint8_t>((scale & 15) << (unit / 8 * 4));
    scales[8 + unit % 4] |= static_cast<uint8_t>(scale >> 4 << (unit / 4 * 2));
  }
  put_half(bytes + 108, block.scale);
}

void put_q6_k(Bytes bytes, const StoredNumbers &block) {
  for (unsigned i = 0; i < 256; ++i) {
    const unsigned half = i / 128, place = i % 128,
                   number = bits_of_number(block, i);
    bytes[half * 64 + place % 64] |=
        static_cast<uint8_t>((number & 15) << (place / 64 * 4));
    bytes[128 + half * 32 + place % 32] |=
        static_cast<uint8_t>((number >> 4 & 3) << (place / 32 * 2));
  }
  std::memcpy(bytes + 192, block.unit_scales, 16);
  put_half(bytes + 208, block.scale);
}

} // namespace

void write_block(DataType type, const StoredNumbers &block, std::byte *stored) {
  Bytes bytes = reinterpret_cast<Bytes>(stored);
  std::memset(bytes, 0, stored_block(type).bytes);
  switch (type) {
  case DataType::Q8_0:
    put_half(bytes, block.scale);
    std::memcpy(bytes + 2, block.numbers, 32);
    return;
  case DataType::Q4_0:
    put_half(bytes, block.scale);
    return put_nibbles(bytes + 2, block);
  case DataType::Q4_1:
    put_half(bytes, block.scale);
    put_half(bytes + 2, block.minimum);
    return put_nibbles(bytes + 4, block);
  case DataType::Q5_0:
    put_half(bytes, block.scale);
    put_fifth_bits(bytes + 2, block);
    return put_nibbles(bytes + 6, block);
  case DataType::Q5_1:
    put_half(bytes, block.scale);
    put_half(bytes + 2, block.minimum);
    put_fifth_bits(bytes + 4, block);
    return put_nibbles(bytes + 8, block);
  case DataType::Q2_K:
    return put_q2_k(bytes, block);
  case DataType::Q3_K:
    return put_q3_k(bytes, block);
  case DataType::Q4_K:
    put_half(bytes, block.scale);
    put_half(bytes + 2, block.minimum);
    put_scales(bytes + 4, block);
    return put_halves(bytes + 16, block);
  case DataType::Q5_K:
    put_half(bytes, block.scale);
    put_half(bytes + 2, block.minimum);
    put_scales(bytes + 4, block);
    put_bits(bytes + 16, block, 4);
    return put_halves(bytes + 48, block);
  case DataType::Q6_K:
    return put_q6_k(bytes, block);
  default:
    throw std::logic_error("blocks of this type are not written");
  }
}

} // namespace baton
