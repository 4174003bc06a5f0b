//===- CommandLineTest.cpp - a compiled program, run as users do ---------===//
//
// The program is the toy of test/runtime/execute/toy_program.h.
//
//===----------------------------------------------------------------------===//

#include "../execute/array_file.h"
#include "process.h"
#include "runtime/tokenizer/byte_alphabet.h"
#include "runtime/tokenizer/tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace baton {
namespace {

using Json = nlohmann::json;
using test::Process;
using test::Result;
using test::TemporaryFolder;

constexpr int vocabulary = 259;

std::string toy() { return BATON_TOY_PROGRAM; }

/// A checkpoint whose only tensor has no influence.
void write_checkpoint(const std::filesystem::path &folder) {
  std::filesystem::create_directories(folder);
  std::string header = Json{{"bias",
                             {{"dtype", "F32"},
                              {"shape", {vocabulary}},
                              {"data_offsets", {0, 4 * vocabulary}}}}}
                           .dump();
  uint64_t size = header.size();
  std::string file(reinterpret_cast<const char *>(&size), sizeof(size));
  test::write_file(folder / "model.safetensors",
                   file + header + std::string(4 * vocabulary, '\0'));
  test::write_file(folder / "config.json", R"({"eos_token_id": 2})");
}

/// Token 3 + b is the byte b; 2 is the special end of text. No token is one of
/// the bytes in `without`.
void write_tokenizer(const std::filesystem::path &folder,
                     const std::string &without = "") {
  Json added = Json::array(), tokens;
  for (const char *content : {"<s>", "<unk>", "</s>"}) {
    tokens[content] = added.size();
    added.push_back({{"id", added.size()},
                     {"content", content},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  for (int byte = 0; byte < 256; ++byte)
    if (without.find(static_cast<char>(byte)) == std::string::npos)
      tokens[spell_byte(static_cast<uint8_t>(byte))] = byte + 3;
  Json byte_level = {{"type", "ByteLevel"},
                     {"add_prefix_space", false},
                     {"trim_offsets", true},
                     {"use_regex", true}};
  Json tokenizer = {{"version", "1.0"},
                    {"added_tokens", added},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", byte_level},
                    {"post_processor", nullptr},
                    {"decoder", byte_level},
                    {"model",
                     {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"ignore_merges", false},
                      {"vocab", tokens},
                      {"merges", Json::array()}}}};
  test::write_file(folder / "tokenizer.json", tokenizer.dump());
}

class CommandLineTest : public ::testing::Test {
protected:
  CommandLineTest() { write_checkpoint(weights()); }

  std::string weights() const { return (folder / "weights").string(); }

  /// The program with these arguments.
  static Result run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), toy());
    return test::run(arguments);
  }
  /// A command that needs weights.
  Result run_weights(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, {"--weights", weights()});
    return run(arguments);
  }

  /// Status 1, nothing on standard output, and one line on standard error that
  /// begins with "error: " and holds `text`.
  static void expect_error(const Result &result, const std::string &text) {
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(result.errors.rfind("error: ", 0), 0u) << result.errors;
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1)
        << result.errors;
    EXPECT_NE(result.errors.find(text), std::string::npos) << result.errors;
  }

  TemporaryFolder folder;
};

constexpr const char *chain = "241,242,243,244,245,246,247,248,249,250,2";

TEST_F(CommandLineTest, GeneratesIdsWithoutATokenizer) {
  Result result =
      run_weights({"generate", "--tokens", "240", "--max-new-tokens", "20"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, std::string(chain) + "\n");
  EXPECT_NE(result.errors.find("11 tokens at "), std::string::npos);
}

TEST_F(CommandLineTest, BytesOfAPromptAreTokensWithoutATokenizer) {
  std::vector<std::string> arguments = {"generate", "--prompt", "\xFF?a",
                                        "--max-new-tokens=3"};
  Result text = run_weights(arguments);
  EXPECT_EQ(text.status, 0) << text.errors;
  const std::string printed = text.output;
  EXPECT_EQ(text.errors.find("note: " + weights() +
                             "/tokenizer.json: no such file; each byte of "
                             "--prompt is a token\n"),
            0)
      << text.errors;
  arguments.insert(arguments.end(), {"--json", "--quiet"});
  text = run_weights(arguments);
  EXPECT_EQ(text.errors, "");
  Json json = Json::parse(text.output);
  EXPECT_EQ(json["prompt_tokens"], Json({255, '?', 'a'}));
  EXPECT_EQ(json["text"],
            Tokenizer::of_bytes().decode(
                json["tokens"].get<std::vector<int32_t>>(), true, false));
  EXPECT_EQ(printed, json["text"].get<std::string>() + "\n");
  // Whoever has another tokenizer does not mean bytes.
  test::write_file(std::filesystem::path(weights()) / "tokenizer.model", "x");
  expect_error(run_weights(arguments),
               "tokenizer.json: no such file, and tokenizer.model beside it "
               "cannot be read; give --tokens instead of --prompt");
}

TEST_F(CommandLineTest, QuietSaysNothing) {
  Result result = run_weights(
      {"generate", "--tokens", "240", "--max-new-tokens=3", "--quiet"});
  EXPECT_EQ(result.output, "241,242,243\n");
  EXPECT_EQ(result.errors, "");
}

TEST_F(CommandLineTest, JsonHasTheContractsKeys) {
  Result result = run_weights({"generate", "--tokens=5,240", "--max-new-tokens",
                               "4", "--json", "--workers", "2"});
  EXPECT_EQ(result.status, 0);
  Json json = Json::parse(result.output);
  EXPECT_EQ(json["prompt_tokens"], Json({5, 240}));
  EXPECT_EQ(json["tokens"], Json({241, 242, 243, 244}));
  EXPECT_EQ(json["text"], nullptr);
  EXPECT_EQ(json["finish_reason"], "length");
  EXPECT_GT(json["prefill_s"].get<double>(), 0);
  EXPECT_GT(json["decode_s"].get<double>(), 0);
  EXPECT_GT(json["tokens_per_s"].get<double>(), 0);
  EXPECT_EQ(json["workers"], 2);
  json = Json::parse(
      run_weights({"generate", "--tokens=240", "--json", "--max-new-tokens=11"})
          .output);
  EXPECT_EQ(json["finish_reason"], "stop");
}

TEST_F(CommandLineTest, TextIsWhatDecodingAllTokensGives) {
  write_tokenizer(weights());
  std::vector<std::string> arguments = {
      "generate", "--prompt",        "Wie schön", "--max-new-tokens",
      "40",       "--temperature=1", "--seed",    "3"};
  Result text = run_weights(arguments);
  EXPECT_EQ(text.status, 0) << text.errors;
  arguments.push_back("--json");
  Json json = Json::parse(run_weights(arguments).output);
  std::string prompt = "Wie schön";
  ASSERT_EQ(json["prompt_tokens"].size(), prompt.size());
  for (size_t i = 0; i < prompt.size(); ++i)
    EXPECT_EQ(json["prompt_tokens"][i], 3 + static_cast<uint8_t>(prompt[i]));
  EXPECT_EQ(text.output, json["text"].get<std::string>() + "\n");
  Tokenizer tokenizer =
      Tokenizer::load(std::filesystem::path(weights()) / "tokenizer.json");
  EXPECT_EQ(json["text"],
            tokenizer.decode(json["tokens"].get<std::vector<int32_t>>(), true));
}

TEST_F(CommandLineTest, BytesWithoutATokenAreDropped) {
  write_tokenizer(weights(), "xy\xC3");
  Json json = Json::parse(run_weights({"generate", "--prompt", "axbyé",
                                       "--max-new-tokens=1", "--json"})
                              .output);
  EXPECT_EQ(json["prompt_tokens"], Json({3 + 'a', 3 + 'b', 3 + 0xA9}));
  expect_error(
      run_weights({"generate", "--prompt", "xyx", "--max-new-tokens=1"}),
      "--prompt: there is no token");
}

/// A tokenizer that is not understood stops what needs text, and nothing else.
TEST_F(CommandLineTest, TokensNeedNoTokenizerThatIsUnderstood) {
  for (const auto &[text, complaint] :
       {std::pair("{", "malformed JSON"), std::pair("{}", "has no 'model'"),
        std::pair(R"({"model": {"type": "Unigram", "vocab": []}})",
                  "model.type 'Unigram' is not supported")}) {
    test::write_file(folder / "weights/tokenizer.json", text);
    std::vector<std::string> tokens = {"generate", "--tokens=240",
                                       "--max-new-tokens=20"};
    Result result = run_weights(tokens);
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_EQ(result.output, std::string(chain) + "\n");
    size_t note = result.errors.find("note: ");
    ASSERT_NE(note, std::string::npos) << result.errors;
    std::string line =
        result.errors.substr(note, result.errors.find('\n', note) - note);
    EXPECT_NE(line.find(weights() + "/tokenizer.json: "), std::string::npos)
        << line;
    EXPECT_NE(line.find(complaint), std::string::npos) << line;
    EXPECT_TRUE(line.ends_with("; tokens are printed, not text")) << line;
    EXPECT_EQ(result.errors.find("note: ", note + 1), std::string::npos)
        << result.errors;

    tokens.push_back("--quiet");
    result = run_weights(tokens);
    EXPECT_EQ(result.output, std::string(chain) + "\n");
    EXPECT_EQ(result.errors, "");
    tokens.push_back("--json");
    Json json = Json::parse(run_weights(tokens).output);
    EXPECT_EQ(json["text"], nullptr);
    EXPECT_EQ(json["tokens"].size(), 11u);

    result = run_weights({"logits", "--tokens=1,240", "--out",
                          (folder / "logits.npy").string(), "--quiet"});
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_EQ(result.errors, "");

    result = run_weights({"generate", "--prompt=a", "--max-new-tokens=3"});
    expect_error(result, weights() + "/tokenizer.json: ");
    expect_error(result, complaint);
    expect_error(result, "; give --tokens instead of --prompt");
  }
}

TEST_F(CommandLineTest, TheSameForAnyWorkersChunksAndOrigins) {
  auto generate = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"generate",
                                          "--tokens=9,8,7,6,5,4,3,2,1,9,8",
                                          "--max-new-tokens=30",
                                          "--temperature=2",
                                          "--top-k=50",
                                          "--top-p=0.9"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_weights(arguments).output;
  };
  std::string once = generate({"--workers=1"});
  EXPECT_EQ(generate({"--workers=5"}), once);
  EXPECT_EQ(generate({"--prefill-chunk", "3"}), once);
  EXPECT_EQ(generate({"--event-origin=4294967290", "--workers=2"}), once);
  EXPECT_EQ(generate({"--no-cache"}), once);
  EXPECT_NE(generate({"--seed=1"}), once);
}

TEST_F(CommandLineTest, StopsAtTheLastPosition) {
  std::string tokens = "1";
  for (int i = 1; i < 60; ++i)
    tokens += ",1";
  Json json = Json::parse(run_weights({"generate", "--tokens", tokens,
                                       "--max-new-tokens=100", "--json"})
                              .output);
  EXPECT_EQ(json["tokens"].size(), 4u);
  EXPECT_EQ(json["finish_reason"], "length");
}

TEST_F(CommandLineTest, GenerateNamesWhatIsWrong) {
  auto refused = [&](std::vector<std::string> more, const std::string &text) {
    std::vector<std::string> arguments = {"generate", "--max-new-tokens=3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_error(run_weights(arguments), text);
  };
  refused({"--tokens=1,x"}, "--tokens: \"x\" is not a token id");
  refused({"--tokens=1,,2"}, "--tokens: \"\" is not a token id");
  refused({"--tokens=1,2,"}, "--tokens: \"\" is not a token id");
  refused({"--tokens=1.5"}, "\"1.5\" is not a token id");
  refused({"--tokens=99999999999"}, "\"99999999999\" is not a token id");
  refused({"--tokens", "-1"}, "token -1 is outside");
  refused({"--tokens=3,259"}, "token 259 is outside the model's vocabulary of "
                              "259 tokens");
  refused({"--tokens="}, "--tokens: there is no token");
  refused({"--tokens", ""}, "--tokens: there is no token");
  refused({}, "either --prompt TEXT or --tokens");
  refused({"--tokens=1", "--prompt=a"}, "either --prompt TEXT or --tokens");
  refused({"--tokens=1", "--workers=0"}, "--workers");
  refused({"--tokens=1", "--workers=257"}, "--workers: 257 is not between");
  refused({"--tokens=1", "--workers=two"}, "--workers");
  refused({"--tokens=1", "--prefill-chunk=9"}, "--prefill-chunk: 9");
  refused({"--tokens=1", "--temperature=-1"}, "--temperature");
  refused({"--tokens=1", "--temperature=nan"}, "--temperature");
  refused({"--tokens=1", "--top-p=0"}, "--top-p");
  refused({"--tokens=1", "--top-p=1.1"}, "--top-p");
  refused({"--tokens=1", "--top-k=-3"}, "--top-k");
  refused({"--tokens=1", "--bogus"}, "--bogus");
  refused({"--tokens=1,258"}, "logits at position 2 are not finite");
  std::string tokens = "1";
  for (int i = 1; i < 64; ++i)
    tokens += ",1";
  refused({"--tokens", tokens}, "leave none for a new one");
  refused({"--tokens", tokens + ",1"},
          "65 tokens do not fit into the program's 64 positions");
  write_tokenizer(weights());
  refused({"--prompt="}, "--prompt: there is no token");
  refused({"--prompt", ""}, "--prompt: there is no token");
  refused({"--prompt", std::string(65, 'a')}, "--prompt: 65 tokens do not fit");

  expect_error(run_weights({"generate", "--tokens=1"}), "--max-new-tokens");
  expect_error(run_weights({"generate", "--tokens=1", "--max-new-tokens=0"}),
               "--max-new-tokens");
}

TEST_F(CommandLineTest, OtherErrorsNameWhatIsWrong) {
  expect_error(run({}), "name a command: generate, logits");
  expect_error(run({"dance"}), "dance");
  expect_error(run({"train", "--data=x", "--steps=3", "--out=y"}),
               "train: this program decodes; compile one with --mode=train");
  expect_error(run({"batch", "--requests=a", "--out=b"}),
               "batch: this program holds one sequence; compile with "
               "--max-batch");
  expect_error(run({"score", "--requests=a", "--out=b"}),
               "score: this program holds one sequence");
  expect_error(run({"serve", "--weights=a"}),
               "serve: this program holds one sequence");
  expect_error(run({"serve", "--models=a"}),
               "serve: this program holds one sequence");
  expect_error(run({"bench", "--batch=2", "--prefill=2", "--decode=2"}),
               "bench: --batch: this program holds one sequence");
  expect_error(run({"generate", "--tokens=1", "--max-new-tokens=1"}),
               "--weights");
  expect_error(run({"generate", "--tokens=1", "--max-new-tokens=1", "--weights",
                    "/no/such/folder"}),
               "--weights: /no/such/folder: no such file or folder");
  expect_error(run({"generate", "--tokens=1", "--max-new-tokens=1", "--weights",
                    weights() + "/config.json"}),
               "is neither a folder nor a .gguf file");
  std::filesystem::remove(weights() + "/model.safetensors");
  expect_error(run_weights({"generate", "--tokens=1", "--max-new-tokens=1"}),
               weights());
}

TEST_F(CommandLineTest, WhatThereIsNotHasTheNearestName) {
  auto refused = [&](std::vector<std::string> arguments,
                     const std::string &text) {
    expect_error(run(arguments), text);
  };
  refused({"generate", "--wieghts=x", "--tokens=1", "--max-new-tokens=1"},
          "there is no flag \"--wieghts\"; did you mean --weights?; try ");
  // Not that --tokens is missing.
  refused({"logits", "--token", "1", "--out=x"},
          "there is no flag \"--token\"; did you mean --tokens?; try ");
  refused({"generate", "-prompt", "x"},
          "there is no flag \"-prompt\"; did you mean --prompt?; try ");
  refused({"train", "--validate-evry=3"}, "did you mean --validate-every?");
  refused({"bench", "--bogus"}, "there is no flag \"--bogus\"; try ");
  // One that help does not show.
  refused({"bench", "--event-orign=1"},
          "there is no flag \"--event-orign\"; try ");
  refused({"tran", "--data=x"},
          "there is no command \"tran\"; did you mean train?; try ");
  refused({"dance"}, "there is no command \"dance\"; try ");
  refused({"--hlp"}, "did you mean --help?");
  refused({"--json", "info"},
          "\"--json\": flags stand behind the command info; try ");
  refused({"info", "x"}, "not expected: x; try ");
  refused({"generate", "--tokens"}, "--tokens: 1 required");
  refused({std::string(100, 'x')}, "there is no command \"xxx");
}

TEST_F(CommandLineTest, HelpTeaches) {
  for (const char *command :
       {"", "generate", "logits", "batch", "score", "bench", "info"}) {
    std::vector<std::string> arguments = {"--help"};
    if (*command)
      arguments.insert(arguments.begin(), command);
    Result result = run(arguments);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(result.output.find("event-origin"), std::string::npos);
    if (std::string(command) != "info")
      EXPECT_NE(result.output.find("Examples:"), std::string::npos);
  }
  EXPECT_NE(run({"generate", "--help"}).output.find("--top-p"),
            std::string::npos);
}

TEST_F(CommandLineTest, LogitsOfEveryPosition) {
  std::string out = (folder / "logits.npy").string();
  Result result = run_weights({"logits", "--tokens=1,240,3,4,5", "--out", out});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, "");
  test::ArrayFile array = test::ArrayFile::read(out);
  EXPECT_EQ(array.type, "<f4");
  EXPECT_EQ(array.shape, (std::vector<uint64_t>{5, vocabulary}));
  std::vector<float> values = array.values<float>();
  EXPECT_EQ(values[vocabulary + 241], 100);
  EXPECT_LT(values[241], 4);

  std::string other = (folder / "other.npy").string();
  EXPECT_EQ(run_weights({"logits", "--tokens=1,240,3,4,5", "--out", other,
                         "--prefill-chunk=2", "--workers=3", "--dump",
                         (folder / "dump").string()})
                .status,
            1);
  EXPECT_EQ(
      run_weights({"logits", "--tokens=1,240,3,4,5", "--out", other,
                   "--prefill-chunk=2", "--dump", (folder / "dump").string()})
          .status,
      0);
  EXPECT_EQ(test::read_file(other), test::read_file(out));
  EXPECT_EQ(test::ArrayFile::read(folder / "dump/002_head_logits.npy").data,
            array.data);
}

TEST_F(CommandLineTest, LogitsNamesWhatIsWrong) {
  expect_error(run_weights({"logits", "--tokens=1"}), "--out");
  expect_error(run_weights({"logits", "--out=x.npy"}), "--tokens");
  std::string missing = (folder / "none/x.npy").string();
  expect_error(run_weights({"logits", "--tokens=1", "--out", missing}),
               missing);
  expect_error(run_weights({"logits", "--tokens=1", "--out=/dev/null"}),
               "/dev/null: is not a plain file");
  expect_error(run_weights({"logits", "--tokens=999", "--out=x.npy"}),
               "token 999 is outside");
}

TEST_F(CommandLineTest, AFullDiskLeavesNoFile) {
  std::string out = (folder / "logits.npy").string();
  // The limit is in blocks of 512 or 1024 bytes; the array has 4144 bytes more.
  Result result = test::run({"/bin/sh", "-c",
                             "ulimit -f 2; exec '" + toy() +
                                 "' logits --no-cache --weights '" + weights() +
                                 "' --tokens 1,2,3,4 --out '" + out + "'"});
  expect_error(result, out + ": cannot be written: File too large");
  for (const auto &entry : std::filesystem::directory_iterator(folder.path()))
    EXPECT_EQ(entry.path().filename(), "weights");
}

TEST_F(CommandLineTest, InfoInBothForms) {
  Result text = run({"info"});
  EXPECT_EQ(text.status, 0);
  for (const char *part :
       {"toy", "64 positions", "segment layers, 2 times", "head/logits",
        "by hand", "assumes tokens are in range", "where the time goes"})
    EXPECT_NE(text.output.find(part), std::string::npos) << part;
  Json json = Json::parse(run({"info", "--json"}).output);
  EXPECT_EQ(json["model"]["name"], "toy");
  EXPECT_EQ(json["target"]["cpu"], "any");
  EXPECT_EQ(json["phases"].size(), 2u);
  EXPECT_EQ(json["phases"][0]["repeat"], 2);
  EXPECT_EQ(json["events"]["words"], 2);
  // 259 floats, padded to a multiple of 16.
  EXPECT_EQ(json["memory"], Json({{"weights", 272 * 4},
                                  {"kv", 512},
                                  {"activations", 4352},
                                  {"scratch", 0}}));
  EXPECT_EQ(json["proof"]["status"], "by hand");
  EXPECT_EQ(json["proof"]["assumptions"].size(), 1u);
}

TEST_F(CommandLineTest, BenchReportsTheContractsKeys) {
  Result result = run({"bench", "--prefill=20", "--decode=12", "--json",
                       "--workers=2", "--profile", "--quiet"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  Json json = Json::parse(result.output);
  for (const char *key :
       {"prefill_tokens_per_s", "decode_tokens_per_s",
        "read_bandwidth_fraction", "fma_fraction", "peak_bytes"})
    EXPECT_GT(json[key].get<double>(), 0) << key;
  EXPECT_EQ(json["workers"], 2);
  EXPECT_EQ(json["verdict"], "bit-identical with 1 worker");
  ASSERT_EQ(json["profile"].size(), 2u);
  EXPECT_EQ(json["profile"][1]["phase"], "head/logits");
  EXPECT_GT(json["profile"][0]["decode_s"].get<double>(), 0);
  EXPECT_GE(json["decode_tokens_per_s"].get<double>() * 1.0001,
            json["decode_mean_tokens_per_s"].get<double>());
}

TEST_F(CommandLineTest, BenchRefusesWhatDoesNotFit) {
  expect_error(run({"bench"}), "--prefill 512 and --decode 64 do not fit into "
                               "the program's 64 positions");
  expect_error(run({"bench", "--prefill=0", "--decode=1"}), "--prefill");
  expect_error(run({"bench", "--prefill=1", "--decode=x"}), "--decode");
}

/// The program computes four positions and then waits for open_gate(); from
/// there on it takes its time.
class SlowProgramTest : public CommandLineTest {
protected:
  SlowProgramTest() {
    // No token ends the text.
    test::write_file(std::filesystem::path(weights()) / "config.json", "{}");
    setenv("BATON_TOY_GATE", gate.c_str(), 1);
    setenv("BATON_TOY_STEP_MILLISECONDS", "20", 1);
  }
  ~SlowProgramTest() override {
    unsetenv("BATON_TOY_GATE");
    unsetenv("BATON_TOY_STEP_MILLISECONDS");
  }

  void open_gate() { test::write_file(gate, ""); }

  std::vector<std::string> generate() const {
    return {toy(), "generate",         "--weights", weights(), "--tokens",
            "1",   "--max-new-tokens", "60",        "--quiet"};
  }

  std::filesystem::path gate = folder / "gate";
};

TEST_F(SlowProgramTest, TextComesAsItIsGenerated) {
  setenv("BATON_TOY_STEP_MILLISECONDS", "0", 1);
  Process process(generate());
  std::string text;
  while (std::count(text.begin(), text.end(), ',') < 3)
    text += process.read_some();
  open_gate();
  Result result = process.wait();
  EXPECT_EQ(result.status, 0);
  text += result.output;
  EXPECT_EQ(std::count(text.begin(), text.end(), ','), 59);
  EXPECT_EQ(text.back(), '\n');
}

TEST_F(SlowProgramTest, AClosedPipeEndsTheProgram) {
  Process process(generate());
  process.read_some();
  process.close_output();
  open_gate();
  expect_error(process.wait(),
               "standard output cannot be written: Broken pipe");
}

TEST_F(SlowProgramTest, AFullDeviceEndsTheProgram) {
  open_gate();
  expect_error(Process(generate(), "/dev/full").wait(),
               "standard output cannot be written: No space left on device");
  expect_error(Process({toy(), "info"}, "/dev/full").wait(), "standard output");
}

TEST_F(SlowProgramTest, AnInterruptEndsTheProgramInGoodOrder) {
  for (int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove(gate);
    Process process(generate());
    EXPECT_FALSE(process.read_some().empty());
    process.send(signal);
    open_gate();
    Result result = process.wait();
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.errors, "error: interrupted\n");
    // What was generated is complete.
    EXPECT_EQ(result.output.back(), '\n');
  }
}

TEST_F(SlowProgramTest, ASecondInterruptEndsTheProgramAtOnce) {
  Process process(generate());
  EXPECT_FALSE(process.read_some().empty());
  process.send(SIGINT);
  process.send(SIGTERM);
  // The gate stays closed.
  Result result = process.wait();
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.errors, "error: interrupted\n");
}

TEST_F(SlowProgramTest, AnInterruptLeavesNoFile) {
  std::string out = (folder / "logits.npy").string();
  const std::string tokens = "--tokens=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,"
                             "17,18,19,20,21,22,23,24,25,26,27,28,29,30";
  Process process({toy(), "logits", "--weights", weights(), "--no-cache",
                   tokens, "--prefill-chunk=1", "--out", out});
  auto largest_file = [&] {
    uintmax_t size = 0;
    for (const auto &entry : std::filesystem::directory_iterator(folder.path()))
      if (entry.is_regular_file())
        size = std::max(size, entry.file_size());
    return size;
  };
  // Until there are rows in the file beside the final one.
  while (largest_file() < 4 * vocabulary)
    std::this_thread::yield();
  process.send(SIGINT);
  open_gate();
  expect_error(process.wait(), "interrupted");
  for (const auto &entry : std::filesystem::directory_iterator(folder.path()))
    EXPECT_TRUE(entry.path().filename() == "weights" || entry.path() == gate)
        << entry.path();
}

#ifdef BATON_TOY_PROGRAM_VARIANTS
TEST_F(CommandLineTest, EveryVariantOfTheArchivesRuns) {
  for (const char *variant : {"plain", "thread", "address"}) {
    std::string program = std::string(BATON_TOY_PROGRAM_VARIANTS) + variant;
    Result result =
        test::run({program, "generate", "--weights", weights(), "--tokens=240",
                   "--max-new-tokens=20", "--workers=3", "--quiet"});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.output, std::string(chain) + "\n");
    EXPECT_EQ(result.errors, "");
  }
}

TEST_F(CommandLineTest, ProgramsOfOneSequenceHaveNoServer) {
  const auto contains = [](const std::string &path, std::string_view words) {
    std::ifstream stream(path, std::ios::binary);
    std::stringstream bytes;
    bytes << stream.rdbuf();
    return bytes.str().find(words) != std::string::npos;
  };
  const std::string program = std::string(BATON_TOY_PROGRAM_VARIANTS) + "plain";
  EXPECT_TRUE(contains(program, "--max-batch"));
  EXPECT_FALSE(contains(program, "guided_regex"));
  EXPECT_FALSE(contains(program, "additionalProperties"));
}
#endif

} // namespace
} // namespace baton
