//===- json_strings.cpp - strings as JSON writes them ---------------------===//

#include "runtime/chat/json_strings.h"

#include "runtime/chat/json_scanner.h"

namespace baton {

std::string json_escaped(std::string_view text) {
  std::string escaped;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '"' || byte == '\\') {
      escaped += '\\';
      escaped += byte;
    } else if (byte == '\n') {
      escaped += "\\n";
    } else if (byte == '\t') {
      escaped += "\\t";
    } else if (byte == '\r') {
      escaped += "\\r";
    } else if (code < 0x20) {
      escaped += "\\u00";
      escaped += code < 0x10 ? '0' : '1';
      escaped += "0123456789abcdef"[code & 0xf];
    } else {
      escaped += byte;
    }
  }
  return escaped;
}

std::string json_quoted(std::string_view text) {
  return '"' + json_escaped(text) + '"';
}

bool is_json(std::string_view text) {
  JsonScanner scanner;
  // A line break ends a number.
  const std::string whole = std::string(without_space_around(text)) + '\n';
  for (size_t i = 0; i < whole.size(); ++i)
    switch (scanner.push(whole[i])) {
    case JsonScanner::More:
      break;
    case JsonScanner::Last:
      return i + 2 == whole.size();
    case JsonScanner::Before:
      return i + 1 == whole.size();
    case JsonScanner::Bad:
      return false;
    }
  return false;
}

std::string_view without_space_around(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

} // namespace baton
