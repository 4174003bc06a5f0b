//===- CacheTest.cpp - packed weights kept beside their checkpoint -------===//

#include "fixture.h"

#include "runtime/weights/cache.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/parameters.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace baton::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class Cache : public testing::Test {
protected:
  // More than two blocks of the cache file, and panels with padding.
  static constexpr uint64_t outputs = 1000, inner = 1200;
  static constexpr size_t packed_bytes = 1008 * inner * 4;

  Cache() { write(1); }

  void write(unsigned seed) {
    write_file(folder.path / "model.safetensors",
               safetensors_bytes({{"w",
                                   DataType::F32,
                                   {outputs, inner},
                                   distinct_values(outputs * inner, seed)}}));
  }

  json description() const {
    return {
        {"parameters",
         {{{"name", "p"},
           {"kind", "panels"},
           {"dtype", "f32"},
           {"k", inner},
           {"n", outputs},
           {"parts", {{{"sources", {"w"}}, {"shape", {outputs, inner}}}}}}}}};
  }

  Parameters load(bool use_cache = true, bool quiet = true) {
    LoadOptions options;
    options.use_cache = use_cache;
    options.quiet = quiet;
    options.threads = 3;
    return Parameters::load(description(), Checkpoint::open(folder.path),
                            options);
  }

  /// Loads and expects the bytes that packing without any cache gives.
  Parameters expect_load(bool from_cache, bool quiet = true) {
    Parameters parameters = load(true, quiet);
    EXPECT_EQ(parameters.from_cache(), from_cache);
    Parameters reference = load(false);
    EXPECT_FALSE(reference.from_cache());
    EXPECT_EQ(
        std::memcmp(parameters.table()[0], reference.table()[0], packed_bytes),
        0);
    return parameters;
  }

  std::vector<fs::path> cache_files() const {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto &entry : fs::directory_iterator(dot_baton, ignored))
      files.push_back(entry.path());
    return files;
  }

  /// Loads with warnings on, expects to pack, and returns what was printed.
  std::string warning_of_load() {
    testing::internal::CaptureStderr();
    expect_load(false, false);
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    return text;
  }

  TemporaryFolder folder;
  fs::path dot_baton = folder.path / ".baton";
};

TEST_F(Cache, SecondLoadReadsWhatTheFirstWrote) {
  testing::internal::CaptureStderr();
  expect_load(false, false);
  ASSERT_EQ(cache_files().size(), 1u);
  EXPECT_EQ(cache_files()[0].extension(), ".packed");
  expect_load(true, false);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(cache_files().size(), 1u);
}

TEST_F(Cache, ReportsProgressToTheEnd) {
  for (int round : {0, 1}) {
    uint64_t last = 0, end = 0;
    LoadOptions options;
    options.progress = [&](uint64_t done, uint64_t total) {
      EXPECT_GT(done, last);
      last = done;
      end = total;
    };
    Parameters parameters =
        Parameters::load(description(), Checkpoint::open(folder.path), options);
    EXPECT_EQ(parameters.from_cache(), round == 1);
    EXPECT_EQ(last, end);
    EXPECT_EQ(end, packed_bytes);
  }
}

TEST_F(Cache, WhoReportsProgressMayEndTheLoad) {
  LoadOptions options;
  options.progress = [](uint64_t, uint64_t) { throw Error("enough"); };
  for (int round : {0, 1}) {
    EXPECT_THROW(
        Parameters::load(description(), Checkpoint::open(folder.path), options),
        Error);
    EXPECT_EQ(cache_files().size(), round ? 1u : 0u);
    load();
  }
}

TEST_F(Cache, TurnedOffNeitherReadsNorWrites) {
  EXPECT_FALSE(load(false).from_cache());
  EXPECT_FALSE(fs::exists(dot_baton));
  load();
  EXPECT_FALSE(load(false).from_cache());
}

TEST_F(Cache, ChangedModificationTimeMakesAnotherKey) {
  expect_load(false);
  fs::path model = folder.path / "model.safetensors";
  fs::last_write_time(model, fs::last_write_time(model) +
                                 std::chrono::nanoseconds(1000));
  expect_load(false);
  // The other file is left alone: it may be another program's.
  EXPECT_EQ(cache_files().size(), 2u);
}

TEST_F(Cache, AReplacedFileOfTheSameTimeMakesAnotherKey) {
  expect_load(false);
  fs::path model = folder.path / "model.safetensors";
  fs::path twin = folder.path / "twin";
  fs::copy_file(model, twin);
  fs::last_write_time(twin, fs::last_write_time(model));
  fs::rename(twin, model);
  expect_load(false);
}

TEST_F(Cache, ChangedContentsMakeAnotherKey) {
  expect_load(false);
  fs::path model = folder.path / "model.safetensors";
  auto modified = fs::last_write_time(model);
  write_file(model, read_file(model) + " ");
  fs::last_write_time(model, modified);
  expect_load(false);
  write(2);
  expect_load(false);
}

TEST_F(Cache, KeyDependsOnDescriptionPathAndHeader) {
  Checkpoint checkpoint = Checkpoint::open(folder.path);
  auto name = [&](const Checkpoint &checkpoint, const char *description) {
    return cache_path(checkpoint, packing_key(checkpoint, description))
        .filename();
  };
  EXPECT_EQ(name(checkpoint, "a"), name(checkpoint, "a"));
  EXPECT_NE(name(checkpoint, "a"), name(checkpoint, "b"));
  // The same folder under another name is the same checkpoint.
  fs::path link = folder.path / "link";
  fs::create_directory_symlink(folder.path, link);
  EXPECT_EQ(name(checkpoint, "a"), name(Checkpoint::open(link), "a"));
  TemporaryFolder copy;
  fs::path original = folder.path / "model.safetensors";
  fs::copy_file(original, copy.path / "model.safetensors");
  fs::last_write_time(copy.path / "model.safetensors",
                      fs::last_write_time(original));
  EXPECT_NE(name(checkpoint, "a"), name(Checkpoint::open(copy.path), "a"));
}

TEST_F(Cache, DamagedFilesArePackedAgain) {
  load();
  fs::path file = cache_files().at(0);
  const std::string valid = read_file(file);
  ASSERT_EQ(valid.size(), 4096 + packed_bytes);
  auto flipped = [&](size_t at) {
    std::string bytes = valid;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    return bytes;
  };
  for (const std::string &bytes :
       {flipped(0), flipped(8), flipped(16), flipped(39), flipped(40),
        flipped(4096), flipped(valid.size() / 2), flipped(valid.size() - 1),
        valid + "x", valid.substr(0, valid.size() - 1),
        valid.substr(0, valid.size() / 2), valid.substr(0, 4096),
        valid.substr(0, 20), std::string()}) {
    write_file(file, bytes);
    expect_contains(warning_of_load(), "is damaged");
    EXPECT_EQ(read_file(file), valid);
  }
  expect_load(true);
}

TEST_F(Cache, WarnsAndWorksWhereNoFolderCanBe) {
  write_file(dot_baton, "a file in the way");
  std::string text = warning_of_load();
  expect_contains(text, "warning: packed weights are not kept");
  expect_contains(text, dot_baton.string());
  EXPECT_EQ(read_file(dot_baton), "a file in the way");
  testing::internal::CaptureStderr();
  expect_load(false, true);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

/// Runs `action` in a process of its own; it reports failure by a non-zero
/// result.
int in_child(const std::function<int()> &action) {
  pid_t child = fork();
  if (child == 0)
    _exit(action());
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(Cache, FullDiskInTheMiddleOfWriting) {
  // A limit on file sizes fails a write half-way, as a full disk does; SIGXFSZ,
  // whose default would end the process, stays at its default.
  fs::path log = folder.path / "log";
  int status = in_child([&] {
    rlimit limit = {3 << 20, 3 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        !freopen(log.c_str(), "w", stderr))
      return 2;
    Parameters kept = load(true, false), reference = load(false);
    bool same =
        std::memcmp(kept.table()[0], reference.table()[0], packed_bytes) == 0;
    std::fflush(stderr);
    return same && !kept.from_cache() ? 0 : 1;
  });
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  expect_contains(read_file(log), "warning: packed weights are not kept");
  EXPECT_TRUE(cache_files().empty()) << cache_files()[0];
  expect_load(false);
  expect_load(true);
}

TEST_F(Cache, TwoProcessesAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    pid_t child = fork();
    if (child == 0) {
      int failures = 0;
      std::string expected(static_cast<const char *>(load(false).table()[0]),
                           packed_bytes);
      for (int round = 0; round < 5; ++round) {
        // The other process may be reading it: an open file stays whole.
        for (const fs::path &file : cache_files())
          if (file.extension() == ".packed")
            unlink(file.c_str());
        Parameters parameters = load();
        failures += std::memcmp(parameters.table()[0], expected.data(),
                                packed_bytes) != 0;
      }
      _exit(failures);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  load();
  expect_load(true);
  EXPECT_EQ(cache_files().size(), 1u) << "a temporary file was left";
}

TEST_F(Cache, RemovesWhatKilledWritersLeft) {
  fs::create_directory(dot_baton);
  fs::path abandoned = dot_baton / "0123.packed.1.2.3.temporary";
  fs::path active = dot_baton / "0123.packed.4.5.6.temporary";
  fs::path other = dot_baton / "0123.packed";
  for (const fs::path &file : {abandoned, active, other})
    write_file(file, "x");
  auto old = fs::file_time_type::clock::now() - std::chrono::hours(2);
  fs::last_write_time(abandoned, old);
  fs::last_write_time(other, old);
  load();
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(active));
  EXPECT_TRUE(fs::exists(other));
}

TEST(Hash, SeesEveryBitAndTheLength) {
  std::string bytes(200, '\0');
  std::vector<uint64_t> seen = {hash_bytes(bytes.data(), bytes.size(), 0),
                                hash_bytes(bytes.data(), bytes.size(), 1)};
  for (size_t length = 0; length < bytes.size(); ++length)
    seen.push_back(hash_bytes(bytes.data(), length, 0));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(1 << bit % 8);
    seen.push_back(hash_bytes(changed.data(), changed.size(), 0));
  }
  size_t total = seen.size();
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(size_t(std::unique(seen.begin(), seen.end()) - seen.begin()),
            total);
}

} // namespace
} // namespace baton::test
