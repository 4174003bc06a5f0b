//===- Statistics.cpp - what rounds of measurements say -------------------===//

#include "compiler/tuning/Statistics.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace baton;
using namespace baton::tuning;

/// How many of the smallest values may be left out: the median of all lies
/// below the next with probability sum_{i <= out} C(n, i) / 2^n, and as likely
/// above its counterpart. -1: not even none.
static int leftOut(size_t rounds) {
  double term = std::pow(0.5, static_cast<double>(rounds)), below = term;
  int out = -1;
  for (size_t i = 0; 2 * below <= 0.05 && 2 * i + 1 < rounds; ++i) {
    out = static_cast<int>(i);
    term *= static_cast<double>(rounds - i) / static_cast<double>(i + 1);
    below += term;
  }
  return out;
}

Estimate tuning::estimate(std::vector<double> values) {
  llvm::sort(values);
  const size_t count = values.size();
  Estimate result;
  result.rounds = count;
  result.median = (values[(count - 1) / 2] + values[count / 2]) / 2;
  if (int out = leftOut(count); out >= 0) {
    result.low = values[static_cast<size_t>(out)];
    result.high = values[count - 1 - static_cast<size_t>(out)];
  } else {
    result.high = std::numeric_limits<double>::infinity();
  }
  return result;
}

std::vector<double> tuning::speedups(llvm::ArrayRef<double> base,
                                     llvm::ArrayRef<double> other) {
  std::vector<double> ratios;
  for (auto [first, second] : llvm::zip_equal(base, other))
    ratios.push_back(first / second);
  return ratios;
}
