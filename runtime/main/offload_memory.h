//===- offload_memory.h - what a program in bounded memory has there ------===//

#ifndef BATON_RUNTIME_MAIN_OFFLOAD_MEMORY_H
#define BATON_RUNTIME_MAIN_OFFLOAD_MEMORY_H

#include "runtime/execute/metadata.h"
#include "runtime/weights/parameters.h"

#include <cstdint>
#include <optional>

namespace baton {

/// What a program of --offload takes, in bytes.
struct OffloadNeeds {
  /// The process itself: its code, libraries, tokenizer, requests, the threads
  /// that move layers, and room to load.
  uint64_t process = 0;
  /// Of this, what it has before weights are loaded.
  uint64_t resident = 0;
  /// Buffers, events, and the workers' scratch.
  uint64_t activations = 0;
  WeightNeeds weights;
  uint64_t layers = 0;
  uint64_t pages = 0;
  /// Of a page: all of it, what stays of it in any case, since it shares pages
  /// of memory with what is not of its layer, and the most that moves of a
  /// layer.
  uint64_t page_bytes = 0, page_rest = 0, page_layer = 0;
  /// Bytes that move of a page in a step.
  uint64_t page_moves = 0;

  /// Of keys and values of which so many pages stay.
  uint64_t kv_memory(uint64_t staying_pages) const;
};

/// Throws Error for a program that was compiled without --offload. `process`
/// is what it has in memory before weights are loaded.
OffloadNeeds offload_needs(const Metadata &metadata, unsigned workers,
                           uint64_t pages, uint64_t process);

struct OffloadPlan {
  LayerPlacement weights;
  uint64_t staying_pages = 0;
  /// All of it.
  uint64_t memory = 0;
};

/// What stays in memory within `limit` bytes: as many pages as may, or
/// `staying_pages`, beside a ring of layers; then as many weights as there is
/// room for. Throws Error, which begins with `flag` and says what takes how
/// much, where not even the least fits.
OffloadPlan plan_offload(const OffloadNeeds &needs, uint64_t limit,
                         std::optional<uint64_t> staying_pages,
                         const std::string &flag);

/// What the process has in memory now.
uint64_t resident_bytes();

} // namespace baton

#endif // BATON_RUNTIME_MAIN_OFFLOAD_MEMORY_H
