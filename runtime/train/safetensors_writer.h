//===- safetensors_writer.h - writes files that safetensors.h reads ------===//
//
// Laid out as the reference implementation does it: tensors of wide elements
// first, those of equal ones by name, and the header padded with spaces to a
// multiple of 8 bytes, so that every tensor is aligned to its elements.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_SAFETENSORS_WRITER_H
#define BATON_RUNTIME_TRAIN_SAFETENSORS_WRITER_H

#include "runtime/train/checked_file.h"
#include "runtime/weights/data_type.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace baton {

/// A tensor to be written, of elements of whole bytes.
struct TensorSource {
  std::string name;
  DataType type;
  /// Empty for a single element; an extent of 0 is allowed.
  std::vector<uint64_t> shape;
  /// The elements, row-major; null when `read` delivers them.
  const void *data = nullptr;
  /// Writes `count` rows, beginning with row `first`, to `destination`,
  /// row-major. A row is everything behind the first dimension; a tensor
  /// without dimensions has one. Called in ascending order until all rows have
  /// been delivered, by the thread that writes. For weights that are kept in
  /// another order than the file's.
  std::function<void(uint64_t first, uint64_t count, std::byte *destination)>
      read = {};
  /// The data lies in memory that system calls may not be given (PagedRegion).
  bool is_paged = false;
};

/// In the order in which a file has them.
std::vector<const TensorSource *>
file_order(const std::vector<TensorSource> &tensors);

/// One file, beside its place until it is published.
class SafetensorsWriter {
public:
  explicit SafetensorsWriter(std::filesystem::path target);

  using Metadata = std::map<std::string, std::string>;

  /// Writes the whole file and returns once it is on the disk; called once.
  /// Throws Error, naming the tensor, for one that the format cannot hold, and
  /// Error, naming the file, when the disk refuses. What a `read` throws passes
  /// through.
  void write(const std::vector<TensorSource> &tensors,
             const Metadata &metadata = {{"format", "pt"}});
  void publish() { file.publish(); }

  const std::filesystem::path &target() const { return file.target(); }
  FileSummary summary() const { return file.summary(); }

private:
  CheckedFile file;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_SAFETENSORS_WRITER_H
