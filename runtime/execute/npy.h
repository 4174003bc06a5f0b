//===- npy.h - writes arrays that numpy.load reads -----------------------===//
//
// Format version 1.0 (https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html), row-major, little-endian.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_EXECUTE_NPY_H
#define BATON_RUNTIME_EXECUTE_NPY_H

#include "runtime/files/temporary.h"

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

/// An array that grows along its first dimension, in a temporary file until it
/// is published. Every failure is an Error that names the path.
class NpyWriter {
public:
  NpyWriter(std::filesystem::path path, NpyType type,
            std::vector<uint64_t> row_shape);

  /// Appends rows, stored one after the other.
  void append(const void *data, uint64_t rows);
  /// Forgets all rows, and changes the shape of those to come.
  void restart(std::vector<uint64_t> row_shape);
  /// After the last row: a full disk shows here at the latest.
  void complete();
  /// Completes the array and puts it into its place.
  void publish();

  const std::filesystem::path &path() const { return file.target(); }
  /// Rows so far, then the shape of a row.
  std::vector<uint64_t> shape() const;

private:
  void set_row_shape(std::vector<uint64_t> shape);
  std::string header() const;

  TemporaryFile file;
  NpyType type;
  std::vector<uint64_t> row_shape;
  uint64_t row_bytes;
  uint64_t header_bytes;
  uint64_t rows = 0;
  bool completed = false;
};

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_NPY_H
