//===- MaskTest.cpp - masks against a recogniser that is slow and simple --===//

#include "small_vocabulary.h"

#include "runtime/error.h"
#include "runtime/grammar/json_schema.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace baton;

namespace {

/// A grammar as a tree, which GBNF is written of and the recogniser walks.
struct Tree {
  enum Kind { Literal, Class, Rule, Sequence, Choice, Repeat } kind;
  std::string letters;
  size_t rule = 0;
  std::vector<Tree> parts;
  uint32_t least = 0, most = 0;
};

class RandomGrammar {
public:
  explicit RandomGrammar(unsigned seed) : random(seed) {
    rules = 1 + random() % 4;
    for (size_t rule = 0; rule < rules; ++rule)
      bodies.push_back(tree(3));
  }

  std::string gbnf() const {
    std::string text;
    for (size_t rule = 0; rule < rules; ++rule)
      text += name(rule) + " ::= " + spell(bodies[rule]) + "\n";
    return text;
  }

  size_t rules;
  std::vector<Tree> bodies;

private:
  static std::string name(size_t rule) {
    return rule == 0 ? "root" : "r" + std::to_string(rule);
  }

  static std::string spell(const Tree &tree) {
    std::string text;
    switch (tree.kind) {
    case Tree::Literal:
      return '"' + tree.letters + '"';
    case Tree::Class:
      return '[' + tree.letters + ']';
    case Tree::Rule:
      return name(tree.rule);
    case Tree::Sequence:
      for (const Tree &part : tree.parts)
        text += (text.empty() ? "(" : " ") + spell(part);
      return text + ")";
    case Tree::Choice:
      for (const Tree &part : tree.parts)
        text += (text.empty() ? "(" : " | ") + spell(part);
      return text + ")";
    case Tree::Repeat:
      return "(" + spell(tree.parts[0]) + "){" + std::to_string(tree.least) +
             "," + (tree.most == unbounded ? "" : std::to_string(tree.most)) +
             "}";
    }
    return text;
  }

  Tree tree(int depth) {
    static const std::string letters = "abc";
    Tree result{};
    const auto roll = random() % (depth == 0 ? 3 : 8);
    if (roll == 0) {
      result.kind = Tree::Literal;
      for (size_t count = random() % 4; count > 0; --count)
        result.letters += letters[random() % 3];
    } else if (roll == 1) {
      result.kind = Tree::Class;
      result.letters += letters[random() % 3];
      result.letters += letters[random() % 3];
    } else if (roll <= 3) {
      result.kind = Tree::Rule;
      result.rule = random() % rules;
    } else if (roll == 4) {
      result.kind = Tree::Repeat;
      result.least = random() % 3;
      result.most = random() % 2
                        ? unbounded
                        : result.least + static_cast<uint32_t>(random() % 3);
      result.parts.push_back(tree(depth - 1));
    } else {
      result.kind = roll <= 6 ? Tree::Sequence : Tree::Choice;
      for (size_t count = 1 + random() % 3; count > 0; --count)
        result.parts.push_back(tree(depth - 1));
    }
    return result;
  }

  std::mt19937 random;
};

/// Whether texts begin texts of a grammar: where each rule may end from each
/// place, until nothing is added.
class SlowRecogniser {
public:
  explicit SlowRecogniser(const RandomGrammar &grammar)
      : grammar(grammar), has_text(grammar.rules) {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t rule = 0; rule < grammar.rules; ++rule)
        if (!has_text[rule] && finite(grammar.bodies[rule]))
          has_text[rule] = changed = true;
    }
  }

  bool has_texts() const { return has_text[0]; }

  struct Answer {
    bool is_prefix, is_text;
  };
  Answer read(const std::string &given) {
    text = given;
    known.assign(grammar.rules * (text.size() + 1), {});
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t rule = 0; rule < grammar.rules; ++rule)
        for (size_t at = 0; at <= text.size(); ++at) {
          const Ways ways = walk(grammar.bodies[rule], at);
          Ways &before = known[rule * (text.size() + 1) + at];
          if (ways.ends != before.ends || ways.goes_on != before.goes_on) {
            before.ends |= ways.ends;
            before.goes_on |= ways.goes_on;
            changed = true;
          }
        }
    }
    const Ways &all = known[0];
    const bool is_text = all.ends >> text.size() & 1;
    return {is_text || all.goes_on, is_text};
  }

private:
  struct Ways {
    /// A bit for each place where it may end.
    uint64_t ends = 0;
    /// The text ends within it.
    bool goes_on = false;
  };

  bool finite(const Tree &tree) const {
    const auto each = [&](const Tree &part) { return finite(part); };
    switch (tree.kind) {
    case Tree::Literal:
    case Tree::Class:
      return true;
    case Tree::Rule:
      return has_text[tree.rule];
    case Tree::Sequence:
      return std::all_of(tree.parts.begin(), tree.parts.end(), each);
    case Tree::Choice:
      return std::any_of(tree.parts.begin(), tree.parts.end(), each);
    case Tree::Repeat:
      return tree.least == 0 || finite(tree.parts[0]);
    }
    return false;
  }

  Ways walk(const Tree &tree, size_t at) const {
    switch (tree.kind) {
    case Tree::Literal:
      for (size_t letter = 0; letter < tree.letters.size(); ++letter) {
        if (at + letter == text.size())
          return {0, true};
        if (text[at + letter] != tree.letters[letter])
          return {};
      }
      return {uint64_t(1) << (at + tree.letters.size()), false};
    case Tree::Class:
      if (at == text.size())
        return {0, true};
      if (tree.letters.find(text[at]) == tree.letters.npos)
        return {};
      return {uint64_t(1) << (at + 1), false};
    case Tree::Rule:
      return known[tree.rule * (text.size() + 1) + at];
    case Tree::Choice: {
      Ways all;
      for (const Tree &part : tree.parts) {
        const Ways ways = walk(part, at);
        all.ends |= ways.ends;
        all.goes_on |= ways.goes_on;
      }
      return all;
    }
    case Tree::Sequence: {
      Ways all{uint64_t(1) << at, false};
      for (size_t part = 0; part < tree.parts.size(); ++part) {
        bool rest = true;
        for (size_t behind = part + 1; behind < tree.parts.size(); ++behind)
          rest &= finite(tree.parts[behind]);
        const Ways ways = walk_all(tree.parts[part], all.ends);
        all = {ways.ends, all.goes_on || (ways.goes_on && rest)};
      }
      return all;
    }
    case Tree::Repeat: {
      Ways all{uint64_t(1) << at, false};
      for (uint32_t count = 0; count < tree.least; ++count) {
        const Ways ways = walk_all(tree.parts[0], all.ends);
        all = {ways.ends,
               all.goes_on || (ways.goes_on && (count + 1 == tree.least ||
                                                finite(tree.parts[0])))};
      }
      uint64_t last = all.ends;
      for (uint32_t count = tree.least; count < tree.most && last; ++count) {
        const Ways ways = walk_all(tree.parts[0], last);
        all.goes_on |= ways.goes_on;
        // Without a bound, only ends that are new lead to new ones.
        last = tree.most == unbounded ? ways.ends & ~all.ends : ways.ends;
        all.ends |= ways.ends;
      }
      return all;
    }
    }
    return {};
  }

  Ways walk_all(const Tree &tree, uint64_t begins) const {
    Ways all;
    for (size_t at = 0; at <= text.size(); ++at)
      if (begins >> at & 1) {
        const Ways ways = walk(tree, at);
        all.ends |= ways.ends;
        all.goes_on |= ways.goes_on;
      }
    return all;
  }

  const RandomGrammar &grammar;
  std::vector<bool> has_text;
  std::string text;
  std::vector<Ways> known;
};

/// All strings of up to three letters, and some longer ones.
std::vector<std::string> letter_tokens() {
  std::vector<std::string> tokens;
  for (const char *first : {"a", "b", "c"})
    for (const char *second : {"", "a", "b", "c"})
      for (const char *third : {"", "a", "b", "c"})
        if (*second || !*third)
          tokens.push_back(std::string(first) + second + third);
  for (const char *longer : {"abcabc", "aaaaaaa", "bbbb", "cabba", "<|end|>"})
    tokens.emplace_back(longer);
  return tokens;
}

} // namespace

TEST(Mask, IsWhatASlowRecogniserSays) {
  const std::vector<std::string> tokens = letter_tokens();
  const auto vocabulary = small_vocabulary(tokens);
  const auto end = static_cast<int32_t>(tokens.size() - 1);
  int grammars = 0, empty = 0, masks = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const RandomGrammar grammar(seed);
    SlowRecogniser recogniser(grammar);
    SCOPED_TRACE(grammar.gbnf());
    if (!recogniser.has_texts()) {
      ++empty;
      EXPECT_THROW(
          compile_constraint(Grammar::gbnf(grammar.gbnf()), vocabulary, {end}),
          Error);
      continue;
    }
    ++grammars;
    const auto constraint =
        compile_constraint(Grammar::gbnf(grammar.gbnf()), vocabulary, {end});
    std::mt19937 random(seed);
    for (int walk = 0; walk < 2; ++walk) {
      const auto matcher = constraint->start();
      std::string text;
      while (text.size() < 12) {
        const auto mask = mask_of(*matcher, tokens.size());
        ++masks;
        std::vector<int32_t> allowed;
        for (int32_t token = 0; token < end; ++token) {
          const std::string next = text + tokens[static_cast<size_t>(token)];
          ASSERT_EQ(has_token(mask, token), recogniser.read(next).is_prefix)
              << "'" << text << "' then '" << tokens[static_cast<size_t>(token)]
              << "'";
          if (has_token(mask, token))
            allowed.push_back(token);
        }
        ASSERT_EQ(has_token(mask, end), recogniser.read(text).is_text)
            << "'" << text << "'";
        ASSERT_EQ(matcher->is_finished(), allowed.empty());
        if (allowed.empty())
          break;
        const int32_t token = allowed[random() % allowed.size()];
        ASSERT_TRUE(matcher->accept(token));
        text += tokens[static_cast<size_t>(token)];
      }
    }
  }
  EXPECT_GT(grammars, 1800);
  EXPECT_GT(empty, 20);
  EXPECT_GT(masks, 9000);
}

TEST(Mask, RefusedTokensChangeNothing) {
  const std::vector<std::string> tokens = letter_tokens();
  const auto vocabulary = small_vocabulary(tokens);
  const auto end = static_cast<int32_t>(tokens.size() - 1);
  for (unsigned seed = 0; seed < 300; ++seed) {
    const RandomGrammar grammar(seed);
    if (!SlowRecogniser(grammar).has_texts())
      continue;
    const auto matcher =
        compile_constraint(Grammar::gbnf(grammar.gbnf()), vocabulary, {end})
            ->start();
    std::mt19937 random(seed);
    for (int step = 0; step < 10; ++step) {
      const auto mask = mask_of(*matcher, tokens.size());
      std::vector<int32_t> allowed;
      for (int32_t token = 0; token <= end; ++token)
        if (has_token(mask, token))
          allowed.push_back(token);
        else
          ASSERT_FALSE(matcher->accept(token));
      ASSERT_EQ(mask, mask_of(*matcher, tokens.size()));
      const int32_t token = allowed[random() % allowed.size()];
      ASSERT_TRUE(matcher->accept(token));
      if (token == end) {
        ASSERT_TRUE(matcher->is_finished());
        break;
      }
    }
  }
}

TEST(Mask, ACacheThatForgetsChangesNothing) {
  const std::vector<std::string> tokens = letter_tokens();
  const auto vocabulary = small_vocabulary(tokens);
  const auto end = static_cast<int32_t>(tokens.size() - 1);
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomGrammar grammar(seed);
    if (!SlowRecogniser(grammar).has_texts())
      continue;
    const Grammar read = Grammar::gbnf(grammar.gbnf());
    const auto one = compile_constraint(read, vocabulary, {end})->start();
    const auto other =
        compile_constraint(read, vocabulary, {end}, /*cache_bytes=*/0)->start();
    std::mt19937 random(seed);
    for (int step = 0; step < 20; ++step) {
      const auto mask = mask_of(*one, tokens.size());
      ASSERT_EQ(mask, mask_of(*other, tokens.size())) << grammar.gbnf();
      const auto token =
          static_cast<int32_t>(random() % static_cast<unsigned>(end));
      ASSERT_EQ(one->accept(token), other->accept(token));
    }
  }
}

TEST(Mask, IsWhatIsAcceptedByteByByte) {
  // Texts of JSON, in tokens that split characters and go over the ends of
  // strings, where masks are put together of parts that were computed before.
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.emplace_back(1, static_cast<char>(byte));
  for (const char *piece :
       {"{\"",      "\":",         "\": \"",   "\", \"",
        "\"}",      "\"]",         "\"}}",     "]}",
        "[[",       "null",        "true",     "\\\"",
        "\\u0",     "\\ud83d",     "\u00e9",   "\u65e5\u672c",
        "\xE6\x97", "\xA5\xE6",    "\xF0\x9F", "\x98\x80\"",
        "a\"",      "ab",          "abcd",     "abcdefgh",
        "ab\u00e9", "the end\", ", "12",       "3.5",
        "e+1",      "0,",          "1}",       "\u00e9\", \"k",
        "<tool>",   "</tool>x",    "<t",       "<|end|>"})
    tokens.emplace_back(piece);
  const auto vocabulary = small_vocabulary(tokens);
  const auto end = static_cast<int32_t>(tokens.size() - 1);
  const auto schema = [](const char *text) {
    return Grammar::json_schema(nlohmann::ordered_json::parse(text));
  };
  const std::vector<Grammar> grammars = {
      Grammar::json_object(),
      schema(R"({"type": "string", "maxLength": 5})"),
      schema(R"({"type": "string", "minLength": 3, "maxLength": 700})"),
      schema(R"({"type": "array", "items": {"type": "string",
        "maxLength": 9}})"),
      schema(R"({"type": "string", "pattern": "^[a-z\u00e9]*\"?$"})"),
      schema(R"({"type": "object", "properties": {"k": {"type": "string"},
        "key": {"type": "number"}}, "additionalProperties": true})"),
      schema(R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object",
        "properties": {"k": {"type": "string"}, "n": {"$ref":
        "#/$defs/n"}}, "required": ["k"]}}})"),
      Grammar::sequence(
          {Grammar::text_until("<tool>"), schema(R"({"type": "array"})"),
           Grammar::literal("</tool>"), Grammar::text_without("<tool>")}),
      Grammar::gbnf("root ::= s (\",\" s)*\ns ::= \"\\\"\" [^\"]* \"\\\"\"")};
  std::mt19937 random(5);
  for (size_t number = 0; number < grammars.size(); ++number) {
    SCOPED_TRACE(number);
    const auto constraint =
        compile_constraint(grammars[number], vocabulary, {end});
    for (int walk = 0; walk < 3; ++walk) {
      const auto matcher = constraint->start();
      std::vector<int32_t> history;
      while (history.size() < 15 && !matcher->is_finished()) {
        const auto mask = mask_of(*matcher, tokens.size());
        std::vector<int32_t> allowed, long_ones;
        for (int32_t token = 0; token < end; ++token) {
          const std::string &bytes = tokens[static_cast<size_t>(token)];
          const auto other = constraint->start();
          for (const int32_t before : history)
            ASSERT_TRUE(other->accept(before));
          bool taken = true;
          for (const char byte : bytes)
            taken = taken && other->accept(static_cast<uint8_t>(byte));
          ASSERT_EQ(has_token(mask, token), taken) << bytes;
          if (taken)
            (bytes.size() > 1 ? long_ones : allowed).push_back(token);
        }
        const auto &choice = !long_ones.empty() && random() % 4 ? long_ones
                             : allowed.empty()                  ? long_ones
                                                                : allowed;
        ASSERT_FALSE(choice.empty());
        history.push_back(choice[random() % choice.size()]);
        ASSERT_TRUE(matcher->accept(history.back()));
      }
    }
  }
}
