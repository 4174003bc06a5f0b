//===- TrainRanksTest.cpp - the command train on several ranks -----------===//
//
// Of a toy program (toy_trainer.cpp); e2e.train_ranks has compiled ones.
//
//===----------------------------------------------------------------------===//

#include "process.h"

#include "test/runtime/weights/fixture.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <sstream>

namespace baton::test {

namespace {

using Words = std::vector<std::string>;
using Lines = std::vector<nlohmann::json>;

Words operator+(Words one, const Words &other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

Lines parse(const Result &result) {
  EXPECT_EQ(result.status, 0) << result.errors;
  Lines lines;
  std::istringstream text(result.output);
  for (std::string line; std::getline(text, line);) {
    lines.push_back(nlohmann::json::parse(line));
    lines.back().erase("tokens_per_s");
  }
  return lines;
}

void expect_near(const Lines &one, const Lines &other) {
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i)
    for (const auto &[key, value] : one[i].items())
      EXPECT_NEAR(other[i].at(key).get<double>(), value.get<double>(),
                  1e-5 * std::abs(value.get<double>()))
          << key << " of " << other[i];
}

class TrainRanksTest : public testing::Test {
protected:
  TemporaryFolder folder;

  void SetUp() override {
    write_file(folder.path / "config.json", "{}");
    std::vector<uint16_t> tokens(2000);
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = static_cast<uint16_t>((7 * i + i / 13) % 97);
    write_file(
        folder.path / "tokens.u16",
        {reinterpret_cast<const char *>(tokens.data()), tokens.size() * 2});
  }

  std::atomic<int> sessions = 0;

  std::string path(const std::string &name) { return folder.path / name; }

  Words train(int ranks, const std::string &out, const Words &more = {}) {
    Words usual = {"--init-seed",
                   "1",
                   "--model",
                   folder.path,
                   "--data",
                   path("tokens.u16"),
                   "--batch",
                   "4",
                   "--accumulate",
                   "2",
                   "--seq",
                   "8",
                   "--lr",
                   "8",
                   "--steps",
                   "6",
                   "--out",
                   path(out),
                   "--quiet",
                   "--save-every",
                   "2",
                   "--keep",
                   "0"};
    // What is given last counts, which a flag may be only once.
    Words words = {ranks == 1 ? BATON_TOY_TRAINER_1 : BATON_TOY_TRAINER_2,
                   "train"};
    for (size_t i = 0; i < usual.size();) {
      size_t count = usual[i] == "--quiet" ? 1 : 2;
      if (std::find(more.begin(), more.end(), usual[i]) == more.end())
        words.insert(words.end(), usual.begin() + i, usual.begin() + i + count);
      i += count;
    }
    return words + more;
  }

  static bool has_mpi() {
    return std::system("command -v mpirun > /dev/null") == 0;
  }
  /// Each has a session folder of its own: two that begin at the same moment
  /// may fail over the one that is otherwise the user's.
  Words mpi(const Words &command, int ranks = 2) {
    return Words{"/usr/bin/env",
                 "mpirun",
                 "--mca",
                 "orte_tmpdir_base",
                 path("mpi-" + std::to_string(sessions++)),
                 "--allow-run-as-root",
                 "--oversubscribe",
                 "-n",
                 std::to_string(ranks)} +
           command;
  }

  /// That a command fails with one line of Baton's; returns it.
  static std::string refused(const Words &command) {
    Result result = run(command);
    EXPECT_NE(result.status, 0) << result.output;
    size_t begin = result.errors.find("error: ");
    if (begin == std::string::npos) {
      ADD_FAILURE() << "says " << result.errors;
      return "";
    }
    size_t end = result.errors.find('\n', begin);
    EXPECT_EQ(result.errors.find("error: ", end), std::string::npos)
        << result.errors;
    if (command[0] != "/usr/bin/env") {
      EXPECT_EQ(result.status, 1);
      EXPECT_EQ(end + 1, result.errors.size()) << result.errors;
    }
    return result.errors.substr(begin + 7, end - begin - 7);
  }

  std::string file(const std::string &name) { return read_text(path(name)); }
  static std::string read_text(const std::string &name) {
    std::ifstream stream(name, std::ios::binary);
    EXPECT_TRUE(stream) << name;
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::string weights(const std::string &out, int step) {
    std::string where = out + "/step-" + std::to_string(step) + "/";
    return file(where + "model.safetensors") +
           file(where + "optimizer.safetensors");
  }
  /// Of a run, whose files' names begin as its folder's.
  Words temporary_files(const std::string &out) {
    Words found;
    auto look = [&](const std::filesystem::directory_entry &entry) {
      if (std::string name = entry.path();
          name.starts_with(path(out)) && name.ends_with(".temporary"))
        found.push_back(name);
    };
    // In others' folders something may move just now.
    for (const auto &entry :
         std::filesystem::recursive_directory_iterator(path(out)))
      look(entry);
    for (const auto &entry : std::filesystem::directory_iterator(folder.path))
      look(entry);
    return found;
  }
  std::vector<int> steps_of(const std::string &out) {
    std::vector<int> steps;
    for (const auto &entry : std::filesystem::directory_iterator(path(out)))
      if (std::string name = entry.path().filename(); name.starts_with("step-"))
        steps.push_back(std::atoi(name.c_str() + 5));
    std::sort(steps.begin(), steps.end());
    return steps;
  }
};

/// Runs all at the same time: an mpirun that ends its ranks sleeps.
void together(const std::vector<std::function<void()>> &all) {
  std::vector<std::future<void>> running;
  for (const auto &one : all)
    running.push_back(std::async(std::launch::async, one));
  for (auto &one : running)
    one.get();
}

} // namespace

TEST_F(TrainRanksTest, TokensNeedNoTokenizerThatIsUnderstood) {
  Lines without = parse(run(train(1, "without")));
  write_file(folder.path / "tokenizer.json",
             R"({"model": {"type": "Unigram", "vocab": []}})");
  EXPECT_EQ(parse(run(train(1, "with"))), without);
  write_file(folder.path / "text.txt", std::string(2000, 'a'));
  EXPECT_EQ(refused(train(1, "text", {"--data", path("text.txt")})),
            path("tokenizer.json") +
                ": model.type 'Unigram' is not supported; give --data a token "
                "file (.u16, .u32) instead of text");
}

TEST_F(TrainRanksTest, TwoAreAsOne) {
  const Words flags = {"--validate-every", "3"};
  Lines one = parse(run(train(1, "one", flags)));
  ASSERT_EQ(one.size(), 6u);
  EXPECT_LT(one[5]["loss"].get<double>(), 0.9 * one[0]["loss"].get<double>());
  EXPECT_TRUE(one[2].contains("validation_loss"));
  Lines two = parse(run(train(2, "two", flags)));
  expect_near(one, two);
  for (const Words &more : {Words{"--workers", "1"}, Words{"--workers", "4"},
                            Words{"--ranks", "2", "--engine=threads"}}) {
    EXPECT_EQ(parse(run(train(2, "again", flags + more))), two);
    EXPECT_EQ(weights("again", 6), weights("two", 6));
    std::filesystem::remove_all(path("again"));
  }
  if (!has_mpi())
    GTEST_SKIP() << "Open MPI (package openmpi-bin) is not installed";
  EXPECT_EQ(parse(run(mpi(train(2, "mpi", flags)))), two);
  EXPECT_EQ(weights("mpi", 6), weights("two", 6));
}

TEST_F(TrainRanksTest, AnyNumberGoesOn) {
  Lines one = parse(run(train(1, "one"))), two = parse(run(train(2, "two")));
  auto resumed = [&](const std::string &from, int ranks) {
    std::filesystem::remove_all(path("on"));
    std::filesystem::copy(path(from), path("on"),
                          std::filesystem::copy_options::recursive);
    std::filesystem::remove_all(path("on/step-6"));
    return parse(run(train(ranks, "on", {"--resume"})));
  };
  EXPECT_EQ(resumed("two", 2), Lines(two.begin() + 4, two.end()));
  EXPECT_EQ(weights("on", 6), weights("two", 6));
  expect_near(resumed("one", 2), Lines(one.begin() + 4, one.end()));
  expect_near(resumed("two", 1), Lines(one.begin() + 4, one.end()));
}

TEST_F(TrainRanksTest, CountsWhatIsExchanged) {
  for (bool by_mpi : {false, true}) {
    if (by_mpi && !has_mpi())
      GTEST_SKIP() << "Open MPI (package openmpi-bin) is not installed";
    Words command = train(2, by_mpi ? "mpi" : "threads", {"--json"});
    Lines lines = parse(run(by_mpi ? mpi(command) : command));
    ASSERT_EQ(lines.size(), 7u);
    nlohmann::json said = lines[6]["communication"];
    EXPECT_EQ(said["engine"], by_mpi ? "mpi" : "threads");
    EXPECT_EQ(said["ranks"], 2);
    // Six steps, of two microbatches each.
    const char *names[] = {"scatter", "gather", "losses"};
    const uint64_t calls[] = {6, 6, 12}, payload[] = {256, 256, 128};
    for (size_t i = 0; i < 3; ++i) {
      nlohmann::json entry = said["collectives"][i];
      EXPECT_EQ(entry["name"], names[i]);
      EXPECT_EQ(entry["calls"], calls[i]);
      EXPECT_EQ(entry["payload"], payload[i]);
      // Half of it.
      uint64_t sent = calls[i] * payload[i] / 2;
      EXPECT_EQ(entry["sent"], nlohmann::json({sent, sent}));
    }
  }
}

TEST_F(TrainRanksTest, WhoDoesNotFitIsRefused) {
  EXPECT_EQ(refused(train(2, "out", {"--ranks", "3"})),
            "--ranks 3: the program is compiled for 2 ranks (dp=2); batonc "
            "--mesh says how many");
  EXPECT_EQ(refused(train(1, "out", {"--ranks", "2"})),
            "--ranks 2: the program is compiled for 1 rank; batonc "
            "--mesh says how many");
  EXPECT_EQ(refused(train(2, "out", {"--batch", "3"})),
            "--batch 3: its sequences do not divide by the 2 ranks that each "
            "have a part of them");
  EXPECT_NE(refused(train(2, "out", {"--batch", "18"}))
                .find("a step takes at most 128 tokens"),
            std::string::npos);
  EXPECT_EQ(refused(train(2, "out", {"--engine=rings"})),
            "--engine=rings: expected threads or mpi, or nccl on GPUs");
  EXPECT_NE(
      refused(train(2, "out", {"--rank-timeout", "0"})).find("--rank-timeout"),
      std::string::npos);
  EXPECT_EQ(refused(train(2, "out", {"--engine=mpi"})),
            "--engine=mpi: start the program with mpirun -n 2");
}

TEST_F(TrainRanksTest, ProcessesThatDoNotFitAreRefused) {
  if (!has_mpi())
    GTEST_SKIP() << "Open MPI (package openmpi-bin) is not installed";
  auto names = [&](const Words &command, const char *flag) {
    return [command, flag] {
      std::string said = refused(command);
      EXPECT_NE(said.find(flag), std::string::npos) << said;
    };
  };
  together({[&] {
              EXPECT_EQ(
                  refused(mpi(train(2, "three"), 3)),
                  "mpirun has started 3 ranks, and the program is compiled "
                  "for 2 ranks (dp=2); batonc --mesh says how many");
            },
            names(mpi(train(2, "both", {"--stepz", "3"})), "--stepz"),
            // Nobody else knows of it.
            names(mpi(train(2, "one"), 1) + Words{":", "-n", "1"} +
                      train(2, "one", {"--stepz", "3"}),
                  "--stepz"),
            names(mpi(train(2, "nowhere", {"--data", "nowhere"})), "--data")});
}

TEST_F(TrainRanksTest, NumbersAreWhatTheySay) {
  auto refuse = [&](const std::string &flag, const std::string &value) {
    std::string said = refused(train(1, "numbers", {flag, value}));
    EXPECT_EQ(said.find(flag + ": "), 0u) << said;
  };
  for (const char *flag : {"--steps", "--batch", "--seq", "--accumulate",
                           "--warmup", "--save-every", "--keep", "--seed",
                           "--init-seed", "--validate-every", "--workers"})
    for (const char *value : {"-1", "1.5", "ten", "", "18446744073709551616"})
      refuse(flag, value);
  for (const char *value : {"-1", "nan", "inf"})
    refuse("--clip", value);
  EXPECT_FALSE(std::filesystem::exists(path("numbers")));
}

TEST_F(TrainRanksTest, WhoSaysNotWhatItTouchesIsNotWatched) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the program is one that does";
#endif
  EXPECT_EQ(refused(train(1, "out", {"--check-memory", path("touched.json")})),
            "--check-memory: this program does not say what it touches; "
            "compile it with --sanitize=address");
  EXPECT_FALSE(std::filesystem::exists(path("touched.json")));
}

// Checkpoints get the folder's config.json, and are read by it.
TEST_F(TrainRanksTest, ConfigsAreTheModels) {
  auto refuse = [&](const char *text, const char *message) {
    write_file(folder.path / "config.json", text);
    EXPECT_EQ(refused(train(1, "out")), path("config.json") + message);
  };
  refuse(R"({"model_type": "circle"})",
         ": 'model_type' is \"circle\", but the program was compiled for "
         "\"line\"");
  refuse(R"({"model_type": "line", "vocab_size": 98})",
         ": 'vocab_size' is 98, but the program was compiled for 97");
  refuse(R"({"n_layer": 2})",
         ": 'n_layer' is 2, but the program was compiled for 1");
  refuse("[]", ": is not a JSON object");
  std::filesystem::remove(folder.path / "config.json");
  EXPECT_EQ(refused(train(1, "out")),
            path("config.json") +
                ": no such file; checkpoints need a copy of it");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  write_file(folder.path / "config.json",
             R"({"model_type": "line", "vocab_size": 97, "n_layer": 1})");
  parse(run(train(1, "out")));
}

TEST_F(TrainRanksTest, AResumedRunHasItsSeed) {
  Words constant = {"--lr-schedule", "constant"};
  Words seed = constant + Words{"--seed", "7"};
  Lines whole = parse(run(train(1, "whole", seed)));
  parse(run(train(1, "out", seed + Words{"--steps", "2"})));
  EXPECT_EQ(refused(train(1, "out", {"--resume", "--seed", "8"})),
            "--seed 8: the run that is resumed has 7; leave the flag out");
  Lines rest = parse(run(train(1, "out", constant + Words{"--resume"})));
  EXPECT_EQ(rest, Lines(whole.begin() + 2, whole.end()));
}

TEST_F(TrainRanksTest, WhoDiffersIsRefused) {
  if (!has_mpi())
    GTEST_SKIP() << "Open MPI (package openmpi-bin) is not installed";
  write_file(folder.path / "other.u16",
             file("tokens.u16").substr(2) + file("tokens.u16").substr(0, 2));
  const std::string who = "rank 1 is refused: it differs from rank 0 in ";
  std::vector<std::function<void()>> all;
  for (const auto &[flags, what] : std::vector<std::pair<Words, std::string>>{
           {{"--lr", "0.25"}, "--lr, 0.25 and not 8.0"},
           {{"--seed", "4"}, "seed, 4 and not 0"},
           {{"--clip", "3"}, "--clip, 3.0 and not 1.0"},
           {{"--save-every", "3"}, "--save-every, 3 and not 2"},
           {{"--gradients", path("gradients")},
            "--gradients, true and not false"},
           {{"--trace", path("trace.json")}, "--trace, true and not false"},
           {{"--json"}, "--json, true and not false"},
           {{"--data", path("other.u16")}, "data, "}}) {
    std::string out = "out-" + std::to_string(all.size());
    Words command =
        mpi(train(2, out), 1) + Words{":", "-n", "1"} + train(2, out, flags);
    all.push_back([command, expected = who + what] {
      EXPECT_EQ(refused(command).substr(0, expected.size()), expected);
    });
  }
  together(all);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(steps_of("out-" + std::to_string(i)).empty());
}

TEST_F(TrainRanksTest, ARankThatFailsEndsAll) {
  Lines whole = parse(run(train(2, "whole")));
  const std::pair<const char *, const char *> threads[] = {
      {"fail", "rank 1: step 5, losses: this rank fails on purpose"},
      {"stall", "rank 0: step 5, losses: rank 1 does not come; after 5 s "
                "(--rank-timeout)"}};
  const std::pair<const char *, const char *> processes[] = {
      threads[0],
      threads[1],
      {"die",
       "rank 0: step 5, losses: rank 1 does not come; the job was told to "
       "end"}};
  auto check = [&](const std::string &kind, const std::string &text,
                   bool by_mpi) {
    std::string out = (by_mpi ? "mpi-" : "threads-") + kind;
    Words command =
        train(2, out,
              {"--rank-fault", "1:5:" + kind, "--rank-timeout",
               kind == "stall" ? "5" : "20", "--trace", path(out + ".json"),
               "--gradients", path(out + ".gradients")});
    EXPECT_EQ(refused(by_mpi ? mpi(command) : command), text);
    EXPECT_EQ(temporary_files(out), Words{}) << out;
    // The last checkpoint is as it was.
    EXPECT_EQ(steps_of(out), (std::vector<int>{2, 4}));
    EXPECT_EQ(parse(run(train(2, out, {"--resume"}))),
              Lines(whole.begin() + 4, whole.end()));
    EXPECT_EQ(weights(out, 6), weights("whole", 6));
  };
  std::vector<std::function<void()>> all;
  for (const auto &[kind, text] : threads)
    all.push_back([&, kind, text] { check(kind, text, false); });
  if (has_mpi())
    for (const auto &[kind, text] : processes)
      all.push_back([&, kind, text] { check(kind, text, true); });
  together(all);
  if (!has_mpi())
    GTEST_SKIP() << "Open MPI (package openmpi-bin) is not installed";
}

TEST_F(TrainRanksTest, ASignalStopsAllAfterTheSameStep) {
  Process process(train(2, "out", {"--steps", "100000000"}));
  process.read_some();
  process.send(SIGINT);
  Result result = process.wait();
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.errors, "error: interrupted\n");
}

TEST_F(TrainRanksTest, ASignalToOneProcessStopsAllAfterTheSameStep) {
  if (!has_mpi())
    GTEST_SKIP() << "Open MPI (package openmpi-bin) is not installed";
  auto named = [&](const std::string &out) {
    return Words{"/bin/sh", "-c",
                 "echo $$ > " + path(out) +
                     ".process.$OMPI_COMM_WORLD_RANK; exec \"$@\"",
                 "sh"};
  };
  auto check = [&](int signal) {
    std::string out = std::to_string(signal);
    Process process(mpi(named(out) + train(2, out, {"--steps", "100000000"})));
    process.read_some();
    kill(std::stoi(file(out + ".process.1")), signal);
    Result result = process.wait();
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.errors.find("error: "),
              result.errors.find("error: interrupted\n"));
    EXPECT_EQ(result.errors.find("error: "), result.errors.rfind("error: "))
        << result.errors;
  };
  together({[&] { check(SIGINT); }, [&] { check(SIGHUP); }});
}

TEST_F(TrainRanksTest, ADamagedCheckpointIsNamedOnce) {
  if (!has_mpi())
    GTEST_SKIP() << "Open MPI (package openmpi-bin) is not installed";
  Lines whole = parse(run(train(2, "out")));
  std::filesystem::resize_file(path("out/step-6/model.safetensors"), 100);
  Result result = run(mpi(train(2, "out", {"--resume"})));
  EXPECT_EQ(parse(result), Lines(whole.begin() + 4, whole.end()));
  size_t first = result.errors.find("is damaged and skipped");
  EXPECT_NE(first, std::string::npos) << result.errors;
  EXPECT_EQ(first, result.errors.rfind("is damaged and skipped"));
}

TEST_F(TrainRanksTest, NumbersThatAreNotFiniteAreNamedOnce) {
  std::string one = refused(train(1, "one", {"--lr", "1e38"}));
  EXPECT_NE(one.find("is not finite: "), std::string::npos) << one;
  EXPECT_EQ(refused(train(2, "two", {"--lr", "1e38"})), one);
}

TEST_F(TrainRanksTest, ProcessesNameNumbersThatAreNotFiniteOnce) {
  if (!has_mpi())
    GTEST_SKIP() << "Open MPI (package openmpi-bin) is not installed";
  std::string one = refused(train(1, "one", {"--lr", "1e38"}));
  EXPECT_EQ(refused(mpi(train(2, "mpi", {"--lr", "1e38"}))), one);
}

TEST_F(TrainRanksTest, ATraceHasAProcessForEach) {
  for (bool by_mpi : {false, true}) {
    if (by_mpi && !has_mpi())
      GTEST_SKIP() << "Open MPI (package openmpi-bin) is not installed";
    std::filesystem::remove_all(path("out"));
    Words command = train(2, "out", {"--trace", path("trace.json")});
    parse(run(by_mpi ? mpi(command) : command));
    size_t tasks[2] = {0, 0};
    std::vector<std::string> names;
    const auto trace = nlohmann::json::parse(file("trace.json"));
    for (const auto &event : trace.at("traceEvents")) {
      if (event.at("name") == "process_name")
        names.push_back(event.at("args").at("name"));
      if (event.value("cat", "") == "task")
        ++tasks[event.at("pid").get<size_t>() - 1];
    }
    EXPECT_EQ(names, (std::vector<std::string>{"toy-trainer, rank 0",
                                               "toy-trainer, rank 1"}));
    // Twice rows and end, once reduce and update, in each of six steps.
    EXPECT_EQ(tasks[0], 36u);
    EXPECT_EQ(tasks[1], 36u);
  }
}

} // namespace baton::test
