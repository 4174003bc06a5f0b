//===- ExampleTest.cpp - lines that are examples, and others --------------===//

#include "runtime/documents/example.h"

#include "test/runtime/weights/fixture.h"

#include <random>

namespace baton::test {
namespace {

TEST(ExampleTest, Forms) {
  EXPECT_EQ(parse_example(R"({"text": "a", "id": 7})").completion, "a");
  const Example pair = parse_example(R"({"prompt": "a", "completion": "b"})");
  EXPECT_EQ(pair.prompt, "a");
  EXPECT_EQ(pair.completion, "b");
  EXPECT_FALSE(pair.is_conversation());
  const Example chat = parse_example(
      R"({"messages": [{"role": "user", "content": "a"},
          {"role": "assistant", "content": "b", "weight": 0},
          {"role": "assistant", "content": "c", "weight": 1}],
          "tools": "[{\"type\": \"function\"}]",
          "chat_template_kwargs": {"x": 1}})");
  EXPECT_EQ(chat.answers, (std::vector<bool>{false, false, true}));
  EXPECT_FALSE(chat.messages[1].contains("weight"));
  EXPECT_EQ(chat.tools[0]["type"], "function");
  EXPECT_EQ(chat.arguments["x"], 1);
  // What a prompt's assistant says is not learned.
  const Example both = parse_example(
      R"({"prompt": [{"role": "user", "content": "a"},
          {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}],
          "completion": [{"role": "assistant", "content": "d"}]})");
  EXPECT_EQ(both.answers, (std::vector<bool>{false, false, false, true}));
}

TEST(ExampleTest, Refuses) {
  for (auto [line, words] :
       std::initializer_list<std::pair<const char *, const char *>>{
           {"{", "is no JSON, from byte"},
           {R"({"text": 1e999})", "has a number that is too large"},
           {"[]", "is no JSON object"},
           {"{}", "has no key"},
           {R"({"conversations": []})", "the keys \"conversations\""},
           {R"({"text": "a", "messages": []})", "one of the three"},
           {R"({"prompt": "a"})", "\"prompt\" and \"completion\""},
           {R"({"text": 1})", "text: expected a text"},
           {R"({"prompt": "a", "completion": []})",
            "completion: expected a text"},
           {R"({"messages": []})", "at least one message"},
           {R"({"messages": [1]})",
            "messages[0]: expected an object with a role"},
           {R"({"messages": [{"role": "assistant", "weight": 0.5}]})",
            "messages[0].weight: expected 0 or 1"},
           {R"({"messages": [{"role": "user"}], "tools": 1})",
            "tools: expected"},
           {R"({"messages": [{"role": "user"}], "tools": "{"})",
            "tools: is no"},
           {R"({"messages": [{"role": "user"}], "chat_template_kwargs": 1})",
            "chat_template_kwargs: expected"}})
    expect_contains(error_of([&] { parse_example(line); }), words);
  std::string deep = R"({"text": )" + std::string(5000, '[');
  expect_contains(error_of([&] { parse_example(deep); }), "nests absurdly");
}

TEST(ExampleTest, MutatedLinesAreRefusedInOneLine) {
  const std::string lines[] = {
      R"({"prompt": "añ😀", "completion": "b\u00e9\n"})",
      R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}, {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}], "weight": 1}], "tools": [{"type": "function"}]})"};
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string line = lines[round % 2];
    for (int edits = 1 + random() % 4; edits; --edits) {
      const size_t at = random() % line.size();
      switch (random() % 4) {
      case 0:
        line[at] = static_cast<char>(random());
        break;
      case 1:
        line.erase(at, random() % 8);
        break;
      case 2:
        line.insert(at, line.substr(random() % line.size(), random() % 12));
        break;
      default:
        line[at] = "[]{}\",:\\0n"[random() % 10];
      }
      if (line.empty())
        line = "x";
    }
    try {
      const Example example = parse_example(line);
      EXPECT_EQ(example.answers.size(),
                example.is_conversation() ? example.messages.size() : 0);
    } catch (const Error &error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 19500);
}

TEST(ExampleTest, Preferences) {
  const Preference texts = parse_preference(
      R"({"prompt": "a", "chosen": "b", "rejected": "c", "score": 3})");
  EXPECT_EQ(texts.chosen.prompt + "|" + texts.chosen.completion, "a|b");
  EXPECT_EQ(texts.rejected.prompt + "|" + texts.rejected.completion, "a|c");
  // Whole texts: a space goes with the word, and no character is cut in two.
  const Preference whole = parse_preference(
      R"({"chosen": "Say it: yes \u00e4", "rejected": "Say it: yes \u00f6"})");
  EXPECT_EQ(whole.chosen.prompt, "Say it: yes");
  EXPECT_EQ(whole.chosen.completion, " \u00e4");
  EXPECT_EQ(whole.rejected.completion, " \u00f6");
  const char *const turns =
      R"("chosen": [{"role": "assistant", "content": "b"}],
      "rejected": [{"role": "assistant", "content": "c"},
                   {"role": "user", "content": "d"},
                   {"role": "assistant", "content": "e"}], "tools": [1])";
  const Preference chat = parse_preference(
      std::string(R"({"prompt": [{"role": "user", "content": "a"}], )") +
      turns + "}");
  EXPECT_EQ(chat.chosen.messages.size(), 2u);
  EXPECT_EQ(chat.chosen.answers, (std::vector<bool>{false, true}));
  EXPECT_EQ(chat.rejected.answers,
            (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(chat.rejected.tools.size(), 1u);
  // Conversations that begin alike, with whatever prompt beside them.
  for (const char *prompt : {"", R"("prompt": "a", )", R"("prompt": [], )"}) {
    const Preference alike =
        parse_preference(std::string("{") + prompt +
                         R"("chosen": [{"role": "user", "content": "a"},
                      {"role": "assistant", "content": "b"}],
           "rejected": [{"role": "user", "content": "a"},
                        {"role": "assistant", "content": "c"}]})");
    EXPECT_EQ(alike.chosen.answers, (std::vector<bool>{false, true}));
    EXPECT_EQ(alike.rejected.messages[1]["content"], "c");
  }
}

TEST(ExampleTest, RefusesPreferences) {
  for (
      auto [line, words] :
      std::initializer_list<std::pair<const char *, const char *>>{
          {"[]", "is no JSON object"},
          {R"({"text": "a"})", "expected \"chosen\" and \"rejected\""},
          {R"({"chosen": "a"})", "the keys \"chosen\""},
          {R"({"prompt": 1, "chosen": "a", "rejected": "b"})",
           "prompt: expected a text, or a list"},
          {R"({"chosen": "a", "rejected": []})", "rejected: expected a text"},
          {R"({"chosen": [], "rejected": "a"})",
           "rejected: expected a list of messages"},
          {R"({"prompt": [{"role": "user"}], "chosen": "a", "rejected": "b"})",
           "chosen: expected a list of messages"},
          {R"({"chosen": [], "rejected": []})", "chosen: expected a list"},
          {R"({"chosen": [{"role": "user", "content": "a"}],
                "rejected": [{"role": "user", "content": "b"}]})",
           "begin with other messages"},
          {R"({"chosen": [{"role": "user"}], "rejected": [{"role": "user"}]})",
           "one is the beginning of the other"},
          {R"({"prompt": [{"role": "user"}], "rejected": [{"role": "user"}],
                "chosen": [{"role": "assistant", "weight": 2}]})",
           "chosen[0].weight: expected 0 or 1"},
          {R"({"chosen": [{"role": "user"}, {"role": "assistant", "weight": 2}],
                "rejected": [{"role": "user"}, {"role": "assistant"}]})",
           "chosen[1].weight: expected 0 or 1"}})
    expect_contains(error_of([&] { parse_preference(line); }), words);
  // Other keys are ignored, these too; and such a line where it is none.
  EXPECT_EQ(parse_example(R"({"text": "a", "chosen": "b", "rejected": "c"})")
                .completion,
            "a");
  expect_contains(
      error_of([&] { parse_example(R"({"chosen": "a", "rejected": "b"})"); }),
      "--loss=dpo");
}

} // namespace
} // namespace baton::test
