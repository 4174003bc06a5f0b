//===- gguf_model.h - a model that GGUF files hold -----------------------===//
//
// A model is one file, or parts NAME-00001-of-0000N.gguf that are opened
// together. Its tensors are known here by the names that a Hugging Face
// checkpoint of the same family gives them, and with what llama.cpp's
// conversion does to them (Tensor's `paired_rows`, `is_flipped`, `added`).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_GGUF_MODEL_H
#define BATON_RUNTIME_WEIGHTS_GGUF_MODEL_H

#include "runtime/weights/gguf.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// The GGUF file that a model's path means: the path itself where it is no
/// folder but a file, and of a folder that has GGUF files and no safetensors
/// the one model in it; of parts, the first. Throws Error that names two of
/// several models.
std::optional<std::filesystem::path>
find_gguf(const std::filesystem::path &path);

class GgufModel {
public:
  /// Opens the file, and where it is the first of several parts all of them.
  /// Throws Error for a part that is missing or is another's, a tensor that two
  /// parts hold, an architecture or a tensor of it that is not known, and
  /// whatever GgufFile::open refuses. No tensor's bytes are read.
  static GgufModel open(const std::filesystem::path &path);

  /// The file that has the metadata.
  const GgufFile &metadata() const { return *parts.front(); }
  /// All files; their tensors() are called as in a Hugging Face checkpoint.
  const std::vector<std::shared_ptr<const GgufFile>> &files() const {
    return parts;
  }
  /// The value of general.architecture.
  const std::string &architecture() const { return architecture_name; }

  /// By its Hugging Face name ("model.layers.0.mlp.up_proj.weight"); null where
  /// there is none. As long-lived as the file that holds it.
  const Tensor *find(std::string_view name) const;
  /// The type of a tensor, found without reading it.
  std::optional<DataType> type_of(std::string_view name) const;

private:
  std::vector<std::shared_ptr<const GgufFile>> parts;
  std::string architecture_name;
};

/// The number of a part and how many there are, by a name like
/// "x-00002-of-00003.gguf".
struct GgufPart {
  std::string stem;
  uint32_t number, count;

  static std::optional<GgufPart> parse(const std::filesystem::path &path);
  /// The file name of another part.
  std::string name_of(uint32_t number) const;
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_GGUF_MODEL_H
