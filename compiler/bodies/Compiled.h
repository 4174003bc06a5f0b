//===- Compiled.h - a task body that can be called
//-------------------------===//
//
// The code is the one that programs have: the body is compiled by the CPU's
// code generator, and its object is loaded by LLVM's JIT, which is in the
// library that batonc is linked with anyway. A shared object would need a
// linker and a temporary file.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_BODIES_COMPILED_H
#define BATON_COMPILER_BODIES_COMPILED_H

#include "compiler/bodies/Body.h"

#include "llvm/ADT/FunctionExtras.h"
#include "llvm/Support/Error.h"

namespace baton::checks {

/// Runs one task. Takes what a call passes, argument by argument
/// (Memory::append).
using Call = llvm::unique_function<void(const std::vector<int64_t> &words)>;

/// Files with the bitcode of the CPU's task library, in F32 and F64.
struct TaskLibraries {
  std::string inF32, inF64;
};

/// The CPU's code of a body.
llvm::Expected<Call> compileForCpu(const Body &body,
                                   const TaskLibraries &libraries);

/// A call that also passes scratch, to a body that takes some: as many bytes as
/// a program reserves for the task, with other contents each time.
llvm::Expected<Call> withScratch(const Body &body, Call call);

/// What an installation has for the emulation of devices, and a folder of
/// what was compiled before, which may be empty.
struct EmulationOptions {
  std::string headers, archive, cache;
};
/// A body as CUDA C++ (cuda::printBodies), compiled for the emulation: by the
/// same compiler with the same flags as kernels are, into a shared object.
llvm::Expected<Call> compileForEmulation(const Body &body,
                                         const std::string &text,
                                         const std::string &function,
                                         const EmulationOptions &options);

} // namespace baton::checks

#endif // BATON_COMPILER_BODIES_COMPILED_H
