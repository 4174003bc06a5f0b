//===- byte_alphabet.h - bytes spelled as printable characters -----------===//
//
// Vocabularies of byte-level tokenizers are JSON text, so every byte is spelled
// as a printable character: itself where Latin-1 has one, otherwise the next
// character from U+0100 on, in the order of the bytes (the alphabet of GPT-2:
// Radford et al., Language Models are Unsupervised Multitask Learners, 2019).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TOKENIZER_BYTE_ALPHABET_H
#define BATON_RUNTIME_TOKENIZER_BYTE_ALPHABET_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace baton {

/// The character that spells a byte, in UTF-8.
std::string spell_byte(uint8_t byte);

/// The bytes that a text spells, or nothing when it has other characters.
std::optional<std::string> read_spelled_bytes(std::string_view text);

} // namespace baton

#endif // BATON_RUNTIME_TOKENIZER_BYTE_ALPHABET_H
