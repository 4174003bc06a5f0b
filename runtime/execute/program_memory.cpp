//===- program_memory.cpp - the memory that a program computes in --------===//

#include "runtime/execute/program_memory.h"

#include "runtime/error.h"

#include <algorithm>

namespace baton {

namespace {

constexpr uint64_t words_per_line = cache_line / sizeof(uint32_t);

HugeRegion reserve(const std::string &what, uint64_t bytes) {
  try {
    // An empty storage still gets an address.
    return HugeRegion(std::max(bytes, cache_line));
  } catch (const Error &) {
    throw Error("cannot reserve " + std::to_string(bytes) +
                " bytes of memory for " + what +
                "; compile with a smaller --max-seq or run on a machine with "
                "more memory");
  }
}

} // namespace

ProgramMemory::ProgramMemory(const Metadata &metadata, unsigned workers,
                             const PagedStorages &paged,
                             const TieredRun *tiered)
    : event_count(metadata.event_words), worker_table(workers) {
  storage_pointers.resize(metadata.storages.size());
  uint64_t bytes = 0;
  std::vector<uint64_t> begins;
  if (tiered) {
    const TieredLayers &layers = tiered->layers;
    paged_region =
        std::make_unique<PagedRegion>(paged.folder, layers.bytes(), paged.most,
                                      layers.layout(tiered->residence));
    for (size_t storage : layers.storages())
      storage_pointers[storage] = paged_region->data() + layers.begin(storage);
  }
  for (size_t storage : paged.storages) {
    if (tiered)
      break;
    begins.push_back(bytes);
    bytes += round_up(metadata.storages[storage].bytes, page_bytes);
  }
  if (bytes) {
    paged_region =
        std::make_unique<PagedRegion>(paged.folder, bytes, paged.most);
    for (size_t i = 0; i < begins.size(); ++i)
      storage_pointers[paged.storages[i]] = paged_region->data() + begins[i];
  }
  for (size_t i = 0; i < metadata.storages.size(); ++i) {
    if (storage_pointers[i])
      continue;
    const StorageDescription &storage = metadata.storages[i];
    regions.push_back(
        reserve("storage \"" + storage.name + "\"", storage.bytes));
    storage_pointers[i] = regions.back().data();
  }

  // A line behind the events and behind every scratch belongs to nobody, so
  // that the address sanitizer sees a task leave its own.
  uint64_t word_bytes = event_count * cache_line;
  uint64_t event_bytes = round_up(word_bytes + cache_line, page_bytes);
  uint64_t base_bytes = round_up(event_count * sizeof(uint32_t), cache_line);
  uint64_t used_bytes = base_bytes + metadata.scratch_bytes;
  uint64_t worker_bytes = round_up(used_bytes + cache_line, page_bytes);
  shared = reserve("events and scratch", event_bytes + workers * worker_bytes);
  event_words = reinterpret_cast<uint32_t *>(shared.data());
  shared.forbid(word_bytes, event_bytes - word_bytes);
  for (unsigned worker = 0; worker < workers; ++worker) {
    std::byte *own = shared.data() + event_bytes + worker * worker_bytes;
    worker_table[worker].bases = reinterpret_cast<uint32_t *>(own);
    worker_table[worker].scratch = own + base_bytes;
    shared.forbid(own + used_bytes - shared.data(), worker_bytes - used_bytes);
  }
}

void ProgramMemory::reset_events(uint32_t origin) {
  for (uint64_t word = 0; word < event_count; ++word)
    event_words[word * words_per_line] = origin;
  for (BatonWorker &worker : worker_table)
    std::fill_n(worker.bases, event_count, origin);
}

} // namespace baton
