//===- grid.cpp - between points of a grid --------------------------------===//

#include "tools/plan/grid.h"

#include <algorithm>
#include <cstddef>

using namespace baton;

double plan::interpolate(const std::vector<const std::vector<double> *> &axes,
                         const std::vector<double> &values,
                         const std::vector<double> &at) {
  // Of each axis: the point below, and how far it is to the next one.
  std::vector<size_t> below(axes.size());
  std::vector<double> part(axes.size());
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const std::vector<double> &points = *axes[axis];
    if (points.size() == 1)
      continue;
    const auto above =
        std::upper_bound(points.begin() + 1, points.end() - 1, at[axis]);
    below[axis] = size_t(above - points.begin()) - 1;
    const double low = points[below[axis]];
    part[axis] = (at[axis] - low) / (*above - low);
  }
  double sum = 0;
  for (size_t corner = 0; corner < size_t(1) << axes.size(); ++corner) {
    double weight = 1;
    size_t place = 0;
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      const bool upper = (corner >> axis) & 1;
      weight *= upper ? part[axis] : 1 - part[axis];
      // There is nothing above a single point, and no weight either.
      place = place * axes[axis]->size() +
              std::min(below[axis] + upper, axes[axis]->size() - 1);
    }
    if (weight != 0)
      sum += weight * values[place];
  }
  return sum;
}
