//===- Targets.h - the targets that Baton comes with ----------------------===//

#ifndef BATON_COMPILER_TARGETS_TARGETS_H
#define BATON_COMPILER_TARGETS_TARGETS_H

#include "compiler/Target.h"

namespace baton::compiler {

/// One of each folder here, in the order in which errors list them.
std::vector<std::unique_ptr<Target>> builtInTargets();

} // namespace baton::compiler

#endif // BATON_COMPILER_TARGETS_TARGETS_H
