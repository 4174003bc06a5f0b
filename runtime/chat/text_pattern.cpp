//===- text_pattern.cpp - marks with names in them, at the end of a text --===//

#include "runtime/chat/text_pattern.h"

#include <algorithm>
#include <array>
#include <utility>

namespace baton {
namespace {

constexpr size_t most_space = 64;
constexpr size_t most_captured = 256;

constexpr std::array<
    std::pair<std::string_view, std::string PatternCaptures::*>, 5>
    placeholders = {{{"$NAME", &PatternCaptures::name},
                     {"$ID", &PatternCaptures::id},
                     {"$INDEX", &PatternCaptures::index},
                     {"$KEY", &PatternCaptures::key},
                     {"$TYPE", &PatternCaptures::type}}};

/// The placeholder that `text` begins with, or the end of the list.
auto placeholder_at(std::string_view text) {
  return std::ranges::find_if(placeholders, [&](const auto &placeholder) {
    return text.starts_with(placeholder.first);
  });
}

std::string_view without_outer_space(std::string_view text) {
  while (!text.empty() && is_pattern_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_pattern_space(text.back()))
    text.remove_suffix(1);
  return text;
}

/// Names of functions and identifiers are one word; keys may be anything that
/// stands on one line.
bool may_capture(std::string PatternCaptures::*capture, char byte) {
  if (static_cast<unsigned char>(byte) < 0x20)
    return false;
  if (capture == &PatternCaptures::key)
    return true;
  return std::string_view(" \"'`<>{}[](),;=\\").find(byte) ==
         std::string_view::npos;
}

} // namespace

bool is_pattern_space(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

TextPattern::TextPattern(std::string_view pattern) {
  pattern = without_outer_space(pattern);
  while (!pattern.empty()) {
    if (const auto found = placeholder_at(pattern);
        found != placeholders.end()) {
      parts.push_back({"", found->second});
      pattern.remove_prefix(found->first.size());
      continue;
    }
    const bool space = is_pattern_space(pattern.front());
    size_t length = 1;
    while (length < pattern.size() &&
           is_pattern_space(pattern[length]) == space &&
           placeholder_at(pattern.substr(length)) == placeholders.end())
      ++length;
    parts.push_back({space ? "" : std::string(pattern.substr(0, length))});
    pattern.remove_prefix(length);
  }
}

/// Where what a placeholder stands for ends: where the literal after it begins
/// to match, or at white space or a tag where none follows. The size of the
/// text if that is not known yet, npos if there is no end.
size_t TextPattern::capture_end(std::string_view text, size_t from,
                                size_t part) const {
  const bool before_literal =
      part + 1 < parts.size() && !parts[part + 1].literal.empty();
  for (size_t at = from;; ++at) {
    if (at == text.size())
      return at;
    if (at - from > most_captured)
      return std::string_view::npos;
    if (before_literal) {
      const std::string_view literal = parts[part + 1].literal;
      const std::string_view rest = text.substr(at, literal.size());
      if (literal.starts_with(rest))
        return rest.size() < literal.size() ? text.size() : at;
    } else if (is_pattern_space(text[at]) || text[at] == '<') {
      return at;
    }
    if (!may_capture(parts[part].capture, text[at]))
      return std::string_view::npos;
  }
}

PatternMatch TextPattern::match(std::string_view text) const {
  PatternMatch result;
  size_t at = 0;
  for (size_t part = 0; part < parts.size(); ++part) {
    const Part &expected = parts[part];
    if (expected.capture) {
      const size_t end = capture_end(text, at, part);
      if (end == std::string_view::npos || (end == at && end < text.size()))
        return {};
      if (end == text.size()) {
        result.kind = PatternMatch::Partial;
        return result;
      }
      result.captures.*expected.capture = text.substr(at, end - at);
      at = end;
    } else if (expected.literal.empty()) {
      const size_t from = at;
      while (at < text.size() && at - from < most_space &&
             is_pattern_space(text[at]))
        ++at;
    } else {
      const std::string_view rest = text.substr(at, expected.literal.size());
      if (!std::string_view(expected.literal).starts_with(rest))
        return {};
      if (rest.size() < expected.literal.size()) {
        result.kind = PatternMatch::Partial;
        return result;
      }
      at += rest.size();
    }
  }
  result.kind = PatternMatch::Yes;
  result.bytes = at;
  return result;
}

std::string fill_pattern(std::string_view pattern,
                         const PatternCaptures &captures) {
  std::string text;
  while (!pattern.empty()) {
    if (const auto found = placeholder_at(pattern);
        found != placeholders.end()) {
      text += captures.*found->second;
      pattern.remove_prefix(found->first.size());
    } else {
      text += pattern.front();
      pattern.remove_prefix(1);
    }
  }
  return text;
}

} // namespace baton
