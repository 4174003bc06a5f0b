//===- ObjectKey.h - what an object's bytes depend on ---------------------===//

#ifndef BATON_COMPILER_TARGETS_CPU_OBJECTKEY_H
#define BATON_COMPILER_TARGETS_CPU_OBJECTKEY_H

#include "codegen/cpu/Emit.h"
#include "codegen/plan/ProgramLayout.h"

#include <optional>
#include <string>

namespace baton::compiler {

/// The key, in a link::Cache, of the object that cpu::emitModule and
/// cpu::emitObject make of these arguments. It also covers the task library's
/// bitcode, Baton's code generator and LLVM. Empty when one of these cannot be
/// read.
std::optional<std::string>
objectKey(llvm::ArrayRef<plan::ProgramLayout> layouts, llvm::StringRef metadata,
          const cpu::Target &target, const cpu::TargetOptions &options);

} // namespace baton::compiler

#endif // BATON_COMPILER_TARGETS_CPU_OBJECTKEY_H
