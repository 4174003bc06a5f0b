//===- adapter_ranks.h - which adapters a program has, and where ----------===//
//
// A program has room for so many ranks of low-rank adapters. One that is there
// has ranks that follow one another, and stays until its room is needed: the
// longest unused goes first. Those of the step that runs stay.
//
// Tasks of a step that nobody waits for may still read what they multiply by
// when the next step is made. So what was used by the step before may be used
// again, but its room goes to nobody until one more step has begun.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_ADAPTER_RANKS_H
#define BATON_RUNTIME_BATCH_ADAPTER_RANKS_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace baton {

class AdapterRanks {
public:
  explicit AdapterRanks(uint32_t ranks) : ranks(ranks) {}

  struct Room {
    uint32_t place;
    /// Nothing is there yet: the caller puts the adapter there.
    bool is_new;
  };
  /// A reference to an adapter of so many ranks, `adapter` its number, not 0;
  /// none while there is no room. The flag, if one is given, is true as long as
  /// the adapter is there.
  std::optional<Room> take(uint64_t adapter, uint32_t count,
                           std::shared_ptr<std::atomic<bool>> flag = nullptr);
  /// One reference less. The adapter stays there.
  void release(uint64_t adapter);
  /// The next step is made; of a run that begins no task of an earlier one is
  /// left.
  void begin_step(bool begins_run);
  /// Whether there will be more room when one more step has begun.
  bool rests() const;
  /// Whether it is there.
  bool has(uint64_t adapter) const { return find(adapter) != entries.size(); }

private:
  struct Entry {
    uint64_t adapter;
    uint32_t place, count;
    uint32_t references;
    /// The last step that may have had rows of it, of one without references.
    uint64_t used;
    std::shared_ptr<std::atomic<bool>> flag;
  };

  size_t find(uint64_t adapter) const;
  std::optional<size_t> find_gap(uint32_t count) const;
  uint32_t end_before(size_t entry) const {
    return entry ? entries[entry - 1].place + entries[entry - 1].count : 0;
  }
  /// Whether no task may read it.
  bool may_go(const Entry &entry) const {
    return entry.references == 0 && entry.used + 1 < step;
  }

  const uint32_t ranks;
  /// In order of places.
  std::vector<Entry> entries;
  /// The number of the step that is made.
  uint64_t step = 2;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_ADAPTER_RANKS_H
