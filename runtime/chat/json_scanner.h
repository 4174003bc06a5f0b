//===- json_scanner.h - one JSON value, byte by byte ----------------------===//

#ifndef BATON_RUNTIME_CHAT_JSON_SCANNER_H
#define BATON_RUNTIME_CHAT_JSON_SCANNER_H

#include <cstdint>
#include <string>

namespace baton {

/// Says where a JSON value ends in a text that comes in pieces, and whether it
/// is one (RFC 8259). White space before the value is accepted.
class JsonScanner {
public:
  enum Result {
    More,
    /// The byte is the last of the value.
    Last,
    /// The value, a number, ended before the byte.
    Before,
    /// The byte makes it no JSON, or it is nested more than 256 levels deep.
    Bad
  };

  Result push(char byte);

private:
  enum class State : uint8_t {
    Value,
    ValueOrClose,
    Key,
    KeyOrClose,
    Colon,
    CommaOrClose,
    String,
    Escape,
    Hex,
    Number,
    Word
  };

  Result begin_value(char byte);
  Result push_string(char byte);
  Result open(char bracket);
  Result close(char bracket);
  Result end_value();

  State state = State::Value;
  /// The open brackets.
  std::string nesting;
  bool string_is_key = false;
  int hex_digits = 0;
  /// The number so far, or what of a word is still to come.
  std::string scalar;
};

/// Whether a text is a JSON number.
bool is_json_number(const std::string &text);

} // namespace baton

#endif // BATON_RUNTIME_CHAT_JSON_SCANNER_H
