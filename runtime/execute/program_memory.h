//===- program_memory.h - the memory that a program computes in ----------===//

#ifndef BATON_RUNTIME_EXECUTE_PROGRAM_MEMORY_H
#define BATON_RUNTIME_EXECUTE_PROGRAM_MEMORY_H

#include "runtime/execute/metadata.h"
#include "runtime/execute/paged_region.h"
#include "runtime/execute/tiered_layers.h"
#include "runtime/program.h"
#include "runtime/weights/memory.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace baton {

/// Bytes that processors exchange at once: what two workers write lies in two.
inline constexpr uint64_t cache_line = 64;

/// Owns storages, event words, and every worker's scratch and bases.
///
/// Storages are reserved, not touched: a state for thousands of positions costs
/// memory only for those that were used, and pages land near the worker that
/// touches them first.
class ProgramMemory {
public:
  /// Throws Error, naming what did not fit, when the system refuses. Of
  /// `paged` storages only a part is in memory; which, `tiered` says, if it is
  /// not null.
  ProgramMemory(const Metadata &metadata, unsigned workers,
                const PagedStorages &paged = {},
                const TieredRun *tiered = nullptr);

  /// Makes every event word and base start from `origin`. Only differences
  /// between the two matter to a program, so any origin gives the same run;
  /// one just below 2^32 tests that comparisons survive the wrap.
  void reset_events(uint32_t origin);

  void *const *storages() const { return storage_pointers.data(); }
  uint32_t *events() const { return event_words; }
  BatonWorker *workers() { return worker_table.data(); }
  /// Null if all is in memory.
  PagedRegion *paged() const { return paged_region.get(); }

private:
  std::vector<HugeRegion> regions;
  std::unique_ptr<PagedRegion> paged_region;
  std::vector<void *> storage_pointers;
  /// Event words, then for each worker its bases and its scratch, each worker's
  /// part on pages of its own.
  HugeRegion shared;
  uint32_t *event_words;
  uint64_t event_count;
  std::vector<BatonWorker> worker_table;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_PROGRAM_MEMORY_H
