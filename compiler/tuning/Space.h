//===- Space.h - what may be decided otherwise about a model --------------===//

#ifndef BATON_COMPILER_TUNING_SPACE_H
#define BATON_COMPILER_TUNING_SPACE_H

#include "compiler/TargetDescription.h"
#include "dialects/Event/Event.h"

#include <string>

namespace baton::tuning {

/// The default schedule, as `text`, with alternatives for what the programs of
/// its plan have: other tiles of linears, attention and the rest, linears
/// apart, norms as phases, neighbours merged that do not wait for one another,
/// other worker maps for each kind of phase, events, prefetches.
std::string openSchedule(const std::string &text,
                         llvm::ArrayRef<compiler::TargetDescription> targets,
                         llvm::ArrayRef<event::ProgramOp> programs);

} // namespace baton::tuning

#endif // BATON_COMPILER_TUNING_SPACE_H
