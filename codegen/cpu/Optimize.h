//===- Optimize.h - from emitted to optimised IR --------------------------===//

#ifndef BATON_CODEGEN_CPU_OPTIMIZE_H
#define BATON_CODEGEN_CPU_OPTIMIZE_H

#include "codegen/cpu/Target.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace baton::cpu {

/// Gives every function its target and sanitizer, keeps only what
/// runtime/program.h names visible, and runs LLVM's default pipeline and then
/// the sanitizer's instrumentation.
llvm::Error optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     const TargetOptions &options);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_OPTIMIZE_H
