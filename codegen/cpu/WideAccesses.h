//===- WideAccesses.h - vectors that the thread sanitizer would not see ---===//

#ifndef BATON_CODEGEN_CPU_WIDEACCESSES_H
#define BATON_CODEGEN_CPU_WIDEACCESSES_H

#include "llvm/IR/PassManager.h"
#include "llvm/IR/Value.h"

namespace baton::cpu {

/// Whether only the thread that runs the function can reach the address.
bool isPrivate(const llvm::Value *address);

/// LLVM's thread sanitizer instruments loads and stores of 1, 2, 4, 8 and 16
/// bytes and passes over all others, which is most of what task bodies do:
/// their vectors have 32 or 64. This pass, run before it, announces those
/// accesses to the sanitizer's runtime as ranges.
class WideAccessPass : public llvm::PassInfoMixin<WideAccessPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
  static bool isRequired() { return true; }
};

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_WIDEACCESSES_H
