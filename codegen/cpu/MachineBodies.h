//===- MachineBodies.h - functions that depend on the machine -------------===//

#ifndef BATON_CODEGEN_CPU_MACHINEBODIES_H
#define BATON_CODEGEN_CPU_MACHINEBODIES_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace baton::cpu {

/// Gives the functions of codegen/cpu/library/dots.h and registers.h, as far as
/// the module calls them, the body that the machine has instructions for, and
/// has them inlined. No bits depend on them: sums of dots are exact, or rounded
/// in one order.
void chooseMachineBodies(llvm::Module &module,
                         const llvm::TargetMachine &machine);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_MACHINEBODIES_H
