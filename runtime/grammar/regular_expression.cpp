//===- regular_expression.cpp - patterns as grammars ---------------------===//

#include "runtime/grammar/regular_expression.h"

#include "runtime/error.h"
#include "runtime/grammar/character_classes.h"
#include "runtime/tokenizer/utf8.h"

#include <algorithm>
#include <charconv>

namespace baton {

struct RegularExpression::Node {
  enum Kind : uint8_t {
    Characters,
    Sequence,
    Choice,
    Repeat,
    AtStart,
    AtEnd
  } kind;
  CharacterSet characters = {};
  std::vector<std::shared_ptr<const Node>> parts = {};
  uint32_t least = 0, most = 0;
};

namespace {

using Node = RegularExpression::Node;
using NodePointer = std::shared_ptr<const Node>;

/// Groups in groups; each takes a frame of the stack.
constexpr int deepest_nesting = 100;
/// Of a pattern that is made deterministic although it need not be.
constexpr size_t worthwhile_states = 5000;

NodePointer make(Node node) {
  return std::make_shared<const Node>(std::move(node));
}

class PatternReader {
public:
  explicit PatternReader(std::string_view pattern) : pattern(pattern) {}

  NodePointer read() {
    characters_of(pattern, "the pattern"); // Well-formed, from here on.
    NodePointer node = read_choice(0);
    if (at < pattern.size())
      fail("a ) without its (");
    return node;
  }

private:
  /// On one line, and not too long.
  static std::string shown(std::string_view text) {
    std::string part(text.substr(0, 200));
    std::replace_if(
        part.begin(), part.end(),
        [](char byte) { return static_cast<uint8_t>(byte) < 0x20; }, ' ');
    return part;
  }

  [[noreturn]] void fail(const std::string &what) const {
    throw Error("the pattern '" + shown(pattern) + "', at byte " +
                std::to_string(at) + ": " + what);
  }

  char peek() const { return at < pattern.size() ? pattern[at] : '\0'; }
  bool take(std::string_view what) {
    if (!pattern.substr(at).starts_with(what))
      return false;
    at += what.size();
    return true;
  }

  NodePointer read_choice(int depth) {
    std::vector<NodePointer> alternatives;
    do
      alternatives.push_back(read_sequence(depth));
    while (take("|"));
    if (alternatives.size() == 1)
      return alternatives[0];
    return make({.kind = Node::Choice, .parts = std::move(alternatives)});
  }

  NodePointer read_sequence(int depth) {
    std::vector<NodePointer> parts;
    while (at < pattern.size() && peek() != '|' && peek() != ')') {
      const bool asserts = peek() == '^' || peek() == '$';
      NodePointer atom = read_atom(depth);
      parts.push_back(read_counts(std::move(atom), asserts));
    }
    if (parts.size() == 1)
      return parts[0];
    return make({.kind = Node::Sequence, .parts = std::move(parts)});
  }

  NodePointer read_group(int depth) {
    if (depth == deepest_nesting)
      fail("groups are more than " + std::to_string(deepest_nesting) + " deep");
    if (take("?")) {
      if (take(":")) {
      } else if (peek() == '=' || peek() == '!') {
        fail("looking ahead is not supported");
      } else if (take("<=") || take("<!")) {
        fail("looking behind is not supported");
      } else if (take("P<") || take("<")) {
        const size_t end = pattern.find('>', at);
        if (end == pattern.npos)
          fail("the name of a group does not end");
        at = end + 1;
      } else if (peek() == '>') {
        fail("atomic groups are not supported");
      } else {
        fail("flags of groups are not supported");
      }
    }
    NodePointer node = read_choice(depth + 1);
    if (!take(")"))
      fail("a ( without its )");
    return node;
  }

  NodePointer read_atom(int depth) {
    if (take("("))
      return read_group(depth);
    if (take("^"))
      return make({.kind = Node::AtStart});
    if (take("$"))
      return make({.kind = Node::AtEnd});
    if (take("."))
      return make({.kind = Node::Characters, .characters = within_line()});
    if (take("["))
      return make({.kind = Node::Characters, .characters = read_class()});
    const char next = peek();
    if (next == '*' || next == '+' || next == '?')
      fail("nothing to repeat");
    if (next == '{' && counts_follow())
      fail("nothing to repeat");
    if (take("\\"))
      return make({.kind = Node::Characters, .characters = read_escape(false)});
    return make({.kind = Node::Characters,
                 .characters = CharacterSet::of(read_character())});
  }

  /// Whether {m}, {m,} or {m,n} follows, not a brace that means itself.
  bool counts_follow() const {
    size_t place = at + 1;
    const auto digits = [&] {
      const size_t begin = place;
      while (place < pattern.size() && pattern[place] >= '0' &&
             pattern[place] <= '9')
        ++place;
      return place > begin;
    };
    if (!digits())
      return false;
    if (place < pattern.size() && pattern[place] == ',') {
      ++place;
      digits();
    }
    return place < pattern.size() && pattern[place] == '}';
  }

  uint32_t read_count() {
    uint32_t value = 0;
    const char *const begin = pattern.data() + at;
    const auto [end, error] =
        std::from_chars(begin, pattern.data() + pattern.size(), value);
    if (error != std::errc())
      fail("a count is too large");
    at += static_cast<size_t>(end - begin);
    return value;
  }

  NodePointer read_counts(NodePointer atom, bool asserts) {
    uint32_t least = 0, most = unbounded;
    if (take("*")) {
    } else if (take("+")) {
      least = 1;
    } else if (take("?")) {
      most = 1;
    } else if (peek() == '{' && counts_follow()) {
      ++at;
      least = most = read_count();
      if (take(","))
        most = peek() == '}' ? unbounded : read_count();
      ++at;
      if (least > most)
        fail("the least count is above the most");
    } else {
      return atom;
    }
    if (asserts)
      fail("nothing to repeat");
    if (!take("?") && peek() == '+')
      fail("possessive counts are not supported");
    if (peek() == '*' || peek() == '?' || (peek() == '{' && counts_follow()))
      fail("nothing to repeat");
    return make({.kind = Node::Repeat,
                 .parts = {std::move(atom)},
                 .least = least,
                 .most = most});
  }

  uint32_t read_character() {
    const size_t bytes = first_sequence(pattern.substr(at)).bytes;
    const uint32_t character =
        characters_of(pattern.substr(at, bytes), "the pattern")[0];
    at += bytes;
    return character;
  }

  uint32_t read_hexadecimal(size_t least, size_t most) {
    uint32_t value = 0;
    const std::string_view spelled = pattern.substr(at, most);
    const auto [end, error] = std::from_chars(
        spelled.data(), spelled.data() + spelled.size(), value, 16);
    const auto digits = static_cast<size_t>(end - spelled.data());
    if (error != std::errc() || digits < least)
      fail("expected hexadecimal digits");
    at += digits;
    return value;
  }

  uint32_t checked(uint32_t value) const {
    if (value > last_character || (value >= 0xD800 && value <= 0xDFFF))
      fail("is not a character of Unicode");
    return value;
  }

  uint32_t read_braced() {
    const uint32_t value = read_hexadecimal(1, 8);
    if (!take("}"))
      fail("expected }");
    return checked(value);
  }

  /// Behind \u: four digits, twice that for a pair of halves, or digits in
  /// braces.
  uint32_t read_unit() {
    if (take("{"))
      return read_braced();
    const uint32_t high = read_hexadecimal(4, 4);
    if (high < 0xD800 || high > 0xDBFF || !take("\\u"))
      return checked(high);
    const uint32_t low = read_hexadecimal(4, 4);
    if (low < 0xDC00 || low > 0xDFFF)
      fail("half of a pair without the other one");
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  }

  CharacterSet read_category(bool excluded) {
    std::string name;
    if (take("{")) {
      const size_t end = pattern.find('}', at);
      if (end == pattern.npos)
        fail("the name of a property does not end");
      name = pattern.substr(at, end - at);
      at = end + 1;
    } else if (at < pattern.size()) {
      name = pattern[at++];
    }
    for (const char *prefix : {"gc=", "General_Category="})
      if (name.starts_with(prefix))
        name.erase(0, std::string_view(prefix).size());
    const auto set = general_category(name);
    if (!set)
      fail("the property '" + shown(name) +
           "' of characters is not supported: only general categories are");
    return excluded ? set->complement() : *set;
  }

  /// Behind a backslash.
  CharacterSet read_escape(bool in_class) {
    const char letter = peek();
    if (at == pattern.size())
      fail("ends with a backslash");
    if (const auto set = escaped_class(letter)) {
      ++at;
      return *set;
    }
    if (letter == 'p' || letter == 'P') {
      ++at;
      return read_category(letter == 'P');
    }
    static constexpr std::string_view letters = "nrtfv",
                                      meanings = "\n\r\t\f\v";
    if (const size_t found = letters.find(letter); found != letters.npos) {
      ++at;
      return CharacterSet::of(static_cast<uint8_t>(meanings[found]));
    }
    if (take("x"))
      return CharacterSet::of(take("{") ? read_braced()
                                        : read_hexadecimal(2, 2));
    if (take("u"))
      return CharacterSet::of(read_unit());
    if (letter == '0') {
      ++at;
      if (peek() >= '0' && peek() <= '9')
        fail("octal escapes are not supported");
      return CharacterSet::of(0);
    }
    if (take("c")) {
      const char control = peek();
      if (!((control >= 'a' && control <= 'z') ||
            (control >= 'A' && control <= 'Z')))
        fail("\\c has no letter");
      ++at;
      return CharacterSet::of(static_cast<uint8_t>(control) & 0x1F);
    }
    if (in_class && take("b"))
      return CharacterSet::of('\b');
    if (letter == 'b' || letter == 'B')
      fail("borders of words (\\b) are not supported");
    if (letter >= '1' && letter <= '9')
      fail("references to groups are not supported");
    if (letter == 'k')
      fail("references to groups are not supported");
    if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'))
      fail(std::string("the escape \\") + letter + " is not supported");
    return CharacterSet::of(read_character());
  }

  CharacterSet read_class() {
    const bool excluded = take("^");
    CharacterSet set;
    bool first_item = true;
    for (;; first_item = false) {
      if (at == pattern.size())
        fail("a [ without its ]");
      // An empty class is nothing in ECMAScript, and a ] elsewhere.
      if (take("]")) {
        if (first_item)
          fail("an empty class is not supported");
        break;
      }
      if (pattern.substr(at).starts_with("[:"))
        fail("classes of POSIX are not supported");
      if (pattern.substr(at).starts_with("&&") ||
          pattern.substr(at).starts_with("--"))
        fail("operations on classes are not supported");
      const CharacterSet item = read_item();
      if (peek() != '-' || at + 1 >= pattern.size() || pattern[at + 1] == ']' ||
          pattern.substr(at).starts_with("--")) {
        set = set.united(item);
        continue;
      }
      const size_t dash = at++;
      const CharacterSet last = read_item();
      const auto single = [](const CharacterSet &one) {
        return one.ranges().size() == 1 &&
               one.ranges()[0].first == one.ranges()[0].last;
      };
      if (!single(item) || !single(last)) {
        // A dash beside a class means itself.
        set = set.united(item).united(CharacterSet::of('-')).united(last);
        continue;
      }
      if (item.ranges()[0].first > last.ranges()[0].first) {
        at = dash;
        fail("a range runs backwards");
      }
      set = set.united(
          CharacterSet({{item.ranges()[0].first, last.ranges()[0].first}}));
    }
    return excluded ? set.complement() : set;
  }

  CharacterSet read_item() {
    if (at == pattern.size())
      fail("a [ without its ]");
    if (take("\\"))
      return read_escape(/*in_class=*/true);
    return CharacterSet::of(read_character());
  }

  std::string_view pattern;
  size_t at = 0;
};

bool has_assertions(const Node &node) {
  return node.kind == Node::AtStart || node.kind == Node::AtEnd ||
         std::any_of(
             node.parts.begin(), node.parts.end(),
             [](const NodePointer &part) { return has_assertions(*part); });
}

/// As a grammar; the node has no assertions.
GrammarPart part_of(const Node &node) {
  if (node.kind == Node::Characters)
    return grammar_part(GrammarNode::Characters{node.characters});
  std::vector<GrammarPart> parts;
  for (const NodePointer &part : node.parts)
    parts.push_back(part_of(*part));
  if (node.kind == Node::Sequence)
    return sequence_part(std::move(parts));
  if (node.kind == Node::Choice)
    return choice_part(std::move(parts));
  return grammar_part(GrammarNode::Repeat{parts[0], node.least, node.most});
}

/// Adds ways from a state to another that take what the node matches.
void add_ways(TextAutomatonBuilder &builder, const Node &node, uint32_t from,
              uint32_t to) {
  using Pass = TextAutomatonBuilder::Pass;
  switch (node.kind) {
  case Node::Characters:
    return builder.add_edge(from, to, node.characters);
  case Node::AtStart:
    return builder.add_step(from, to, Pass::AtStart);
  case Node::AtEnd:
    return builder.add_step(from, to, Pass::AtEnd);
  case Node::Choice:
    for (const NodePointer &part : node.parts)
      add_ways(builder, *part, from, to);
    return;
  case Node::Sequence:
    for (const NodePointer &part : node.parts) {
      const uint32_t next = builder.add_state();
      add_ways(builder, *part, from, next);
      from = next;
    }
    return builder.add_step(from, to);
  case Node::Repeat:
    break;
  }
  for (uint32_t count = 0; count < node.least; ++count) {
    const uint32_t next = builder.add_state();
    add_ways(builder, *node.parts[0], from, next);
    from = next;
  }
  if (node.most == unbounded) {
    const uint32_t loop = builder.add_state();
    builder.add_step(from, loop);
    add_ways(builder, *node.parts[0], loop, loop);
    builder.add_step(loop, to);
    return;
  }
  builder.add_step(from, to);
  for (uint32_t count = node.least; count < node.most; ++count) {
    const uint32_t next = builder.add_state();
    add_ways(builder, *node.parts[0], from, next);
    builder.add_step(next, to);
    from = next;
  }
}

} // namespace

RegularExpression::RegularExpression(std::string_view pattern)
    : root(PatternReader(pattern).read()) {}

GrammarPart RegularExpression::whole_match() const {
  // At the ends of the whole, assertions say what is so.
  std::vector<NodePointer> parts = root->kind == Node::Sequence
                                       ? root->parts
                                       : std::vector<NodePointer>{root};
  while (!parts.empty() && parts.front()->kind == Node::AtStart)
    parts.erase(parts.begin());
  while (!parts.empty() && parts.back()->kind == Node::AtEnd)
    parts.pop_back();
  const Node inner{.kind = Node::Sequence, .parts = std::move(parts)};
  const bool asserts = has_assertions(inner);
  try {
    TextAutomatonBuilder builder;
    const uint32_t start = builder.add_state(), end = builder.add_state();
    add_ways(builder, inner, start, end);
    return grammar_part(GrammarNode::Text{builder.build(
        start, end, asserts ? TextAutomaton::most_states : worthwhile_states)});
  } catch (const Error &) {
    // Grammars know no assertions, but may be ambiguous.
    if (asserts)
      throw;
    return part_of(inner);
  }
}

TextAutomaton RegularExpression::occurrences() const {
  TextAutomatonBuilder builder;
  const uint32_t start = builder.add_state(), end = builder.add_state();
  add_ways(builder, *root, start, end);
  // What stands before and behind the match.
  const uint32_t before = builder.add_state(), behind = builder.add_state();
  builder.add_edge(before, before, CharacterSet::all());
  builder.add_step(before, start);
  builder.add_step(end, behind);
  builder.add_edge(behind, behind, CharacterSet::all());
  return builder.build(before, behind);
}

} // namespace baton
