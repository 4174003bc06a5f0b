//===- BatchFileTest.cpp - files of requests and of results --------------===//

#include "runtime/batch/batch_file.h"

#include "batch_file_test.h"
#include "runtime/error.h"

#include <gtest/gtest.h>

#include <csignal>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

namespace baton {
namespace {

using Json = nlohmann::json;

class BatchFileTest : public test::BatchFileTest {};

TEST_F(BatchFileTest, ReadsRequests) {
  BatchRequest request = read(R"({"id": "a", "prompt": "hi"})");
  EXPECT_EQ(request.id, "a");
  EXPECT_EQ(request.prompt, (std::vector<int32_t>{'h', 'i'}));
  EXPECT_EQ(request.max_new_tokens, 5u);
  EXPECT_EQ(request.stop_tokens, std::vector<int32_t>{2});
  EXPECT_EQ(request.sampling.temperature, 0);
  EXPECT_EQ(request.n, 1u);
  EXPECT_FALSE(request.logprobs);

  request = read(
      R"({"id": 7, "tokens": [1, 255], "max_new_tokens": 9, )"
      R"("temperature": 0.5, "top_k": 3, "top_p": 0.25, "min_p": 0.125, )"
      R"("seed": 11, "n": 2, "stop": ["x", "yz"], "logprobs": 0, )"
      R"("repetition_penalty": 1.5, "presence_penalty": 2, )"
      R"("frequency_penalty": -1, "logit_bias": {"3": 1.5, "200": -100}})");
  EXPECT_EQ(request.id, "7");
  EXPECT_EQ(request.prompt, (std::vector<int32_t>{1, 255}));
  EXPECT_EQ(request.max_new_tokens, 9u);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_k, 3u);
  EXPECT_EQ(request.sampling.top_p, 0.25);
  EXPECT_EQ(request.sampling.min_p, 0.125);
  EXPECT_EQ(request.sampling.seed, 11u);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.5);
  EXPECT_EQ(request.sampling.presence_penalty, 2);
  EXPECT_EQ(request.sampling.frequency_penalty, -1);
  ASSERT_EQ(request.sampling.logit_bias.size(), 2u);
  EXPECT_EQ(request.n, 2u);
  EXPECT_EQ(request.stop_strings, (std::vector<std::string>{"x", "yz"}));
  EXPECT_EQ(request.logprobs, 0u);

  EXPECT_EQ(
      read(R"({"id": "a", "prompt": "hi", "top_p": 0.5})").sampling.temperature,
      1);
}

TEST_F(BatchFileTest, PromptsHaveLogprobs) {
  BatchRequest request =
      read(R"({"id": "a", "prompt": "hi you", "prompt_logprobs": 3})");
  EXPECT_EQ(request.score_from, 1u);
  EXPECT_EQ(request.score_likely, 3u);
  EXPECT_FALSE(request.logprobs);
  request = read(R"({"id": "a", "prompt": "hi you", "prompt_logprobs": 0, )"
                 R"("score_from": 4, "max_new_tokens": 0})");
  EXPECT_EQ(request.score_from, 4u);
  EXPECT_EQ(request.max_new_tokens, 0u);
  auto with = [&](const std::string &keys) {
    return fault(R"({"id": "a", "prompt": "hi", )" + keys + "}");
  };
  EXPECT_EQ(with(R"("score_from": 1)"),
            "score_from: is for prompt_logprobs; give both");
  EXPECT_EQ(with(R"("prompt_logprobs": 1, "score_from": 2)"),
            "score_from: expected 1 to 1, the last of the 2 tokens");
  EXPECT_EQ(with(R"("prompt_logprobs": 21)"),
            "prompt_logprobs: expected 0 to 20");
  EXPECT_EQ(with(R"("max_new_tokens": 0)"),
            "max_new_tokens: expected at least 1");

  write(R"({"id": "a", "prompt": "hi you", "prompt_logprobs": 1, "n": 2})"
        "\n"
        R"({"id": "b", "prompt": "hi you", "prompt_logprobs": 0, )"
        R"("score_from": 4, "max_new_tokens": 0})"
        "\n"
        R"({"id": "c", "tokens": [1, 250, 3], "prompt_logprobs": 0})");
  run();
  std::vector<Json> lines = results();
  ASSERT_EQ(lines[0]["prompt_logprobs"].size(), 5u);
  EXPECT_EQ(lines[0]["prompt_logprobs"][0]["token"], 'i');
  EXPECT_EQ(lines[0]["prompt_logprobs"][0]["top"].size(), 1u);
  EXPECT_EQ(lines[0]["choices"].size(), 2u);
  ASSERT_EQ(lines[1]["prompt_logprobs"].size(), 2u);
  EXPECT_EQ(lines[1]["prompt_logprobs"][1]["logprob"],
            lines[0]["prompt_logprobs"][4]["logprob"]);
  EXPECT_FALSE(lines[1]["prompt_logprobs"][1].contains("top"));
  EXPECT_EQ(lines[1]["tokens"], Json::array());
  EXPECT_EQ(lines[1]["finish_reason"], "length");
  // As far as they are numbers.
  EXPECT_EQ(lines[2]["prompt_logprobs"].size(), 1u);
  EXPECT_EQ(lines[2]["finish_reason"], "error");
}

TEST_F(BatchFileTest, ReadsOpenAIsRequests) {
  BatchRequest request = read(
      R"({"custom_id": "a", "method": "POST", "url": "/v1/completions", )"
      R"("body": {"model": "m", "prompt": "hi", "max_tokens": 3, "stop": "x", )"
      R"("stream": false, "user": "me", "seed": -1, "n": 2, "best_of": 2}})");
  EXPECT_EQ(request.id, "a");
  EXPECT_EQ(request.prompt, (std::vector<int32_t>{'h', 'i'}));
  EXPECT_EQ(request.max_new_tokens, 3u);
  EXPECT_EQ(request.sampling.temperature, 1);
  EXPECT_EQ(request.stop_strings, std::vector<std::string>{"x"});
  auto body = [&](const std::string &text, const std::string &url) {
    return fault(R"({"custom_id": "a", "method": "POST", "url": ")" + url +
                 R"(", "body": )" + text + "}");
  };
  // Others than the first are the server's.
  for (const char *url :
       {"/v1/chat/completions", "/v1/embeddings", "/completions"})
    EXPECT_EQ(body("{}", url),
              "url: expected \"/v1/completions\", \"/v1/chat/completions\" or "
              "\"/v1/embeddings\"");
  EXPECT_EQ(body("[]", "/v1/completions"), "body: expected an object");
  EXPECT_EQ(body(R"({"prompt": ["a", "b"]})", "/v1/completions"),
            "prompt: expected one text, or one list of token ids; give each a "
            "line of its own");
  EXPECT_EQ(body(R"({"prompt": "a", "stream": true})", "/v1/completions"),
            "stream: only false is supported");
  EXPECT_EQ(body(R"({"prompt": "a", "max_token": 3})", "/v1/completions"),
            "there is no key \"max_token\"; did you mean max_tokens?");
}

TEST_F(BatchFileTest, NamesWhatIsWrong) {
  EXPECT_EQ(fault("{"), "is no JSON object");
  EXPECT_EQ(fault("[1]"), "is no JSON object");
  EXPECT_EQ(fault("\xff"), "is no JSON object");
  EXPECT_EQ(fault(R"({"prompt": "a"})"), "has no id, which is a text");
  EXPECT_EQ(fault(R"({"id": ["a"], "prompt": "a"})"),
            "has no id, which is a text");
  auto with = [&](const std::string &keys) {
    return fault(R"({"id": "a", )" + keys + "}");
  };
  EXPECT_EQ(with(R"("prompt": "a", "tokens": [1])"),
            "give either prompt, a text, or tokens, a list of token ids");
  EXPECT_EQ(with(R"("n": 1)"),
            "give either prompt, a text, or tokens, a list of token ids");
  EXPECT_EQ(with(R"("prompt": "")"),
            "prompt: there is no token; give at least one");
  EXPECT_EQ(with(R"("prompt": 5)"), "prompt: expected a text");
  EXPECT_EQ(with(R"("tokens": [1, "2"])"),
            "tokens: expected a list of token ids");
  EXPECT_EQ(with(R"("tokens": [1, 256])"),
            "prompt: token 256 is outside the model's vocabulary of 256 "
            "tokens");
  EXPECT_EQ(with(R"("tokens": [18446744073709551615])"),
            "prompt: token 2147483647 is outside the model's vocabulary of 256 "
            "tokens");
  EXPECT_EQ(with(R"("prompt": "a", "top-k": 3)"),
            "there is no key \"top-k\"; did you mean top_k?");
  EXPECT_EQ(with(R"("prompt": "a", "top_k": -3)"),
            "top_k: expected a whole number that is not negative");
  EXPECT_EQ(with(R"("prompt": "a", "n": 1.5)"),
            "n: expected a whole number that is not negative");
  EXPECT_EQ(with(R"("prompt": "a", "n": 4294967297)"), "n: expected 1 to 128");
  EXPECT_EQ(with(R"("prompt": "a", "temperature": "1")"),
            "temperature: expected a number");
  EXPECT_EQ(with(R"("prompt": "a", "temperature": -1)"),
            "temperature: expected a number that is not negative");
  EXPECT_EQ(with(R"("prompt": "a", "seed": 1.5)"),
            "seed: expected a whole number");
  EXPECT_EQ(with(R"("prompt": "a", "stop": [1])"),
            "stop: expected a text or a list of texts");
  EXPECT_EQ(with(R"("prompt": "a", "stop": "")"),
            "stop: an empty string would end every text");
  EXPECT_EQ(with(R"("prompt": "a", "logit_bias": [1])"),
            R"(logit_bias: expected an object as in {"123": -1.5})");
  EXPECT_EQ(with(R"("prompt": "a", "logit_bias": {"x": 1})"),
            R"(logit_bias: "x" is not a token id)");
  EXPECT_EQ(with(R"("prompt": "a", "logit_bias": {"1": 1, "01": 1})"),
            "logit_bias: token 1 is there twice");
  // Logits stay finite.
  EXPECT_EQ(with(R"("prompt": "a", "logit_bias": {"1": 1e300})"),
            "logit_bias: expected numbers from -1e9 to 1e9");
  EXPECT_EQ(with(R"("prompt": "a", "presence_penalty": -1e10)"),
            "presence_penalty: expected a number from -1e9 to 1e9");
  EXPECT_EQ(with(R"("prompt": "a", "frequency_penalty": 1e300)"),
            "frequency_penalty: expected a number from -1e9 to 1e9");
  for (const char *penalty : {"0", "1e-300", "1e10"})
    EXPECT_EQ(
        with(std::string(R"("prompt": "a", "repetition_penalty": )") + penalty),
        "repetition_penalty: expected a number from 1e-9 to 1e9; 1 "
        "changes nothing");
  std::string tokens = "[1";
  for (int i = 1; i < 200; ++i)
    tokens += ",1";
  EXPECT_EQ(with(R"("tokens": )" + tokens + "]"),
            "prompt: 200 tokens and a new one do not fit into the program's "
            "200 positions; compile with a larger --max-seq");
  EXPECT_EQ(with(R"("tokens": [1], "max_new_tokens": 193)"),
            "prompt: its 1 tokens and those behind it take 4 pages of 64 "
            "positions, and there are 3; give a larger --kv-memory or a "
            "smaller max_new_tokens");
  format.tokenizer.reset();
  format.no_tokenizer = "as planned; give tokens instead of prompt";
  EXPECT_EQ(with(R"("prompt": "a")"),
            "prompt: as planned; give tokens instead of prompt");
  EXPECT_EQ(with(R"("tokens": [1], "stop": "a")"),
            "stop: as planned; give tokens instead of prompt");
}

TEST_F(BatchFileTest, EveryLineHasAResultInOrder) {
  write(R"({"id": "b", "prompt": "hello", "max_new_tokens": 9})"
        "\n\n"
        R"({"id": "a", "tokens": [1, 2], "max_new_tokens": 2, "logprobs": 1})"
        "\n{\n"
        R"({"id": "b", "prompt": "again"})"
        "\n"
        R"({"id": "4", "prompt": ""})"
        "\n"
        R"({"custom_id": "o", "method": "POST", "url": "/v1/completions",)"
        R"( "body": {"prompt": "x", "max_tokens": 2, "logprobs": 1}})"
        "\n"
        R"({"custom_id": "p", "method": "GET"})"
        "\n"
        R"({"id": "n", "prompt": "x", "n": 2, "max_new_tokens": 1})"
        "\n"
        R"({"id": "bad", "tokens": [250]})");
  EXPECT_EQ(run(), 9u);
  std::vector<Json> lines = results();
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(lines[0]["id"], "b");
  EXPECT_EQ(lines[0]["tokens"].size(), 9u);
  EXPECT_TRUE(lines[0]["text"].is_string());
  EXPECT_EQ(lines[0]["finish_reason"], "length");
  EXPECT_EQ(lines[0]["prompt_tokens"], 5);
  EXPECT_EQ(lines[0]["cached_tokens"], 0);
  EXPECT_FALSE(lines[0].contains("logprobs"));
  EXPECT_EQ(lines[1]["id"], "a");
  // Bytes are not what its tokens mean.
  EXPECT_EQ(lines[1]["text"], nullptr);
  ASSERT_EQ(lines[1]["logprobs"].size(), 2u);
  EXPECT_EQ(lines[1]["logprobs"][1]["token"], lines[1]["tokens"][1]);
  EXPECT_EQ(lines[1]["logprobs"][1]["top"].size(), 1u);
  EXPECT_EQ(lines[2],
            Json({{"id", "4"},
                  {"line", 4},
                  {"error", {{"message", in() + ":4: is no JSON object"}}}}));
  EXPECT_EQ(lines[3],
            Json({{"id", "5"},
                  {"line", 5},
                  {"error",
                   {{"message", in() + ":5: has the id \"b\" of line 1"}}}}));
  EXPECT_EQ(lines[4]["id"], "4");
  EXPECT_FALSE(lines[4].contains("line"));
  EXPECT_EQ(lines[4]["error"]["message"],
            in() + ":6: prompt: there is no token; give at least one");
  EXPECT_EQ(lines[5]["custom_id"], "o");
  EXPECT_EQ(lines[5]["error"], nullptr);
  EXPECT_EQ(lines[5]["response"]["status_code"], 200);
  const Json &body = lines[5]["response"]["body"];
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["choices"][0]["logprobs"]["token_logprobs"].size(), 2u);
  EXPECT_EQ(body["usage"]["completion_tokens"], 2);
  EXPECT_EQ(lines[6]["custom_id"], "p");
  EXPECT_EQ(lines[6]["response"], nullptr);
  EXPECT_EQ(lines[6]["error"]["message"],
            in() + ":8: method: expected \"POST\"");
  EXPECT_EQ(lines[7]["choices"].size(), 2u);
  EXPECT_EQ(lines[8]["finish_reason"], "error");
  EXPECT_EQ(lines[8]["error"]["message"],
            in() + ":10: logits at position 1 are not finite");
  // Nothing is left to do.
  std::string before = test::read_file(out());
  EXPECT_EQ(run(), 0u);
  EXPECT_EQ(test::read_file(out()), before);
}

TEST_F(BatchFileTest, TextEndsBeforeAStopString) {
  write(R"({"id": "a", "prompt": "hello", "max_new_tokens": 150})");
  run();
  std::string text = results()[0]["text"];
  // A letter that is there, and the text before it.
  size_t place = text.find_first_of("abcdefghijklmnopqrstuvwxyz");
  ASSERT_NE(place, std::string::npos);
  std::filesystem::remove(out());
  write(R"({"id": "a", "prompt": "hello", "max_new_tokens": 150, "stop": ")" +
        text.substr(place, 1) + "\"}");
  run();
  EXPECT_EQ(results()[0]["text"], text.substr(0, place));
  EXPECT_EQ(results()[0]["finish_reason"], "stop");
}

std::string many_requests(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += R"({"id": ")" + std::to_string(i) + R"(", "prompt": "hello )" +
            std::to_string(i) + R"(", "max_new_tokens": )" +
            std::to_string(1 + i * 7 % 13) + "}\n";
  return text;
}

TEST_F(BatchFileTest, GoesOnBehindATornLine) {
  write(many_requests(20));
  EXPECT_EQ(run(), 20u);
  const std::string whole = test::read_file(out());
  EXPECT_EQ(ids().front(), "0");
  EXPECT_EQ(ids().back(), "19");
  // Cut at any byte, it becomes what it was.
  for (size_t size = 0; size < whole.size(); size += 1 + size % 97) {
    test::write_file(out(), whole.substr(0, size));
    size_t lines = static_cast<size_t>(
        std::count(whole.begin(), whole.begin() + ptrdiff_t(size), '\n'));
    EXPECT_EQ(run(), 20 - lines);
    EXPECT_EQ(test::read_file(out()), whole);
  }
  // In the order in which requests finish, and in several runs.
  std::filesystem::remove(out());
  for (size_t left = 20; left > 0; left -= std::min<size_t>(left, 6))
    EXPECT_EQ(run(6), std::min<size_t>(left, 6));
  EXPECT_EQ(test::read_file(out()), whole);
}

TEST_F(BatchFileTest, RefusesOtherFiles) {
  write(many_requests(2));
  auto expect = [&](const std::string &text) {
    try {
      run();
      ADD_FAILURE() << "no error: " << text;
    } catch (const Error &failure) {
      EXPECT_EQ(failure.what(), text);
    }
  };
  const std::string letter = "dear all,\nhello\n";
  const std::string other = out() + ":1: is no result of a request in " + in() +
                            "; name another file for results";
  test::write_file(out(), letter);
  expect(other);
  EXPECT_EQ(test::read_file(out()), letter);
  test::write_file(out(), R"({"id": "2", "tokens": []})"
                          "\n");
  expect(other);
  std::filesystem::remove(out());
  std::filesystem::create_directory(out());
  expect(out() + ": is not a plain file");
  std::filesystem::remove(out());
  std::filesystem::create_hard_link(in(), out());
  expect(out() + ": holds the requests; name another file for results");
  std::filesystem::remove(out());
  test::write_file(out(), "");
  int other_process = open(out().c_str(), O_RDWR);
  ASSERT_EQ(flock(other_process, LOCK_EX), 0);
  expect(out() + ": another process writes to it");
  close(other_process);
  EXPECT_EQ(run(), 2u);
  std::filesystem::remove(in());
  expect(in() + ": cannot be read: No such file or directory");
}

TEST_F(BatchFileTest, AFullDiskKeepsWhatIsFinished) {
  write(many_requests(3));
  RequestFile requests(in());
  // A limit of the size stands for a full disk.
  ResultFile results(out(), requests);
  results.append(0, R"({"id": "0"})");
  struct rlimit before, small;
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 15;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    results.append(1, R"({"id": "1"})");
  } catch (const Error &failure) {
    message = failure.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, out() +
                         ": cannot be written: File too large; it has 1 of 3 "
                         "results, and the same command goes on from there");
  EXPECT_EQ(test::read_file(out()), "{\"id\": \"0\"}\n");
}

} // namespace
} // namespace baton
