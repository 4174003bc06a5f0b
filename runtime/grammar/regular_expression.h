//===- regular_expression.h - patterns as grammars -----------------------===//
//
// The subset that ECMAScript's regular expressions (with the flag u) and
// Rust's have alike: literals, `.`, classes with ranges and \d \w \s \p{L} in
// them, groups (capturing, (?:...) or named), |, the counts ? * + {m} {m,}
// {m,n} (lazy ones mean the same, as whole texts are matched), ^ and $.
//
// \d and \w are of ASCII, \s is ECMAScript's, `.` is all but \n, \r, U+2028 and
// U+2029. \p{..} knows general categories of Unicode, not scripts or
// properties. Refused by name: back references, looking ahead or behind, \b,
// flags, possessive and atomic groups.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_REGULAR_EXPRESSION_H
#define BATON_RUNTIME_GRAMMAR_REGULAR_EXPRESSION_H

#include "runtime/grammar/grammar_node.h"
#include "runtime/grammar/text_automaton.h"

#include <memory>
#include <string_view>

namespace baton {

class RegularExpression {
public:
  struct Node;

  /// Throws Error that names the pattern, the place and the construct.
  explicit RegularExpression(std::string_view pattern);

  /// Texts that match as a whole.
  GrammarPart whole_match() const;
  /// Texts in which the pattern occurs. Throws Error where they need too many
  /// states.
  TextAutomaton occurrences() const;

private:
  std::shared_ptr<const Node> root;
};

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_REGULAR_EXPRESSION_H
