//===- registers.h - the vector registers of the chosen CPU ---------------===//

#ifndef BATON_CODEGEN_CPU_LIBRARY_REGISTERS_H
#define BATON_CODEGEN_CPU_LIBRARY_REGISTERS_H

#include <stdint.h>

/// Whether there are 32 of them, as with AVX-512, and not 16. Code generation
/// says so (codegen/cpu/MachineBodies.h); registers.cpp says 0.
extern "C" int32_t baton_has_many_registers();

#endif // BATON_CODEGEN_CPU_LIBRARY_REGISTERS_H
