//===- CubinCache.h - compiled kernels, kept between compilations ---------===//
//
// A folder of files, named by a hash of all that a kernel's cubin depends on.
// The cache is never a reason to fail: what cannot be read, or is not what was
// written, is not there, and what cannot be written is left out.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_CUDA_CUBINCACHE_H
#define BATON_CODEGEN_CUDA_CUBINCACHE_H

#include "codegen/cuda/Nvrtc.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace baton::cuda {

class CubinCache {
public:
  /// Of what is kept the entries used last stay, so many and so large together.
  static constexpr size_t mostEntries = 64;
  static constexpr uint64_t mostBytes = uint64_t(256) << 20;

  /// The user's folder: BATON_CACHE_DIR, else XDG_CACHE_HOME/baton, else
  /// HOME/.cache/baton, as the environment says; empty when it says nothing.
  static std::string userFolder();

  /// A cache in that folder, which need not exist.
  explicit CubinCache(llvm::StringRef folder) : folder(folder) {}

  /// A name for what follows from `items`: equal when all items are.
  static std::string key(llvm::ArrayRef<std::string> items);
  /// Names and contents of all files below a folder, for such a key. Empty when
  /// one of them cannot be read.
  static std::optional<std::vector<std::string>>
  filesBelow(llvm::StringRef folder);

  std::optional<Cubin> find(llvm::StringRef key) const;
  /// Writes beside the entry and renames, so that others see all or nothing.
  void store(llvm::StringRef key, const Cubin &cubin) const;

private:
  std::string file(llvm::StringRef key) const;
  void removeOldest() const;

  std::string folder;
};

} // namespace baton::cuda

#endif // BATON_CODEGEN_CUDA_CUBINCACHE_H
