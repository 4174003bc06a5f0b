//===- checkpoint_config.h - a checkpoint's config as a GGUF file says it -===//
//
// The other direction of models/GgufConfig.cpp: keys are those that llama.cpp's
// convert_hf_to_gguf.py writes and both llama.cpp and Baton read. What a file
// cannot say of a model is refused, so that the model that is read is the
// checkpoint's.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_TOOLS_QUANTIZE_CHECKPOINT_CONFIG_H
#define BATON_TOOLS_QUANTIZE_CHECKPOINT_CONFIG_H

#include "tools/quantize/gguf_header.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace baton {

/// A tensor that follows from the config.
struct ConfigTensor {
  std::string name;
  std::vector<float> values;
};

struct CheckpointConfig {
  /// The value of general.architecture.
  std::string architecture;
  uint64_t vocabulary = 0;
  /// Rows of a head, of queries and keys.
  uint64_t head_rows = 0;
  bool ties_head = false;
  std::vector<ConfigTensor> tensors;
  /// What the file says otherwise than the config, in words.
  std::vector<std::string> notes;
};

/// Reads the folder's config.json and adds the architecture's keys. Throws
/// Error that names the file and the field.
CheckpointConfig describe_checkpoint(const std::filesystem::path &folder,
                                     GgufHeader &header);

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_CHECKPOINT_CONFIG_H
