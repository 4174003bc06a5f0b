//===- sequences.h - where the sequences of a step begin and end ----------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_SEQUENCES_H
#define BATON_CODEGEN_CPU_LIBRARY_SEQUENCES_H

#include "codegen/cpu/library/vector.h"

namespace baton::cpu {

/// The row behind the sequence that `row` - 1 belongs to, at most `end`.
BATON_INLINE int64_t end_of_sequence(const int32_t *__restrict positions,
                                     int64_t row, int64_t end) {
  while (row < end && positions[row] != 0)
    ++row;
  return row;
}

/// Calls body(first, count, begin, position) for the runs of one sequence
/// among the rows [row, row + rows): `first` counts from `row`, `begin` is the
/// row of the step where the sequence begins, `position` the first row's.
template <typename Body>
BATON_INLINE void for_each_run(const int32_t *__restrict positions, int64_t row,
                               int64_t rows, Body body) {
  for (int64_t first = 0; first < rows;) {
    const int64_t position = positions[row + first];
    const int64_t end =
        end_of_sequence(positions, row + first + 1, row + rows) - row;
    body(first, end - first, row + first - position, position);
    first = end;
  }
}

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_LIBRARY_SEQUENCES_H
