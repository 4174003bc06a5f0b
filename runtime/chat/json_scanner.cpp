//===- json_scanner.cpp - one JSON value, byte by byte --------------------===//

#include "runtime/chat/json_scanner.h"

#include <string_view>

namespace baton {
namespace {

constexpr size_t most_nesting = 256;

bool is_json_space(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

bool is_hex_digit(char byte) {
  return is_digit(byte) || (byte >= 'a' && byte <= 'f') ||
         (byte >= 'A' && byte <= 'F');
}

bool is_of_number(char byte) {
  return is_digit(byte) || byte == '-' || byte == '+' || byte == '.' ||
         byte == 'e' || byte == 'E';
}

/// Takes digits; whether there was one.
bool take_digits(std::string_view &text) {
  const size_t before = text.size();
  while (!text.empty() && is_digit(text.front()))
    text.remove_prefix(1);
  return text.size() < before;
}

} // namespace

bool is_json_number(const std::string &number) {
  std::string_view text = number;
  if (text.starts_with('-'))
    text.remove_prefix(1);
  if (text.starts_with('0'))
    text.remove_prefix(1);
  else if (!take_digits(text))
    return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!take_digits(text))
      return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-'))
      text.remove_prefix(1);
    if (!take_digits(text))
      return false;
  }
  return text.empty();
}

JsonScanner::Result JsonScanner::end_value() {
  state = State::CommaOrClose;
  return nesting.empty() ? Last : More;
}

JsonScanner::Result JsonScanner::open(char bracket) {
  if (nesting.size() == most_nesting)
    return Bad;
  nesting += bracket;
  state = bracket == '{' ? State::KeyOrClose : State::ValueOrClose;
  return More;
}

JsonScanner::Result JsonScanner::close(char bracket) {
  if (nesting.empty() || nesting.back() != (bracket == '}' ? '{' : '['))
    return Bad;
  nesting.pop_back();
  return end_value();
}

JsonScanner::Result JsonScanner::begin_value(char byte) {
  if (byte == '{' || byte == '[')
    return open(byte);
  if (byte == '"') {
    state = State::String;
    string_is_key = false;
    return More;
  }
  if (byte == '-' || is_digit(byte)) {
    state = State::Number;
    scalar = byte;
    return More;
  }
  for (const std::string_view word : {"true", "false", "null"})
    if (byte == word.front()) {
      state = State::Word;
      scalar = word.substr(1);
      return More;
    }
  return Bad;
}

JsonScanner::Result JsonScanner::push_string(char byte) {
  switch (state) {
  case State::Escape:
    hex_digits = 0;
    state = byte == 'u' ? State::Hex : State::String;
    return std::string_view("\"\\/bfnrtu").find(byte) != std::string_view::npos
               ? More
               : Bad;
  case State::Hex:
    if (++hex_digits == 4)
      state = State::String;
    return is_hex_digit(byte) ? More : Bad;
  default:
    break;
  }
  if (byte == '\\') {
    state = State::Escape;
    return More;
  }
  if (byte != '"')
    return static_cast<unsigned char>(byte) < 0x20 ? Bad : More;
  if (!string_is_key)
    return end_value();
  state = State::Colon;
  return More;
}

JsonScanner::Result JsonScanner::push(char byte) {
  switch (state) {
  case State::String:
  case State::Escape:
  case State::Hex:
    return push_string(byte);
  case State::Word:
    if (byte != scalar.front())
      return Bad;
    scalar.erase(0, 1);
    return scalar.empty() ? end_value() : More;
  case State::Number:
    if (is_of_number(byte)) {
      scalar += byte;
      return More;
    }
    if (!is_json_number(scalar))
      return Bad;
    if (end_value() == Last)
      return Before;
    return push(byte);
  default:
    break;
  }
  if (is_json_space(byte))
    return More;
  switch (state) {
  case State::ValueOrClose:
    if (byte == ']')
      return close(byte);
    [[fallthrough]];
  case State::Value:
    return begin_value(byte);
  case State::KeyOrClose:
    if (byte == '}')
      return close(byte);
    [[fallthrough]];
  case State::Key:
    state = State::String;
    string_is_key = true;
    return byte == '"' ? More : Bad;
  case State::Colon:
    state = State::Value;
    return byte == ':' ? More : Bad;
  case State::CommaOrClose:
    if (byte == '}' || byte == ']')
      return close(byte);
    state =
        !nesting.empty() && nesting.back() == '{' ? State::Key : State::Value;
    return byte == ',' && !nesting.empty() ? More : Bad;
  default:
    return Bad;
  }
}

} // namespace baton
