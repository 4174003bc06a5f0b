//===- memory_search.h - which layers stay in memory under a cap ----------===//
//
// Of programs of batonc's that obey a cap (batonc --memory): how many layers
// stay, how many have their saved values swapped, how many slots the others
// take turns in, and what is computed again.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_PLAN_MEMORY_SEARCH_H
#define BATON_TOOLS_PLAN_MEMORY_SEARCH_H

#include "runtime/execute/tiered_layers.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace baton::plan {

/// Bytes a second between memory and what has the rest. Chunks come from the
/// system's cache of the file at the rate at which it maps them; what the cache
/// has no memory for comes from the disk first.
struct TierRates {
  double mapped = 0, disk = 0;
  /// The part of a file's bytes that the cache has no memory for.
  double uncached = 0;
};

/// Of a folder: a region of some MiB is made there, and gone through. Throws
/// Error where the folder cannot have one. `file`: bytes that will lie there;
/// `free`: what of memory the cache may have.
TierRates measure_tier(const std::filesystem::path &folder, uint64_t file,
                       uint64_t free);

/// Seconds without any moves: of one layer, forward and backward, what is
/// computed again included; and of all else, updates too.
struct LayerTimes {
  double forward = 0, backward = 0, others = 0;
};

/// A program that batonc may make.
struct MemoryProgram {
  /// Its mode of recomputing.
  std::string recompute;
  TieredLayers layers;
  LayerTimes times;
  /// What is in memory whatever layers do.
  uint64_t fixed = 0;
};

struct MemoryPlan {
  /// Of the programs.
  size_t program = 0;
  uint32_t slots = 1;
  Residence residence;
  /// Of layers and states, at most.
  uint64_t layer_bytes = 0;
  /// Of a step: computation, what waits for layers forward and backward, and
  /// for updates.
  double computation = 0, forward = 0, backward = 0, update = 0;
  double seconds() const { return computation + forward + backward + update; }
};

/// What a step takes:
///   T = others + sum over layers of [move(i) + max(compute(i), read(i + 1))],
/// forward, and backward with the next layer in that direction; a move maps
/// what is fetched, and a read has the disk read it while the layer before
/// computes. Updates wait for what they touch.
MemoryPlan plan_of(const TieredLayers &layers, const LayerTimes &times,
                   const Residence &residence, unsigned workers,
                   const TierRates &rates);

struct MemorySearchOptions {
  std::vector<MemoryProgram> programs;
  /// Bytes that fixed parts and layers together may take.
  uint64_t most = 0;
  uint32_t most_slots = 4;
  unsigned workers = 1;
  TierRates rates;
};

struct MemorySearchResult {
  /// The fastest; among equals the one with fewer bytes.
  std::optional<MemoryPlan> best;
  /// The fastest of each program; none of one that does not fit.
  std::vector<std::optional<MemoryPlan>> of_program;
  /// Plans that were timed, and that there are.
  uint64_t timed = 0, all = 0;
};

/// Goes through all plans. Left out are those that have more in memory than
/// one that is too large, and those that are slower for any numbers.
MemorySearchResult search_memory(const MemorySearchOptions &options);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_MEMORY_SEARCH_H
