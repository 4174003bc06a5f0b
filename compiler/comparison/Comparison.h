//===- Comparison.h - two programs on one text ----------------------------===//
//
// Of each window's second half: how well a program foretells the tokens, and
// how its distributions differ from those of another one, the reference. Rows
// are read as they come; two are in memory at a time.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_COMPARISON_COMPARISON_H
#define BATON_COMPILER_COMPARISON_COMPARISON_H

#include "compiler/comparison/Distributions.h"
#include "compiler/comparison/LogitStream.h"
#include "compiler/comparison/Means.h"

#include <functional>
#include <string>

namespace baton::comparison {

/// How another program's distributions differ from the reference's.
struct Differences {
  /// Of the other program; nats a token.
  TextMean loss;
  /// Its loss less the reference's, of the same windows.
  TextMean excess;
  /// KL(reference || other), nats a token.
  TextMean divergence;
  double medianDivergence = 0, highDivergence = 0, mostDivergence = 0;
  /// The part of tokens for which both find the same one most likely.
  TextMean agreement;
};

struct Comparison {
  size_t windows = 0, context = 0, tokens = 0;
  /// Of the reference: minus the mean logarithm of the probability of the token
  /// that came, in nats a token.
  TextMean loss;
  std::optional<Differences> other;
};

/// The part of tokens that `highDivergence` is not exceeded for.
inline constexpr double kHighPart = 0.99;

/// Told after each window, of all windows so far.
using OnWindow = std::function<void(const Comparison &)>;

/// Reads both streams to their ends; `other` may be null. Fails where they are
/// of other tokens, a program fails, or a logit is no number.
llvm::Expected<Comparison> compare(LogitStream &reference, LogitStream *other,
                                   const OnWindow &onWindow);

} // namespace baton::comparison

#endif // BATON_COMPILER_COMPARISON_COMPARISON_H
