//===- ExampleEncoderTest.cpp - tokens and targets, as Transformers has them -//

#include "runtime/documents/example_encoder.h"

#include "test/runtime/weights/fixture.h"

namespace baton::test {
namespace {

std::string mask_of(const EncodedDocument &document) {
  std::string mask;
  for (bool is_target : document.is_target)
    mask += is_target ? '1' : '0';
  return mask;
}

Tokenizer tokenizer_named(const std::string &name) {
  return Tokenizer::load(std::string(BATON_GOLDEN_TOKENIZERS) + "/" + name +
                         "/tokenizer.json");
}

TEST(ExampleEncoderTest, ConversationsAreThoseOfTransformers) {
  const auto golden =
      nlohmann::ordered_json::parse(read_file(BATON_GOLDEN_CONVERSATIONS));
  ASSERT_GT(golden.size(), 5u);
  for (const auto &group : golden) {
    const auto name = group["tokenizer"].get<std::string>();
    const Tokenizer tokenizer = tokenizer_named(name);
    for (const char *form : {"marked", "plain"}) {
      const Conversation conversation({group[form].get<std::string>(),
                                       group["begin"].get<std::string>(),
                                       group["end"].get<std::string>()},
                                      name);
      EXPECT_EQ(conversation.marks_answers(), form == std::string("marked"));
      const ExampleEncoder encoder(
          {.tokenizer = &tokenizer, .conversation = &conversation});
      for (const auto &own : group["cases"]) {
        const Example example = parse_example(
            nlohmann::ordered_json{{"messages", own["messages"]}}.dump());
        auto expected = own[form];
        if (!expected.is_array())
          expected = nlohmann::ordered_json::array({expected});
        const auto found = encoder.encode(example);
        const std::string what =
            name + ", " + form + ": " + own["messages"].dump();
        ASSERT_EQ(found.size(), expected.size()) << what;
        for (size_t i = 0; i < found.size(); ++i) {
          EXPECT_EQ(found[i].tokens,
                    expected[i]["tokens"].get<std::vector<int32_t>>())
              << what;
          EXPECT_EQ(mask_of(found[i]), expected[i]["mask"].get<std::string>())
              << what;
        }
      }
    }
  }
}

/// Each byte is a token.
class BytesTest : public testing::Test {
protected:
  Tokenizer tokenizer = Tokenizer::of_bytes();

  std::vector<EncodedDocument>
  encode(const std::string &line, const Conversation *conversation = nullptr,
         LossOn loss_on = LossOn::Completions) {
    return ExampleEncoder({.tokenizer = &tokenizer,
                           .bytes = true,
                           .conversation = conversation,
                           .end_of_text = 256,
                           .loss_on = loss_on})
        .encode(parse_example(line));
  }
};

TEST_F(BytesTest, TextsAndCompletions) {
  const std::string line = R"({"prompt": "ab", "completion": "cde"})";
  const auto pair = encode(line);
  EXPECT_EQ(pair[0].tokens,
            (std::vector<int32_t>{'a', 'b', 'c', 'd', 'e', 256}));
  EXPECT_EQ(mask_of(pair[0]), "001111");
  EXPECT_EQ(mask_of(encode(line, nullptr, LossOn::All)[0]), "111111");
  EXPECT_EQ(mask_of(encode(R"({"text": "ab"})")[0]), "111");
  expect_contains(
      error_of([&] { encode(R"({"messages": [{"role": "user"}]})"); }),
      "no chat template");
}

TEST_F(BytesTest, AnswersByWeightAndPlace) {
  const Conversation conversation(
      {"{% for m in messages %}{{ m.role[0] + m.content }}{% endfor %}"
       "{{ 'a' if add_generation_prompt else '' }}",
       "", ""},
      "t");
  auto masks = [&](const std::string &line) {
    std::string all;
    for (const EncodedDocument &document : encode(line, &conversation))
      all += mask_of(document) + " ";
    return all;
  };
  EXPECT_EQ(masks(R"({"messages": [{"role": "user", "content": "x"},
    {"role": "assistant", "content": "yy"}, {"role": "user", "content": "z"},
    {"role": "assistant", "content": "w"}]})"),
            "00011"
            "00"
            "01 ");
  EXPECT_EQ(masks(R"({"messages": [{"role": "user", "content": "x"},
    {"role": "assistant", "content": "yy", "weight": 0},
    {"role": "user", "content": "z"}, {"role": "assistant", "content": "w"}]})"),
            "00000"
            "00"
            "01 ");
  EXPECT_EQ(masks(R"({"prompt": [{"role": "user", "content": "x"}],
    "completion": [{"role": "assistant", "content": "yy"}]})"),
            "00011 ");
}

TEST_F(BytesTest, AnswersThatCannotBeToldApart) {
  // The number of messages stands before them.
  const Conversation counting(
      {"{{ messages | length }}{% for m in messages %}{{ m.content }}"
       "{% endfor %}",
       "", ""},
      "t");
  expect_contains(error_of([&] {
                    encode(R"({"messages": [{"role": "user", "content": "x"},
                      {"role": "assistant", "content": "y"}]})",
                           &counting);
                  }),
                  "{% generation %}");
  // A mark in a macro has no place.
  const Conversation hidden(
      {"{% macro say(m) %}{% generation %}{{ m.content }}{% endgeneration %}"
       "{% endmacro %}{% for m in messages %}{{ say(m) }}{% endfor %}",
       "", ""},
      "t");
  expect_contains(error_of([&] {
                    encode(R"({"messages": [{"role": "assistant",
                      "content": "y"}]})",
                           &hidden);
                  }),
                  "has no place");
}

TEST(LossOnTest, Names) {
  EXPECT_EQ(parse_loss_on("all"), LossOn::All);
  EXPECT_EQ(parse_loss_on("completions"), LossOn::Completions);
  expect_contains(error_of([] { parse_loss_on("some"); }), "--loss-on");
}

} // namespace
} // namespace baton::test
