//===- FreeMemoryTest.cpp - memory of machines and containers ------------===//

#include "runtime/main/free_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace baton {
namespace {

class FreeMemory : public ::testing::Test {
protected:
  FreeMemory() {
    std::string name = testing::TempDir() + "free-memory-XXXXXX";
    root = mkdtemp(name.data());
    write(
        "proc/meminfo",
        "MemTotal:       24000 kB\nMemFree:  1 kB\nMemAvailable:   1000 kB\n");
  }
  ~FreeMemory() override { std::filesystem::remove_all(root); }

  void write(const std::string &path, const std::string &text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }

  std::filesystem::path root;
};

TEST_F(FreeMemory, IsWhatTheSystemHas) {
  EXPECT_EQ(free_memory(root), 1000u * 1024);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(free_memory(root), 1000u * 1024);
  std::filesystem::remove(root / "proc/meminfo");
  EXPECT_EQ(free_memory(root), std::nullopt);
}

TEST_F(FreeMemory, IsWhatGroupsLeave) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/memory.current", "70000\n");
  EXPECT_EQ(free_memory(root), 1000u * 1024);
  // The one around it is limited.
  write("sys/fs/cgroup/outer/memory.max", "100000\n");
  write("sys/fs/cgroup/outer/memory.current", "90000\n");
  EXPECT_EQ(free_memory(root), 10000u);
  write("sys/fs/cgroup/outer/memory.stat",
        "anon 60000\ninactive_file 25000\nactive_file 5000\n");
  EXPECT_EQ(free_memory(root), 35000u);
  write("sys/fs/cgroup/outer/inner/memory.max", "80000\n");
  EXPECT_EQ(free_memory(root), 10000u);
  write("sys/fs/cgroup/outer/inner/memory.max", "60000\n");
  EXPECT_EQ(free_memory(root), 0u);
}

/// A path of the host's, below the container's own top.
TEST_F(FreeMemory, IsWhatTheContainerLeaves) {
  write("proc/self/cgroup", "0::/docker/0123\n");
  write("sys/fs/cgroup/memory.max", "5000\n");
  write("sys/fs/cgroup/memory.current", "1000\n");
  EXPECT_EQ(free_memory(root), 4000u);
}

TEST_F(FreeMemory, KnowsTheFirstVersion) {
  write("proc/self/cgroup",
        "9:name=systemd:/\n4:cpu,memory:/jobs/7\n0::/elsewhere\n");
  write("sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "9000\n");
  write("sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes", "8000\n");
  write("sys/fs/cgroup/memory/jobs/7/memory.stat",
        "inactive_file 1\ntotal_inactive_file 500\n");
  // As it is without a limit.
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "20000\n");
  EXPECT_EQ(free_memory(root), 1500u);
}

TEST_F(FreeMemory, OfThisMachineIsSomething) { EXPECT_GT(free_memory(), 0u); }

} // namespace
} // namespace baton
