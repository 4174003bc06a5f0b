//===- CalledBodies.h - bodies of tasks with shapes as constants ----------===//

#ifndef BATON_CODEGEN_CPU_CALLEDBODIES_H
#define BATON_CODEGEN_CPU_CALLEDBODIES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace baton::cpu {

/// Calls of the task library's bodies. Each callee and list of constant
/// operands is a function, which the phases share that call it: a body takes
/// long to compile and its call no time beside a task.
class CalledBodies {
public:
  explicit CalledBodies(llvm::Module &module) : module(module) {}

  void call(llvm::IRBuilderBase &builder, llvm::Function *callee,
            llvm::ArrayRef<llvm::Value *> arguments);

  /// What only one phase calls goes into it, so that profiles name the phase.
  /// No calls come after this one.
  void finish();

private:
  llvm::Module &module;
  llvm::StringMap<llvm::Function *> functions;
};

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_CALLEDBODIES_H
