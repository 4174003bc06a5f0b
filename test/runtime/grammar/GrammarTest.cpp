//===- GrammarTest.cpp - grammars made of grammars -----------------------===//

#include "small_vocabulary.h"

#include "runtime/error.h"
#include "runtime/grammar/json_schema.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <thread>

using namespace baton;

TEST(Grammar, PartsAreCombined) {
  const Grammar digit = Grammar::regex("[0-9]");
  const Language language(Grammar::sequence(
      {Grammar::literal("<"),
       Grammar::repeat(
           Grammar::any_of({digit, Grammar::gbnf("root ::= \"x\"")}), 1, 3),
       Grammar::literal(">")}));
  EXPECT_TRUE(language.has("<1x2>"));
  EXPECT_FALSE(language.has("<>"));
  EXPECT_FALSE(language.has("<1234>"));
  EXPECT_TRUE(Language(Grammar::sequence({})).has(""));
  EXPECT_THROW(Language(Grammar::any_of({})), Error);
  EXPECT_THROW(Grammar::repeat(digit, 2, 1), Error);
}

TEST(Grammar, RulesOfPartsStayApart) {
  const Grammar one = Grammar::gbnf("root ::= x\nx ::= \"1\" root?");
  const Grammar two = Grammar::gbnf("root ::= x\nx ::= \"2\" root?");
  const Language language(Grammar::sequence({one, two, one}));
  EXPECT_TRUE(language.has("111221"));
  EXPECT_FALSE(language.has("1212"));
}

TEST(Grammar, SharedPartsDoNotMultiply) {
  Grammar grammar = Grammar::literal("a");
  for (int depth = 0; depth < 60; ++depth)
    grammar = Grammar::sequence({grammar, grammar});
  EXPECT_THROW(Language{grammar}, Error);
}

TEST(Grammar, TextUntilEndsWithTheFirstMarker) {
  const Language language(Grammar::text_until("aab"));
  EXPECT_TRUE(language.has("aab"));
  EXPECT_TRUE(language.has("aaaab"));
  EXPECT_TRUE(language.has("\u65e5aab"));
  EXPECT_FALSE(language.has("aabaab"));
  EXPECT_FALSE(language.has_prefix("aabx"));
  EXPECT_FALSE(language.has("aa"));
  EXPECT_FALSE(language.has_prefix("\xFF"));
  EXPECT_THROW(Grammar::text_until(""), Error);
  EXPECT_THROW(Grammar::text_until("\xFF"), Error);
}

TEST(Grammar, TextWithoutNeverHasTheMarker) {
  const Language language(Grammar::text_without("abab"));
  EXPECT_TRUE(language.has(""));
  EXPECT_TRUE(language.has("abaabb\U0001F600"));
  EXPECT_FALSE(language.has_prefix("xababa"));
  EXPECT_FALSE(language.has("\xF0\x9F"));
  EXPECT_TRUE(language.has_prefix("\xF0\x9F"));
}

TEST(Grammar, TokensMaySplitCharacters) {
  const std::vector<std::string> tokens = {"\xE6", "\x97\xA5",      "\x97",
                                           "\xA5", "\xE6\x97\xA5x", "<|end|>"};
  const auto matcher = compile_constraint(Grammar::regex("\u65e5+x"),
                                          small_vocabulary(tokens), {5})
                           ->start();
  EXPECT_EQ(mask_of(*matcher, 6)[0], 0b10001u);
  EXPECT_TRUE(matcher->accept(0));
  EXPECT_EQ(mask_of(*matcher, 6)[0], 0b110u);
  EXPECT_TRUE(matcher->accept(2));
  EXPECT_EQ(mask_of(*matcher, 6)[0], 0b1000u);
  EXPECT_TRUE(matcher->accept(3));
  EXPECT_EQ(mask_of(*matcher, 6)[0], 0b10001u);
}

TEST(Grammar, StopTokensAreAllowedWhereItMayEnd) {
  const std::vector<std::string> tokens = {"a", "b", "<|one|>", "<|two|>",
                                           "<|other|>"};
  const auto matcher = compile_constraint(Grammar::regex("a+b?"),
                                          small_vocabulary(tokens), {2, 3})
                           ->start();
  EXPECT_EQ(mask_of(*matcher, 5)[0], 0b00001u);
  EXPECT_FALSE(matcher->accept(2));
  EXPECT_TRUE(matcher->accept(0));
  EXPECT_EQ(mask_of(*matcher, 5)[0], 0b01111u);
  EXPECT_FALSE(matcher->accept(4));
  EXPECT_FALSE(matcher->is_finished());
  EXPECT_TRUE(matcher->accept(3));
  EXPECT_TRUE(matcher->is_finished());
  EXPECT_EQ(mask_of(*matcher, 5)[0], 0b01100u);
  EXPECT_FALSE(matcher->accept(0));
}

TEST(Grammar, AStopTokenOfTextOnlyEndsIt) {
  const std::vector<std::string> tokens = {"a", "aa"};
  const auto matcher = compile_constraint(Grammar::regex("a{2,4}"),
                                          small_vocabulary(tokens), {1})
                           ->start();
  EXPECT_EQ(mask_of(*matcher, 2)[0], 0b01u);
  EXPECT_FALSE(matcher->accept(1));
  EXPECT_TRUE(matcher->accept(0));
  EXPECT_TRUE(matcher->accept(0));
  EXPECT_EQ(mask_of(*matcher, 2)[0], 0b11u);
  EXPECT_TRUE(matcher->accept(1));
  EXPECT_TRUE(matcher->is_finished());
}

TEST(Grammar, AVocabularyMayLackBytes) {
  const std::vector<std::string> tokens = {"a", "bc", "<|end|>"};
  const auto vocabulary = small_vocabulary(tokens);
  EXPECT_THROW(compile_constraint(Grammar::literal("ax"), vocabulary, {2}),
               Error);
  // Ways that need bytes of no token are left out.
  const auto matcher =
      compile_constraint(Grammar::regex("a(x|bc)"), vocabulary, {2})->start();
  EXPECT_TRUE(matcher->accept(0));
  EXPECT_EQ(mask_of(*matcher, 3)[0], 0b010u);
  // There are b and c, but no token for one of them.
  const auto stuck =
      compile_constraint(Grammar::literal("ab"), vocabulary, {2})->start();
  EXPECT_TRUE(stuck->accept(0));
  EXPECT_THROW(mask_of(*stuck, 3), Error);
}

TEST(Grammar, ThreadsShareAConstraint) {
  const auto constraint =
      compile_constraint(Grammar::json_object(), byte_vocabulary(),
                         {end_of_bytes}, /*cache_bytes=*/20'000);
  const std::string text = R"({"a":[1,{"b":[true,null,"x"]}],"c":{}})";
  std::vector<std::vector<uint32_t>> expected;
  const auto follow = [&](std::vector<std::vector<uint32_t>> &masks) {
    const auto matcher = constraint->start();
    for (const char byte : text) {
      masks.push_back(mask_of(*matcher, 257));
      if (!matcher->accept(static_cast<uint8_t>(byte)))
        return;
    }
    masks.push_back(mask_of(*matcher, 257));
  };
  follow(expected);
  ASSERT_EQ(expected.size(), text.size() + 1);
  std::vector<std::vector<std::vector<uint32_t>>> found(4);
  std::vector<std::thread> threads;
  for (auto &own : found)
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        own.clear();
        follow(own);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const auto &own : found)
    EXPECT_EQ(own, expected);
}
