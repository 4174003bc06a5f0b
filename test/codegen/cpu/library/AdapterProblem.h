//===- AdapterProblem.h - rows with adapters of their own -----------------===//

#ifndef BATON_TEST_CODEGEN_CPU_LIBRARY_ADAPTERPROBLEM_H
#define BATON_TEST_CODEGEN_CPU_LIBRARY_ADAPTERPROBLEM_H

#include "test/codegen/cpu/library/Support.h"

#include <algorithm>

namespace baton::test {

/// Adapters of several ranks, one behind the other with room between them, and
/// rows that have one each, or none.
template <typename Type> struct AdapterProblem {
  static constexpr int64_t most = 48, room_ranks = 160;

  struct Adapter {
    int64_t place, count;
    Weight<Type> a, b;
  };

  AdapterProblem(Random &random, int64_t rows, int64_t k, int64_t outputs)
      : k(k), outputs(outputs), down_room(room_ranks * padded(k)),
        up_room(room_ranks * padded(outputs)) {
    for (auto [place, count] :
         {std::pair<int64_t, int64_t>{16, 16}, {32, 48}, {96, 32}, {144, 16}}) {
      adapters.push_back({place, count, Weight<Type>(random, count, k),
                          Weight<Type>(random, outputs, count)});
      const auto down = adapters.back().a.packed(),
                 up = adapters.back().b.packed();
      std::ranges::copy(down, down_room.begin() + place * padded(k));
      std::ranges::copy(up, up_room.begin() + place * padded(outputs));
    }
    // Runs of one adapter, of none, and rows that stand alone.
    for (int64_t row = 0, own = 0; row < rows; ++row) {
      if (row == 0 || random.bits() % 2)
        own = random.bits() % (adapters.size() + 1);
      of_row.push_back(own);
      places.push_back(own ? int32_t(adapters[own - 1].place) : 0);
      counts.push_back(own ? int32_t(adapters[own - 1].count) : 0);
    }
  }

  static int64_t padded(int64_t columns) { return (columns + 15) / 16 * 16; }
  /// Null for a row without.
  const Adapter *adapter(int64_t row) const {
    return of_row[row] ? &adapters[of_row[row] - 1] : nullptr;
  }

  template <typename Body> Buffer down(const Buffer &x, Body body) const {
    Buffer low(x.rows, most);
    body(low.data(), low.stride, x.data(), x.stride, down_room.data(),
         int64_t(down_room.size()), places.data(), counts.data(), x.rows, k,
         most);
    return low;
  }
  /// Columns [column, column + out.width) of what has the pair's from `offset`
  /// on.
  template <typename Body>
  void up(Buffer &out, const Buffer &low, int64_t column, int64_t offset,
          Body body) const {
    body(out.data(), out.stride, low.data(), low.stride, up_room.data(),
         int64_t(up_room.size()), places.data(), counts.data(), out.rows,
         out.width, most, column, offset, outputs);
  }

  const int64_t k, outputs;
  std::vector<typename Type::Storage> down_room, up_room;
  std::vector<Adapter> adapters;
  std::vector<size_t> of_row;
  std::vector<int32_t> places, counts;
};

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CPU_LIBRARY_ADAPTERPROBLEM_H
