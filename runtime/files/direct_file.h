//===- direct_file.h - a file past the system's cache ---------------------===//
//
// What is read and written so takes no memory but the caller's, and the time
// that it takes is the disk's. Where a file system has no such reads, what it
// keeps of the file is given back after each.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_FILES_DIRECT_FILE_H
#define BATON_RUNTIME_FILES_DIRECT_FILE_H

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace baton {

/// Every failure is an Error that names the file or its folder. Calls may come
/// from several threads at a time.
class DirectFile {
public:
  /// Addresses, offsets and sizes are multiples of it.
  static constexpr uint64_t unit = 4096;

  /// An existing file, to read.
  explicit DirectFile(const std::filesystem::path &path);
  /// Zeros, so many, in a file without a name in `folder`. `make`, if given,
  /// fills it first: it gets the descriptor, through the system's cache.
  /// `flag` is what the user may name another folder with.
  DirectFile(const std::filesystem::path &folder, uint64_t bytes,
             const std::string &flag,
             const std::function<void(int descriptor)> &make = {});
  DirectFile(const DirectFile &) = delete;
  DirectFile &operator=(const DirectFile &) = delete;
  ~DirectFile();

  /// What is behind the file's end stays as it is.
  void read(std::byte *to, uint64_t bytes, uint64_t offset) const;
  void write(const std::byte *from, uint64_t bytes, uint64_t offset) const;

private:
  void check_place(const std::string &advice) const;
  void pass_cache();

  std::string name;
  int descriptor = -1;
  bool is_direct = false;
};

/// All bytes, to a descriptor at an offset. Throws Error, which begins with
/// `flag`.
void write_whole(int descriptor, const void *data, uint64_t bytes,
                 uint64_t offset, const std::string &flag = "--offload-dir");

} // namespace baton

#endif // BATON_RUNTIME_FILES_DIRECT_FILE_H
