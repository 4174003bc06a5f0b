//===- quantisation.h - quantised checkpoints of Hugging Face -------------===//
//
// A folder's config.json says by `quantization_config` that linears' weights
// are quantised, and by which method. Which of them are is what the files hold:
// a weight has the tensors of its method under its linear's name (X.qweight,
// X.scales, ...), and is known here as X.weight, of [outputs, inputs].
//
// Methods and where their layouts are from:
//   gptq                 AutoGPTQ's and GPTQModel's QuantLinear, 4 bits
//   awq                  AutoAWQ's WQLinear_GEMM, 4 bits
//   compressed-tensors   pack-quantized (4 and 8 bits), int-quantized,
//                        float-quantized, nvfp4- and mxfp4-pack-quantized
//   fp8                  transformers' FineGrainedFP8Config, DeepSeek's files
//   mxfp4                gpt-oss's experts (stacked_experts.h), whose tensors
//   are
//                        X_blocks and X_scales, and are known as X
//   bitsandbytes         Linear4bit (NF4, FP4), Linear8bitLt
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_QUANTISATION_H
#define BATON_RUNTIME_WEIGHTS_QUANTISATION_H

#include "runtime/weights/weight_file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace baton {

/// What config.json says.
struct Quantisation {
  enum class Method { Gptq, Awq, CompressedTensors, Fp8, Mxfp4, Bitsandbytes };

  /// Reads `folder`/config.json, where there is one. Throws Error that names
  /// the file and the field when it speaks of weights that Baton does not read.
  static std::optional<Quantisation> read(const std::filesystem::path &folder);

  Method method;
  /// Inputs that share a scale: 0 are all, nothing is what tensors' shapes say.
  std::optional<uint64_t> group;
  /// What is added to zeros that are stored.
  int zero_added = 0;
  /// Codes may be in another order than inputs (`desc_act`), which tensors say.
  bool may_be_reordered = false;
  /// Outputs and inputs of FP8 weights that share a scale, where it is a
  /// matrix.
  std::optional<std::pair<uint64_t, uint64_t>> block;
  /// The object, as JSON text.
  std::string text;
};

/// A checkpoint's quantised weights, as Hugging Face calls those that they were
/// made of.
class QuantisedTensors {
public:
  struct Weight {
    /// Of a type that has companions.
    Tensor tensor;
    /// The file of its codes.
    const WeightFile *file;
  };

  /// Throws Error that names the file and the tensor for a weight that lacks
  /// one of its tensors, or has one of another shape or type, for groups that
  /// there are no blocks for, and for codes in another order than inputs.
  QuantisedTensors(const Quantisation &quantisation,
                   const std::vector<std::shared_ptr<const WeightFile>> &files);

  /// Null where the weight is not quantised.
  const Weight *find(std::string_view name) const;
  const std::map<std::string, Weight, std::less<>> &all() const {
    return weights;
  }
  const std::string &text() const { return config_text; }

private:
  std::string config_text;
  std::map<std::string, Weight, std::less<>> weights;
  /// All that tensors and companions point into.
  std::vector<std::shared_ptr<const WeightFile>> files;
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_QUANTISATION_H
