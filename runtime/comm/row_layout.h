//===- row_layout.h - which rows go to which expert, and back -------------===//
//
// Of a dispatch or a combine (runtime/program.h): where, in the memory of one
// rank, the rows lie that it sends to an expert of another one, and those that
// its own experts get from another one. Both ranks of a pair know how many they
// are: one by its bounds, the other by the counts that it was told.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_COMM_ROW_LAYOUT_H
#define BATON_RUNTIME_COMM_ROW_LAYOUT_H

#include "runtime/program.h"

#include <cstdint>
#include <vector>

namespace baton {

class RowLayout {
public:
  /// Between so many ranks. The tables are in the host's memory, and outlive
  /// this. Throws Error where they do not say of each of the rank's own rows,
  /// once, to whom it goes, or experts get more rows than all ranks have, or
  /// not those that `received` says.
  RowLayout(const BatonExchange &tensor, uint32_t ranks);

  /// Rows behind one another, in bytes.
  struct Run {
    uint64_t begin, bytes;
  };
  /// Own rows for expert `expert` of the rank at place `owner`.
  Run own(uint32_t owner, uint64_t expert) const;
  /// Rows of the rank at place `sender` for the own expert `expert`.
  Run received(uint32_t sender, uint64_t expert) const;

  uint64_t experts() const { return tensor.experts; }
  /// Bytes for, or of, all experts of the rank at a place.
  uint64_t own_bytes(uint32_t owner) const;
  uint64_t received_bytes(uint32_t sender) const;

private:
  BatonExchange tensor;
  uint32_t ranks;
  /// The first row of each expert, of each sender, and the end.
  std::vector<uint64_t> begins;
};

} // namespace baton

#endif // BATON_RUNTIME_COMM_ROW_LAYOUT_H
