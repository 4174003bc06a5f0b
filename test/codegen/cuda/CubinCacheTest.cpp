//===- CubinCacheTest.cpp - compiled kernels, kept between compilations ---===//

#include "codegen/cuda/CubinCache.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

using baton::cuda::Cubin;
using baton::cuda::CubinCache;
namespace fs = std::filesystem;

namespace {

class CubinCacheTest : public testing::Test {
protected:
  CubinCacheTest() {
    folder = fs::path(testing::TempDir()) /
             ("cubin-cache-" + std::to_string(getpid()));
  }
  ~CubinCacheTest() override { fs::remove_all(folder); }

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

Cubin cubin(size_t bytes = 1000) {
  Cubin result;
  for (size_t i = 0; i < bytes; ++i)
    result.bytes.push_back(static_cast<char>(i * 7));
  result.registers = 255;
  result.spilledBytes = 8;
  result.sharedBytes = 4096;
  result.serialized = 2;
  return result;
}

std::string contents(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

} // namespace

TEST_F(CubinCacheTest, FindsWhatWasStored) {
  CubinCache cache(folder.string());
  EXPECT_FALSE(cache.find("a"));
  cache.store("a", cubin());
  auto found = cache.find("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, cubin().bytes);
  EXPECT_EQ(found->registers, 255);
  EXPECT_EQ(found->spilledBytes, 8);
  EXPECT_EQ(found->sharedBytes, 4096);
  EXPECT_EQ(found->serialized, 2);
  EXPECT_TRUE(found->cached);
  EXPECT_FALSE(cache.find("b"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(CubinCacheTest, EveryDamageIsSeen) {
  CubinCache cache(folder.string());
  cache.store("a", cubin(100));
  const std::string whole = contents(entry("a"));
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(entry("a"), std::ios::binary) << whole.substr(0, size);
    EXPECT_FALSE(cache.find("a")) << "of " << size << " bytes";
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    std::ofstream(entry("a"), std::ios::binary) << damaged;
    EXPECT_FALSE(cache.find("a")) << "byte " << at;
  }
  std::ofstream(entry("a"), std::ios::binary) << whole << "x";
  EXPECT_FALSE(cache.find("a"));
  cache.store("a", cubin(100));
  EXPECT_TRUE(cache.find("a"));
}

TEST_F(CubinCacheTest, WhatCannotBeWrittenIsLeftOut) {
  fs::create_directories(folder);
  std::ofstream(folder / "file") << "no folder";
  CubinCache below((folder / "file").string());
  below.store("a", cubin());
  EXPECT_FALSE(below.find("a"));
  // A folder in an entry's place.
  CubinCache cache(folder.string());
  fs::create_directories(entry("b"));
  cache.store("b", cubin());
  EXPECT_FALSE(cache.find("b"));
}

TEST_F(CubinCacheTest, KeepsTheEntriesUsedLast) {
  CubinCache cache(folder.string());
  for (size_t i = 0; i < CubinCache::mostEntries; ++i) {
    cache.store(std::to_string(i), cubin());
    age(std::to_string(i), std::chrono::hours(100 + i));
  }
  // The oldest one is used.
  std::string oldest = std::to_string(CubinCache::mostEntries - 1);
  EXPECT_TRUE(cache.find(oldest));
  cache.store("new", cubin());
  EXPECT_EQ(entries(), CubinCache::mostEntries);
  EXPECT_TRUE(cache.find("new"));
  EXPECT_TRUE(cache.find(oldest));
  EXPECT_TRUE(cache.find("0"));
  EXPECT_FALSE(cache.find(std::to_string(CubinCache::mostEntries - 2)));
}

TEST_F(CubinCacheTest, KeepsSoManyBytes) {
  CubinCache cache(folder.string());
  for (const char *key : {"a", "b", "c"})
    cache.store(key, cubin());
  age("a", std::chrono::hours(3));
  age("b", std::chrono::hours(2));
  age("c", std::chrono::hours(1));
  // Sparse: it takes no room.
  fs::resize_file(entry("b"), CubinCache::mostBytes - 2500);
  age("b", std::chrono::hours(2));
  cache.store("d", cubin());
  EXPECT_TRUE(cache.find("d"));
  EXPECT_TRUE(cache.find("c"));
  EXPECT_FALSE(fs::exists(entry("a")));
  EXPECT_EQ(entries(), 3u);
}

TEST(CubinCacheKey, TellsListsApart) {
  EXPECT_EQ(CubinCache::key({"ab", "c"}), CubinCache::key({"ab", "c"}));
  EXPECT_NE(CubinCache::key({"ab", "c"}), CubinCache::key({"a", "bc"}));
  EXPECT_NE(CubinCache::key({"ab", "c"}), CubinCache::key({"ab", "c", ""}));
  EXPECT_EQ(CubinCache::key({}).size(), 64u);
}

TEST_F(CubinCacheTest, ReadsFoldersByNameAndContent) {
  EXPECT_FALSE(CubinCache::filesBelow(folder.string()));
  fs::create_directories(folder / "deep" / "er");
  std::ofstream(folder / "deep" / "er" / "a.h") << "1";
  std::ofstream(folder / "b.h") << "2";
  using Items = std::vector<std::string>;
  EXPECT_EQ(CubinCache::filesBelow(folder.string()),
            (Items{"/b.h", "2", "/deep/er/a.h", "1"}));
}

TEST(CubinCacheFolder, IsWhatTheEnvironmentSays) {
  const char *variables[] = {"BATON_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
  auto set = [&](std::vector<const char *> values) {
    for (int i = 0; i < 3; ++i)
      values[i] ? setenv(variables[i], values[i], 1) : unsetenv(variables[i]);
    return CubinCache::userFolder();
  };
  EXPECT_EQ(set({"/here", "/xdg", "/home/me"}), "/here");
  EXPECT_EQ(set({"", "/xdg", "/home/me"}), "/xdg/baton");
  EXPECT_EQ(set({nullptr, nullptr, "/home/me"}), "/home/me/.cache/baton");
  EXPECT_EQ(set({nullptr, "", nullptr}), "");
}
