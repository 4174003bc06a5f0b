//===- memory_guard.cpp - what phases touch of memory that they share -----===//

#include "runtime/decode/memory_guard.h"

#include "runtime/error.h"
#include "runtime/weights/memory.h"

#include <algorithm>
#include <cstring>

namespace baton {

namespace {

/// No result of a task: as F32, -2.6e36 throughout.
constexpr int pattern = 0xfb;
constexpr uint64_t cache_line = 64;

uint64_t element_bytes(const WrittenBuffer &buffer) {
  return buffer.element.ends_with("64")   ? 8
         : buffer.element.ends_with("32") ? 4
                                          : 2;
}

} // namespace

MemoryGuard::MemoryGuard(const Metadata &metadata, void *const *storages)
    : metadata(metadata), storages(storages) {
  const ProgramDescription &program = metadata.programs.front();
  auto order = program_order(metadata.phases, program);
  bool knows_reads =
      std::all_of(metadata.phases.begin(), metadata.phases.end(),
                  [](const PhaseDescription &phase) { return phase.reads; });
  if (!is_watched() || !knows_reads || metadata.programs.size() != 1)
    throw Error("the memory of this program cannot be watched; compile it with "
                "--sanitize=address");
  for (size_t i = 0; i < order.size(); ++i)
    next[order[i]] = order[(i + 1) % order.size()].first;
  for (size_t i = 0; i < metadata.storages.size(); ++i) {
    if (!is_shared(i))
      continue;
    uint64_t bytes = metadata.storages[i].bytes;
    std::memset(storages[i], pattern, bytes);
    forbid(static_cast<const std::byte *>(storages[i]), bytes);
  }
  if (!order.empty())
    set(order.front().first, allow);
}

bool MemoryGuard::is_shared(size_t storage) const {
  const StorageDescription &description = metadata.storages[storage];
  return !description.state && !description.persistent;
}

void MemoryGuard::set(const WrittenBuffer &buffer, Allowance allowance) const {
  if (!is_shared(buffer.storage))
    return;
  const uint64_t bytes = element_bytes(buffer);
  // Rows of other buffers lie between those of this one.
  uint64_t length = 1;
  for (size_t i = 1; i < buffer.strides.size(); ++i)
    length += (buffer.capacity[i] - 1) * buffer.strides[i];
  const auto *first = static_cast<const std::byte *>(storages[buffer.storage]);
  for (int64_t layer = 0; layer < buffer.layers; ++layer)
    for (int64_t row = 0; row < buffer.capacity.front(); ++row)
      allowance(first + (buffer.offset + layer * buffer.layer_stride +
                         row * buffer.strides.front()) *
                            bytes,
                length * bytes);
}

void MemoryGuard::set(uint32_t phase, Allowance allowance) const {
  const PhaseDescription &description = metadata.phases[phase];
  for (const WrittenBuffer &buffer : description.writes)
    set(buffer, allowance);
  for (const WrittenBuffer &buffer : *description.reads)
    set(buffer, allowance);
}

void MemoryGuard::passed(uint32_t phase, uint32_t iteration) {
  set(phase, forbid);
  set(next.at({phase, iteration}), allow);
}

void MemoryGuard::allow_all() const {
  for (size_t i = 0; i < metadata.storages.size(); ++i)
    if (is_shared(i))
      allow(static_cast<const std::byte *>(storages[i]),
            metadata.storages[i].bytes);
}

std::vector<MemoryGuard::Storage> MemoryGuard::touched() {
  allow_all();
  std::vector<Storage> result;
  for (size_t i = 0; i < metadata.storages.size(); ++i) {
    if (!is_shared(i))
      continue;
    const StorageDescription &storage = metadata.storages[i];
    const auto *bytes = static_cast<const unsigned char *>(storages[i]);
    uint64_t end = storage.bytes;
    while (end && bytes[end - 1] == pattern)
      --end;
    result.push_back({storage.name, storage.bytes,
                      (end + cache_line - 1) / cache_line * cache_line});
  }
  return result;
}

} // namespace baton
