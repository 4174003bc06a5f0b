//===- lexer.h - the text of a template as tokens -------------------------===//
//
// With trim_blocks and lstrip_blocks, and without keep_trailing_newline, as
// Transformers sets jinja2.Environment.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_JINJA_LEXER_H
#define BATON_RUNTIME_JINJA_LEXER_H

#include "runtime/jinja/value.h"

#include <string>
#include <string_view>
#include <vector>

namespace baton::jinja {

struct Token {
  enum Kind : uint8_t {
    Data,
    BlockBegin,
    BlockEnd,
    PrintBegin,
    PrintEnd,
    Name,
    Text,
    Number,
    /// `text` says which.
    Operator,
    End,
  } kind;
  /// A byte of the text.
  size_t at;
  std::string text;
  /// Of a Number.
  Value value;

  bool is(std::string_view operation) const {
    return kind == Operator && text == operation;
  }
  bool is_name(std::string_view name) const {
    return kind == Name && text == name;
  }
};

/// With \n for every end of a line, and without the last one.
std::string normalize_template(std::string_view text);

/// Of normalized text, ended by End. Throws Failure with its place.
std::vector<Token> tokenize(std::string_view text);

/// What an error calls the token.
std::string describe(const Token &token);

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_LEXER_H
