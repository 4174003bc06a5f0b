//===- LlamaTest.cpp - requests and answers of llama.cpp's server ---------===//

#include "runtime/serve/access.h"
#include "runtime/serve/api_json.h"
#include "runtime/serve/llama_completion.h"
#include "runtime/serve/request_keys.h"
#include "test/runtime/serve/written_exchange.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace baton {
namespace {

using Json = nlohmann::ordered_json;

constexpr int32_t end_token = 0;

/// Each byte is a token.
ServedModel byte_model() {
  ServedModel model;
  model.name = "bytes";
  model.format.tokenizer = Tokenizer::of_bytes();
  model.format.stop_tokens = {end_token};
  model.format.shape.max_positions = 64;
  model.format.shape.vocabulary = 256;
  return model;
}

LlamaRequest read(const std::string &body,
                  const ServedModel &model = byte_model()) {
  return read_llama_request(parse_body(body), model);
}

LlamaRequest read_with(const std::string &keys) {
  return read(R"({"prompt": "a", )" + keys + "}");
}

std::string fault_of(const std::string &body) {
  try {
    read(body);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

std::string fault_with(const std::string &keys) {
  return fault_of(R"({"prompt": "a", )" + keys + "}");
}

using Tokens = std::vector<int32_t>;

TEST(LlamaRequest, PromptsAreTextsTokensAndBoth) {
  EXPECT_EQ(read(R"({"prompt": "ab"})").requests[0].prompt, (Tokens{97, 98}));
  EXPECT_EQ(read(R"({"prompt": {"prompt_string": "a"}})").requests[0].prompt,
            (Tokens{97}));
  const LlamaRequest mixed = read(R"({"prompt": [1, "ab", 2]})");
  ASSERT_EQ(mixed.requests.size(), 1U);
  EXPECT_EQ(mixed.requests[0].prompt, (Tokens{1, 97, 98, 2}));
  const LlamaRequest several =
      read(R"({"prompt": ["a", [1, "b"], {"prompt_string": "c"}]})");
  ASSERT_EQ(several.requests.size(), 3U);
  EXPECT_EQ(several.requests[1].prompt, (Tokens{1, 98}));
  EXPECT_EQ(several.requests[2].prompt, (Tokens{99}));
}

TEST(LlamaRequest, WrongPromptsAreNamed) {
  for (const char *body :
       {"{}", R"({"prompt": []})", R"({"prompt": {}})", R"({"prompt": 1})",
        R"({"prompt": [1, true]})", R"({"prompt": [{"prompt_string": 2}]})",
        R"({"prompt": {"prompt_string": "a", "multimodal_data": "x"}})"})
    EXPECT_TRUE(fault_of(body).starts_with("prompt: ")) << body;
}

/// As in "97=-1 98=2".
std::string biases_of(const std::string &value) {
  const LlamaRequest request = read_with("\"logit_bias\": " + value);
  std::string text;
  for (const auto &bias : request.requests[0].sampling.logit_bias)
    text += (text.empty() ? "" : " ") + std::to_string(bias.token) + "=" +
            std::to_string(int64_t(bias.bias));
  return text;
}

TEST(LlamaRequest, BiasesAreOfTokensAndOfTexts) {
  EXPECT_EQ(biases_of(R"({"97": -1, "b": 2})"), "97=-1 98=2");
  EXPECT_EQ(biases_of(R"([[97, -1], ["b", 2]])"), "97=-1 98=2");
  EXPECT_EQ(biases_of(R"([{"token": 97, "bias": -1}])"), "97=-1");
  EXPECT_EQ(biases_of(R"([[97, false]])"), "97=-1000000000");
  // A token that several texts have.
  EXPECT_EQ(biases_of(R"([["ab", -1], ["bc", -2]])"), "97=-1 98=-3 99=-2");
  EXPECT_EQ(biases_of("[]"), "");
  for (const char *value : {"3", "[3]", "[[97]]", R"([["a", true]])",
                            R"([["a", "b"]])", R"([[{}, 1]])"})
    EXPECT_TRUE(fault_with("\"logit_bias\": " + std::string(value))
                    .starts_with("logit_bias: "))
        << value;
}

TEST(LlamaRequest, NegativeNumbersAreNothing) {
  const BatchRequest request =
      read_with(
          R"("n_predict": -1, "temperature": -1, "top_k": -1, "seed": -1)")
          .requests[0];
  EXPECT_EQ(request.max_new_tokens, UINT64_MAX);
  EXPECT_EQ(request.sampling.temperature, 0);
  EXPECT_EQ(request.sampling.top_k, 0U);
  EXPECT_NE(request.sampling.seed, UINT64_MAX);
}

TEST(LlamaRequest, AnEndThatIsIgnoredIsNeverDrawn) {
  const LlamaRequest request = read_with(R"("ignore_eos": true)");
  EXPECT_TRUE(request.requests[0].stop_tokens.empty());
  ASSERT_EQ(request.requests[0].sampling.logit_bias.size(), 1U);
  EXPECT_EQ(request.requests[0].sampling.logit_bias[0].token, end_token);
  EXPECT_LT(request.requests[0].sampling.logit_bias[0].bias, -1e8);
  EXPECT_EQ(request.settings["logit_bias"],
            Json::parse(R"([{"token": 0, "bias": null}])"));
}

TEST(LlamaRequest, ProbabilitiesAreKnownWhereNothingIsCutOff) {
  EXPECT_EQ(
      fault_with(
          R"("n_probs": 3, "post_sampling_probs": true, "temperature": 1)"),
      "");
  for (const char *keys : {R"("temperature": 0.5)", R"("top_k": 3)",
                           R"("top_p": 0.5)", R"("min_p": 0.1)"})
    EXPECT_TRUE(fault_with(R"("n_probs": 3, "post_sampling_probs": true, )" +
                           std::string(keys))
                    .starts_with("post_sampling_probs: "))
        << keys;
}

TEST(LlamaRequest, WhatHasNoEffectIsNamed) {
  EXPECT_EQ(read_with(R"("mirostat": 2, "cache_prompt": true)").ignored_keys,
            (std::vector<std::string>{"mirostat"}));
}

TEST(LlamaRequest, DefaultsAreThoseOfTheModel) {
  ServedModel model = byte_model();
  model.defaults =
      Json::parse(R"({"temperature": 0.25, "max_tokens": 7, "seed": 3})");
  const LlamaRequest request =
      read(R"({"prompt": "a", "temperature": 2})", model);
  EXPECT_EQ(request.requests[0].sampling.temperature, 2);
  EXPECT_EQ(request.requests[0].max_new_tokens, 7U);
  EXPECT_EQ(request.settings["seed"], 3);
  EXPECT_EQ(llama_default_settings(model)["n_predict"], 7);
  EXPECT_EQ(read(R"({"prompt": "a", "n_predict": 9})", model)
                .requests[0]
                .max_new_tokens,
            9U);
  model.defaults = {{"temperature", "warm"}};
  EXPECT_THROW(llama_default_settings(model), Error);
}

TEST(LlamaRequest, APromptThatIsTooLongSaysSo) {
  const ServedModel model = byte_model();
  BatchRequest request;
  request.prompt.assign(63, 1);
  EXPECT_NO_THROW(expect_positions(request, model, "prompt"));
  request.prompt.push_back(1);
  try {
    expect_positions(request, model, "prompt");
    FAIL();
  } catch (const ApiError &error) {
    const Json json = error_json(error)["error"];
    EXPECT_EQ(json["type"], "exceed_context_size_error");
    EXPECT_EQ(json["code"], "context_length_exceeded");
    EXPECT_EQ(json["param"], "prompt");
    EXPECT_EQ(json["n_prompt_tokens"], 64);
    EXPECT_EQ(json["n_ctx"], 64);
  }
}

/// What the engine would say of a request.
class Answered {
public:
  explicit Answered(const std::string &keys)
      : exchange(std::make_shared<WrittenExchange>()),
        answer(make_llama_answer(
            exchange, std::make_shared<const ServedModel>(byte_model()),
            read_with(keys))) {
    answer->begin();
  }

  void say(std::string_view text, std::vector<TokenLogprob> logprobs = {}) {
    for (unsigned char byte : text) {
      answer->on_token(0, 0, byte, logprobs);
      tokens.push_back(byte);
    }
  }
  void finish(BatchFinish finish) {
    BatchResult result;
    result.prompt_tokens = 1;
    result.choices.push_back({.tokens = tokens, .finish = finish});
    answer->on_result(0, result);
    answer->end({});
  }
  std::vector<Json> parts() const {
    std::vector<Json> all;
    for (size_t place = 0; place < exchange->text.size();) {
      const size_t end = exchange->text.find("\n\n", place);
      all.push_back(
          Json::parse(exchange->text.substr(place + 6, end - place - 6)));
      place = end + 2;
    }
    return all;
  }

  const std::shared_ptr<WrittenExchange> exchange;
  const std::shared_ptr<Answer> answer;
  Tokens tokens;
};

TEST(LlamaAnswer, AnAnswerSaysHowItEnded) {
  Answered limit(R"("n_predict": 3)");
  limit.say("b\nc");
  limit.finish(BatchFinish::Length);
  Json body = limit.exchange->body();
  EXPECT_EQ(body["content"], "b\nc");
  EXPECT_EQ(body["stop_type"], "limit");
  EXPECT_EQ(body["truncated"], false);
  EXPECT_EQ(body["has_new_line"], true);
  EXPECT_EQ(body["tokens"], Json::array());
  EXPECT_EQ(body["prompt"], "a");
  EXPECT_EQ(body["timings"]["predicted_n"], 3);

  Answered word(R"("stop": ["END"], "return_tokens": true)");
  word.say("bEND");
  word.finish(BatchFinish::Stop);
  body = word.exchange->body();
  EXPECT_EQ(body["content"], "b");
  EXPECT_EQ(body["stop_type"], "word");
  EXPECT_EQ(body["stopping_word"], "END");
  EXPECT_EQ(body["tokens"], Json::parse("[98, 69, 78, 68]"));

  Answered token(R"("n_predict": -1)");
  token.say(std::string_view("b\0", 2));
  token.finish(BatchFinish::Stop);
  EXPECT_EQ(token.exchange->body()["stop_type"], "eos");
  EXPECT_EQ(token.exchange->body()["content"], "b");

  Answered full(R"("n_predict": -1)");
  full.say("b");
  full.finish(BatchFinish::Length);
  EXPECT_EQ(full.exchange->body()["truncated"], true);
}

TEST(LlamaAnswer, FieldsAreChosen) {
  Answered chosen(
      R"("n_predict": 1, "response_fields":
         ["content", "generation_settings/n_predict", "none", "content/x"])");
  chosen.say("b");
  chosen.finish(BatchFinish::Length);
  EXPECT_EQ(
      chosen.exchange->body(),
      Json::parse(R"({"content": "b", "generation_settings/n_predict": 1})"));
}

TEST(LlamaAnswer, AStreamHasAPartForEachToken) {
  Answered stream(R"("stream": true, "stop": ["xyz"], "n_probs": 1)");
  const std::vector<TokenLogprob> logprobs = {{120, -1}, {121, -2}};
  stream.say("bx", logprobs);
  stream.finish(BatchFinish::Length);
  const std::vector<Json> parts = stream.parts();
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0]["content"], "b");
  EXPECT_EQ(parts[1]["content"], "");
  EXPECT_EQ(parts[1]["tokens"], Json::parse("[120]"));
  ASSERT_EQ(parts[1]["completion_probabilities"].size(), 1U);
  EXPECT_EQ(parts[1]["completion_probabilities"][0]["top_logprobs"][0]["id"],
            121);
  // What was held back comes with the end.
  EXPECT_EQ(parts[2]["content"], "x");
  EXPECT_EQ(parts[2]["stop"], true);
  EXPECT_TRUE(stream.exchange->ended);
}

TEST(LlamaAnswer, APromptsProgressIsShown) {
  Answered stream(R"("stream": true, "return_progress": true,
                     "timings_per_token": true)");
  stream.answer->on_prompt(0, {.tokens = 9, .cached = 4, .done = 4});
  stream.answer->on_prompt(0, {.tokens = 9, .cached = 4, .done = 9});
  const std::vector<Json> parts = stream.parts();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0]["timings"]["prompt_n"], 0);
  EXPECT_EQ(parts[0]["timings"]["prompt_ms"], 0);
  EXPECT_EQ(parts[1]["prompt_progress"]["processed"], 9);
  EXPECT_EQ(parts[1]["timings"]["prompt_n"], 5);
}

TEST(LlamaAnswer, AnErrorBehindTheBeginningIsAnEvent) {
  Answered stream(R"("stream": true)");
  stream.answer->fail(server_fault("broken"));
  EXPECT_EQ(stream.parts()[0]["error"]["message"], "broken");
  Answered whole(R"("stream": false)");
  whole.answer->fail(server_fault("broken"));
  EXPECT_EQ(whole.exchange->response.status, 500U);
}

TEST(Timings, ARateIsThatOfTheTokensBehindTheFirst) {
  const Timings timings = {.prompt = 4,
                           .cached = 2,
                           .generated = 11,
                           .prompt_ms = 8,
                           .generated_ms = 100};
  EXPECT_EQ(timings.json()["predicted_per_second"], 100);
  EXPECT_EQ(timings.json()["predicted_per_token_ms"], 10);
  EXPECT_EQ(timings.json()["prompt_per_second"], 500);
  EXPECT_EQ(Timings{.generated = 1}.json()["predicted_per_second"], 0);
}

/// The origin that a preflight request is answered with.
std::string allowed(const std::string &origin, const std::string &own) {
  HttpRequest request;
  request.method = "OPTIONS";
  request.headers = {{"Origin", origin}};
  for (const auto &[name, value] : origin_headers(request, {own}))
    if (name == "Access-Control-Allow-Origin")
      return value;
  return "";
}

TEST(Origins, LocalhostIsThisMachineAtAnyPort) {
  for (const char *origin :
       {"http://localhost", "http://localhost:8080", "https://127.0.0.1:1",
        "http://[::1]", "http://[::1]:3000"})
    EXPECT_EQ(allowed(origin, "localhost"), origin);
  for (const char *origin :
       {"http://notlocalhost", "http://localhost.evil.com", "127.0.0.1",
        "http://evil.com:80", "http://[::2]:80", "http://evil.com/localhost"})
    EXPECT_EQ(allowed(origin, "localhost"), "") << origin;
}

} // namespace
} // namespace baton
