//===- weight_file.h - a mapped file of tensors --------------------------===//
//
// What the formats have in common: a read-only mapping, a header that has been
// checked in full, and tensors that lie inside the file and overlap no other.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_WEIGHT_FILE_H
#define BATON_RUNTIME_WEIGHTS_WEIGHT_FILE_H

#include "runtime/weights/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace baton {

/// As with every mapped file, truncating the file while it is in use ends the
/// process with a bus error.
class WeightFile {
public:
  WeightFile(const WeightFile &) = delete;
  WeightFile &operator=(const WeightFile &) = delete;
  virtual ~WeightFile();

  const std::filesystem::path &path() const { return file_path; }
  uint64_t file_bytes() const { return size; }
  /// Last change of contents or attributes, nanoseconds since 1970. Other than
  /// the time of modification, nobody sets it back, as unpacking and copying
  /// do.
  int64_t changed() const { return change_time; }
  /// All that says what the tensors are.
  std::string_view header() const { return header_text; }
  const TensorMap &tensors() const { return tensor_map; }

  /// Asks the system to read a tensor's pages ahead, its companions' too.
  void prefetch(const Tensor &tensor) const;
  /// Drops a tensor's pages from this process; reading them again works.
  void release(const Tensor &tensor) const;

protected:
  /// Maps the file. Throws Error when it cannot be read, is no regular file, or
  /// has less than `least` bytes, too few for a file of `kind`.
  WeightFile(const std::filesystem::path &path, uint64_t least,
             std::string_view kind);

  const std::byte *base = nullptr;
  uint64_t size = 0;
  std::string_view header_text;
  TensorMap tensor_map;

private:
  std::filesystem::path file_path;
  int64_t change_time = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_WEIGHT_FILE_H
