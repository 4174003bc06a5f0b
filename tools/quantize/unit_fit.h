//===- unit_fit.h - the scale of a few weights that share it --------------===//
//
// A unit's weight is scale * number + offset, of whole numbers from `low` to
// `high`. The functions here fit scale and offset in real numbers; what a
// format rounds them to is up to its encoder.
//
// Errors are sums of squares, each times the importance of its weight.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_UNIT_FIT_H
#define BATON_TOOLS_QUANTIZE_UNIT_FIT_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace baton {

/// What the numbers of a unit can be.
struct NumberRange {
  float low, high;
};

struct UnitFit {
  float scale = 0, offset = 0;
};

/// The nearest whole number, ties to even, of less than 2^22.
inline float nearest(float value) {
  constexpr float magic = 12582912.0f; // 1.5 * 2^23
  return (value + magic) - magic;
}

/// The number of a weight by the scale's inverse.
inline float number_of(float weight, float offset, float inverse,
                       NumberRange range) {
  return nearest(
      std::clamp((weight - offset) * inverse, range.low, range.high));
}

inline float inverse_of(float scale) {
  const float inverse = scale != 0 ? 1 / scale : 0;
  return std::isfinite(inverse) ? inverse : 0;
}

/// Weights, and how much the squared error of each counts.
struct Weighted {
  const float *weights, *importance;

  Weighted from(uint64_t first) const {
    return {weights + first, importance + first};
  }
};

/// The squared error of a unit by a scale and an offset.
template <unsigned size>
float error_of(Weighted unit, UnitFit fit, NumberRange range) {
  const auto [weights, importance] = unit;
  const float inverse = inverse_of(fit.scale);
  float sum = 0;
  for (unsigned i = 0; i < size; ++i) {
    const float number = number_of(weights[i], fit.offset, inverse, range);
    const float error = weights[i] - (fit.scale * number + fit.offset);
    sum += importance[i] * (error * error);
  }
  return sum;
}

/// The weight that is largest in magnitude, with its sign; the first of
/// several.
template <unsigned size> float largest_of(const float *weights) {
  // Not by comparing with the largest weight itself: of that, clang 19 makes
  // code at -O3 that finds another one in 3 % of units of 16.
  float most = 0;
  unsigned place = 0;
  for (unsigned i = 0; i < size; ++i)
    if (const float magnitude = std::fabs(weights[i]); magnitude > most) {
      most = magnitude;
      place = i;
    }
  return weights[place];
}

/// How far beyond its end, or within, a range's largest weight is put: from -1
/// to 1.
inline constexpr int range_trials = 10;

/// The scale, without an offset, of the least squared error that was found.
template <unsigned size> UnitFit fit_scale(Weighted unit, NumberRange range) {
  const auto [weights, importance] = unit;
  const float largest = largest_of<size>(weights);
  UnitFit best;
  float most = 0;
  if (largest == 0)
    return best;
  for (const float end : {range.low, range.high})
    for (int trial = -range_trials; trial <= range_trials; ++trial) {
      const float inverse =
          (end + static_cast<float>(trial) / range_trials) / largest;
      float products = 0, squares = 0;
      for (unsigned i = 0; i < size; ++i) {
        const float number = number_of(weights[i], 0, inverse, range);
        products += importance[i] * (weights[i] * number);
        squares += importance[i] * (number * number);
      }
      // What is left of the sum of squares is the error.
      const float gain = squares > 0 ? products * products / squares : 0;
      if (gain > most) {
        most = gain;
        best.scale = products / squares;
      }
    }
  return best;
}

/// The scale and offset that fit the numbers by which `trial` has the weights.
/// An offset above `most_offset` is that.
template <unsigned size>
UnitFit refit(Weighted unit, UnitFit trial, NumberRange range,
              float most_offset) {
  const auto [weights, importance] = unit;
  const float inverse = inverse_of(trial.scale);
  float count = 0, numbers = 0, squares = 0, products = 0, sum = 0;
  for (unsigned i = 0; i < size; ++i) {
    const float number = number_of(weights[i], trial.offset, inverse, range);
    count += importance[i];
    numbers += importance[i] * number;
    squares += importance[i] * (number * number);
    products += importance[i] * (weights[i] * number);
    sum += importance[i] * weights[i];
  }
  const float determinant = count * squares - numbers * numbers;
  if (determinant <= 0)
    return trial;
  UnitFit fit = {(count * products - numbers * sum) / determinant,
                 (squares * sum - numbers * products) / determinant};
  if (fit.offset > most_offset)
    fit = {(products - most_offset * numbers) / squares, most_offset};
  return fit.scale > 0 ? fit : trial;
}

/// Scale, which is positive, and offset, at most `most_offset`, of the least
/// squared error that was found; numbers begin with 0.
template <unsigned size>
UnitFit fit_affine(Weighted unit, NumberRange range, float most_offset) {
  const auto [low, high] =
      std::minmax_element(unit.weights, unit.weights + size);
  const float least = std::min(*low, most_offset);
  UnitFit best = {(*high - least) / range.high, least};
  if (best.scale <= 0)
    return {0, least};
  float error = error_of<size>(unit, best, range);
  for (int trial = -range_trials; trial <= range_trials; ++trial) {
    UnitFit fit = {(*high - least) /
                       (range.high + static_cast<float>(trial) / range_trials),
                   least};
    for (int round = 0; round < 2; ++round) {
      fit = refit<size>(unit, fit, range, most_offset);
      const float own = error_of<size>(unit, fit, range);
      if (own < error) {
        error = own;
        best = fit;
      }
    }
  }
  return best;
}

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_UNIT_FIT_H
