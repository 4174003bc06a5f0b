//===- Journal.h - what a search has found so far, in a file --------------===//
//
// So that a search goes on where it was interrupted, and measures nothing
// twice.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_COMPILER_TUNING_JOURNAL_H
#define BATON_COMPILER_TUNING_JOURNAL_H

#include "compiler/tuning/Search.h"

namespace baton::tuning {

class Journal {
public:
  /// In that file, of a search that `key` tells from others. Reads what is
  /// there; fails where that is of another search, or is no journal.
  static llvm::Expected<Journal> open(std::string path, std::string key);

  const std::vector<Race> &races() const { return kept; }
  /// Adds a race and writes the file, all of it or nothing.
  llvm::Error add(const Race &race);
  /// Removes the file.
  void remove() const;

private:
  Journal(std::string path, std::string key)
      : path(std::move(path)), key(std::move(key)) {}

  std::string path, key;
  std::vector<Race> kept;
};

} // namespace baton::tuning

#endif // BATON_COMPILER_TUNING_JOURNAL_H
