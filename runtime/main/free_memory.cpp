//===- free_memory.cpp - how much memory may still be taken --------------===//

#include "runtime/main/free_memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace baton {

namespace {

/// The names of one version's files.
struct GroupFiles {
  const char *limit, *usage, *unused_cache;
};
constexpr GroupFiles version_2 = {"memory.max", "memory.current",
                                  "inactive_file"};
constexpr GroupFiles version_1 = {
    "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};

/// Nothing for "max", and where there is no such file.
std::optional<uint64_t> read_number(const std::filesystem::path &path) {
  std::ifstream stream(path);
  uint64_t number = 0;
  if (stream >> number)
    return number;
  return std::nullopt;
}

/// The number behind a name, one of each on a line.
std::optional<uint64_t> read_named(const std::filesystem::path &path,
                                   std::string_view wanted) {
  std::ifstream stream(path);
  std::string name, rest;
  for (uint64_t number; stream >> name >> number;) {
    if (name == wanted)
      return number;
    std::getline(stream, rest);
  }
  return std::nullopt;
}

void limit(std::optional<uint64_t> &free, uint64_t other) {
  free = free ? std::min(*free, other) : other;
}

/// What a group and those around it leave.
void limit_by_groups(std::optional<uint64_t> &free,
                     const std::filesystem::path &top, std::string_view group,
                     const GroupFiles &files) {
  std::filesystem::path folder = top;
  // In a container the path may be one that only the host sees: the top is the
  // container's then.
  for (const auto &part : std::filesystem::path("/") / group) {
    if (part != "/")
      folder /= part;
    const auto most = read_number(folder / files.limit);
    const auto used = read_number(folder / files.usage);
    if (!most || !used)
      continue;
    const uint64_t cached = std::min(
        *used,
        read_named(folder / "memory.stat", files.unused_cache).value_or(0));
    limit(free, *most - std::min(*most, *used - cached));
  }
}

} // namespace

std::optional<uint64_t> free_memory(const std::filesystem::path &root) {
  std::optional<uint64_t> free;
  if (auto available = read_named(root / "proc/meminfo", "MemAvailable:"))
    limit(free, *available * 1024);
  std::ifstream groups(root / "proc/self/cgroup");
  // "0::/group", or "4:memory:/group" of the first version.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string controllers =
        "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string_view group = std::string_view(line).substr(second + 1);
    const std::filesystem::path top = root / "sys/fs/cgroup";
    if (controllers == ",,")
      limit_by_groups(free, top, group, version_2);
    else if (controllers.find(",memory,") != std::string::npos)
      limit_by_groups(free, top / "memory", group, version_1);
  }
  return free;
}

} // namespace baton
