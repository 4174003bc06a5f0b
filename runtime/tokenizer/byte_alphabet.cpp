//===- byte_alphabet.cpp - bytes spelled as printable characters ---------===//

#include "runtime/tokenizer/byte_alphabet.h"

#include <array>

namespace baton {

namespace {

/// The highest code point of the alphabet is U+0143: no character has more than
/// two bytes.
constexpr uint32_t code_points = 0x144;

struct Alphabet {
  std::array<uint32_t, 256> of_byte{};
  std::array<int16_t, code_points> byte_of{};

  constexpr Alphabet() {
    byte_of.fill(-1);
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') ||
                             (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
      of_byte[byte] = printable ? byte : next++;
      byte_of[of_byte[byte]] = static_cast<int16_t>(byte);
    }
  }
};

constexpr Alphabet alphabet;

} // namespace

std::string spell_byte(uint8_t byte) {
  const uint32_t code_point = alphabet.of_byte[byte];
  if (code_point < 0x80)
    return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0 | code_point >> 6),
          static_cast<char>(0x80 | (code_point & 0x3F))};
}

std::optional<std::string> read_spelled_bytes(std::string_view text) {
  std::string bytes;
  for (size_t at = 0; at < text.size(); ++at) {
    uint32_t code_point = static_cast<uint8_t>(text[at]);
    if (code_point >= 0xE0)
      return std::nullopt;
    if (code_point >= 0x80) {
      if (++at == text.size())
        return std::nullopt;
      code_point = (code_point & 0x1F) << 6 | (text[at] & 0x3F);
    }
    if (code_point >= code_points || alphabet.byte_of[code_point] < 0)
      return std::nullopt;
    bytes += static_cast<char>(alphabet.byte_of[code_point]);
  }
  return bytes;
}

} // namespace baton
