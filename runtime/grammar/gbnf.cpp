//===- gbnf.cpp - llama.cpp's notation of grammars -----------------------===//

#include "runtime/grammar/gbnf.h"

#include "runtime/error.h"
#include "runtime/tokenizer/utf8.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace baton {

namespace {

/// Groups in groups; each takes a frame of the stack.
constexpr int deepest_group = 100;

class GbnfReader {
public:
  explicit GbnfReader(std::string_view text) : text(text) {
    for (std::string_view rest = text; !rest.empty();) {
      const Utf8Sequence sequence = first_sequence(rest);
      if (sequence.kind != Utf8Sequence::Character) {
        at = text.size() - rest.size();
        fail("ill-formed UTF-8");
      }
      rest.remove_prefix(sequence.bytes);
    }
  }

  GrammarPart read() {
    skip_space(/*lines=*/true);
    while (at < text.size())
      read_rule();
    for (size_t rule = 0; rule < rules.size(); ++rule)
      if (!rules[rule].body) {
        at = rules[rule].first_use;
        fail("no rule is called '" + rules[rule].name + "'");
      }
    const auto root = numbers.find("root");
    if (root == numbers.end()) {
      at = 0;
      fail("no rule is called 'root', with which texts begin");
    }
    GrammarNode::Rules result{{}, root->second};
    for (const Rule &rule : rules)
      result.bodies.push_back(rule.body);
    return grammar_part(std::move(result));
  }

private:
  struct Rule {
    std::string name;
    size_t first_use;
    GrammarPart body;
  };

  [[noreturn]] void fail(const std::string &what) const {
    const std::string_view before = text.substr(0, std::min(at, text.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t begin = before.rfind('\n');
    const size_t column =
        before.size() - (begin == before.npos ? 0 : begin + 1) + 1;
    throw Error("grammar:" + std::to_string(line) + ":" +
                std::to_string(column) + ": " + what);
  }

  char peek() const { return at < text.size() ? text[at] : '\0'; }
  bool starts(std::string_view what) const {
    return text.substr(at).starts_with(what);
  }
  bool take(std::string_view what) {
    if (!starts(what))
      return false;
    at += what.size();
    return true;
  }

  void skip_space(bool lines) {
    while (at < text.size()) {
      const char next = text[at];
      if (next == '#')
        at = std::min(text.find_first_of("\r\n", at), text.size());
      else if (next == ' ' || next == '\t' ||
               (lines && (next == '\r' || next == '\n')))
        ++at;
      else
        return;
    }
  }

  static bool names(char next) {
    return (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') ||
           (next >= '0' && next <= '9') || next == '-' || next == '_';
  }

  std::string read_name() {
    const size_t begin = at;
    while (names(peek()))
      ++at;
    if (at == begin)
      fail("expected the name of a rule");
    return std::string(text.substr(begin, at - begin));
  }

  size_t rule_number(const std::string &name, size_t place) {
    const auto [entry, added] = numbers.try_emplace(name, rules.size());
    if (added)
      rules.push_back({name, place, nullptr});
    return entry->second;
  }

  void read_rule() {
    const size_t place = at;
    const std::string name = read_name();
    skip_space(/*lines=*/false);
    if (!take("::="))
      fail("expected ::= behind the name of a rule");
    skip_space(/*lines=*/true);
    const size_t number = rule_number(name, place);
    if (rules[number].body) {
      at = place;
      fail("the rule '" + name + "' is there already");
    }
    GrammarPart body = read_alternatives(/*depth=*/0);
    rules[number].body = std::move(body);
    if (at < text.size() && peek() != '\r' && peek() != '\n')
      fail(peek() == ')' ? "a ) without its (" : "expected the line's end");
    skip_space(/*lines=*/true);
  }

  GrammarPart read_alternatives(int depth) {
    std::vector<GrammarPart> alternatives;
    do {
      skip_space(/*lines=*/true);
      alternatives.push_back(read_sequence(depth));
    } while (take("|"));
    return alternatives.size() == 1 ? alternatives[0]
                                    : choice_part(std::move(alternatives));
  }

  GrammarPart read_sequence(int depth) {
    std::vector<GrammarPart> parts;
    for (;;) {
      skip_space(/*lines=*/depth > 0);
      const char next = peek();
      if (names(next)) {
        // A name behind a line's end begins a rule; on this line it is a use.
        const size_t place = at;
        const std::string name = read_name();
        parts.push_back(
            grammar_part(GrammarNode::Reference{rule_number(name, place)}));
      } else if (next == '"') {
        parts.push_back(read_literal());
      } else if (next == '[') {
        parts.push_back(read_class());
      } else if (next == '.') {
        ++at;
        parts.push_back(
            grammar_part(GrammarNode::Characters{CharacterSet::all()}));
      } else if (next == '(') {
        if (depth == deepest_group)
          fail("groups are more than " + std::to_string(deepest_group) +
               " deep");
        ++at;
        parts.push_back(read_alternatives(depth + 1));
        skip_space(/*lines=*/true);
        if (!take(")"))
          fail("expected )");
      } else if (next == '<') {
        parts.push_back(read_token());
      } else if (next == '!') {
        fail("'all but a token' (!<...>) is not supported");
      } else {
        break;
      }
      read_counts(parts.back());
    }
    return parts.size() == 1 ? parts[0] : sequence_part(std::move(parts));
  }

  uint32_t read_hexadecimal(size_t digits) {
    uint32_t value = 0;
    const std::string_view spelled = text.substr(at, digits);
    const auto [end, error] = std::from_chars(
        spelled.data(), spelled.data() + spelled.size(), value, 16);
    if (error != std::errc() || end != spelled.data() + digits)
      fail("expected " + std::to_string(digits) + " hexadecimal digits");
    if (value > last_character || (value >= 0xD800 && value <= 0xDFFF))
      fail("is not a character of Unicode");
    at += digits;
    return value;
  }

  uint32_t read_character() {
    if (at >= text.size())
      fail("ends before its quote or bracket");
    if (peek() == '\n')
      fail("a line ends before its quote or bracket");
    if (take("\\")) {
      const char letter = peek();
      static constexpr std::string_view letters = "nrt\\\"[]-^",
                                        meanings = "\n\r\t\\\"[]-^";
      if (const size_t found = letters.find(letter);
          letter != '\0' && found != letters.npos) {
        ++at;
        return static_cast<uint8_t>(meanings[found]);
      }
      const size_t digits = letter == 'x'   ? 2
                            : letter == 'u' ? 4
                            : letter == 'U' ? 8
                                            : 0;
      if (digits == 0)
        fail("an escape that is not known");
      ++at;
      return read_hexadecimal(digits);
    }
    const size_t bytes = first_sequence(text.substr(at)).bytes;
    const uint32_t character =
        characters_of(text.substr(at, bytes), "grammar")[0];
    at += bytes;
    return character;
  }

  GrammarPart read_literal() {
    ++at;
    std::string bytes;
    while (!take("\""))
      append_utf8(bytes, read_character());
    return bytes_part(std::move(bytes));
  }

  GrammarPart read_class() {
    ++at;
    const bool excluded = take("^");
    std::vector<CharacterRange> ranges;
    while (!take("]")) {
      const uint32_t first = read_character();
      uint32_t last = first;
      if (peek() == '-' && at + 1 < text.size() && text[at + 1] != ']') {
        ++at;
        last = read_character();
        if (last < first)
          fail("a range runs backwards");
      }
      ranges.push_back({first, last});
    }
    CharacterSet set(std::move(ranges));
    return grammar_part(
        GrammarNode::Characters{excluded ? set.complement() : set});
  }

  GrammarPart read_token() {
    ++at;
    if (take("[")) {
      int32_t id = 0;
      const char *const begin = text.data() + at;
      const auto [end, error] =
          std::from_chars(begin, text.data() + text.size(), id);
      if (error != std::errc() || id < 0)
        fail("expected the number of a token");
      at += static_cast<size_t>(end - begin);
      if (!take("]>"))
        fail("expected ]>");
      return grammar_part(GrammarNode::Token{{}, id});
    }
    const size_t end = text.find_first_of(">\r\n", at);
    if (end == text.npos || text[end] != '>')
      fail("expected > at a token's end");
    const std::string_view spelling = text.substr(at - 1, end + 1 - (at - 1));
    if (spelling == "<>")
      fail("a token has no name");
    at = end + 1;
    return grammar_part(GrammarNode::Token{std::string(spelling)});
  }

  std::optional<uint32_t> read_number() {
    uint32_t value = 0;
    const char *const begin = text.data() + at;
    const auto [end, error] =
        std::from_chars(begin, text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range)
      fail("a count is too large");
    at += static_cast<size_t>(end - begin);
    return error == std::errc() ? std::optional(value) : std::nullopt;
  }

  void read_counts(GrammarPart &part) {
    for (int depth = 0;; ++depth) {
      const size_t place = at;
      skip_space(/*lines=*/false);
      uint32_t least = 0, most = unbounded;
      if (take("*")) {
      } else if (take("+")) {
        least = 1;
      } else if (take("?")) {
        most = 1;
      } else if (take("{")) {
        skip_space(/*lines=*/false);
        const auto first = read_number();
        least = first.value_or(0);
        skip_space(/*lines=*/false);
        if (take(",")) {
          skip_space(/*lines=*/false);
          most = read_number().value_or(unbounded);
          skip_space(/*lines=*/false);
        } else if (first) {
          most = least;
        } else {
          fail("expected a count");
        }
        if (!take("}"))
          fail("expected }");
        if (least > most)
          fail("the least count is above the most");
      } else {
        at = place;
        return;
      }
      if (depth == deepest_group)
        fail("too many counts in a row");
      part = grammar_part(GrammarNode::Repeat{part, least, most});
    }
  }

  std::string_view text;
  size_t at = 0;
  std::vector<Rule> rules;
  std::map<std::string, size_t> numbers;
};

} // namespace

GrammarPart read_gbnf(std::string_view text) { return GbnfReader(text).read(); }

} // namespace baton
