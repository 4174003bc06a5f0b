//===- GbnfTest.cpp - llama.cpp's notation of grammars -------------------===//

#include "small_vocabulary.h"

#include "runtime/error.h"

#include <gtest/gtest.h>

using namespace baton;

namespace {

bool takes(const std::string &grammar, const std::string &text) {
  return Language(Grammar::gbnf(grammar)).has(text);
}

std::string error_of(const std::string &grammar) {
  try {
    Grammar::gbnf(grammar);
  } catch (const Error &error) {
    return error.what();
  }
  return "none";
}

} // namespace

TEST(Gbnf, ReadsLiteralsAndTheirEscapes) {
  const std::string grammar =
      R"(root ::= "a\"\\\n\r\t\x41\u00e9\U0001F600\[\]")";
  EXPECT_TRUE(takes(grammar, "a\"\\\n\r\tA\u00e9\U0001F600[]"));
  EXPECT_FALSE(takes(grammar, "a\"\\\n\r\tA\u00e9\U0001F601[]"));
  EXPECT_TRUE(takes("root ::= \"\"", ""));
}

TEST(Gbnf, ReadsClasses) {
  EXPECT_TRUE(takes("root ::= [a-cx]+", "abcx"));
  EXPECT_FALSE(takes("root ::= [a-cx]+", "d"));
  EXPECT_TRUE(takes("root ::= [^a-c\\n]", "\u65e5"));
  EXPECT_FALSE(takes("root ::= [^a-c\\n]", "\n"));
  EXPECT_TRUE(takes("root ::= [a-]+", "-a"));
  EXPECT_TRUE(takes("root ::= [\\]\\^\\-]+", "]^-"));
  EXPECT_TRUE(takes("root ::= [\\u3040-\\u309f]", "\u3042"));
  EXPECT_TRUE(takes("root ::= .", "\n"));
  EXPECT_TRUE(takes("root ::= .", "\U0001F600"));
  EXPECT_FALSE(takes("root ::= .", "\xF0\x9F"));
}

TEST(Gbnf, ReadsCounts) {
  for (const auto &[counts, least, most] : {std::tuple("*", 0, 9),
                                            {"+", 1, 9},
                                            {"?", 0, 1},
                                            {"{2}", 2, 2},
                                            {"{2,}", 2, 9},
                                            {"{1,3}", 1, 3},
                                            {"{,3}", 0, 3},
                                            {"{0}", 0, 0}})
    for (int count = 0; count < 8; ++count)
      EXPECT_EQ(
          takes(std::string("root ::= \"ab\"") + counts,
                std::string("abababababababab").substr(0, size_t(2 * count))),
          least <= count && count <= most)
          << counts << " " << count;
  EXPECT_TRUE(takes("root ::= \"ab\"? +", "abab"));
}

TEST(Gbnf, CountsMayBeLarge) {
  const Language many(Grammar::gbnf("root ::= ([a-z] [0-9]){3,7000} \"!\""));
  std::string text;
  for (int count = 0; count < 7000; ++count)
    text += "a1";
  EXPECT_TRUE(many.has(text + "!"));
  EXPECT_TRUE(many.has("a1b2c3!"));
  EXPECT_FALSE(many.has("a1b2!"));
  EXPECT_FALSE(many.has_prefix(text + "a"));
  const Language exact(Grammar::gbnf("root ::= [a-z]{5000}"));
  EXPECT_TRUE(exact.has(std::string(5000, 'q')));
  EXPECT_FALSE(exact.has(std::string(4999, 'q')));
  EXPECT_FALSE(exact.has_prefix(std::string(5001, 'q')));
}

TEST(Gbnf, LinesEndRules) {
  EXPECT_TRUE(takes("# comment\nroot ::= a b # more\n\na ::= \"x\"\r\n"
                    "b ::= (\n \"y\" # here\n | \"z\"\n)\n",
                    "xz"));
  EXPECT_TRUE(takes("root ::=\n  \"a\" |\n  \"b\"", "b"));
  EXPECT_EQ(error_of("root ::= \"a\"\n | \"b\""),
            "grammar:2:2: expected the name of a rule");
}

TEST(Gbnf, RulesMayBeRecursiveOnAnySide) {
  const std::string left = "root ::= root \"+\" [0-9] | [0-9]";
  const std::string right = "root ::= [0-9] (\"+\" root)?";
  const std::string both =
      "root ::= root \"+\" root | [0-9] | \"(\" root \")\"";
  const std::string hidden = "root ::= e root \"x\" | \"y\"\ne ::= \"\"";
  for (const std::string &grammar : {left, right, both}) {
    EXPECT_TRUE(takes(grammar, "1+2+3"));
    EXPECT_FALSE(takes(grammar, "1+2+"));
    EXPECT_FALSE(takes(grammar, "+1"));
  }
  EXPECT_TRUE(takes(both, "((1+2)+3)"));
  EXPECT_TRUE(takes(hidden, "yxxx"));
  EXPECT_FALSE(takes(hidden, "x"));
}

TEST(Gbnf, LongTextsTakeNoDepth) {
  std::string text;
  for (int count = 0; count < 30'000; ++count)
    text += "1+";
  EXPECT_TRUE(takes("root ::= [0-9] (\"+\" root)?", text + "1"));
  EXPECT_TRUE(takes("root ::= root \"+\" [0-9] | [0-9]", text + "1"));
  const std::string brackets =
      std::string(20'000, '(') + std::string(20'000, ')');
  EXPECT_TRUE(takes("root ::= (\"(\" root \")\")?", brackets));
  EXPECT_FALSE(takes("root ::= (\"(\" root \")\")?", brackets + ")"));
}

TEST(Gbnf, AmbiguityIsLimited) {
  const Language language(
      Grammar::gbnf("root ::= root root | root root root | \"a\" | \"\""));
  EXPECT_TRUE(language.has(std::string(300, 'a')));
  // Each letter may be the last of any number of parts.
  const auto matcher =
      compile_constraint(Grammar::gbnf("root ::= \"a\" root [bc]? | \"\""),
                         byte_vocabulary(), {end_of_bytes})
          ->start();
  EXPECT_THROW(
      for (int count = 0; count < 10'000; ++count) matcher->accept('a'), Error);
}

TEST(Gbnf, NamesTokens) {
  const std::vector<std::string> tokens = {"a",      "b", "<|call|>", "<|end|>",
                                           "<tool>", "<", "tool",     ">"};
  const auto vocabulary = small_vocabulary(tokens);
  const auto matcher =
      compile_constraint(Grammar::gbnf("root ::= \"a\"* <|call|> <tool> <[1]>"),
                         vocabulary, {3})
          ->start();
  const auto allowed = [&] { return mask_of(*matcher, tokens.size())[0]; };
  EXPECT_EQ(allowed(), 0b101u);
  EXPECT_FALSE(matcher->accept(5)); // Text is no special token.
  EXPECT_TRUE(matcher->accept(0));
  EXPECT_TRUE(matcher->accept(2));
  EXPECT_EQ(allowed(), 0b10000u);
  EXPECT_FALSE(matcher->accept(5));
  EXPECT_TRUE(matcher->accept(4));
  EXPECT_EQ(allowed(), 0b10u);
  EXPECT_TRUE(matcher->accept(1));
  EXPECT_TRUE(matcher->is_finished());
  EXPECT_EQ(allowed(), 0b1000u);
  EXPECT_THROW(
      compile_constraint(Grammar::gbnf("root ::= <nowhere>"), vocabulary, {3}),
      Error);
  EXPECT_THROW(
      compile_constraint(Grammar::gbnf("root ::= <[8]>"), vocabulary, {3}),
      Error);
}

TEST(Gbnf, ErrorsNameTheirPlace) {
  for (const auto &[grammar, error] : {
           std::pair("", "grammar:1:1: no rule is called 'root', with which "
                         "texts begin"),
           {"root ::= \"a\nb\"",
            "grammar:1:12: a line ends before its quote or bracket"},
           {"root ::= a", "grammar:1:10: no rule is called 'a'"},
           {"root ::= (\"a\"", "grammar:1:14: expected )"},
           {"root ::= \"a\")", "grammar:1:13: a ) without its ("},
           {"root = x", "grammar:1:6: expected ::= behind the name of a rule"},
           {"root ::= \"a\"\nroot ::= \"b\"",
            "grammar:2:1: the rule 'root' is there already"},
           {"root ::= \"\\q\"", "grammar:1:12: an escape that is not known"},
           {"root ::= [b-a]", "grammar:1:14: a range runs backwards"},
           {"root ::= \"a\"{3,2}",
            "grammar:1:18: the least count is above the most"},
           {"root ::= \"a\"{99999999999}",
            "grammar:1:14: a count is too large"},
           {"root ::= \"\\ud800\"",
            "grammar:1:13: is not a character of Unicode"},
           {"root ::= !<x>",
            "grammar:1:10: 'all but a token' (!<...>) is not supported"},
           {"\n\nroot ::= \xFF", "grammar:3:10: ill-formed UTF-8"},
       })
    EXPECT_EQ(error_of(grammar), error) << grammar;
  EXPECT_EQ(error_of("root ::= " + std::string(100'000, '(')),
            "grammar:1:110: groups are more than 100 deep");
}

TEST(Gbnf, RefusesGrammarsWithoutTexts) {
  for (const char *grammar :
       {"root ::= root", "root ::= \"a\" root", "root ::= []",
        "root ::= a | b\na ::= b \"x\"\nb ::= a \"y\""})
    EXPECT_THROW(Language(Grammar::gbnf(grammar)), Error) << grammar;
  // What can never be completed is not begun.
  const Language language(Grammar::gbnf("root ::= \"a\" | \"b\" dead\n"
                                        "dead ::= \"c\" dead"));
  EXPECT_TRUE(language.has("a"));
  EXPECT_FALSE(language.has_prefix("b"));
}

TEST(Gbnf, RefusesGrammarsThatAreTooLarge) {
  EXPECT_THROW(Language(Grammar::gbnf("root ::= (\"a\" <[1]>){4000000000}")),
               Error);
}
