//===- document_order.h - which documents an epoch has, and in which order ===//
//
// A file of weight w gives each epoch w times as many documents as it has: its
// documents stand in line, shuffled anew each time that all have come, and each
// epoch takes the next ones. So with the weight 1/2 two epochs have each
// document once. An epoch's documents of all files are then shuffled together.
// All of it is a pure function of the seed and the epoch's number.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_DOCUMENTS_DOCUMENT_ORDER_H
#define BATON_RUNTIME_DOCUMENTS_DOCUMENT_ORDER_H

#include <cstdint>
#include <vector>

namespace baton {

/// Documents that follow one another, and how often an epoch has each.
struct WeightedDocuments {
  uint32_t first;
  uint32_t count;
  double weight;
};

std::vector<uint32_t>
order_of_epoch(const std::vector<WeightedDocuments> &files, uint64_t seed,
               uint64_t epoch);

} // namespace baton

#endif // BATON_RUNTIME_DOCUMENTS_DOCUMENT_ORDER_H
