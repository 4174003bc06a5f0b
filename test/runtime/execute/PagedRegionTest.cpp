#include "runtime/execute/paged_region.h"

#include "runtime/error.h"
#include "test/runtime/execute/array_file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include <sys/resource.h>

namespace baton {
namespace {

constexpr uint64_t chunk = PagedRegion::chunk_bytes, page = 4096;

/// Bytes of the pages that this process has mapped.
uint64_t mapped_bytes(const std::byte *begin, uint64_t bytes) {
  // Only whole entries can be read.
  std::ifstream map;
  map.rdbuf()->pubsetbuf(nullptr, 0);
  map.open("/proc/self/pagemap", std::ios::binary);
  map.seekg(static_cast<std::streamoff>(reinterpret_cast<uintptr_t>(begin) /
                                        page * sizeof(uint64_t)));
  std::vector<uint64_t> entries(bytes / page);
  map.read(reinterpret_cast<char *>(entries.data()),
           static_cast<std::streamsize>(entries.size() * sizeof(uint64_t)));
  EXPECT_TRUE(map);
  uint64_t present = 0;
  for (uint64_t entry : entries)
    present += entry >> 63;
  return present * page;
}

std::string refused(const std::filesystem::path &folder) {
  try {
    PagedRegion region(folder, 8 * chunk, 2 * chunk);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(PagedRegion, HasWhatWasWritten) {
  test::TemporaryFolder folder;
  constexpr uint64_t chunks = 40, most = 3;
  PagedRegion region(folder.path(), chunks * chunk, most * chunk);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(mapped_bytes(region.data(), chunks * chunk), 0u);
  auto *words = reinterpret_cast<uint32_t *>(region.data());
  constexpr uint64_t count = chunks * chunk / sizeof(uint32_t);
  for (uint64_t i = 0; i < count; i += 61) {
    ASSERT_EQ(words[i], 0u);
    words[i] = static_cast<uint32_t>(i + 1);
  }
  EXPECT_LE(mapped_bytes(region.data(), chunks * chunk), most * chunk);
  for (uint64_t i = 0; i < count; i += 61)
    ASSERT_EQ(words[i], i + 1);
  EXPECT_LE(mapped_bytes(region.data(), chunks * chunk), most * chunk);
  EXPECT_EQ(region.arrivals(), 2 * chunks);
}

TEST(PagedRegion, KeepsWhatIsFetchedAndWhatStays) {
  test::TemporaryFolder folder;
  constexpr uint64_t small = 4 * page, chunks = 12, most = 6;
  PagedRegion region(folder.path(), chunks * small, most * small,
                     {small, {{0, chunks * small}}, {{10 * small, 2 * small}}});
  auto is_there = [&](uint64_t number) {
    return mapped_bytes(region.data() + number * small, small) == small;
  };
  auto touch = [&](uint64_t number) {
    region.data()[number * small] = std::byte(number + 1);
  };
  touch(10);
  touch(11);
  region.fetch({0, 2 * small});
  EXPECT_TRUE(is_there(0) && is_there(1));
  EXPECT_EQ(region.fetched(), 2u);
  for (int round = 0; round < 2; ++round)
    for (uint64_t number = 2; number < 10; ++number)
      touch(number);
  // Two stay, two are fetched, and two came last.
  EXPECT_TRUE(is_there(10) && is_there(11) && is_there(0) && is_there(1));
  EXPECT_TRUE(is_there(8) && is_there(9));
  EXPECT_EQ(region.peak(), most * small);
  region.fetch({0, small});
  region.release({0, 2 * small});
  touch(2);
  touch(3);
  touch(4);
  // One of the two is fetched once more; the other went when its turn was.
  EXPECT_TRUE(is_there(0));
  EXPECT_FALSE(is_there(1));
  region.release({0, small});
  touch(5);
  touch(6);
  touch(7);
  touch(8);
  EXPECT_FALSE(is_there(0));
  // Where all is fetched, what was fetched first makes room.
  region.fetch({0, 6 * small});
  EXPECT_FALSE(is_there(0));
  EXPECT_TRUE(is_there(5) && is_there(10) && is_there(11));
  EXPECT_EQ(region.peak(), most * small);
  for (uint64_t number = 2; number < chunks; ++number)
    EXPECT_EQ(region.data()[number * small], std::byte(number + 1));
  region.ask({0, chunks * small});
}

TEST(PagedRegion, IsOfSeveralThreads) {
  test::TemporaryFolder folder;
  constexpr uint64_t chunks = 16, most = 5;
  PagedRegion region(folder.path(), chunks * chunk, most * chunk);
  auto *words = reinterpret_cast<uint32_t *>(region.data());
  constexpr uint64_t count = chunks * chunk / sizeof(uint32_t), threads = 3;
  std::atomic<bool> done = false;
  std::atomic<uint64_t> seen = 0;
  std::thread watcher([&] {
    while (!done)
      seen =
          std::max<uint64_t>(seen, mapped_bytes(region.data(), chunks * chunk));
  });
  std::vector<std::thread> team;
  for (uint64_t thread = 0; thread < threads; ++thread)
    team.emplace_back([&, thread] {
      // Words of its own, beside those of others.
      std::mt19937 random(static_cast<uint32_t>(thread));
      for (int i = 0; i < 500; ++i)
        ++words[random() % (count / threads) * threads + thread];
    });
  for (std::thread &thread : team)
    thread.join();
  done = true;
  watcher.join();
  // A page may go between two looks of the watcher at its entries.
  EXPECT_LE(seen, (most + threads) * chunk);
  EXPECT_LE(mapped_bytes(region.data(), chunks * chunk), most * chunk);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i)
    sum += words[i];
  EXPECT_EQ(sum, threads * 500u);
}

TEST(PagedRegion, SaysWhatIsWrongWithAFolder) {
  EXPECT_TRUE(refused("/nowhere/at-all")
                  .ends_with("in a file of folder '/nowhere/at-all': No such "
                             "file or directory"));
  EXPECT_TRUE(
      refused("/dev/shm")
          .ends_with(
              "it is in memory; give a folder on a disk with --offload-dir"));
  // A disk without place is one where files may not be so large.
  test::TemporaryFolder folder;
  struct rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit small = {chunk, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  auto handler = signal(SIGXFSZ, SIG_IGN);
  EXPECT_TRUE(refused(folder.path()).ends_with("File too large"));
  signal(SIGXFSZ, handler);
  setrlimit(RLIMIT_FSIZE, &before);
}

TEST(PagedRegionDeathTest, LeavesOtherFaultsAlone) {
  test::TemporaryFolder folder;
  PagedRegion region(folder.path(), chunk, chunk);
  region.data()[0] = std::byte(1);
  int *volatile nowhere = nullptr;
  EXPECT_EXIT(*nowhere = 1, testing::KilledBySignal(SIGSEGV), "");
}

} // namespace
} // namespace baton
