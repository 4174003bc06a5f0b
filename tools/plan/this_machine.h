//===- this_machine.h - the machine at hand as devices --------------------===//

#ifndef BATON_TOOLS_PLAN_THIS_MACHINE_H
#define BATON_TOOLS_PLAN_THIS_MACHINE_H

#include "tools/plan/device.h"

namespace baton::plan {

/// One of so many ranks that share this machine, each with so many workers: its
/// part of the memory that is free, of the multiply-adds and of the bytes a
/// second that are measured now. What programs reach of both is assumed.
Device this_machine_cut(int64_t ranks, unsigned workers);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_THIS_MACHINE_H
