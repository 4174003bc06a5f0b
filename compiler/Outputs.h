//===- Outputs.h - files that are complete or not there ------------------===//

#ifndef BATON_COMPILER_OUTPUTS_H
#define BATON_COMPILER_OUTPUTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace baton::compiler {

/// Writes `bytes` to a file beside `path` and renames it; to standard output
/// when `path` is empty or "-". Errors name the path.
llvm::Error writeOutput(llvm::StringRef path, llvm::StringRef bytes);

/// An error unless writeOutput could write there now.
llvm::Error checkOutput(llvm::StringRef path);

} // namespace baton::compiler

#endif // BATON_COMPILER_OUTPUTS_H
