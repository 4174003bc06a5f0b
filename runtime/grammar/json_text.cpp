//===- json_text.cpp - the parts of JSON as grammars ---------------------===//

#include "runtime/grammar/json_text.h"

#include "runtime/grammar/regular_expression.h"

namespace baton {

namespace {

GrammarPart optional_part(GrammarPart part) {
  return grammar_part(GrammarNode::Repeat{std::move(part), 0, 1});
}

GrammarPart many(GrammarPart part) {
  return grammar_part(GrammarNode::Repeat{std::move(part), 0, unbounded});
}

GrammarPart rule(size_t number) {
  return grammar_part(GrammarNode::Reference{number});
}

} // namespace

GrammarPart shared_rule(GrammarPart body) {
  return grammar_part(GrammarNode::Rules{{std::move(body)}, 0, {true}});
}

GrammarPart quoted_characters(uint32_t least, uint32_t most) {
  const GrammarPart character = grammar_part(
      GrammarNode::Characters{CharacterSet::all(), Spelling::JsonString});
  return sequence_part(
      {bytes_part("\""),
       grammar_part(GrammarNode::Repeat{character, least, most}),
       bytes_part("\"")});
}

GrammarPart quoted_text(TextAutomaton automaton) {
  return sequence_part({bytes_part("\""),
                        grammar_part(GrammarNode::Text{std::move(automaton),
                                                       Spelling::JsonString}),
                        bytes_part("\"")});
}

JsonText::JsonText(JsonWhitespace whitespace) : whitespace(whitespace) {
  space = whitespace == JsonWhitespace::Any
              ? shared_rule(grammar_part(GrammarNode::Repeat{
                    grammar_part(GrammarNode::Characters{CharacterSet(
                        {{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}})}),
                    0, most_whitespace}))
              : bytes_part("");
  string = shared_rule(quoted_characters(0, unbounded));

  enum Rule : size_t { Value, Object, Array };
  const auto list = [&](const char *opening, const GrammarPart &item,
                        const char *closing) {
    return sequence_part({open(opening),
                          optional_part(sequence_part(
                              {item, many(sequence_part({comma(), item}))})),
                          close(closing)});
  };
  std::vector<GrammarPart> bodies(3);
  bodies[Value] = choice_part({rule(Object), rule(Array), string, any_number(),
                               bytes_part("true"), bytes_part("false"),
                               bytes_part("null")});
  bodies[Object] =
      list("{", sequence_part({string, colon(), rule(Value)}), "}");
  bodies[Array] = list("[", rule(Value), "]");
  value = grammar_part(GrammarNode::Rules{bodies, Value, {}});
  object = grammar_part(GrammarNode::Rules{bodies, Object, {}});
}

GrammarPart JsonText::any_number() const {
  static const GrammarPart number =
      RegularExpression("-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,18})?"
                        "([eE][+-]?[0-9]{1,2})?")
          .whole_match();
  return number;
}

GrammarPart JsonText::any_integer() const {
  static const GrammarPart integer =
      RegularExpression("-?(0|[1-9][0-9]{0,17})").whole_match();
  return integer;
}

GrammarPart JsonText::open(const char *bracket) const {
  return sequence_part({bytes_part(bracket), space});
}

GrammarPart JsonText::close(const char *bracket) const {
  return sequence_part({space, bytes_part(bracket)});
}

GrammarPart JsonText::around(const char *mark) const {
  if (whitespace == JsonWhitespace::Single)
    return sequence_part({bytes_part(mark), optional_part(bytes_part(" "))});
  return sequence_part({space, bytes_part(mark), space});
}

GrammarPart JsonText::literal(const nlohmann::ordered_json &value) const {
  if (value.is_string())
    return bytes_part('"' + spell_json(value.get_ref<const std::string &>()) +
                      '"');
  if (!value.is_structured())
    return bytes_part(value.dump());
  std::vector<GrammarPart> parts{open(value.is_array() ? "[" : "{")};
  for (const auto &item : value.items()) {
    if (parts.size() > 1)
      parts.push_back(comma());
    if (value.is_object()) {
      parts.push_back(bytes_part('"' + spell_json(item.key()) + '"'));
      parts.push_back(colon());
    }
    parts.push_back(literal(item.value()));
  }
  parts.push_back(close(value.is_array() ? "]" : "}"));
  return sequence_part(std::move(parts));
}

} // namespace baton
