//===- registers.cpp - the vector registers of the chosen CPU -------------===//

#include "codegen/cpu/library/registers.h"

// Not inlined before code generation has chosen its body.
extern "C" __attribute__((noinline)) int32_t baton_has_many_registers() {
  return 0;
}
