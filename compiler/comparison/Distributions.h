//===- Distributions.h - two distributions of the next token --------------===//
//
// Each is the softmax of a row of logits, computed in F64 of the F32 logits.
// Kullback and Leibler's divergence KL(A || B) = sum p_A log(p_A / p_B) is in
// nats, and says how much a text that A wrote surprises B more than A.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_COMPARISON_DISTRIBUTIONS_H
#define BATON_COMPILER_COMPARISON_DISTRIBUTIONS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <vector>

namespace baton::comparison {

/// A row's softmax: the probability of token i is weights[i] / sum.
class Distribution {
public:
  /// Takes the logits, which outlive this object's use. Returns whether all of
  /// them are numbers.
  bool set(llvm::ArrayRef<float> row);

  /// The natural logarithm of the token's probability.
  double logProbability(size_t token) const;
  /// The most likely token, the first of several.
  size_t best() const { return bestToken; }

private:
  friend double divergence(const Distribution &a, const Distribution &b);

  llvm::ArrayRef<float> logits;
  std::vector<double> weights;
  double sum = 0, logSum = 0;
  size_t bestToken = 0;
};

/// KL(a || b) of distributions over as many tokens: exactly 0 for equal rows,
/// and never less.
double divergence(const Distribution &a, const Distribution &b);

} // namespace baton::comparison

#endif // BATON_COMPILER_COMPARISON_DISTRIBUTIONS_H
