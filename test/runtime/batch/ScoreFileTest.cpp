//===- ScoreFileTest.cpp - files of texts to score ------------------------===//

#include "batch_file_test.h"
#include "runtime/tokenizer/byte_alphabet.h"

namespace baton {
namespace {

using Json = nlohmann::json;
using Tokens = std::vector<int32_t>;

class ScoreFileTest : public test::BatchFileTest {
protected:
  ScoreFileTest() { format.scores = true; }

  /// Tokens of bytes, and of "ab", "abc", " a" and " b" above 200; a text
  /// begins with token 0, and ends with 1 if that is wanted.
  void use_merges(bool ends = false, bool begins_with_blank = false) {
    Json vocabulary;
    for (int byte = 0; byte < 200; ++byte)
      vocabulary[spell_byte(static_cast<uint8_t>(byte))] = byte;
    const std::string blank = spell_byte(' ');
    int next = 200;
    for (const std::string &text :
         {std::string("ab"), std::string("abc"), blank + "a", blank + "b"})
      vocabulary[text] = next++;
    Json around = {{{"SpecialToken", {{"id", "^"}, {"type_id", 0}}}},
                   {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}};
    if (ends)
      around.push_back({{"SpecialToken", {{"id", "$"}, {"type_id", 0}}}});
    auto special = [](const char *name, int id) {
      return Json{{"id", name}, {"ids", {id}}, {"tokens", {name}}};
    };
    const Json document = {
        {"normalizer", nullptr},
        {"pre_tokenizer",
         {{"type", "ByteLevel"},
          {"add_prefix_space", begins_with_blank},
          {"use_regex", true}}},
        {"decoder", {{"type", "ByteLevel"}}},
        {"post_processor",
         {{"type", "TemplateProcessing"},
          {"single", around},
          {"pair", around},
          {"special_tokens",
           {{"^", special("^", 0)}, {"$", special("$", 1)}}}}},
        {"added_tokens", Json::array()},
        {"model",
         {{"type", "BPE"},
          {"vocab", vocabulary},
          {"merges", {"a b", "ab c", blank + " a", blank + " b"}}}}};
    format.tokenizer = Tokenizer::parse(document.dump(), "merges");
    format.bytes = false;
  }
};

TEST_F(ScoreFileTest, ReadsRequests) {
  auto requests = read_all(
      R"({"id": "a", "tokens": [1, 2, 3], "continuations": [[4], [5, 6]]})");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].prompt, (Tokens{1, 2, 3, 4}));
  EXPECT_EQ(requests[1].prompt, (Tokens{1, 2, 3, 5, 6}));
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(requests[i].score_from, 3u);
    EXPECT_EQ(requests[i].max_new_tokens, 0u);
    EXPECT_EQ(requests[i].score_likely, 1u);
    EXPECT_EQ(requests[i].part, i);
  }
  requests = read_all(R"({"id": "a", "prompt": "hi", "logprobs": 5, )"
                      R"("continuations": [" you"]})");
  EXPECT_EQ(requests[0].prompt, (Tokens{'h', 'i', ' ', 'y', 'o', 'u'}));
  EXPECT_EQ(requests[0].score_from, 2u);
  EXPECT_EQ(requests[0].score_likely, 5u);
  requests = read_all(R"({"id": "a", "tokens": [1, 2], "choices": [4, 5, 6]})");
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].prompt, (Tokens{1, 2}));
  EXPECT_EQ(requests[0].choices, (Tokens{4, 5, 6}));
  EXPECT_FALSE(requests[0].only_choices || requests[0].score_from);
}

TEST_F(ScoreFileTest, ChoicesOfOneLineAreAsFewRequestsAsTakeThem) {
  Tokens many(300);
  for (size_t i = 0; i < many.size(); ++i)
    many[i] = static_cast<int32_t>(i * 7 % 256);
  for (bool only : {false, true}) {
    auto requests = read_all(
        Json{{"id", "a"}, {"tokens", {1, 2}}, {"choices", many}, {"only", only}}
            .dump());
    ASSERT_EQ(requests.size(), 2u);
    Tokens all = requests[0].choices;
    EXPECT_EQ(all.size(), std::min(most_choices, format.shape.max_changes));
    all.insert(all.end(), requests[1].choices.begin(),
               requests[1].choices.end());
    EXPECT_EQ(all, many);
    for (uint32_t i = 0; i < 2; ++i) {
      EXPECT_EQ(requests[i].prompt, (Tokens{1, 2}));
      EXPECT_EQ(requests[i].part, i);
      EXPECT_EQ(requests[i].only_choices, only);
    }
  }
}

TEST_F(ScoreFileTest, TokensOfATextAreThoseOfBothTogether) {
  for (bool ends : {false, true}) {
    use_merges(ends);
    Tokens before = {0, 'x'};
    if (ends)
      before.push_back(1);
    auto expect = [&](const std::string &prompt,
                      const std::string &continuation, Tokens context,
                      Tokens scored) {
      auto requests =
          read_all(Json{{"id", "a"},
                        {"prompt", prompt},
                        {"continuations", Json::array({continuation})}}
                       .dump());
      ASSERT_EQ(requests.size(), 1u);
      EXPECT_EQ(requests[0].score_from, context.size());
      context.insert(context.end(), scored.begin(), scored.end());
      EXPECT_EQ(requests[0].prompt, context) << prompt << "," << continuation;
    };
    expect("x", " a", before, {202});
    // A blank begins a token of the continuation.
    expect("x ", "a", before, {202});
    expect("x \n ", "b", before, {' ', '\n', 203});
    expect("x", "ab", before, {200});
    // Of "xab" and "xabc" each has the tokens that it has by itself.
    Tokens merged = {0, 'x', 200};
    if (ends)
      merged.push_back(1);
    expect("xab", "c", merged, {'c'});
    expect("xab", "cab", merged, {'c', 200});
  }
}

TEST_F(ScoreFileTest, TextsThatCannotPart) {
  use_merges(false, /*begins_with_blank=*/true);
  auto requests =
      read_all(R"({"id": "a", "prompt": "x", "continuations": [" a", "y"]})");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].prompt, (Tokens{0, ' ', 'x', 202}));
  EXPECT_EQ(requests[1].prompt, (Tokens{0, ' ', 'x', 'y'}));
  // By itself it would be " c".
  EXPECT_EQ(fault(R"({"id": "a", "prompt": "xab", "continuations": ["c"]})"),
            "continuations[0]: \"c\" and the end of the prompt are one token; "
            "give lists of token ids");
}

TEST_F(ScoreFileTest, NamesWhatIsWrong) {
  auto with = [&](const std::string &keys) {
    return fault(R"({"id": "a", )" + keys + "}");
  };
  const std::string kinds = "give either continuations, a list of texts or of "
                            "lists of token ids, or choices, a list of single "
                            "tokens";
  EXPECT_EQ(with(R"("prompt": "a")"), kinds);
  EXPECT_EQ(with(R"("prompt": "a", "continuations": ["b"], "choices": [1])"),
            kinds);
  EXPECT_EQ(with(R"("continuations": ["b"])"),
            "give either prompt, a text, or tokens, a list of token ids");
  EXPECT_EQ(with(R"("prompt": "a", "tokens": [1], "choices": [1])"),
            "give either prompt, a text, or tokens, a list of token ids");
  EXPECT_EQ(with(R"("prompt": "a", "choises": [1])"),
            "there is no key \"choises\"; did you mean choices?");
  EXPECT_EQ(with(R"("prompt": "a", "temperature": 1, "choices": [1])"),
            "there is no key \"temperature\"");
  const std::string lists = "continuations: expected a list of texts or of "
                            "lists of token ids, one at least";
  for (const char *list : {"[]", "\"b\"", "[1]", "[[1], 2]", "{}"})
    EXPECT_EQ(with(R"("prompt": "a", "continuations": )" + std::string(list)),
              lists);
  const std::string tokens = "choices: expected a list of token ids, or of "
                             "texts of one token each, one at least";
  for (const char *list : {"[]", "[[1]]", "[1.5]"})
    EXPECT_EQ(with(R"("prompt": "a", "choices": )" + std::string(list)),
              tokens);
  EXPECT_EQ(with(R"("prompt": "a", "choices": [1, "b"])"),
            "choices: expected all of them as texts, or as token ids");
  EXPECT_EQ(with(R"("prompt": "a", "choices": ["b", "bcd"])"),
            "choices[1]: \"bcd\" is 3 tokens behind the prompt, expected one; "
            "give them as continuations");
  EXPECT_EQ(with(R"("prompt": "a", "continuations": ["b", ""])"),
            "continuations[1]: there is no token; give at least one");
  EXPECT_EQ(with(R"("prompt": "", "continuations": ["b"])"),
            "prompt: there is no token; give at least one");
  EXPECT_EQ(with(R"("prompt": " ", "continuations": ["b"])"),
            "prompt: there is no token; give at least one");
  EXPECT_EQ(with(R"("tokens": [1], "continuations": [[2], "b"])"),
            "continuations[1]: a text goes behind a prompt; behind tokens give "
            "a list of token ids");
  EXPECT_EQ(with(R"("tokens": [1], "continuations": [[2, "b"]])"),
            "continuations[0]: expected a list of token ids");
  EXPECT_EQ(with(R"("tokens": [256], "continuations": [[2]])"),
            "prompt: token 256 is outside the model's vocabulary of 256 "
            "tokens");
  EXPECT_EQ(with(R"("tokens": [1], "continuations": [[2], [3, 256]])"),
            "continuations[1]: token 256 is outside the model's vocabulary of "
            "256 tokens");
  EXPECT_EQ(with(R"("tokens": [1], "choices": [-7])"),
            "choices[0]: token -1 is outside the model's vocabulary of 256 "
            "tokens");
  EXPECT_EQ(with(R"("tokens": [1], "choices": [2], "logprobs": 1)"),
            "logprobs: is for continuations; choices have their own");
  EXPECT_EQ(with(R"("tokens": [1], "continuations": [[2]], "only": true)"),
            "only: is for choices; continuations have the probability that "
            "they have among all");
  EXPECT_EQ(with(R"("tokens": [1], "choices": [2], "only": 1)"),
            "only: expected true or false");
  EXPECT_EQ(with(R"("tokens": [1], "continuations": [[2]], "logprobs": 21)"),
            "logprobs: expected 0 to 20");
  auto many = [](size_t count) { return Json(Tokens(count, 1)).dump(); };
  EXPECT_EQ(with(R"("tokens": [1], "continuations": [[2], )" + many(201) + "]"),
            "continuations[1] behind the prompt: 202 tokens do not fit into "
            "the program's 200 positions; compile with a larger --max-seq");
  EXPECT_EQ(with(R"("tokens": [1], "continuations": [)" + many(193) + "]"),
            "continuations[0] behind the prompt: its 194 tokens take 4 pages "
            "of 64 positions, and there are 3; give a larger --kv-memory");
  format.tokenizer.reset();
  format.no_tokenizer = "as planned; give tokens instead of prompt";
  EXPECT_EQ(with(R"("prompt": "a", "choices": [1])"),
            "prompt: as planned; give tokens instead of prompt");
}

/// The oracle's scores behind a prompt.
std::vector<TokenLogprob> scores(Tokens prompt, const Tokens &more,
                                 uint32_t likely) {
  BatchRequest request;
  request.score_from = prompt.size();
  request.score_likely = likely;
  request.prompt = std::move(prompt);
  request.prompt.insert(request.prompt.end(), more.begin(), more.end());
  return test::score_alone(request, {64, 16, 16, 200, 208, 3, 256});
}

TEST_F(ScoreFileTest, EveryLineHasAResultInOrder) {
  const Tokens prompt = {'h', 'i'};
  // The most likely tokens, one behind the other.
  Tokens best;
  for (int i = 0; i < 3; ++i) {
    Tokens before = prompt;
    before.insert(before.end(), best.begin(), best.end());
    best.push_back(scores(before, {0}, 1)[1].token);
  }
  Tokens other = best;
  other[1] ^= 1;
  write(
      Json{{"id", "c"}, {"prompt", "hi"}, {"continuations", {best, other, "!"}}}
          .dump() +
      "\n" +
      Json{{"id", "l"},
           {"prompt", "hi"},
           {"continuations", Json::array({other})},
           {"logprobs", 2}}
          .dump() +
      "\n{\n" +
      Json{{"id", "n"},
           {"tokens", prompt},
           {"continuations", Json::array({other})},
           {"logprobs", 0}}
          .dump() +
      "\n" + R"({"id": "p", "prompt": "hi", "choices": ["a", "b", "c"]})" +
      "\n" +
      R"({"id": "o", "prompt": "hi", "choices": ["c", "a"], "only": true})" +
      "\n" + R"({"id": "bad", "tokens": [1], "continuations": [[2, 3], )" +
      R"([250, 4, 5]]})");
  EXPECT_EQ(run(), 7u);
  std::vector<Json> lines = results();
  ASSERT_EQ(lines.size(), 7u);
  auto expect_score = [&](const Json &score, const Tokens &tokens,
                          bool greedy) {
    double sum = 0;
    for (const TokenLogprob &each : scores(prompt, tokens, 0))
      sum += double(each.logprob);
    EXPECT_EQ(score["logprob"], sum);
    EXPECT_EQ(score["tokens"], tokens.size());
    EXPECT_EQ(score["greedy"], greedy);
  };
  EXPECT_EQ(lines[0]["id"], "c");
  ASSERT_EQ(lines[0]["scores"].size(), 3u);
  expect_score(lines[0]["scores"][0], best, true);
  expect_score(lines[0]["scores"][1], other, false);
  expect_score(lines[0]["scores"][2], {'!'}, false);
  EXPECT_FALSE(lines[0]["scores"][0].contains("logprobs"));
  EXPECT_EQ(lines[0]["prompt_tokens"], 5 + 5 + 3);
  EXPECT_EQ(lines[0]["cached_tokens"], 0);
  const Json &logprobs = lines[1]["scores"][0]["logprobs"];
  const auto expected = scores(prompt, other, 2);
  ASSERT_EQ(logprobs.size(), 3u);
  EXPECT_EQ(logprobs[1]["token"], other[1]);
  EXPECT_EQ(logprobs[1]["logprob"], expected[3].logprob);
  EXPECT_TRUE(logprobs[1]["text"].is_string());
  ASSERT_EQ(logprobs[1]["top"].size(), 2u);
  EXPECT_EQ(logprobs[1]["top"][0]["token"], best[1]);
  EXPECT_EQ(logprobs[1]["top"][1]["logprob"], expected[5].logprob);
  EXPECT_EQ(lines[2]["error"]["message"], in() + ":3: is no JSON object");
  EXPECT_EQ(lines[3]["scores"][0]["logprobs"][0],
            Json({{"token", other[0]}, {"logprob", expected[0].logprob}}));
  double total = 0;
  for (size_t i = 0; i < 3; ++i) {
    const Json &choice = lines[4]["scores"][i];
    EXPECT_EQ(choice["token"], 'a' + i);
    EXPECT_EQ(choice["text"], std::string(1, static_cast<char>('a' + i)));
    const float logprob =
        scores(prompt, {static_cast<int32_t>('a' + i)}, 0)[0].logprob;
    EXPECT_EQ(choice["logprob"], logprob);
    EXPECT_NEAR(
        double(choice["probability"]) /
            double(lines[4]["scores"][0]["probability"]),
        std::exp(double(logprob) - double(lines[4]["scores"][0]["logprob"])),
        1e-12);
    EXPECT_EQ(choice["greedy"], best[0] == int32_t('a' + i));
    total += double(choice["probability"]);
  }
  EXPECT_NEAR(total, 1, 1e-12);
  EXPECT_EQ(lines[4]["prompt_tokens"], 2);
  // Of two the logits are as far apart as their log-probabilities.
  const Json &two = lines[5]["scores"], &three = lines[4]["scores"];
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0]["text"], "c");
  EXPECT_FALSE(two[0].contains("logprob"));
  EXPECT_NEAR(double(two[0]["logit"]) - double(two[1]["logit"]),
              double(three[2]["logprob"]) - double(three[0]["logprob"]), 1e-6);
  EXPECT_NEAR(double(two[0]["probability"]) + double(two[1]["probability"]), 1,
              1e-12);
  EXPECT_NEAR(double(two[0]["probability"]) / double(two[1]["probability"]),
              double(three[2]["probability"]) / double(three[0]["probability"]),
              1e-5);
  const bool first = two[0]["logit"] > two[1]["logit"];
  EXPECT_EQ(two[0]["greedy"], first);
  EXPECT_EQ(two[1]["greedy"], !first);
  EXPECT_EQ(lines[6],
            Json({{"id", "bad"},
                  {"error",
                   {{"message",
                     in() + ":7: continuations[1]: logits at position 2 are "
                            "not finite"}}}}));
  // Nothing is left to do.
  const std::string before = test::read_file(out());
  EXPECT_EQ(run(), 0u);
  EXPECT_EQ(test::read_file(out()), before);
  // In several runs.
  std::filesystem::remove(out());
  for (int left = 7; left > 0; left -= 2)
    EXPECT_EQ(run(2), size_t(std::min(left, 2)));
  EXPECT_EQ(test::read_file(out()), before);
}

} // namespace
} // namespace baton
