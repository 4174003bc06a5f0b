//===- grammar.cpp - what a text has to keep to --------------------------===//

#include "runtime/grammar/grammar.h"

#include "runtime/error.h"
#include "runtime/grammar/gbnf.h"
#include "runtime/grammar/grammar_node.h"
#include "runtime/grammar/json_schema.h"
#include "runtime/grammar/json_text.h"
#include "runtime/grammar/regular_expression.h"

namespace baton {

Grammar::Grammar(GrammarPart node) : root(std::move(node)) {}

Grammar Grammar::gbnf(std::string_view text) {
  return Grammar(read_gbnf(text));
}

Grammar Grammar::regex(std::string_view pattern) {
  return Grammar(RegularExpression(pattern).whole_match());
}

Grammar Grammar::json_schema(const nlohmann::ordered_json &schema,
                             const JsonSchemaOptions &options) {
  return Grammar(read_json_schema(schema, options));
}

Grammar Grammar::json_schema(const nlohmann::ordered_json &schema) {
  return json_schema(schema, JsonSchemaOptions());
}

Grammar Grammar::json_object() {
  return Grammar(JsonText(JsonWhitespace::Single).any_object());
}

Grammar Grammar::literal(std::string_view bytes) {
  return Grammar(bytes_part(std::string(bytes)));
}

Grammar Grammar::token(std::string_view spelling) {
  if (spelling.empty())
    throw Error("a token of a grammar has no spelling");
  return Grammar(grammar_part(GrammarNode::Token{std::string(spelling)}));
}

Grammar Grammar::token_id(int32_t id) {
  return Grammar(grammar_part(GrammarNode::Token{{}, id}));
}

static std::vector<GrammarPart> nodes_of(const std::vector<Grammar> &grammars) {
  std::vector<GrammarPart> nodes;
  for (const Grammar &grammar : grammars)
    nodes.push_back(grammar.node());
  return nodes;
}

Grammar Grammar::sequence(const std::vector<Grammar> &parts) {
  return Grammar(sequence_part(nodes_of(parts)));
}

Grammar Grammar::any_of(const std::vector<Grammar> &alternatives) {
  return Grammar(choice_part(nodes_of(alternatives)));
}

Grammar Grammar::repeat(const Grammar &part, uint32_t least, uint32_t most) {
  if (least > most)
    throw Error("a part repeats " + std::to_string(least) + " to " +
                std::to_string(most) + " times: the least is above the most");
  return Grammar(grammar_part(GrammarNode::Repeat{part.node(), least, most}));
}

Grammar Grammar::text_until(std::string_view marker) {
  return Grammar(grammar_part(GrammarNode::Text{TextAutomaton::until(marker)}));
}

Grammar Grammar::text_without(std::string_view marker) {
  return Grammar(
      grammar_part(GrammarNode::Text{TextAutomaton::without(marker)}));
}

} // namespace baton
