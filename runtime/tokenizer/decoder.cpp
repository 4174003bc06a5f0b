//===- decoder.cpp - what tokens stand for in text -----------------------===//

#include "runtime/tokenizer/decoder.h"

#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/normalizer.h"

#include <algorithm>

namespace baton {

namespace {

/// "<0x0A>" stands for a byte.
bool is_byte_token(std::string_view spelling) {
  const auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') ||
           (c >= 'a' && c <= 'f');
  };
  return spelling.size() == 6 && spelling.starts_with("<0x") &&
         spelling[5] == '>' && is_digit(spelling[3]) && is_digit(spelling[4]);
}

} // namespace

Decoder::Decoder(const JsonView &description) { read(description); }

void Decoder::read(const JsonView &description) {
  const std::string &type = description.at("type").string();
  if (strip_count != 0)
    description.refuse("a decoder behind Strip");
  if (type == "Sequence") {
    const std::vector<JsonView> decoders =
        description.at("decoders").elements();
    for (const JsonView &decoder : decoders) {
      if (byte_level || strip_first_token)
        decoder.refuse("a decoder behind one that joins tokens");
      read(decoder);
    }
  } else if (type == "ByteLevel") {
    if (byte_fallback || !replacements.empty())
      description.refuse("ByteLevel behind another decoder");
    byte_level = true;
  } else if (type == "Metaspace") {
    const std::string replacement = description.at("replacement").string();
    replacements.push_back(
        [regex = Regex::literal(replacement)](std::string_view text) {
          return replace_all(text, regex, " ");
        });
    const auto scheme = description.find("prepend_scheme");
    strip_first_token = scheme ? scheme->string() != "never"
                               : description.boolean("add_prefix_space", true);
  } else if (type == "Replace") {
    if (byte_fallback)
      description.refuse("Replace behind ByteFallback");
    replacements.push_back(
        [regex = read_pattern(description.at("pattern")),
         content = description.at("content").string()](std::string_view text) {
          return replace_all(text, regex, content);
        });
  } else if (type == "ByteFallback") {
    byte_fallback = true;
  } else if (type == "Fuse") {
    // Tokens are joined in any case.
  } else if (type == "Strip") {
    if (description.at("stop").id() != 0)
      description.refuse("Strip at the end of a text");
    stripped = description.at("content").string();
    strip_count = static_cast<size_t>(description.at("start").id());
  } else {
    description.refuse("type '" + type + "'");
  }
}

std::string Decoder::bytes(std::string_view spelling) const {
  if (byte_level) {
    // A spelling with other characters can only be that of an added token.
    auto spelled = read_spelled_bytes(spelling);
    return spelled ? std::move(*spelled) : std::string(spelling);
  }
  std::string text(spelling);
  for (const auto &replace : replacements)
    text = replace(text);
  if (byte_fallback && is_byte_token(text))
    return std::string(
        1, static_cast<char>(std::stoi(text.substr(3, 2), nullptr, 16)));
  return text;
}

void Decoder::strip_start(std::string &text, size_t first_token) const {
  if (strip_first_token) {
    const auto end = text.begin() + static_cast<ptrdiff_t>(first_token);
    text.erase(std::remove(text.begin(), end, ' '), end);
  }
  for (size_t i = 0; i < strip_count && !stripped.empty(); ++i)
    if (text.starts_with(stripped))
      text.erase(0, stripped.size());
}

} // namespace baton
