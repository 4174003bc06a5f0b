//===- Emit.h - from a proved plan to native code -------------------------===//
//
// The CPU target's public interface. A plan becomes one LLVM module that
// defines baton_program (runtime/program.h) and the program's description
// (codegen/plan/Description.h). Every phase is one function baton_phase_<name>,
// in which the bodies of the task library are inlined with constant shapes.
//
// Nothing here prints or exits: errors are one line that names the op at fault.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CPU_EMIT_H
#define BATON_CODEGEN_CPU_EMIT_H

#include "codegen/cpu/Target.h"

#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class LLVMContext;
class Module;
class raw_pwrite_stream;
} // namespace llvm

namespace baton::event {
class ProgramOp;
} // namespace baton::event

namespace baton::plan {
struct ProgramLayout;
} // namespace baton::plan

namespace baton::cpu {

/// The optimised module of `program`, with the task library linked in and,
/// if asked for, sanitizer checks. `metadata` is the text that the executable
/// carries as baton_metadata. The same arguments give the same module.
///
/// Fails when the program has no proof, when a buffer has no storage, when a
/// call does not fit the library function that it names, and when the library
/// cannot be read.
llvm::Expected<std::unique_ptr<llvm::Module>>
emitModule(event::ProgramOp program, llvm::StringRef metadata,
           const Target &target, const TargetOptions &options,
           llvm::LLVMContext &context);

/// The same of the programs by which stages of a pipeline run: in the place of
/// baton_program it has their table, baton_programs.
llvm::Expected<std::unique_ptr<llvm::Module>>
emitModule(llvm::ArrayRef<plan::ProgramLayout> programs,
           llvm::StringRef metadata, const Target &target,
           const TargetOptions &options, llvm::LLVMContext &context);

/// Writes `module` as an object file, position-independent and with one section
/// per function, so that the linker can drop what is not used. `optimization`
/// is that of createTargetMachine.
llvm::Error emitObject(llvm::Module &module, const Target &target,
                       int optimization, llvm::raw_pwrite_stream &stream);

} // namespace baton::cpu

#endif // BATON_CODEGEN_CPU_EMIT_H
