//===- memory.h - what a rank's bytes hold, and who touches them ----------===//

#ifndef BATON_TOOLS_CHECK_PLAN_MEMORY_H
#define BATON_TOOLS_CHECK_PLAN_MEMORY_H

#include "tools/check-plan/run.h"

namespace baton::check {

/// Looks at a rank's programs, one after the other as they end, in its memory.
/// Tasks are looked at in order of rank, which is what a plan means: each reads
/// what it finds then, and who touches a region later has to come later.
std::function<void(const ProgramRun &)> follow_memory(const Regions &regions,
                                                      Findings &findings);

} // namespace baton::check

#endif // BATON_TOOLS_CHECK_PLAN_MEMORY_H
