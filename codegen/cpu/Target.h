//===- Target.h - the machine that code is generated for ------------------===//

#ifndef BATON_CODEGEN_CPU_TARGET_H
#define BATON_CODEGEN_CPU_TARGET_H

#include "codegen/cpu/Emit.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace baton::cpu {

/// LLVM's code generator for `target`; `optimization` is 0 to 3,
/// of which 1 chooses what compiles fastest, as 0 does.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const Target &target, int optimization);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_TARGET_H
