//===- tensor.h - a tensor in a file of weights --------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_TENSOR_H
#define BATON_RUNTIME_WEIGHTS_TENSOR_H

#include "runtime/weights/data_type.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace baton {

struct Companions;

/// A tensor in a mapped file: row-major, at any alignment, valid as long as its
/// file is.
struct Tensor {
  DataType type;
  /// As a Hugging Face checkpoint has it.
  std::vector<uint64_t> shape;
  const std::byte *data;
  uint64_t bytes;
  // How a GGUF file has it, other than a Hugging Face checkpoint does.
  /// Rows of each head, where those of the head's two halves are stored in turn
  /// (row i of the first half, row i of the second); 0 where rows are in order.
  uint64_t paired_rows = 0;
  /// The data is the transpose of what `shape` says.
  bool is_flipped = false;
  /// What was added to every element before it was stored.
  float added = 0;
  /// Of a quantised weight that several tensors make; `data` are its codes.
  std::shared_ptr<const Companions> companions = {};
};

using TensorMap = std::map<std::string, Tensor, std::less<>>;

/// Throws Error that names the file and two of its tensors when their bytes
/// overlap.
void check_overlaps(const std::string &file, const TensorMap &tensors);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_TENSOR_H
