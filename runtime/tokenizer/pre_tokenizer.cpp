//===- pre_tokenizer.cpp - cuts text into the words that are encoded -----===//

#include "runtime/tokenizer/pre_tokenizer.h"

#include "runtime/error.h"

namespace baton {

namespace {

/// The split that ByteLevel does by itself, published with GPT-2: contractions,
/// then letters, numbers or other characters with at most one space before
/// them, then spaces, of which a run leaves its last one to what follows.
constexpr const char *byte_level_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Regex compile(const JsonView &pattern) {
  try {
    if (const auto regex = pattern.find("Regex"))
      return Regex(regex->string());
    if (const auto text = pattern.find("String"))
      return Regex::literal(text->string());
  } catch (const Error &error) {
    pattern.fail(std::string("cannot be used: ") + error.what());
  }
  pattern.fail("has neither 'Regex' nor 'String'");
}

} // namespace

PreTokenizer::PreTokenizer(const JsonView &description) {
  read(description);
  if (!has_byte_level)
    description.refuse("a pre-tokenizer without ByteLevel");
}

void PreTokenizer::read(const JsonView &description) {
  if (has_byte_level)
    description.refuse("a pre-tokenizer behind ByteLevel");
  const std::string &type = description.at("type").string();
  if (type == "Sequence") {
    for (const JsonView &element : description.at("pretokenizers").elements())
      read(element);
  } else if (type == "Split") {
    const std::string &behavior = description.at("behavior").string();
    const bool invert = description.boolean("invert", false);
    if (behavior != "Isolated" && behavior != "Removed")
      description.at("behavior").refuse("'" + behavior + "'");
    splits.push_back({compile(description.at("pattern")),
                      behavior == "Isolated" ? Split::Nothing
                      : invert               ? Split::Rest
                                             : Split::Matches});
  } else if (type == "Digits") {
    const bool individual = description.boolean("individual_digits", false);
    splits.push_back(
        {Regex(individual ? R"(\p{N})" : R"(\p{N}+)"), Split::Nothing});
  } else if (type == "ByteLevel") {
    read_byte_level(description);
  } else {
    description.refuse("type '" + type + "'");
  }
}

void PreTokenizer::read_byte_level(const JsonView &description) {
  has_byte_level = true;
  add_prefix_space = description.boolean("add_prefix_space", true);
  prefixed_split = splits.size();
  if (description.boolean("use_regex", true))
    splits.push_back({Regex(byte_level_pattern), Split::Nothing});
}

void PreTokenizer::split(
    std::string_view text,
    const std::function<void(std::string_view)> &sink) const {
  split_from(0, text, sink);
}

void PreTokenizer::split_from(
    size_t step, std::string_view text,
    const std::function<void(std::string_view)> &sink) const {
  if (text.empty())
    return;
  std::string prefixed;
  if (add_prefix_space && step == prefixed_split && text.front() != ' ') {
    prefixed.append(" ").append(text);
    text = prefixed;
  }
  if (step == splits.size())
    return sink(text);
  const Split &split = splits[step];
  split.regex.cut(text, [&](std::string_view piece, bool match) {
    if (split.dropped != (match ? Split::Matches : Split::Rest))
      split_from(step + 1, piece, sink);
  });
}

} // namespace baton
