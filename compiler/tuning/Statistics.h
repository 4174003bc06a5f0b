//===- Statistics.h - what rounds of measurements say ---------------------===//
//
// Medians, and intervals of them by order statistics: nothing is assumed of the
// noise but that rounds do not depend on one another. On shared machines it is
// no normal distribution.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_TUNING_STATISTICS_H
#define BATON_COMPILER_TUNING_STATISTICS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <vector>

namespace baton::tuning {

/// A median, and where the median of all rounds that could be lies with the
/// confidence of 95 % or more.
struct Estimate {
  double median = 0, low = 0, high = 0;
  size_t rounds = 0;
};

/// With fewer rounds than this the whole range is no interval of 95 %.
inline constexpr size_t kFewestRounds = 6;

/// `values` are not empty. With fewer than kFewestRounds, the interval is all
/// numbers from 0 on.
Estimate estimate(std::vector<double> values);

/// Round by round, how many times as fast as `base` `other` is: both are
/// seconds, of as many rounds.
std::vector<double> speedups(llvm::ArrayRef<double> base,
                             llvm::ArrayRef<double> other);

} // namespace baton::tuning

#endif // BATON_COMPILER_TUNING_STATISTICS_H
