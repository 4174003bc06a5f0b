//===- calibration.h - what one measured step says of a machine -----------===//

#ifndef BATON_TOOLS_PLAN_CALIBRATION_H
#define BATON_TOOLS_PLAN_CALIBRATION_H

#include "tools/plan/training_step.h"

#include <functional>

namespace baton::plan {

/// The slowness that is most likely, given that a step took `seconds`. Before,
/// logarithms of devices', hosts' and networks' slowness are normal around 0,
/// with deviations of `uncertainty` (of the device's file), 25 and 30 per cent;
/// a measurement deviates by 5. So a step that waits for its devices says
/// something of devices, and one that waits for its hosts of hosts. A step that
/// is further than 1.5 deviations from what was expected counts as one that
/// is 1.5 away: something else was the matter with it.
Slowness calibrate(const std::function<double(const Slowness &)> &predict,
                   double uncertainty, double seconds);

/// How surprising `seconds` are before calibration, by the same deviations:
/// minus twice the logarithm of their density, but for a constant.
double surprise(const std::function<double(const Slowness &)> &predict,
                double uncertainty, double seconds);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_CALIBRATION_H
