//===- safetensors.h - one memory-mapped safetensors file ----------------===//
//
// Format: 8 bytes little-endian header length, a JSON object that maps tensor
// names to {dtype, shape, data_offsets}, then the tensors' bytes
// (https://github.com/huggingface/safetensors). The header is checked in full
// when the file is opened, so that every Tensor handed out lies inside the file
// and overlaps no other.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_SAFETENSORS_H
#define BATON_RUNTIME_WEIGHTS_SAFETENSORS_H

#include "runtime/weights/data_type.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// A tensor in a mapped file: row-major, at any alignment, valid as long as its
/// file is.
struct Tensor {
  DataType type;
  std::vector<uint64_t> shape;
  const std::byte *data;
  uint64_t bytes;
};

/// A read-only mapping. As with every mapped file, truncating the file while it
/// is in use ends the process with a bus error.
class SafetensorsFile {
public:
  /// Headers above this many bytes are refused, as the reference
  /// implementation does.
  static constexpr uint64_t max_header_bytes = 100'000'000;
  static constexpr size_t max_rank = 64;

  /// Throws Error, naming the file and the tensor, when the file cannot be read
  /// or its header breaks a rule of the format.
  static std::shared_ptr<const SafetensorsFile>
  open(const std::filesystem::path &path);

  SafetensorsFile(const SafetensorsFile &) = delete;
  SafetensorsFile &operator=(const SafetensorsFile &) = delete;
  ~SafetensorsFile();

  const std::filesystem::path &path() const { return file_path; }
  uint64_t file_bytes() const { return size; }
  /// Last change of contents or attributes, nanoseconds since 1970. Other than
  /// the time of modification, nobody sets it back, as unpacking and copying
  /// do.
  int64_t changed() const { return change_time; }
  /// The JSON text.
  std::string_view header() const { return header_text; }
  const std::map<std::string, Tensor, std::less<>> &tensors() const {
    return tensor_map;
  }

  /// Asks the system to read a tensor's pages ahead.
  void prefetch(const Tensor &tensor) const;
  /// Drops a tensor's pages from this process; reading them again works.
  void release(const Tensor &tensor) const;

private:
  SafetensorsFile() = default;

  std::filesystem::path file_path;
  const std::byte *base = nullptr;
  uint64_t size = 0;
  int64_t change_time = 0;
  std::string_view header_text;
  std::map<std::string, Tensor, std::less<>> tensor_map;
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_SAFETENSORS_H
