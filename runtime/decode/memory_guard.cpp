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
  for (auto [phase, iteration] : order)
    for (const WrittenBuffer &buffer : metadata.phases[phase].writes)
      for_each_piece(buffer, [&](const std::byte *first, uint64_t bytes) {
        Reach &found = reach[{phase, buffer.storage}];
        found.phase = metadata.phases[phase].name;
        found.storage = metadata.storages[buffer.storage].name;
        found.planned =
            std::max(found.planned, end_in(buffer.storage, first, bytes));
      });
  if (!order.empty()) {
    set(order.front().first, allow);
    remember(order.front().first);
  }
}

bool MemoryGuard::is_shared(size_t storage) const {
  const StorageDescription &description = metadata.storages[storage];
  return !description.state && !description.persistent;
}

uint64_t MemoryGuard::end_in(size_t storage, const std::byte *first,
                             uint64_t bytes) const {
  return first + bytes - static_cast<const std::byte *>(storages[storage]);
}

template <typename Visit>
void MemoryGuard::for_each_piece(const WrittenBuffer &buffer,
                                 Visit visit) const {
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
      visit(first + (buffer.offset + layer * buffer.layer_stride +
                     row * buffer.strides.front()) *
                        bytes,
            length * bytes);
}

void MemoryGuard::set(const WrittenBuffer &buffer, Allowance allowance) const {
  for_each_piece(buffer, allowance);
}

void MemoryGuard::remember(uint32_t phase) {
  before.clear();
  for (const WrittenBuffer &buffer : metadata.phases[phase].writes)
    for_each_piece(buffer, [&](const std::byte *first, uint64_t bytes) {
      before.insert(before.end(), first, first + bytes);
    });
}

void MemoryGuard::compare(uint32_t phase) {
  const std::byte *old = before.data();
  for (const WrittenBuffer &buffer : metadata.phases[phase].writes)
    for_each_piece(buffer, [&](const std::byte *first, uint64_t bytes) {
      Reach &found = reach.at({phase, buffer.storage});
      if (end_in(buffer.storage, first, bytes) > found.touched &&
          std::memcmp(first, old, bytes) != 0) {
        uint64_t end = bytes;
        while (first[end - 1] == old[end - 1])
          --end;
        found.touched =
            std::max(found.touched, end_in(buffer.storage, first, end));
      }
      old += bytes;
    });
}

void MemoryGuard::set(uint32_t phase, Allowance allowance) const {
  const PhaseDescription &description = metadata.phases[phase];
  for (const WrittenBuffer &buffer : description.writes)
    set(buffer, allowance);
  for (const WrittenBuffer &buffer : *description.reads)
    set(buffer, allowance);
}

void MemoryGuard::passed(uint32_t phase, uint32_t iteration) {
  compare(phase);
  set(phase, forbid);
  const uint32_t following = next.at({phase, iteration});
  set(following, allow);
  remember(following);
}

std::vector<MemoryGuard::Reach> MemoryGuard::reaches() const {
  std::vector<Reach> result;
  for (const auto &[place, found] : reach)
    result.push_back(found);
  return result;
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
