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
  /// A shared object for this process instead of an executable: it has the
  /// process's C++ library.
  bool isShared = false;
};

/// The driver that LinkOptions::driver says; fails when there is none.
llvm::Expected<std::string> findDriver(llvm::StringRef wanted = "");

/// Writes the executable of `objects`, the bytes of object files, to `output`.
/// It is written beside `output` and then renamed: `output` is either complete
/// or untouched. Errors are one line.
llvm::Error linkExecutable(llvm::ArrayRef<llvm::StringRef> objects,
                           llvm::StringRef output, const LinkOptions &options);

struct SourceOptions {
  std::vector<std::string> flags;
  /// Where `#include`s are looked up.
  std::string headers;
  /// As LinkOptions::driver.
  std::string driver = {};
  /// The folder of a Cache; none when empty.
  std::string cache = {};
  /// The processor that flags may call native.
  std::string processor = {};
};

struct Object {
  std::string bytes;
  /// It was not compiled now, but found in the cache.
  bool cached = false;
};

/// Compiles C++ with the same driver, or finds what that gave before. Temporary
/// files lie beside `output`. Errors are one line.
llvm::Expected<Object> compileSource(llvm::StringRef source,
                                     llvm::StringRef output,
                                     const SourceOptions &options);

} // namespace baton::link

#endif // BATON_CODEGEN_LINK_LINK_H
