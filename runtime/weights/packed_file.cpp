//===- packed_file.cpp - a packed region that lies in a file --------------===//

#include "runtime/weights/packed_file.h"

#include "runtime/error.h"
#include "runtime/weights/memory.h"
#include "runtime/weights/parallel.h"

#include <algorithm>
#include <span>

#include <sys/mman.h>

namespace baton {

namespace {

/// Gives back the pages that lie in [begin, end) as a whole; they are zeros
/// again.
void give_back(std::byte *begin, std::byte *end) {
  auto first = round_up(reinterpret_cast<uintptr_t>(begin), page_bytes);
  auto last = reinterpret_cast<uintptr_t>(end) / page_bytes * page_bytes;
  if (first < last)
    madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
}

} // namespace

void write_slots(const std::vector<ParameterSlot> &slots,
                 std::optional<uint64_t> seed, unsigned threads,
                 const WriteRange &write) {
  uint64_t largest = 0;
  for (const ParameterSlot &slot : slots)
    if (slot.in_region())
      largest = std::max(largest, slot.bytes());
  HugeRegion room(largest);
  // Pieces are given back one by one.
  if (largest)
    madvise(room.data(), room.size(), MADV_NOHUGEPAGE);
  const std::vector<PackingJob> jobs = make_jobs(slots);
  for (size_t begin = 0, end; begin < jobs.size(); begin = end) {
    end = begin;
    while (end < jobs.size() && jobs[end].slot == jobs[begin].slot)
      ++end;
    const ParameterSlot &slot = slots[jobs[begin].slot];
    const uint64_t unit = slot.bytes() / slot.form().units();
    parallel_for(end - begin, threads, [&](size_t i) {
      const PackingJob &job = jobs[begin + i];
      make_piece(slot, job, seed, room.data());
      std::byte *const first = room.data() + job.first * unit;
      std::byte *const last = begin + i + 1 == end
                                  ? room.data() + slot.bytes()
                                  : room.data() + job.last * unit;
      write(first, static_cast<uint64_t>(last - first),
            slot.offset + job.first * unit);
      give_back(first, last);
    });
    for (const StoredTensor &source : slot.tensors)
      source.file->release(*source.tensor);
    room.clear();
  }
}

std::shared_ptr<const DirectFile>
make_packed_file(const std::filesystem::path &folder,
                 const std::vector<ParameterSlot> &slots, uint64_t bytes,
                 std::optional<uint64_t> seed, unsigned threads,
                 const TakeBlock &take) {
  auto file = std::make_shared<const DirectFile>(
      folder, packed_data_offset + bytes, "--offload-dir", [&](int descriptor) {
        write_slots(slots, seed, threads,
                    [&](const void *data, uint64_t length, uint64_t offset) {
                      write_whole(descriptor, data, length,
                                  packed_data_offset + offset);
                    });
      });
  HugeRegion block(std::min<uint64_t>(bytes, HugeRegion::alignment));
  for (uint64_t offset = 0; offset < bytes; offset += block.size()) {
    const uint64_t length = std::min(block.size(), bytes - offset);
    file->read(block.data(), round_up(length, DirectFile::unit),
               packed_data_offset + offset);
    take(offset, std::span<const std::byte>(block.data(), length));
  }
  return file;
}

std::shared_ptr<const DirectFile> open_packed_file(
    const std::filesystem::path &path, CacheKey key,
    const std::vector<ParameterSlot> &slots, uint64_t bytes, unsigned threads,
    const TakeBlock &take,
    const std::function<void(const std::filesystem::path &)> &remade) {
  CacheState state = scan_cache(path, key, bytes, threads, take);
  if (state == CacheState::Damaged)
    remade(path);
  if (state != CacheState::Read) {
    make_cache(path, key, bytes, threads, [&](const WriteRange &write) {
      write_slots(slots, {}, threads, write);
    });
    state = scan_cache(path, key, bytes, threads, take);
  }
  if (state != CacheState::Read)
    throw Error(path.string() + ": cannot be read back");
  return std::make_shared<const DirectFile>(path);
}

} // namespace baton
