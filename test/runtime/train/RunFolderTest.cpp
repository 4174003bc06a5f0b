//===- RunFolderTest.cpp - checkpoints that survive ----------------------===//

#include "runtime/train/run_folder.h"

#include "runtime/files/temporary.h"
#include "runtime/train/checksum.h"
#include "runtime/weights/checkpoint.h"
#include "test/runtime/weights/fixture.h"

#include <algorithm>
#include <csignal>
#include <random>
#include <set>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace baton::test {
namespace {

namespace fs = std::filesystem;

/// Every element of a checkpoint's weights is its step.
std::vector<TensorSource> tensors(const std::vector<float> &values) {
  return {{"w", DataType::F32, {values.size()}, values.data()}};
}

void save(RunFolder &run, uint64_t step, size_t count = 1000) {
  std::vector<float> values(count, float(step));
  TrainingState state = {step, 42, step * 8, {{"best", step}}};
  run.save(state, tensors(values), tensors(values));
}

class RunFolderTest : public testing::Test {
protected:
  RunFolderTest() {
    fs::create_directory(model);
    write_file(model / "config.json", "{\"vocab_size\": 256}");
    write_file(model / "tokenizer.json", "{}");
    write_file(model / "model.safetensors", "not copied");
  }

  TemporaryFolder folder;
  fs::path model = folder.path / "model", run = folder.path / "run";

  RunFolder opened(uint64_t keep = 0, RunStart start = RunStart::New) {
    return RunFolder(run, model, keep, start);
  }

  static std::set<std::string> names(const fs::path &path) {
    std::set<std::string> result;
    for (const auto &entry : fs::directory_iterator(path))
      result.insert(entry.path().filename());
    return result;
  }

  /// The step that is resumed from, all of whose files belong together.
  static uint64_t resumed_step(const fs::path &run) {
    ResumePoint point = resume(run);
    uint64_t step = point.state.step;
    EXPECT_EQ(point.folder.filename(), "step-" + std::to_string(step));
    EXPECT_EQ(point.state.sequence, step * 8);
    EXPECT_EQ(point.state.extra["best"], step);
    Checkpoint weights = Checkpoint::open(point.folder);
    for (const Tensor *tensor :
         {weights.find({"w"}).tensor,
          &point.optimizer->tensors().find("w")->second}) {
      std::vector<float> expected(tensor->shape[0], float(step));
      EXPECT_EQ(std::memcmp(tensor->data, expected.data(), tensor->bytes), 0);
    }
    return step;
  }

  /// The same, and what was said on standard error.
  std::string warnings_of_resume(uint64_t expected) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(resumed_step(run), expected);
    return testing::internal::GetCapturedStderr();
  }

  void flip(const fs::path &path, size_t at) {
    std::string bytes = read_file(path);
    bytes.at(at) = static_cast<char>(bytes[at] ^ 1);
    write_file(path, bytes);
  }
};

TEST_F(RunFolderTest, SavesAndResumes) {
  {
    RunFolder written = opened();
    save(written, 5);
    save(written, 10);
  }
  EXPECT_EQ(names(run), (std::set<std::string>{"latest", "step-10", "step-5"}));
  EXPECT_EQ(read_file(run / "latest"), "step-10\n");
  EXPECT_EQ(names(run / "step-10"),
            (std::set<std::string>{"checksums.json", "config.json",
                                   "model.safetensors", "optimizer.safetensors",
                                   "state.json", "tokenizer.json"}));
  EXPECT_EQ(read_file(run / "step-10" / "config.json"),
            read_file(model / "config.json"));
  auto state = nlohmann::json::parse(read_file(run / "step-10" / "state.json"));
  EXPECT_EQ(state, nlohmann::json({{"version", 1},
                                   {"step", 10},
                                   {"seed", 42},
                                   {"sequence", 80},
                                   {"extra", {{"best", 10}}}}));
  auto checksums =
      nlohmann::json::parse(read_file(run / "step-10" / "checksums.json"));
  EXPECT_EQ(checksums["algorithm"], checksum_algorithm);
  EXPECT_EQ(checksums["files"].size(), 5u);
  EXPECT_EQ(warnings_of_resume(10), "");
  // What decoding leaves beside the weights does not matter.
  fs::create_directory(run / "step-10" / ".baton");
  EXPECT_EQ(warnings_of_resume(10), "");
}

TEST_F(RunFolderTest, OfAnAdapterThereIsNoModel) {
  Adapter adapter;
  adapter.rank = 8;
  adapter.alpha = 12;
  adapter.stabilized = true;
  adapter.targets = {"down_proj", "q_proj"};
  adapter.base = "/models/one";
  {
    RunFolder written(run, model, 0, RunStart::New, adapter);
    save(written, 5);
  }
  EXPECT_EQ(
      names(run / "step-5"),
      (std::set<std::string>{"adapter_config.json", "adapter_model.safetensors",
                             "checksums.json", "optimizer.safetensors",
                             "state.json", "tokenizer.json"}));
  const ResumePoint point = resume(run);
  ASSERT_TRUE(point.adapter);
  EXPECT_EQ(point.adapter->base, "/models/one");
  EXPECT_EQ(point.adapter->factor(), 12 / std::sqrt(8.0));
  EXPECT_NO_THROW(adapter.expect(*point.adapter, point.folder));
  EXPECT_EQ(point.weights.find({"w"}).tensor->shape[0], 1000u);
  // Another alpha that comes to the same factor is the same adapter.
  Adapter other = adapter;
  other.stabilized = false;
  other.alpha = 8 * adapter.factor();
  EXPECT_NO_THROW(adapter.expect(other, point.folder));
  other.targets = {"q_proj"};
  expect_contains(error_of([&] { adapter.expect(other, point.folder); }),
                  "target_modules is q_proj, but the program was compiled for "
                  "down_proj, q_proj");
  expect_contains(error_of([&] { Checkpoint::open(point.folder); }),
                  "batonc merge");
}

TEST_F(RunFolderTest, TheModelsFolderMayChange) {
  RunFolder written = opened();
  fs::remove_all(model);
  save(written, 1);
  EXPECT_EQ(read_file(run / "step-1" / "config.json"), "{\"vocab_size\": 256}");
}

TEST_F(RunFolderTest, StepsAreNumbersNotText) {
  RunFolder written = opened(2);
  for (uint64_t step : {8, 9, 10, 11})
    save(written, step);
  EXPECT_EQ(names(run),
            (std::set<std::string>{"latest", "step-10", "step-11"}));
  EXPECT_EQ(resumed_step(run), 11u);
}

TEST_F(RunFolderTest, KeepsWhatIsNotItsOwn) {
  fs::create_directories(run / "step-07");
  fs::create_directories(run / "step-x.tmp");
  write_file(run / "step-3", "a file");
  write_file(run / "loss.svg", "x");
  RunFolder written = opened(1);
  save(written, 8);
  save(written, 9);
  EXPECT_EQ(names(run),
            (std::set<std::string>{"latest", "loss.svg", "step-07", "step-3",
                                   "step-9", "step-x.tmp"}));
}

TEST_F(RunFolderTest, ReplacesTheSameStep) {
  RunFolder written = opened();
  save(written, 4);
  flip(run / "step-4" / "model.safetensors", 200);
  save(written, 4);
  EXPECT_EQ(names(run), (std::set<std::string>{"latest", "step-4"}));
  EXPECT_EQ(warnings_of_resume(4), "");
}

TEST_F(RunFolderTest, SkipsWhatIsDamaged) {
  {
    RunFolder written = opened();
    for (uint64_t step : {1, 2, 3})
      save(written, step);
  }
  fs::path newest = run / "step-3";
  auto restore = [&] {
    RunFolder written = opened(0, RunStart::Continued);
    save(written, 3);
  };
  for (const std::string &name : names(newest)) {
    size_t size = fs::file_size(newest / name);
    for (size_t at : {size_t(0), size / 2, size - 1}) {
      flip(newest / name, at);
      std::string said = warnings_of_resume(2);
      expect_contains(said, "warning: " + newest.string() +
                                " is damaged and skipped: ");
      EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
      restore();
    }
    // Of a text more than the line feed.
    fs::resize_file(newest / name, size - 2);
    expect_contains(warnings_of_resume(2), name);
    restore();
    fs::remove(newest / name);
    expect_contains(warnings_of_resume(2), name);
    restore();
    fs::remove(newest / name);
    fs::create_directory(newest / name);
    expect_contains(warnings_of_resume(2), name);
    restore();
  }
  EXPECT_EQ(warnings_of_resume(3), "");
  // `latest` is for others.
  write_file(run / "latest", "step-99\n");
  EXPECT_EQ(warnings_of_resume(3), "");
}

TEST_F(RunFolderTest, SkipsWhatItsWriterDidNotWrite) {
  {
    RunFolder written = opened();
    save(written, 1);
    save(written, 2);
  }
  fs::path file = run / "step-2" / "checksums.json";
  auto good = nlohmann::json::parse(read_file(file));
  auto expect_refused = [&](const std::string &text, const std::string &why) {
    write_file(file, text);
    expect_contains(warnings_of_resume(1), why);
  };
  expect_refused("", "is not valid JSON");
  expect_refused("[]", "is not a JSON object");
  expect_refused("{}", "no algorithm");
  expect_refused(std::string(100000, '['), "nests deeper");
  expect_refused("{\"algorithm\": 1e999}", "checksums.json");
  auto changed = [&](auto change) {
    nlohmann::json document = good;
    change(document);
    return document.dump();
  };
  using nlohmann::json;
  expect_refused(changed([](json &it) { it["algorithm"] = "sha512"; }),
                 "no algorithm");
  expect_refused(changed([](json &it) { it["files"] = 1; }), "no object");
  expect_refused(changed([](json &it) { it["files"].erase("state.json"); }),
                 "lacks state.json");
  expect_refused(changed([](json &it) { it["files"]["config.json"] = 5; }),
                 "\"config.json\"");
  expect_refused(changed([](json &it) {
                   it["files"]["../x"] = it["files"]["config.json"];
                 }),
                 "\"../x\"");
  expect_refused(
      changed([](json &it) { it["files"]["config.json"]["bytes"] = -1; }),
      "\"config.json\"");

  // Checksums that are right, of a state that is not.
  auto expect_state_refused = [&](const std::string &text,
                                  const std::string &why) {
    write_file(run / "step-2" / "state.json", text);
    FileSummary summary = summarize_file(run / "step-2" / "state.json");
    expect_refused(changed([&](json &it) {
                     it["files"]["state.json"] = {
                         {"bytes", summary.bytes},
                         {"checksum", summary.checksum}};
                   }),
                   why);
  };
  expect_state_refused("{}", "state.json: \"version\"");
  expect_state_refused("{\"version\": 2}", "version 2");
  expect_state_refused(
      R"({"version":1,"step":-2,"seed":1,"sequence":1,"extra":{}})",
      "\"step\"");
  expect_state_refused(
      R"({"version":1,"step":7,"seed":1,"sequence":1,"extra":{}})",
      "is of step 7");
  expect_state_refused(
      R"({"version":1,"step":2,"seed":1,"sequence":1,"extra":[]})",
      "\"extra\"");
}

TEST_F(RunFolderTest, NothingToResume) {
  auto refusal = [&] { return error_of([&] { resume(run); }); };
  expect_contains(refusal(), "--resume: " + run.string() + ": no such folder");
  fs::create_directory(run);
  expect_contains(refusal(), "holds no checkpoint");
  fs::create_directory(run / "step-5.tmp");
  expect_contains(refusal(), "holds no checkpoint");
  fs::create_directory(run / "step-5");
  testing::internal::CaptureStderr();
  expect_contains(refusal(), "none of its 1 checkpoints is intact");
  expect_contains(testing::internal::GetCapturedStderr(), "step-5 is damaged");
  fs::remove_all(run);
  write_file(run, "x");
  expect_contains(refusal(), "is not a folder");
}

// Before the steps whose checkpoints could not be written.
TEST_F(RunFolderTest, RefusesWhatCannotBeReplaced) {
  save(*std::make_unique<RunFolder>(opened()), 1);
  for (const char *name : {"latest", "losses.jsonl", "loss.svg"}) {
    fs::remove(run / name);
    fs::create_directory(run / name);
    expect_contains(error_of([&] { opened(0, RunStart::Continued); }),
                    (run / name).string() + ": is not a plain file");
    fs::remove(run / name);
  }
  opened(0, RunStart::Continued);
}

TEST_F(RunFolderTest, RefusesFolders) {
  {
    RunFolder written = opened();
    expect_contains(error_of([&] { opened(); }), "another process");
    save(written, 12);
  }
  expect_contains(error_of([&] { opened(); }),
                  run.string() + ": holds checkpoints of an earlier run, up to "
                                 "step-12; continue it with --resume");
  opened(0, RunStart::Continued);
  fs::path file = folder.path / "file";
  write_file(file, "x");
  expect_contains(error_of([&] { RunFolder(file, model, 0, RunStart::New); }),
                  "file: the folder cannot be created");
  expect_contains(error_of([&] { RunFolder("", model, 0, RunStart::New); }),
                  "--out");
  fs::create_directory(model / "vocab.json");
  expect_contains(error_of([&] {
                    RunFolder(folder.path / "other", model, 0, RunStart::New);
                  }),
                  "vocab.json: is not a plain file");
  EXPECT_FALSE(fs::exists(folder.path / "other"));
}

TEST_F(RunFolderTest, RemovesWhatKilledProcessesLeft) {
  fs::create_directories(run / "step-5.tmp");
  write_file(run / "step-5.tmp" / "model.safetensors.1.2.temporary", "x");
  fs::create_directories(run / "step-7.replaced.tmp");
  write_file(run / "latest.12.0.temporary", "x");
  write_file(run / "mine.temporary", "x");
  opened();
  EXPECT_EQ(names(run), (std::set<std::string>{"mine.temporary"}));
}

TEST_F(RunFolderTest, AFailedSaveLeavesNothing) {
  RunFolder written = opened();
  save(written, 1);
  std::vector<TensorSource> failing = {{"w", DataType::F32, {1}}};
  failing[0].read = [](uint64_t, uint64_t, std::byte *) {
    throw Error("the weights are gone");
  };
  float value = 2;
  std::vector<TensorSource> good = {{"w", DataType::F32, {1}, &value}};
  EXPECT_EQ(error_of([&] { written.save({2, 0, 0}, good, failing); }),
            "the weights are gone");
  EXPECT_EQ(names(run), (std::set<std::string>{"latest", "step-1"}));
  EXPECT_EQ(read_file(run / "latest"), "step-1\n");
  save(written, 2);
  EXPECT_EQ(resumed_step(run), 2u);
}

/// Runs `action` in a process of its own, which reports failure by a result
/// that is not zero.
void expect_in_child(const std::function<int()> &action) {
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0)
    _exit(action());
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RunFolderTest, FullDisk) {
  fs::path log = folder.path / "log";
  expect_in_child([&] {
    // A small file system where that is allowed, otherwise a limit on the size
    // of files.
    constexpr rlim_t bytes = 1 << 20;
    fs::create_directory(run);
    bool is_mounted =
        unshare(CLONE_NEWNS) == 0 &&
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        mount("tmpfs", run.c_str(), "tmpfs", 0, "size=1m") == 0;
    rlimit limit = {bytes, bytes};
    // As the command line does it.
    signal(SIGXFSZ, SIG_IGN);
    if (!is_mounted && setrlimit(RLIMIT_FSIZE, &limit) != 0)
      return 2;
    RunFolder written = opened();
    save(written, 1);
    std::set<std::string> before = names(run);
    for (size_t count : {200'000, 130'000, 1'000'000}) {
      // The disk is full in the second file, or in the first.
      size_t elements = is_mounted ? count : 1'000'000;
      std::string message = error_of([&] { save(written, 2, elements); });
      write_file(log, message);
      if (message.find("cannot be written: ") == std::string::npos ||
          names(run) != before || resumed_step(run) != 1)
        return 3;
    }
    save(written, 3);
    return resumed_step(run) == 3 ? 0 : 4;
  });
  expect_contains(read_file(log), ".safetensors: cannot be written: ");
}

TEST_F(RunFolderTest, EndedByASignalAtAnyMoment) {
  std::mt19937 random(21);
  save(*std::make_unique<RunFolder>(opened()), 1);
  for (int round = 0; round < 20; ++round) {
    uint64_t last = resumed_step(run);
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      signal(SIGTERM, [](int) {
        remove_temporary_files();
        _exit(0);
      });
      RunFolder written = opened(2, RunStart::Continued);
      for (uint64_t step = last + 1;; ++step)
        save(written, step, 50'000);
    }
    usleep(std::uniform_int_distribution<useconds_t>(0, 60'000)(random));
    kill(child, SIGTERM);
    int status = 0;
    waitpid(child, &status, 0);
    // Nothing is left that the next start would have to remove.
    for (const std::string &name : names(run))
      EXPECT_EQ(name.find('.'), std::string::npos) << name;
    EXPECT_GE(resumed_step(run), last);
  }
}

TEST_F(RunFolderTest, KilledAtAnyMoment) {
  std::mt19937 random(20);
  uint64_t last = 0;
  int unfinished = 0;
  for (int round = 0; round < 40; ++round) {
    int reports[2];
    ASSERT_EQ(pipe(reports), 0);
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      RunFolder written = opened(2, RunStart::Continued);
      for (uint64_t step = last + 1;; ++step) {
        save(written, step, 50'000);
        if (write(reports[1], &step, sizeof(step)) != sizeof(step))
          _exit(1);
      }
    }
    close(reports[1]);
    // Every other one gets at least as far as one checkpoint.
    uint64_t step;
    if (round % 2 == 0 && read(reports[0], &step, sizeof(step)) == sizeof(step))
      last = step;
    usleep(std::uniform_int_distribution<useconds_t>(0, 60'000)(random));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    while (read(reports[0], &step, sizeof(step)) == sizeof(step))
      last = step;
    close(reports[0]);

    for (const std::string &name : names(run))
      unfinished += name.ends_with(".tmp");
    testing::internal::CaptureStderr();
    uint64_t found = resumed_step(run);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    // It may have ended between its name and the report.
    EXPECT_TRUE(found == last || found == last + 1) << found << ", " << last;
    last = found;
  }
  EXPECT_GT(unfinished, 0) << "nobody was killed while saving";
  opened(2, RunStart::Continued);
  for (const std::string &name : names(run))
    EXPECT_EQ(name.find('.'), std::string::npos) << name;
  EXPECT_LE(names(run).size(), 4u);
}

} // namespace
} // namespace baton::test
