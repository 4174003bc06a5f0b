//===- grid.h - between points of a grid ----------------------------------===//

#ifndef BATON_TOOLS_PLAN_GRID_H
#define BATON_TOOLS_PLAN_GRID_H

#include <vector>

namespace baton::plan {

/// Linear along each axis between the two points around it, so that a point of
/// the grid has its own value; beyond the last two as between these. Axes
/// ascend; values of the last one are next to each other.
double interpolate(const std::vector<const std::vector<double> *> &axes,
                   const std::vector<double> &values,
                   const std::vector<double> &at);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_GRID_H
