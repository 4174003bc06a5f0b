//===- json_call_reader.cpp - calls in JSON, byte by byte -----------------===//

#include "runtime/chat/json_call_reader.h"

#include "runtime/chat/json_strings.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace baton {
namespace {

/// The string of a JSON text that a scanner has accepted; lone surrogates, of
/// which no text can be made, leave it empty.
std::string json_string_value(const std::string &text) {
  const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  return value.is_string() ? value.get<std::string>() : "";
}

} // namespace

ReadStep ArgumentsReader::push(char byte) {
  const JsonScanner::Result result = scanner.push(byte);
  if (first == 0 && without_space_around({&byte, 1}).empty())
    return ReadStep::More;
  if (first == 0)
    first = byte;
  if (first != '{' && first != '"' && first != 'n')
    return ReadStep::Bad;
  if (result == JsonScanner::Bad)
    return ReadStep::Bad;
  (first == '{' ? ready : value) += byte;
  if (result == JsonScanner::More)
    return ReadStep::More;
  if (first == '"')
    ready = json_string_value(value);
  if (without_space_around(ready).empty())
    ready = "{}";
  // A scanner has read anything but what a string has in it.
  if (first == '"' &&
      (!without_space_around(ready).starts_with('{') || !is_json(ready))) {
    ready.clear();
    return ReadStep::Bad;
  }
  return ReadStep::Done;
}

std::string ArgumentsReader::take() { return std::exchange(ready, {}); }

bool JsonCallReader::has_begun() const {
  return !function.empty() && (arguments_begun || state == State::Closed);
}

std::string JsonCallReader::take_arguments() {
  if (state == State::Closed && !has_arguments) {
    has_arguments = true;
    return "{}";
  }
  return arguments.take();
}

ReadStep JsonCallReader::push_key(char byte) {
  text += byte;
  const JsonScanner::Result result = scanner.push(byte);
  if (result == JsonScanner::Bad ||
      (result == JsonScanner::Last && !text.ends_with('"')))
    return ReadStep::Bad;
  if (result != JsonScanner::Last)
    // A key is a string: a scanner alone would take any value.
    return without_space_around(text).starts_with('"') ||
                   without_space_around(text).empty()
               ? ReadStep::More
               : ReadStep::Bad;
  const std::string key = json_string_value(text);
  role = Role::Other;
  if (pair) {
    if (!function.empty() || key.empty())
      return ReadStep::Bad;
    function = key;
    role = Role::Arguments;
  } else if (key == "name" || key == "tool_name" || key == "function") {
    role = Role::Name;
  } else if (key == "arguments" || key == "parameters") {
    role = Role::Arguments;
  }
  // Twice the same key is no call that anyone could mean.
  if ((role == Role::Name && !function.empty()) ||
      (role == Role::Arguments && has_arguments))
    return ReadStep::Bad;
  has_arguments |= role == Role::Arguments;
  state = State::Colon;
  return ReadStep::More;
}

ReadStep JsonCallReader::end_value() {
  state = State::Comma;
  if (role == Role::Name) {
    function = json_string_value(text);
    if (function.empty())
      return ReadStep::Bad;
  }
  return ReadStep::More;
}

ReadStep JsonCallReader::push_value(char byte) {
  if (role == Role::Arguments) {
    const ReadStep step = arguments.push(byte);
    arguments_begun |= arguments.has_text();
    return step == ReadStep::Done ? end_value() : step;
  }
  switch (scanner.push(byte)) {
  case JsonScanner::Bad:
    return ReadStep::Bad;
  case JsonScanner::Before:
    if (end_value() == ReadStep::Bad)
      return ReadStep::Bad;
    return push(byte);
  case JsonScanner::Last:
    text += byte;
    return end_value();
  case JsonScanner::More:
    break;
  }
  text += byte;
  return ReadStep::More;
}

ReadStep JsonCallReader::push(char byte) {
  if (state == State::Key)
    // An empty object names no function.
    return push_key(byte);
  if (state == State::Value)
    return push_value(byte);
  if (without_space_around({&byte, 1}).empty())
    return ReadStep::More;
  switch (state) {
  case State::Open:
    state = State::Key;
    return byte == '{' ? ReadStep::More : ReadStep::Bad;
  case State::Colon:
    state = State::Value;
    scanner = {};
    text.clear();
    return byte == ':' ? ReadStep::More : ReadStep::Bad;
  case State::Comma:
    if (byte == '}') {
      state = State::Closed;
      return function.empty() ? ReadStep::Bad : ReadStep::Done;
    }
    state = State::Key;
    scanner = {};
    text.clear();
    return byte == ',' ? ReadStep::More : ReadStep::Bad;
  default:
    return ReadStep::Bad;
  }
}

} // namespace baton
