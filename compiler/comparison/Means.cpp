//===- Means.cpp - means of a text, and how sure they are -------------===//

#include "compiler/comparison/Means.h"

#include <algorithm>
#include <cmath>

using namespace baton;
using namespace baton::comparison;

double comparison::studentsQuantile(size_t degreesOfFreedom) {
  // Tables' values for the few, of which the expansion below is not good.
  static constexpr double few[] = {12.706205, 4.302653, 3.182446,
                                   2.776445,  2.570582, 2.446912};
  if (degreesOfFreedom <= std::size(few))
    return few[degreesOfFreedom - 1];
  // Cornish and Fisher's expansion around the normal quantile (Abramowitz and
  // Stegun, 26.7.5).
  const double z = 1.959963985, n = static_cast<double>(degreesOfFreedom);
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z,
               z9 = z7 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n) +
         (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) /
             (92160 * n * n * n * n);
}

TextMean comparison::textMean(llvm::ArrayRef<double> windows) {
  const double count = static_cast<double>(windows.size());
  TextMean result;
  for (double each : windows)
    result.value += each / count;
  if (windows.size() < 2)
    return result;
  double squares = 0;
  for (double each : windows)
    squares += (each - result.value) * (each - result.value);
  result.margin = studentsQuantile(windows.size() - 1) *
                  std::sqrt(squares / (count - 1) / count);
  return result;
}

double comparison::quantile(llvm::ArrayRef<double> sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}
