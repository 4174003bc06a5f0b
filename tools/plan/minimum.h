//===- minimum.h - where a function is least ------------------------------===//

#ifndef BATON_TOOLS_PLAN_MINIMUM_H
#define BATON_TOOLS_PLAN_MINIMUM_H

#include <functional>

namespace baton::plan {

/// Of a function that falls and then rises, between two points; by golden
/// sections, up to 1e-12.
double minimum(double from, double to,
               const std::function<double(double)> &function);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_MINIMUM_H
