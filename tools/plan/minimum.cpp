//===- minimum.cpp - where a function is least ----------------------------===//

#include "tools/plan/minimum.h"

#include <cmath>

double baton::plan::minimum(double from, double to,
                            const std::function<double(double)> &function) {
  const double section = (std::sqrt(5.0) - 1) / 2;
  double left = to - section * (to - from);
  double right = from + section * (to - from);
  double at_left = function(left), at_right = function(right);
  for (int round = 0; round < 200 && to - from > 1e-12; ++round) {
    if (at_left < at_right) {
      to = right;
      right = left;
      at_right = at_left;
      left = to - section * (to - from);
      at_left = function(left);
    } else {
      from = left;
      left = right;
      at_left = at_right;
      right = from + section * (to - from);
      at_right = function(right);
    }
  }
  return (from + to) / 2;
}
