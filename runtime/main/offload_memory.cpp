//===- offload_memory.cpp - what a program in bounded memory has there ----===//

#include "runtime/main/offload_memory.h"

#include "runtime/error.h"
#include "runtime/execute/layer_arrivals.h"
#include "runtime/execute/program_memory.h"
#include "runtime/main/table.h"

#include <algorithm>
#include <fstream>

#include <unistd.h>

namespace baton {

/// Of a region by itself, which the system may back by huge pages.
static uint64_t region_bytes(uint64_t bytes) {
  return round_up(bytes, bytes >= HugeRegion::alignment ? HugeRegion::alignment
                                                        : page_bytes);
}

uint64_t OffloadNeeds::kv_memory(uint64_t staying_pages) const {
  const uint64_t leaving = pages - std::min(pages, staying_pages);
  // Of two layers: the one that computes, and the next one.
  return (pages - leaving) * page_bytes +
         leaving * (page_rest + 2 * page_layer);
}

OffloadNeeds offload_needs(const Metadata &metadata, unsigned workers,
                           uint64_t pages, uint64_t process) {
  const auto offloading = OffloadingDescription::parse(metadata.json);
  if (!offloading)
    throw Error("--memory: the program keeps all of its layers in memory; "
                "compile it with --offload");
  OffloadNeeds needs;
  // Stacks of threads and what they allocate; blocks of a file that is read
  // when the program starts.
  constexpr uint64_t of_thread = uint64_t(256) << 10;
  constexpr uint64_t of_start = uint64_t(8) << 20;
  needs.resident = process;
  needs.process = process + (workers + LayerArrivals::movers) * of_thread +
                  workers * HugeRegion::alignment + of_start;
  for (const StorageDescription &storage : metadata.storages)
    if (!storage.paged)
      needs.activations += region_bytes(storage.bytes);
  needs.activations += region_bytes(
      metadata.event_words * cache_line +
      workers * (metadata.scratch_bytes +
                 metadata.event_words * sizeof(uint32_t) + 2 * page_bytes));
  needs.weights = weight_needs(metadata.json, *offloading);
  needs.layers = offloading->layers();
  needs.pages = pages;
  needs.page_bytes = metadata.batch->page_bytes;
  // The worst of pages, which lie differently where their size is no multiple
  // of the system's.
  for (uint64_t page = 0; page < std::min<uint64_t>(pages, page_bytes);
       ++page) {
    uint64_t moves = 0;
    for (const OffloadingDescription::Stack &stack : offloading->stacks)
      for (uint64_t layer = 0; layer < stack.layers; ++layer) {
        uint64_t of_layer = 0;
        for (const OffloadingDescription::State &state : stack.states) {
          const uint64_t offset =
              page * state.page_bytes + layer * state.layer_bytes;
          const uint64_t begin = round_up(offset, page_bytes);
          const uint64_t end =
              (offset + state.layer_bytes) / page_bytes * page_bytes;
          of_layer += begin < end ? end - begin : 0;
        }
        moves += of_layer;
        needs.page_layer = std::max(needs.page_layer, of_layer);
      }
    needs.page_moves = std::max(needs.page_moves, moves);
    needs.page_rest = std::max(needs.page_rest, needs.page_bytes - moves);
  }
  return needs;
}

OffloadPlan plan_offload(const OffloadNeeds &needs, uint64_t limit,
                         std::optional<uint64_t> staying_pages,
                         const std::string &flag) {
  uint64_t ring = 0;
  place_layers(needs.weights.pieces, needs.layers, 0, &ring);
  const uint64_t fixed =
      needs.process + needs.activations + region_bytes(needs.weights.fixed);
  auto least_with = [&](uint64_t pages) {
    return fixed + ring + needs.kv_memory(pages);
  };
  uint64_t staying = staying_pages ? std::min(*staying_pages, needs.pages) : 0;
  if (!staying_pages && least_with(needs.pages) <= limit)
    staying = needs.pages;
  if (least_with(staying) > limit) {
    auto part = [](const char *what, uint64_t bytes) {
      return std::string(what) + " " + bytes_text(double(bytes));
    };
    throw Error(
        flag + " is less than the " + bytes_text(double(least_with(staying))) +
        " that it takes (" + part("the process", needs.process) + ", " +
        part("buffers", needs.activations) + ", " +
        part("weights outside of layers", needs.weights.fixed) + ", " +
        part("two layers' weights", ring) + ", " +
        part("keys and values", needs.kv_memory(staying)) +
        "); give more, or compile with a smaller --max-batch or --max-seq");
  }
  // Pages as far as they fit beside the least that weights need.
  if (!staying_pages && staying == 0 && needs.page_bytes > 0) {
    const uint64_t of_page =
        needs.page_bytes -
        std::min(needs.page_bytes, needs.page_rest + 2 * needs.page_layer);
    if (of_page)
      staying = std::min(needs.pages, (limit - least_with(0)) / of_page);
  }
  const uint64_t kv = needs.kv_memory(staying);
  OffloadPlan plan;
  plan.weights =
      *place_layers(needs.weights.pieces, needs.layers, limit - fixed - kv);
  plan.staying_pages = staying;
  plan.memory = fixed + kv + plan.weights.memory();
  return plan;
}

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

} // namespace baton
