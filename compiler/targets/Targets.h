//===- Targets.h - the targets that there are -----------------------------===//

#ifndef BATON_COMPILER_TARGETS_TARGETS_H
#define BATON_COMPILER_TARGETS_TARGETS_H

#include "compiler/Target.h"

namespace baton::compiler {

/// All targets: one of each folder here, in the order in which errors list
/// them, and then what was registered.
llvm::ArrayRef<std::unique_ptr<Target>> allTargets();

/// Adds a target. No compilation runs at that time.
void registerTarget(std::unique_ptr<Target> target);

/// The target that --target names; an error line for a name that is unknown.
llvm::Expected<const Target &> findTarget(llvm::StringRef name);

/// Describes the target of `options`.
llvm::Expected<std::vector<TargetDescription>>
readTarget(const CompileOptions &options, const Installation &installation);

} // namespace baton::compiler

#endif // BATON_COMPILER_TARGETS_TARGETS_H
