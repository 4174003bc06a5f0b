//===- quantized_model.h - what quantizing takes, and what it makes -------===//

#ifndef BATON_TOOLS_QUANTIZE_QUANTIZED_MODEL_H
#define BATON_TOOLS_QUANTIZE_QUANTIZED_MODEL_H

#include "runtime/weights/data_type.h"
#include "tools/quantize/encoder.h"
#include "tools/quantize/importance.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace baton {

struct QuantizeOptions {
  /// A checkpoint's folder, or a GGUF file where a GGUF file is made.
  std::filesystem::path model;
  /// A file, or a folder.
  std::filesystem::path output;
  /// One of quantize_formats().
  DataType format = DataType::Q8_0;
  /// Of a GGUF file's head, and of the table of embeddings where that is the
  /// head; else what llama.cpp takes beside the format.
  std::optional<DataType> head;
  ScaleChoice scales = ScaleChoice::Search;
  /// By which a search of scales counts errors.
  Importance importance;
  bool no_tokenizer = false;
  /// 0: as many as the machine has cores.
  unsigned threads = 0;
};

struct QuantizedTensor {
  std::string name;
  std::vector<uint64_t> shape;
  DataType from, to;
  uint64_t elements, bytes;
  /// Root of the mean square error over that of the weights; nothing before it
  /// was made.
  std::optional<double> error;
};

struct QuantizedModel {
  std::vector<QuantizedTensor> tensors;
  /// Of the file of weights, which has a header, too.
  uint64_t bytes = 0;
  /// Tensors that another run had made.
  uint64_t resumed = 0;
  std::vector<std::string> notes;

  /// Of all tensors together.
  double bits_per_weight() const;
};

/// "q8_0" and the type.
struct QuantizeFormat {
  const char *name;
  DataType type;
};
/// Those of GGUF files, then those of folders.
const std::vector<QuantizeFormat> &quantize_formats();
/// Of one of them.
const char *format_name(DataType type);
inline bool makes_folder(DataType type) { return has_companions(type); }

/// Is told how many of all elements are done, and of which tensor.
using QuantizeProgress =
    std::function<void(uint64_t done, uint64_t all, const std::string &tensor)>;

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_QUANTIZED_MODEL_H
