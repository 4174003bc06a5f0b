//===- json_call_reader.h - calls in JSON, byte by byte -------------------===//

#ifndef BATON_RUNTIME_CHAT_JSON_CALL_READER_H
#define BATON_RUNTIME_CHAT_JSON_CALL_READER_H

#include "runtime/chat/json_scanner.h"

#include <cstdint>
#include <string>

namespace baton {

enum class ReadStep {
  More,
  /// The byte was the last.
  Done,
  /// The byte cannot stand there; the reader is of no use any more.
  Bad
};

/// The arguments of a call: an object, whose text is passed on as it comes, a
/// string that has the text of one in it, or null for none.
class ArgumentsReader {
public:
  ReadStep push(char byte);
  /// The JSON text that has become known since the last time.
  std::string take();
  bool has_text() const { return !ready.empty(); }

private:
  JsonScanner scanner;
  char first = 0;
  std::string value, ready;
};

/// A call whose name is in the JSON: {"name": …, "arguments": …}, with the keys
/// that models use for these in any order, or, as a pair, {"name": {…}}. The
/// values of other keys are ignored.
class JsonCallReader {
public:
  explicit JsonCallReader(bool pair) : pair(pair) {}

  ReadStep push(char byte);

  /// The name is known, and the arguments have begun or the call ended.
  bool has_begun() const;
  const std::string &name() const { return function; }
  /// As ArgumentsReader::take(), once has_begun().
  std::string take_arguments();

private:
  enum class State : uint8_t { Open, Key, Colon, Value, Comma, Closed };
  enum class Role : uint8_t { Name, Arguments, Other };

  ReadStep push_key(char byte);
  ReadStep push_value(char byte);
  ReadStep end_value();

  bool pair;
  State state = State::Open;
  Role role = Role::Other;
  JsonScanner scanner;
  std::string text;
  std::string function;
  ArgumentsReader arguments;
  bool has_arguments = false, arguments_begun = false;
};

} // namespace baton

#endif // BATON_RUNTIME_CHAT_JSON_CALL_READER_H
