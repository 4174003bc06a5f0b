//===- adapter_ranks.cpp - which adapters a program has, and where --------===//

#include "runtime/batch/adapter_ranks.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace baton {

size_t AdapterRanks::find(uint64_t adapter) const {
  return static_cast<size_t>(std::find_if(entries.begin(), entries.end(),
                                          [&](const Entry &entry) {
                                            return entry.adapter == adapter;
                                          }) -
                             entries.begin());
}

/// The entry before which there is room, or their number behind the last one.
std::optional<size_t> AdapterRanks::find_gap(uint32_t count) const {
  for (size_t entry = 0; entry <= entries.size(); ++entry) {
    const uint32_t end = entry < entries.size() ? entries[entry].place : ranks;
    if (end - end_before(entry) >= count)
      return entry;
  }
  return std::nullopt;
}

std::optional<AdapterRanks::Room>
AdapterRanks::take(uint64_t adapter, uint32_t count,
                   std::shared_ptr<std::atomic<bool>> flag) {
  if (size_t known = find(adapter); known < entries.size()) {
    ++entries[known].references;
    return Room{entries[known].place, false};
  }
  auto gap = find_gap(count);
  while (!gap) {
    auto oldest = entries.end();
    for (auto entry = entries.begin(); entry != entries.end(); ++entry)
      if (may_go(*entry) &&
          (oldest == entries.end() || entry->used < oldest->used))
        oldest = entry;
    if (oldest == entries.end())
      return std::nullopt;
    if (oldest->flag)
      *oldest->flag = false;
    entries.erase(oldest);
    gap = find_gap(count);
  }
  const uint32_t place = end_before(*gap);
  entries.insert(entries.begin() + static_cast<ptrdiff_t>(*gap),
                 {adapter, place, count, /*references=*/1, /*used=*/0, flag});
  if (flag)
    *flag = true;
  return Room{place, true};
}

void AdapterRanks::release(uint64_t adapter) {
  const size_t known = find(adapter);
  if (known == entries.size() || entries[known].references == 0)
    throw std::logic_error("an adapter that nobody has is given back");
  if (--entries[known].references == 0)
    entries[known].used = step - 1;
}

void AdapterRanks::begin_step(bool begins_run) {
  // Two more: then what the last one used may go.
  step += begins_run ? 2 : 1;
}

bool AdapterRanks::rests() const {
  return std::any_of(entries.begin(), entries.end(), [&](const Entry &entry) {
    return entry.references == 0 && !may_go(entry);
  });
}

} // namespace baton
