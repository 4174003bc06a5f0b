//===- BatchCommandTest.cpp - many requests, run as users do -------------===//
//
// The program is that of toy_batch.cpp.
//
//===----------------------------------------------------------------------===//

#include "../batch/paged_numbers.h"
#include "../execute/array_file.h"
#include "process.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <thread>

namespace baton {
namespace {

using Json = nlohmann::json;
using test::Process;
using test::Result;
using namespace std::chrono_literals;

constexpr int count = 60;

class BatchCommandTest : public ::testing::Test {
protected:
  BatchCommandTest() {
    std::filesystem::create_directories(folder / "weights");
    std::string header =
        R"({"bias": {"dtype": "F32", "shape": [256], "data_offsets": [0, 1024]}})";
    uint64_t size = header.size();
    test::write_file(
        folder / "weights/model.safetensors",
        std::string(reinterpret_cast<const char *>(&size), sizeof(size)) +
            header + std::string(1024, '\0'));
    test::write_file(folder / "weights/config.json", "{}");
    std::string lines;
    for (int i = 0; i < count; ++i)
      lines += Json({{"id", "r" + std::to_string(i)},
                     {"prompt", prompt(i)},
                     {"temperature", i % 2},
                     {"max_new_tokens", 1 + i * 5 % 37}})
                   .dump() +
               "\n";
    test::write_file(in(), lines);
  }

  /// Most begin alike.
  static std::string prompt(int i) {
    return std::string(size_t(i % 3) * 70, 'a') + "of " + std::to_string(i);
  }
  std::string in() const { return (folder / "in.jsonl").string(); }
  std::string out() const { return (folder / "out.jsonl").string(); }
  std::vector<std::string> command(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {BATON_TOY_BATCH,
                                      "--weights",
                                      (folder / "weights").string(),
                                      "--requests",
                                      in(),
                                      "--out",
                                      out()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Result run(const std::vector<std::string> &more = {}) const {
    return test::run(command(more));
  }

  /// All results are there once, in order, and right.
  void expect_results() const {
    std::istringstream stream(test::read_file(out()));
    std::string line;
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(std::getline(stream, line));
      Json json = Json::parse(line);
      EXPECT_EQ(json["id"], "r" + std::to_string(i));
      BatchRequest request;
      for (char letter : prompt(i))
        request.prompt.push_back(letter);
      request.sampling.temperature = i % 2;
      request.max_new_tokens = static_cast<uint64_t>(1 + i * 5 % 37);
      EXPECT_EQ(json["tokens"],
                test::continue_alone(request, 0, {16, 4, 6, 512, 520, 48, 256})
                    .tokens)
          << i;
    }
    EXPECT_FALSE(std::getline(stream, line));
  }

  test::TemporaryFolder folder;
};

TEST_F(BatchCommandTest, ContinuesAll) {
  for (const char *workers : {"1", "3"}) {
    Result result = run({"--workers", workers, "--json"});
    EXPECT_EQ(result.status, 0) << result.errors;
    expect_results();
    Json summary = Json::parse(result.output);
    EXPECT_EQ(summary["requests"], count);
    EXPECT_EQ(summary["errors"], 0);
    EXPECT_EQ(summary["pages"], 48);
    EXPECT_GT(summary["cached_tokens"], 0);
    EXPECT_NE(result.errors.find("60 requests: "), std::string::npos)
        << result.errors;
    // Nothing is left.
    result = run({"--workers", workers, "--json", "--quiet"});
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(Json::parse(result.output)["finished_before"], count);
    EXPECT_EQ(Json::parse(result.output)["steps"], 0);
    std::filesystem::remove(out());
  }
}

TEST_F(BatchCommandTest, LittleMemoryIsEnough) {
  // Four pages, of 48 that all sequences may need.
  Result result = run({"--kv-memory", "2KiB", "--json", "--workers", "2"});
  EXPECT_EQ(result.status, 0) << result.errors;
  expect_results();
  EXPECT_EQ(Json::parse(result.output)["pages"], 4);
}

/// Runs it until it ends, and kills it whenever it has written something.
/// Returns how often.
int run_and_kill(const std::vector<std::string> &command,
                 const std::string &out) {
  setenv("BATON_TOY_STEP_MILLISECONDS", "1", 1);
  int kills = 0;
  while (true) {
    Process process(command);
    // Once it has written something.
    std::error_code absent;
    auto before = std::filesystem::file_size(out, absent);
    const bool is_new = bool(absent);
    for (int i = 0; i < 2000; ++i) {
      auto size = std::filesystem::file_size(out, absent);
      if (!absent && size > (is_new ? 0 : before))
        break;
      std::this_thread::sleep_for(1ms);
    }
    std::this_thread::sleep_for(20ms);
    process.send(SIGKILL);
    Result result = process.wait();
    if (result.status != -SIGKILL)
      break;
    if (++kills == 1000)
      break;
  }
  unsetenv("BATON_TOY_STEP_MILLISECONDS");
  return kills;
}

TEST_F(BatchCommandTest, GoesOnWhenKilled) {
  const int kills = run_and_kill(command({"--workers", "1", "--quiet"}), out());
  EXPECT_GT(kills, 1);
  EXPECT_LT(kills, 1000);
  EXPECT_EQ(run().status, 0);
  expect_results();
}

TEST_F(BatchCommandTest, Scores) {
  std::string lines;
  for (int i = 0; i < count; ++i)
    lines += Json({{"id", "s" + std::to_string(i)},
                   {"prompt", prompt(i)},
                   {"continuations", {" a", " continuation", " or another"}}})
                 .dump() +
             "\n";
  test::write_file(in(), lines);
  Result result = run({"--score", "--workers", "2", "--json"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_NE(result.errors.find("60 requests: 1560 scored tokens at "),
            std::string::npos)
      << result.errors;
  Json summary = Json::parse(result.output);
  EXPECT_EQ(summary["scored_tokens"], count * (2 + 13 + 11));
  EXPECT_EQ(summary["generated_tokens"], 0);
  EXPECT_GT(summary["cached_tokens"], 0);
  // Without what was there before.
  auto scores = [&] {
    std::istringstream stream(test::read_file(out()));
    std::vector<Json> list;
    for (std::string line; std::getline(stream, line);)
      list.push_back(Json::parse(line)["scores"]);
    return list;
  };
  const std::vector<Json> whole = scores();
  EXPECT_EQ(whole.size(), size_t(count));
  std::filesystem::remove(out());
  const int kills =
      run_and_kill(command({"--score", "--workers", "1", "--quiet"}), out());
  EXPECT_GT(kills, 1);
  EXPECT_LT(kills, 1000);
  EXPECT_EQ(run({"--score"}).status, 0);
  EXPECT_EQ(scores(), whole);
}

TEST_F(BatchCommandTest, ASignalKeepsWhatIsFinished) {
  setenv("BATON_TOY_STEP_MILLISECONDS", "2", 1);
  Process process(command({"--quiet"}));
  std::error_code absent;
  while (std::filesystem::file_size(out(), absent) == 0 || absent)
    std::this_thread::sleep_for(1ms);
  process.send(SIGINT);
  Result result = process.wait();
  unsetenv("BATON_TOY_STEP_MILLISECONDS");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.errors.rfind("error: interrupted; " + out() + " has ", 0),
            0u)
      << result.errors;
  EXPECT_EQ(run().status, 0);
  expect_results();
}

TEST_F(BatchCommandTest, SaysWhatIsWrong) {
  auto expect = [&](const std::vector<std::string> &more,
                    const std::string &text) {
    Result result = run(more);
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.errors, "error: " + text + "\n");
  };
  expect({"--quiet", "--kv-memory", "1023"},
         "--kv-memory: 1023 is less than 2 pages of 512 B; give more");
  expect({"--quiet", "--kv-memory", "4GB"},
         "--kv-memory: \"4GB\" is not a size as in 512MiB or 4GiB");
  expect({"--quiet", "--kv-memory", "-1"},
         "--kv-memory: \"-1\" is not a size as in 512MiB or 4GiB");
  std::filesystem::remove(in());
  expect({"--quiet"}, in() + ": cannot be read: No such file or directory");
}

TEST_F(BatchCommandTest, WrongLinesHaveResults) {
  test::write_file(in(), "{\n"
                         R"({"id": "a", "prompt": "hi"})"
                         "\n"
                         R"({"id": "b", "tokens": [250]})"
                         "\n");
  Result result = run({"--json", "--max-new-tokens", "3", "--quiet"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(Json::parse(result.output)["errors"], 2);
  std::istringstream stream(test::read_file(out()));
  std::string line;
  std::getline(stream, line);
  EXPECT_EQ(Json::parse(line)["error"]["message"],
            in() + ":1: is no JSON object");
  std::getline(stream, line);
  EXPECT_EQ(Json::parse(line)["tokens"].size(), 3u);
  std::getline(stream, line);
  EXPECT_EQ(Json::parse(line)["finish_reason"], "error");
}

} // namespace
} // namespace baton
