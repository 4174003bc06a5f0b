//===- Distributions.cpp - two distributions of the next token ------------===//

#include "compiler/comparison/Distributions.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace baton::comparison;

bool Distribution::set(llvm::ArrayRef<float> row) {
  logits = row;
  if (!std::all_of(row.begin(), row.end(),
                   [](float logit) { return std::isfinite(logit); }))
    return false;
  bestToken = static_cast<size_t>(std::max_element(row.begin(), row.end()) -
                                  row.begin());
  const double largest = static_cast<double>(row[bestToken]);
  weights.resize(row.size());
  sum = 0;
  for (size_t i = 0; i < row.size(); ++i)
    sum += weights[i] = std::exp(static_cast<double>(row[i]) - largest);
  logSum = largest + std::log(sum);
  return true;
}

double Distribution::logProbability(size_t token) const {
  return static_cast<double>(logits[token]) - logSum;
}

double baton::comparison::divergence(const Distribution &a,
                                     const Distribution &b) {
  assert(a.logits.size() == b.logits.size());
  double mean = 0;
  for (size_t i = 0; i < a.weights.size(); ++i)
    mean += a.weights[i] * (static_cast<double>(a.logits[i]) -
                            static_cast<double>(b.logits[i]));
  // Rounding alone may make it less than nothing.
  return std::max(0.0, mean / a.sum + (b.logSum - a.logSum));
}
