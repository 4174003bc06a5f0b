//===- Words.h - names and numbers for readers ----------------------------===//

#ifndef BATON_COMPILER_EXPLAIN_WORDS_H
#define BATON_COMPILER_EXPLAIN_WORDS_H

#include "dialects/Event/Event.h"

#include <cstdint>
#include <string>
#include <vector>

namespace baton::explain {

/// "1.5 MiB", "640 B".
std::string bytesText(double bytes);
/// "12.3 MFLOP", "640 FLOP".
std::string flopsText(double flops);
/// "12.3 us", "1.23 ms".
std::string timeText(double microseconds);
std::string percentText(double fraction);
/// "1 task", "3 tasks".
std::string plural(int64_t count, const std::string &noun);
/// "a, b and c".
std::string listText(const std::vector<std::string> &items);

/// An affine expression with rows, past and outputs, and i, j, k for the first
/// coordinates.
std::string affineText(mlir::AffineExpr expression);
/// "rows ceildiv 16, 2"
std::string affineText(mlir::AffineMap map);

/// The phase's name without that of its segment before it.
std::string shortName(event::PhaseOp phase);

/// What a coordinate of a phase's grid moves along: a dimension of a buffer
/// that its tasks write.
struct CoordinateMeaning {
  /// "rows", "columns", "heads", "blocks" (of positions) or "tiles".
  std::string name;
  /// The access that shows it, and the buffer's dimension; null when none does.
  event::AccessAttr access;
  unsigned dimension = 0;
};
CoordinateMeaning meaningOf(event::PhaseOp phase, unsigned coordinate);

} // namespace baton::explain

#endif // BATON_COMPILER_EXPLAIN_WORDS_H
