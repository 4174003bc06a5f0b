//===- SourceFile.h - MLIR that somebody wrote ----------------------------===//

#ifndef BATON_COMPILER_SOURCEFILE_H
#define BATON_COMPILER_SOURCEFILE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace baton::compiler {

/// Reads a file to parse. Fails for devices, which may never end, and for text
/// that nests so deeply that the parser, which recurses, would run out of
/// stack.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readSourceFile(const std::string &path);

} // namespace baton::compiler

#endif // BATON_COMPILER_SOURCEFILE_H
