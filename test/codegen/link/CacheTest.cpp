//===- CacheTest.cpp - what was compiled, kept between compilations -------===//

#include "codegen/link/Cache.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

using baton::link::Cache;
namespace fs = std::filesystem;

namespace {

class CacheTest : public testing::Test {
protected:
  CacheTest() {
    folder =
        fs::path(testing::TempDir()) / ("cache-" + std::to_string(getpid()));
  }
  ~CacheTest() override { fs::remove_all(folder); }

  fs::path entry(const std::string &key) const {
    return folder / (key + ".cubin");
  }
  size_t entries() const {
    return std::distance(fs::directory_iterator(folder), {});
  }
  /// As if used so long ago.
  void age(const std::string &key, std::chrono::hours hours) {
    fs::last_write_time(entry(key), fs::file_time_type::clock::now() - hours);
  }

  fs::path folder;
};

constexpr Cache::Kind kCubin = Cache::Kind::cubin;
constexpr Cache::Kind kObject = Cache::Kind::object;

std::string bytes(size_t count = 1000) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(static_cast<char>(i * 7));
  return result;
}

std::string contents(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

} // namespace

TEST_F(CacheTest, FindsWhatWasStored) {
  Cache cache(folder.string());
  EXPECT_FALSE(cache.find(kCubin, "a"));
  cache.store(kCubin, "a", bytes());
  EXPECT_EQ(cache.find(kCubin, "a"), bytes());
  EXPECT_FALSE(cache.find(kObject, "a"));
  EXPECT_FALSE(cache.find(kCubin, "b"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(CacheTest, EveryDamageIsSeen) {
  Cache cache(folder.string());
  cache.store(kCubin, "a", bytes(100));
  const std::string whole = contents(entry("a"));
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(entry("a"), std::ios::binary) << whole.substr(0, size);
    EXPECT_FALSE(cache.find(kCubin, "a")) << "of " << size << " bytes";
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    std::ofstream(entry("a"), std::ios::binary) << damaged;
    EXPECT_FALSE(cache.find(kCubin, "a")) << "byte " << at;
  }
  std::ofstream(entry("a"), std::ios::binary) << whole << "x";
  EXPECT_FALSE(cache.find(kCubin, "a"));
  cache.store(kCubin, "a", bytes(100));
  EXPECT_TRUE(cache.find(kCubin, "a"));
}

TEST_F(CacheTest, WhatCannotBeWrittenIsLeftOut) {
  fs::create_directories(folder);
  std::ofstream(folder / "file") << "no folder";
  Cache below((folder / "file").string());
  below.store(kCubin, "a", bytes());
  EXPECT_FALSE(below.find(kCubin, "a"));
  // A folder in an entry's place.
  Cache cache(folder.string());
  fs::create_directories(entry("b"));
  cache.store(kCubin, "b", bytes());
  EXPECT_FALSE(cache.find(kCubin, "b"));
}

TEST_F(CacheTest, KeepsTheEntriesUsedLast) {
  Cache cache(folder.string());
  cache.store(kCubin, "0", bytes());
  for (size_t i = 0; i < Cache::mostEntries; ++i) {
    // Not stored: each time, that looks for what is to go.
    if (i > 0)
      fs::copy_file(entry("0"), entry(std::to_string(i)));
    age(std::to_string(i), std::chrono::hours(100 + i));
  }
  // The oldest one is used.
  std::string oldest = std::to_string(Cache::mostEntries - 1);
  EXPECT_TRUE(cache.find(kCubin, oldest));
  cache.store(kCubin, "new", bytes());
  EXPECT_EQ(entries(), Cache::mostEntries);
  EXPECT_TRUE(cache.find(kCubin, "new"));
  EXPECT_TRUE(cache.find(kCubin, oldest));
  EXPECT_TRUE(cache.find(kCubin, "0"));
  EXPECT_FALSE(cache.find(kCubin, std::to_string(Cache::mostEntries - 2)));
}

TEST_F(CacheTest, KeepsSoManyBytes) {
  Cache cache(folder.string());
  for (const char *key : {"a", "b", "c"})
    cache.store(kCubin, key, bytes());
  age("a", std::chrono::hours(3));
  age("b", std::chrono::hours(2));
  age("c", std::chrono::hours(1));
  // Sparse: it takes no room.
  fs::resize_file(entry("b"), Cache::mostBytes - 2500);
  age("b", std::chrono::hours(2));
  cache.store(kCubin, "d", bytes());
  EXPECT_TRUE(cache.find(kCubin, "d"));
  EXPECT_TRUE(cache.find(kCubin, "c"));
  EXPECT_FALSE(fs::exists(entry("a")));
  EXPECT_EQ(entries(), 3u);
}

TEST_F(CacheTest, RemovesNoFilesOfOthers) {
  fs::create_directories(folder);
  std::ofstream(folder / "mine.o") << "old";
  fs::last_write_time(folder / "mine.o", fs::file_time_type::clock::now() -
                                             std::chrono::hours(1000));
  // Sparse: it takes no room.
  std::ofstream(entry("large")) << "";
  fs::resize_file(entry("large"), Cache::mostBytes);
  Cache cache(folder.string());
  cache.store(kObject, "a", bytes());
  EXPECT_FALSE(fs::exists(entry("large")));
  EXPECT_TRUE(fs::exists(folder / "mine.o"));
  EXPECT_TRUE(cache.find(kObject, "a"));
}

TEST_F(CacheTest, WithoutAFolderKeepsNothing) {
  Cache cache("");
  cache.store(kCubin, "a", bytes());
  EXPECT_FALSE(cache.find(kCubin, "a"));
}

TEST(CacheKey, TellsListsApart) {
  EXPECT_EQ(Cache::key({"ab", "c"}), Cache::key({"ab", "c"}));
  EXPECT_NE(Cache::key({"ab", "c"}), Cache::key({"a", "bc"}));
  EXPECT_NE(Cache::key({"ab", "c"}), Cache::key({"ab", "c", ""}));
  EXPECT_EQ(Cache::key({}).size(), 64u);
}

TEST_F(CacheTest, ReadsFoldersByNameAndContent) {
  EXPECT_FALSE(Cache::filesBelow(folder.string()));
  fs::create_directories(folder / "deep" / "er");
  std::ofstream(folder / "deep" / "er" / "a.h") << "1";
  std::ofstream(folder / "b.h") << "2";
  using Items = std::vector<std::string>;
  EXPECT_EQ(Cache::filesBelow(folder.string()),
            (Items{"/b.h", "2", "/deep/er/a.h", "1"}));
}

TEST(CacheFolder, IsWhatTheEnvironmentSays) {
  const char *variables[] = {"BATON_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
  auto set = [&](std::vector<const char *> values) {
    for (int i = 0; i < 3; ++i)
      values[i] ? setenv(variables[i], values[i], 1) : unsetenv(variables[i]);
    return Cache::userFolder();
  };
  EXPECT_EQ(set({"/here", "/xdg", "/home/me"}), "/here");
  EXPECT_EQ(set({"", "/xdg", "/home/me"}), "/xdg/baton");
  EXPECT_EQ(set({nullptr, nullptr, "/home/me"}), "/home/me/.cache/baton");
  EXPECT_EQ(set({nullptr, "", nullptr}), "");
}
