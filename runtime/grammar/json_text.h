//===- json_text.h - the parts of JSON as grammars -----------------------===//
//
// RFC 8259, but for numbers, whose digits are counted so that no number is
// endless and all fit a double: 18 before the point, 18 behind it, 2 of the
// exponent.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_JSON_TEXT_H
#define BATON_RUNTIME_GRAMMAR_JSON_TEXT_H

#include "runtime/grammar/grammar_node.h"
#include "runtime/grammar/json_whitespace.h"

#include <nlohmann/json.hpp>

namespace baton {

class JsonText {
public:
  explicit JsonText(JsonWhitespace whitespace);

  GrammarPart any_value() const { return value; }
  GrammarPart any_object() const { return object; }
  GrammarPart any_string() const { return string; }
  GrammarPart any_number() const;
  GrammarPart any_integer() const;
  /// This value, in its shortest spelling.
  GrammarPart literal(const nlohmann::ordered_json &value) const;

  /// With their whitespace; brackets have theirs inside.
  GrammarPart comma() const { return around(","); }
  GrammarPart colon() const { return around(":"); }
  GrammarPart open(const char *bracket) const;
  GrammarPart close(const char *bracket) const;

private:
  GrammarPart around(const char *mark) const;

  JsonWhitespace whitespace;
  GrammarPart space, value, object, string;
};

/// A string of `least` to `most` characters, in quotes.
GrammarPart quoted_characters(uint32_t least, uint32_t most);
/// A string that the automaton accepts, in quotes.
GrammarPart quoted_text(TextAutomaton automaton);
/// One rule, called from wherever it is used.
GrammarPart shared_rule(GrammarPart body);

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_JSON_TEXT_H
