//===- free_memory.h - how much memory may still be taken ----------------===//

#ifndef BATON_RUNTIME_MAIN_FREE_MEMORY_H
#define BATON_RUNTIME_MAIN_FREE_MEMORY_H

#include <cstdint>
#include <filesystem>
#include <optional>

namespace baton {

/// Bytes that this process can have without others having to go: what the
/// system has (proc/meminfo), and no more than any control group lets it have,
/// as containers are limited (Linux's cgroup v2 and v1; caches of files that
/// nobody uses count as free). Nothing if the system does not say. Files are
/// read below `root`.
std::optional<uint64_t> free_memory(const std::filesystem::path &root = "/");

} // namespace baton

#endif // BATON_RUNTIME_MAIN_FREE_MEMORY_H
