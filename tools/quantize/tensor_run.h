//===- tensor_run.h - tensors are written, and a run goes on --------------===//
//
// What files and folders have in common: OUT.part grows tensor by tensor, and
// OUT.part.journal says which are complete.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_TENSOR_RUN_H
#define BATON_TOOLS_QUANTIZE_TENSOR_RUN_H

#include "tools/quantize/part_file.h"
#include "tools/quantize/quantized_model.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace baton {

class TensorRun {
public:
  explicit TensorRun(std::filesystem::path output);

  /// OUT.part.
  const std::filesystem::path &part() const { return part_path; }

  /// Writes the tensor with that number, and says how many elements are done
  /// since it last did. Returns the tensor's error.
  using Write = std::function<double(
      const PartFile &file, size_t tensor,
      const std::function<void(uint64_t elements)> &progress)>;

  /// Writes a file of `model.bytes` that begins with `header`, the part itself
  /// or one in it, or goes on with it where `key` is what it was made of.
  /// `model` gets the errors, and how many tensors were complete.
  void write(const std::filesystem::path &path, const std::string &key,
             const std::string &header, QuantizedModel &model,
             const QuantizeProgress &progress, const Write &write) const;

  /// The part becomes the output.
  void publish() const;

private:
  std::filesystem::path output, part_path, journal_path;
};

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_TENSOR_RUN_H
