//===- decoder.cpp - what tokens stand for in text -----------------------===//

#include "runtime/tokenizer/decoder.h"

#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/normalizer.h"

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

Decoder::Decoder() : stripped(" "), strip_count(1) {
  replacements.push_back(
      [](std::string_view text, bool) { return " " + std::string(text); });
}

Decoder::Decoder(const JsonView &description) { read(description); }

void Decoder::read(const JsonView &description) {
  const std::string &type = description.at("type").string();
  // Behind these the reference has one text, here there are still tokens.
  if (byte_level || strip_count != 0 ||
      (fused && type != "Fuse" && type != "Strip"))
    description.refuse("a decoder behind one that joins tokens");
  if (type == "Sequence") {
    for (const JsonView &decoder : description.at("decoders").elements())
      read(decoder);
  } else if (type == "ByteLevel") {
    if (byte_fallback || !replacements.empty())
      description.refuse("ByteLevel behind another decoder");
    byte_level = true;
  } else if (type == "Metaspace") {
    if (byte_fallback)
      description.refuse("Metaspace behind ByteFallback");
    const auto scheme = description.find("prepend_scheme");
    const bool begins = scheme ? scheme->string() != "never"
                               : description.boolean("add_prefix_space", true);
    strips_first |= begins;
    replacements.push_back(
        [regex = Regex::literal(description.at("replacement").string()),
         begins](std::string_view text, bool first) {
          return replace_all(text, regex, first && begins ? "" : " ");
        });
  } else if (type == "Replace") {
    if (byte_fallback)
      description.refuse("Replace behind ByteFallback");
    replacements.push_back([regex = read_pattern(description.at("pattern")),
                            content = description.at("content").string()](
                               std::string_view text, bool) {
      return replace_all(text, regex, content);
    });
  } else if (type == "ByteFallback") {
    byte_fallback = true;
  } else if (type == "Fuse") {
    fused = true;
  } else if (type == "Strip") {
    if (description.at("stop").id() != 0)
      description.refuse("Strip at the end of a text");
    stripped = description.at("content").string();
    strip_count = static_cast<size_t>(description.at("start").id());
    if (!fused && strip_count != 0)
      description.refuse("Strip of every token, without Fuse before it,");
  } else {
    description.refuse("type '" + type + "'");
  }
}

std::string Decoder::bytes(std::string_view spelling) const {
  return bytes(spelling, /*first=*/false);
}

std::string Decoder::first_bytes(std::string_view spelling) const {
  return bytes(spelling, /*first=*/true);
}

std::string Decoder::bytes(std::string_view spelling, bool first) const {
  if (byte_level) {
    // A spelling with other characters can only be that of an added token.
    auto spelled = read_spelled_bytes(spelling);
    return spelled ? std::move(*spelled) : std::string(spelling);
  }
  std::string text(spelling);
  for (const Replacement &replace : replacements)
    text = replace(text, first);
  if (byte_fallback && is_byte_token(text))
    return std::string(
        1, static_cast<char>(std::stoi(text.substr(3, 2), nullptr, 16)));
  return text;
}

void Decoder::strip_start(std::string &text) const {
  for (size_t i = 0; i < strip_count && !stripped.empty(); ++i)
    if (text.starts_with(stripped))
      text.erase(0, stripped.size());
}

} // namespace baton
