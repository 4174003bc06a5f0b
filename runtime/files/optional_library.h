//===- optional_library.h - a library that is opened at run time ----------===//

#ifndef BATON_RUNTIME_FILES_OPTIONAL_LIBRARY_H
#define BATON_RUNTIME_FILES_OPTIONAL_LIBRARY_H

#include <string>
#include <type_traits>
#include <vector>

namespace baton {

/// What to open, and how to speak of it.
struct OptionalLibraryName {
  /// "NCCL", and what it is for: a clause between commas, or nothing.
  std::string name, purpose;
  /// The environment variable that names its file.
  const char *variable;
  /// What it is called, the best one first.
  std::vector<std::string> files;
  /// What follows "is too old: it lacks ...; this program needs".
  std::string needed;
};

/// A library of a CUDA toolkit's, or beside one; it stays open.
class OptionalLibrary {
public:
  /// Opens the file that the variable names, or else the first one that there
  /// is, on the loader's path or in a toolkit. Throws Error when there is none.
  explicit OptionalLibrary(OptionalLibraryName name);

  const std::string &file() const { return opened_file; }

  /// Throws Error when the library lacks it.
  template <typename Function>
  void resolve(const char *symbol, Function &function) const {
    function =
        reinterpret_cast<std::remove_reference_t<Function>>(address_of(symbol));
  }

private:
  void *address_of(const char *symbol) const;

  OptionalLibraryName name;
  void *handle = nullptr;
  std::string opened_file;
};

} // namespace baton

#endif // BATON_RUNTIME_FILES_OPTIONAL_LIBRARY_H
