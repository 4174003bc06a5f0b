//===- ProgramEmitter.h - the persistent kernel's step loop ---------------===//

#ifndef BATON_CODEGEN_CPU_PROGRAMEMITTER_H
#define BATON_CODEGEN_CPU_PROGRAMEMITTER_H

#include "codegen/cpu/PhaseEmitter.h"

namespace baton::cpu {

/// Defines baton_program and the functions of `program`'s phases.
llvm::Error emitProgram(const Emission &emission, event::ProgramOp program,
                        llvm::StringRef symbol);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_PROGRAMEMITTER_H
