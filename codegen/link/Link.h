//===- Link.h - from objects to one executable ----------------------------===//
//
// Runs the clang++ driver with lld. The executable holds the program, the
// runtime and the C++ library; of the system it needs only the C library.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_LINK_LINK_H
#define BATON_CODEGEN_LINK_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

namespace baton::link {

struct LinkOptions {
  /// "", "thread" or "address"; must be what the object and the archives were
  /// compiled with.
  std::string sanitize;
  /// Static libraries with main() and all that the program calls, users before
  /// what they use.
  std::vector<std::string> archives;
  /// The clang++ that links: a path, or a name to look up in PATH. When empty,
  /// the environment's BATON_CLANGXX, then the one that Baton was built with,
  /// then clang++-19 in PATH.
  std::string driver;
};

/// Writes the executable of `objects`, the bytes of object files, to `output`.
/// It is written beside `output` and then renamed: `output` is either complete
/// or untouched. Errors are one line.
llvm::Error linkExecutable(llvm::ArrayRef<llvm::StringRef> objects,
                           llvm::StringRef output, const LinkOptions &options);

/// Compiles C++ with the same driver and the given options; returns the bytes
/// of the object file. Temporary files lie beside `output`. Errors are one
/// line.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
compileSource(llvm::StringRef source, llvm::StringRef output,
              llvm::ArrayRef<std::string> options, llvm::StringRef driver = "");

} // namespace baton::link

#endif // BATON_CODEGEN_LINK_LINK_H
