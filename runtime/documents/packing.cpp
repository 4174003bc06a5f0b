//===- packing.cpp - whole documents to sequences of a length -------------===//

#include "runtime/documents/packing.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace baton {

std::vector<std::vector<uint32_t>> pack(std::span<const uint32_t> sizes,
                                        uint32_t capacity) {
  std::vector<uint32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](uint32_t left, uint32_t right) {
    return std::pair(sizes[right], left) < std::pair(sizes[left], right);
  });
  std::vector<std::vector<uint32_t>> bins;
  // Of each bin the room that it has, and its number.
  std::set<std::pair<uint32_t, size_t>> room;
  for (uint32_t item : order) {
    size_t bin = bins.size();
    uint32_t left = capacity;
    if (auto found = room.lower_bound({sizes[item], 0}); found != room.end()) {
      std::tie(left, bin) = *found;
      room.erase(found);
    } else {
      bins.emplace_back();
    }
    bins[bin].push_back(item);
    if (left > sizes[item])
      room.emplace(left - sizes[item], bin);
  }
  for (std::vector<uint32_t> &bin : bins)
    std::ranges::sort(bin);
  return bins;
}

} // namespace baton
