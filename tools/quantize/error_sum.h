//===- error_sum.h - what encoding costs a tensor -------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_ERROR_SUM_H
#define BATON_TOOLS_QUANTIZE_ERROR_SUM_H

#include "runtime/error.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace baton {

/// Sums of squares, of weights and of what they became.
class ErrorSum {
public:
  /// Throws Error, of the tensor with this name, where a weight or its error is
  /// no number.
  void add(const float *weights, const float *numbers, uint64_t count,
           const std::string &name) {
    for (uint64_t i = 0; i < count; ++i) {
      const double weight = double(weights[i]),
                   error = weight - double(numbers[i]);
      if (!std::isfinite(error))
        throw Error(name + (std::isfinite(weight)
                                ? " has weights that are too large for the "
                                  "format"
                                : " has weights that are no numbers"));
      weight_squares += weight * weight;
      error_squares += error * error;
    }
  }

  /// Root of the mean square error over that of the weights.
  static double relative(const std::vector<ErrorSum> &sums) {
    double weights = 0, errors = 0;
    for (const ErrorSum &each : sums) {
      weights += each.weight_squares;
      errors += each.error_squares;
    }
    return weights > 0 ? std::sqrt(errors / weights) : 0;
  }

private:
  double weight_squares = 0, error_squares = 0;
};

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_ERROR_SUM_H
