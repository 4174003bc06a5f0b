//===- Nvrtc.h - from CUDA C++ to a cubin ---------------------------------===//
//
// NVRTC compiles without a GPU and without a driver. The library is opened when
// it is needed, so that Baton is built and used for other targets without it.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_NVRTC_H
#define BATON_CODEGEN_CUDA_NVRTC_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace baton::cuda {

struct CubinOptions {
  /// "sm_80", "sm_90a", ...
  std::string architecture;
  /// Where `#include`s are looked up.
  std::string headers;
  /// Folders with libnvrtc.so.*, looked at before the system's.
  std::vector<std::string> toolkits;
  /// The folder of a link::Cache; none when empty.
  std::string cache = {};
  /// More folders for `#include`s.
  std::vector<std::string> moreHeaders = {};
  /// 3, or 2 or 1: compiled faster, for code that runs slower.
  int optimization = 3;
};

struct Cubin {
  std::vector<char> bytes;
  /// Of a thread, as ptxas says: the most that a kernel uses, and the sum of
  /// what is spilled.
  int64_t registers = 0, spilledBytes = 0;
  /// Kernels and functions in which it lets no multiplications by warpgroups
  /// overlap, as it warns.
  int64_t serialized = 0;
  /// Static shared memory of a block, in bytes, at most.
  int64_t sharedBytes = 0;
  /// It was not compiled now, but found in the cache.
  bool cached = false;
};

/// Compiles a kernel's source, or finds what that gave before. Fails, in one
/// line, when NVRTC is not found, does not know the architecture, or refuses
/// the source.
llvm::Expected<Cubin> compileCubin(llvm::StringRef source,
                                   const CubinOptions &options);

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_NVRTC_H
