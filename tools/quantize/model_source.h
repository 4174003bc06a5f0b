//===- model_source.h - a model's tensors, as a GGUF file has them --------===//
//
// Of a Hugging Face folder, tensors get the names, the order of rows, the
// transposes and the additions that runtime/weights/gguf_names.h states; those
// of a GGUF file have them already. Experts of a layer are one tensor. Rows are
// read one at a time, of mapped files.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_MODEL_SOURCE_H
#define BATON_TOOLS_QUANTIZE_MODEL_SOURCE_H

#include "runtime/weights/weight_file.h"
#include "tools/quantize/gguf_header.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace baton {

class SourceTensor {
public:
  /// As the new file calls it, and as a Hugging Face checkpoint does, in which
  /// the number of an expert is "{expert}".
  std::string name, origin;
  /// As the new file has it: the longest stride first.
  std::vector<uint64_t> shape;

  /// Of the tensor that has the row; experts have tensors of their own.
  std::string origin_of(uint64_t row) const;
  /// Those of all rows.
  std::vector<std::string> origins() const;

  uint64_t columns() const { return shape.back(); }
  uint64_t rows() const { return elements() / columns(); }
  /// Of a tensor of experts.
  uint64_t rows_of_expert() const { return rows() / shape.front(); }
  uint64_t elements() const;
  /// How its file has the elements; F32 for what follows from a config.
  DataType type() const;
  /// Reads a row, in F32.
  void read_row(uint64_t row, float *weights) const;
  /// Drops its pages, once it has been read.
  void release() const;

private:
  friend class SourceReader;

  /// Of each expert one that is of others in a file of its own, or one of all;
  /// none where `values` are all there is.
  struct Part {
    std::shared_ptr<const WeightFile> file;
    const Tensor *tensor;
  };
  std::vector<Part> parts;
  std::vector<float> values;
  /// Rows of each head, which go in pairs; 0: rows are in order.
  uint64_t paired_rows = 0;
  bool is_transposed = false;
  float added = 0;
};

struct ModelSource {
  GgufHeader header;
  std::vector<SourceTensor> tensors;
  std::vector<std::shared_ptr<const WeightFile>> files;
  std::vector<std::string> notes;
};

/// Opens a folder or a GGUF file of F32, F16, BF16 and F64. Throws Error that
/// names the file, for tensors of other types, tensors that the architecture
/// does not have, and what describe_checkpoint() and describe_vocabulary()
/// refuse.
ModelSource open_source(const std::filesystem::path &path, bool no_tokenizer);

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_MODEL_SOURCE_H
