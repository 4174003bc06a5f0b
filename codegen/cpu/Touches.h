//===- Touches.h - tasks say what they load and store ---------------------===//

#ifndef BATON_CODEGEN_CPU_TOUCHES_H
#define BATON_CODEGEN_CPU_TOUCHES_H

#include "llvm/IR/PassManager.h"

namespace baton::cpu {

/// Before each access to memory that other tasks reach, a call of the runtime's
/// baton_touch (runtime/program.h), if baton_touches_wanted. Run last before
/// the address sanitizer, on what optimisation has left of the accesses, so
/// that the runtime knows a stray one before the program ends because of it.
class TouchPass : public llvm::PassInfoMixin<TouchPass> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
  static bool isRequired() { return true; }
};

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_TOUCHES_H
