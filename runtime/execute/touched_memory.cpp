//===- touched_memory.cpp - the part of memory that a step touches --------===//

#include "runtime/execute/touched_memory.h"

#include "runtime/weights/memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

namespace baton {

namespace {

/// Pages from the first on, up to the second.
using Pages = std::pair<uint64_t, uint64_t>;

uint64_t element_bytes(const std::string &element) {
  return element == "f64" || element == "i64"    ? 8
         : element == "bf16" || element == "f16" ? 2
                                                 : 4;
}

/// What a step writes of one buffer, as pages of its storage.
class WrittenPages {
public:
  /// `base`: where the storage begins.
  WrittenPages(const WrittenBuffer &buffer, const BatonStep &step,
               uint64_t page, uint64_t base = 0)
      : buffer(buffer), bytes(element_bytes(buffer.element)), page(page),
        base(base) {
    for (size_t d = 0; d < buffer.extents.size(); ++d)
      extents.push_back(static_cast<uint64_t>(std::clamp<int64_t>(
          buffer.extents[d].evaluate(step), 0, buffer.capacity[d])));
    // Runs of the first dimension lie next to one another.
    if (buffer.interleave > 1)
      extents[0] = std::min(
          round_up(extents[0], static_cast<uint64_t>(buffer.interleave)),
          static_cast<uint64_t>(buffer.capacity[0]));
  }

  void add_to(std::vector<Pages> &pages) const {
    if (std::find(extents.begin(), extents.end(), 0) != extents.end())
      return;
    for (int64_t layer = 0; layer < buffer.layers; ++layer)
      add_from(0, buffer.offset + layer * buffer.layer_stride, pages);
  }

private:
  /// Elements from the first to the last one of the dimensions from `d` on.
  uint64_t span(size_t d) const {
    uint64_t last = 0;
    for (; d < extents.size(); ++d)
      last += (extents[d] - 1) * static_cast<uint64_t>(buffer.strides[d]);
    return last + 1;
  }

  void add_from(size_t d, int64_t origin, std::vector<Pages> &pages) const {
    const uint64_t begin = base + static_cast<uint64_t>(origin) * bytes;
    const auto stride = static_cast<uint64_t>(buffer.strides[d]);
    const bool has_holes = d + 1 < extents.size() && stride > span(d + 1) &&
                           (stride - span(d + 1)) * bytes >= page;
    if (!has_holes) {
      pages.emplace_back(begin / page,
                         (begin + span(d) * bytes + page - 1) / page);
      return;
    }
    for (uint64_t i = 0; i < extents[d]; ++i)
      add_from(d + 1, origin + static_cast<int64_t>(i) * buffer.strides[d],
               pages);
  }

  const WrittenBuffer &buffer;
  const uint64_t bytes, page, base;
  std::vector<uint64_t> extents;
};

/// How many different pages there are.
uint64_t count(std::vector<Pages> pages) {
  std::sort(pages.begin(), pages.end());
  uint64_t sum = 0, end = 0;
  for (auto [first, last] : pages) {
    first = std::max(first, end);
    if (first < last)
      sum += last - first;
    end = std::max(end, last);
  }
  return sum;
}

} // namespace

std::vector<uint64_t> touched_bytes(const Metadata &metadata,
                                    const ProgramDescription &program,
                                    const BatonStep &step, uint64_t page) {
  std::vector<std::vector<Pages>> pages(metadata.storages.size());
  std::vector<uint64_t> page_of;
  for (const StorageDescription &storage : metadata.storages)
    page_of.push_back(page ? page : page_of_region(storage.bytes));
  for (uint32_t i = 0; i < program.phases; ++i) {
    const PhaseDescription &phase = metadata.phases[program.first_phase + i];
    for (const WrittenBuffer &buffer : phase.writes)
      WrittenPages(buffer, step, page_of[buffer.storage])
          .add_to(pages[buffer.storage]);
  }
  std::vector<uint64_t> result;
  for (size_t storage = 0; storage < pages.size(); ++storage)
    result.push_back(count(std::move(pages[storage])) * page_of[storage]);
  return result;
}

void add_touched_pages(const Metadata &metadata,
                       const ProgramDescription &program, const BatonStep &step,
                       uint64_t page,
                       const std::vector<std::optional<uint64_t>> &begins,
                       std::set<uint64_t> &pages) {
  std::vector<Pages> ranges;
  for (uint32_t i = 0; i < program.phases; ++i)
    for (const WrittenBuffer &buffer :
         metadata.phases[program.first_phase + i].writes)
      if (const std::optional<uint64_t> begin = begins[buffer.storage])
        WrittenPages(buffer, step, page, *begin).add_to(ranges);
  for (auto [first, end] : ranges)
    for (; first < end; ++first)
      pages.insert(first);
}

uint64_t page_of_region(uint64_t bytes) {
  static const bool has_huge_pages = [] {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    for (std::string mode; file >> mode;)
      if (mode == "[always]" || mode == "[madvise]")
        return true;
    return false;
  }();
  return has_huge_pages && bytes >= HugeRegion::alignment
             ? HugeRegion::alignment
             : page_bytes;
}

} // namespace baton
