//===- document_order.cpp - which documents an epoch has, and in which order -//

#include "runtime/documents/document_order.h"

#include "runtime/train/permutation.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <cmath>

namespace baton {

std::vector<uint32_t>
order_of_epoch(const std::vector<WeightedDocuments> &files, uint64_t seed,
               uint64_t epoch) {
  std::vector<uint32_t> taken;
  for (size_t number = 0; number < files.size(); ++number) {
    const WeightedDocuments &file = files[number];
    auto begin_of = [&](uint64_t of_epoch) {
      return static_cast<uint64_t>(
          std::floor(static_cast<double>(of_epoch) *
                     (file.weight * static_cast<double>(file.count))));
    };
    // A file has one line of documents, whatever the others are.
    const uint64_t key = mix(mix(seed) + mix(number + 1));
    for (uint64_t place = begin_of(epoch); place < begin_of(epoch + 1);) {
      const Permutation pass(file.count, key + place / file.count);
      const uint64_t end =
          std::min(begin_of(epoch + 1), (place / file.count + 1) * file.count);
      for (; place < end; ++place)
        taken.push_back(file.first +
                        static_cast<uint32_t>(pass(place % file.count)));
    }
  }
  if (taken.empty())
    return taken;
  const Permutation together(taken.size(), mix(seed) + epoch);
  std::vector<uint32_t> order(taken.size());
  for (size_t place = 0; place < order.size(); ++place)
    order[place] = taken[together(place)];
  return order;
}

} // namespace baton
