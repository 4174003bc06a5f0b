//===- ByteProducts.h - products of bytes by a CPU's instructions ---------===//

#ifndef BATON_CODEGEN_CPU_BYTEPRODUCTS_H
#define BATON_CODEGEN_CPU_BYTEPRODUCTS_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace baton::cpu {

/// Gives the functions of codegen/cpu/library/dots.h, as far as the module
/// calls them, the body that the machine has instructions for, and has them
/// inlined. Sums are exact, so that bits are the same on all.
void chooseByteProducts(llvm::Module &module,
                        const llvm::TargetMachine &machine);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_BYTEPRODUCTS_H
