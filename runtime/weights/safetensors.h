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

#include "runtime/weights/weight_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace baton {

class SafetensorsFile : public WeightFile {
public:
  /// Headers above this many bytes are refused, as the reference
  /// implementation does.
  static constexpr uint64_t max_header_bytes = 100'000'000;
  static constexpr size_t max_rank = 64;

  /// Throws Error, naming the file and the tensor, when the file cannot be read
  /// or its header breaks a rule of the format. The header() is the JSON text.
  static std::shared_ptr<const SafetensorsFile>
  open(const std::filesystem::path &path);

private:
  explicit SafetensorsFile(const std::filesystem::path &path);
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_SAFETENSORS_H
