//===- language_call.h - calls as programming languages write them --------===//

#ifndef BATON_RUNTIME_CHAT_LANGUAGE_CALL_H
#define BATON_RUNTIME_CHAT_LANGUAGE_CALL_H

#include <optional>
#include <string>
#include <string_view>

namespace baton {

struct LanguageCall {
  std::string name;
  /// A JSON object.
  std::string arguments;
};

/// name(key='value', other=[1, None]): literals of Python, or of JSON, given by
/// name. Nothing if it is anything else, or nested more than 64 deep.
std::optional<LanguageCall> read_python_call(std::string_view text);

/// name{key:<|"|>value<|"|>,other:[1,true]}: Gemma 4's own, whose strings have
/// no escapes; those of JSON are accepted too.
std::optional<LanguageCall> read_braces_call(std::string_view text);

/// The JSON of a literal of Python, as above.
std::optional<std::string> read_python_literal(std::string_view text);

/// Finds the end of either, byte by byte.
class LanguageCallScanner {
public:
  /// True once the byte is the last of a call.
  bool push(char byte);

private:
  bool push_in_string(char byte);

  int depth = 0;
  /// The quote of the string that is open, or 0; '<' stands for Gemma's.
  char quote = 0;
  bool escaped = false;
  std::string last_bytes;
};

} // namespace baton

#endif // BATON_RUNTIME_CHAT_LANGUAGE_CALL_H
