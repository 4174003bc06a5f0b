//===- grammar.h - what a text has to keep to ----------------------------===//
//
// Context-free grammars over bytes, made of GBNF, regular expressions, schemas
// of JSON (json_schema.h) or each other, to be compiled for a vocabulary
// (constraint.h).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_GRAMMAR_GRAMMAR_H
#define BATON_RUNTIME_GRAMMAR_GRAMMAR_H

#include "runtime/grammar/text_automaton.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

struct GrammarNode;
struct JsonSchemaOptions;

/// Immutable; copies share their parts, and threads may use one at once.
class Grammar {
public:
  /// llama.cpp's notation (gbnf.h). Throws Error that begins with
  /// "grammar:LINE:COLUMN: ".
  static Grammar gbnf(std::string_view text);
  /// All of the text matches the pattern (regular_expression.h). Throws Error
  /// that names the place and the construct.
  static Grammar regex(std::string_view pattern);
  /// JSON that a schema describes (json_schema.h). Throws Error that names the
  /// JSON pointer of the keyword at fault.
  static Grammar json_schema(const nlohmann::ordered_json &schema,
                             const JsonSchemaOptions &options);
  static Grammar json_schema(const nlohmann::ordered_json &schema);
  /// Any object of JSON, whitespace as for schemas.
  static Grammar json_object();

  /// These bytes.
  static Grammar literal(std::string_view bytes);
  /// One special token, by its spelling in the vocabulary: "<|tool_call|>".
  /// Texts that spell it in other tokens do not count. Compiling throws Error
  /// where the vocabulary has no such token.
  static Grammar token(std::string_view spelling);
  /// One token, by its number.
  static Grammar token_id(int32_t id);
  /// Of none, the empty text.
  static Grammar sequence(const std::vector<Grammar> &parts);
  /// Of none, no text at all, which compiling refuses.
  static Grammar any_of(const std::vector<Grammar> &alternatives);
  /// `least` to `most` times in a row; most may be `unbounded`.
  static Grammar repeat(const Grammar &part, uint32_t least,
                        uint32_t most = unbounded);
  /// The shortest text that ends with the marker. Throws Error for a marker
  /// that is empty or ill-formed.
  static Grammar text_until(std::string_view marker);
  /// Any UTF-8 that does not contain the marker; the empty text, too.
  static Grammar text_without(std::string_view marker);

  explicit Grammar(std::shared_ptr<const GrammarNode> node);
  const std::shared_ptr<const GrammarNode> &node() const { return root; }

private:
  std::shared_ptr<const GrammarNode> root;
};

} // namespace baton

#endif // BATON_RUNTIME_GRAMMAR_GRAMMAR_H
