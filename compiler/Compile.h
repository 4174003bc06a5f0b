//===- Compile.h - from a model to an executable --------------------------===//
//
// The library behind batonc: everything but the parsing of its command line.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_COMPILE_H
#define BATON_COMPILER_COMPILE_H

#include "compiler/Installation.h"
#include "compiler/Options.h"
#include "dialects/Event/Event.h"

#include "llvm/Support/Error.h"

namespace baton::compiler {

/// Compiles; on failure the error is one line that says what is at fault, and
/// `output` is untouched.
llvm::Error compile(const CompileOptions &options,
                    const Installation &installation);

/// The same from plans on, of one model, which are taken as they are: their
/// proofs are not checked. The stage is one that comes after plans.
llvm::Error compilePrograms(llvm::ArrayRef<event::ProgramOp> programs,
                            const CompileOptions &options,
                            const Installation &installation);

} // namespace baton::compiler

#endif // BATON_COMPILER_COMPILE_H
