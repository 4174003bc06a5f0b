//===- npy.h - writes arrays that numpy.load reads -----------------------===//
//
// Format version 1.0 (https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html), row-major, little-endian.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_DECODE_NPY_H
#define BATON_RUNTIME_DECODE_NPY_H

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

enum class NpyType { F32, F64, I32, I64 };
size_t npy_element_bytes(NpyType type);
/// "float32", ...
std::string_view npy_type_name(NpyType type);

/// An array that grows along its first dimension. It is written beside its
/// final place and renamed at the end, so that a reader sees all of it or
/// nothing. The file is open only during a call: a dump has more files than a
/// process may hold open.
class NpyWriter {
public:
  /// Creates the file. Throws Error, naming the path, when that is refused, or
  /// when `path` is something else than a plain file that may be replaced.
  NpyWriter(std::filesystem::path path, NpyType type,
            std::vector<uint64_t> row_shape);
  NpyWriter(NpyWriter &&other) noexcept;
  NpyWriter(const NpyWriter &) = delete;
  NpyWriter &operator=(const NpyWriter &) = delete;
  /// Removes the file unless publish() has been called.
  ~NpyWriter();

  /// Appends rows, stored one after the other. Throws Error, as all writes.
  void append(const void *data, uint64_t rows);
  /// Forgets all rows, and changes the shape of those to come.
  void restart(std::vector<uint64_t> row_shape);
  /// Puts the array into its place.
  void publish();

  const std::filesystem::path &path() const { return target; }
  /// Rows so far, then the shape of a row.
  std::vector<uint64_t> shape() const;

private:
  void set_row_shape(std::vector<uint64_t> shape);
  std::string header() const;
  void write(const void *data, uint64_t bytes, uint64_t offset, int flags);

  std::filesystem::path target;
  std::filesystem::path temporary;
  NpyType type;
  std::vector<uint64_t> row_shape;
  uint64_t row_bytes;
  uint64_t header_bytes;
  uint64_t rows = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_DECODE_NPY_H
