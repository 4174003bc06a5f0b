//===- Cache.h - what was compiled, kept between compilations -------------===//
//
// And what was measured of the machine. A folder of files, named by a hash of
// all that their bytes depend on. The cache is never a reason to fail: what
// cannot be read, or is not what was written, is not there, and what cannot be
// written is left out.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_CODEGEN_LINK_CACHE_H
#define BATON_CODEGEN_LINK_CACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace baton::link {

class Cache {
public:
  /// Of what is kept the entries used last stay, so many and so large together.
  static constexpr size_t mostEntries = 4096;
  static constexpr uint64_t mostBytes = uint64_t(1) << 30;

  /// What an entry holds, which its file's suffix says: only files of these
  /// suffixes are ever removed.
  enum class Kind { cubin, object, figures };

  /// The user's folder: BATON_CACHE_DIR, else XDG_CACHE_HOME/baton, else
  /// HOME/.cache/baton, as the environment says; empty when it says nothing.
  static std::string userFolder();

  /// A cache in that folder, which need not exist. Without a folder it finds
  /// and keeps nothing.
  explicit Cache(llvm::StringRef folder) : folder(folder) {}

  /// A name for what follows from `items`: equal when all items are.
  static std::string key(llvm::ArrayRef<llvm::StringRef> items);
  /// Names and contents of all files below a folder, for such a key. Empty when
  /// one of them cannot be read.
  static std::optional<std::vector<std::string>>
  filesBelow(llvm::StringRef folder);
  /// For a key, a file that is too large to be read each time: its path, size
  /// and time of change. Empty when it is not there.
  static std::optional<std::string> identityOf(llvm::StringRef file);

  std::optional<std::string> find(Kind kind, llvm::StringRef key) const;
  /// Writes beside the entry and renames, so that others see all or nothing.
  void store(Kind kind, llvm::StringRef key, llvm::StringRef bytes) const;

private:
  std::string file(Kind kind, llvm::StringRef key) const;
  void removeOldest() const;

  std::string folder;
};

} // namespace baton::link

#endif // BATON_CODEGEN_LINK_CACHE_H
