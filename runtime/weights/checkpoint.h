//===- checkpoint.h - the tensors of a Hugging Face checkpoint folder ----===//

#ifndef BATON_RUNTIME_WEIGHTS_CHECKPOINT_H
#define BATON_RUNTIME_WEIGHTS_CHECKPOINT_H

#include "runtime/weights/safetensors.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace baton {

/// A tensor together with where it was found.
struct StoredTensor {
  std::string name;
  const Tensor *tensor;
  /// Keeps `tensor` valid.
  std::shared_ptr<const SafetensorsFile> file;
};

/// model.safetensors, or the shards that model.safetensors.index.json names;
/// the single file is preferred when a folder holds both.
class Checkpoint {
public:
  /// Opens every file of the folder's checkpoint. Throws Error for a folder
  /// without one, an index that breaks a rule, a shard that is missing, a
  /// tensor that its shard lacks or that two shards hold, and whatever
  /// SafetensorsFile::open refuses.
  static Checkpoint open(const std::filesystem::path &folder);

  const std::filesystem::path &folder() const { return folder_path; }
  const std::vector<std::shared_ptr<const SafetensorsFile>> &files() const {
    return shards;
  }
  /// Names of all tensors, sorted.
  std::vector<std::string> names() const;
  bool contains(std::string_view name) const {
    return locations.contains(name);
  }

  /// The first of the alternative `names` that the checkpoint holds. Throws
  /// Error that lists the stored names nearest to what was looked for.
  StoredTensor find(const std::vector<std::string> &names) const;

private:
  std::filesystem::path folder_path;
  std::vector<std::shared_ptr<const SafetensorsFile>> shards;
  /// Tensor name to index into `shards`.
  std::map<std::string, size_t, std::less<>> locations;
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_CHECKPOINT_H
