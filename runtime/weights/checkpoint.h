//===- checkpoint.h - the tensors of a model, as Hugging Face calls them -===//

#ifndef BATON_RUNTIME_WEIGHTS_CHECKPOINT_H
#define BATON_RUNTIME_WEIGHTS_CHECKPOINT_H

#include "runtime/weights/quantisation.h"
#include "runtime/weights/weight_file.h"

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
  std::shared_ptr<const WeightFile> file;
};

/// What a compiled program calls a layer's tensor: `sources` with the layer's
/// number for {layer}, and a later one's for {layer+2}.
std::vector<std::string> names_in_layer(const std::vector<std::string> &sources,
                                        uint64_t layer);

/// A folder with model.safetensors, or the shards that
/// model.safetensors.index.json names, the single file preferred to these; with
/// the quantised weights that config.json speaks of (quantisation.h); else
/// what GGUF files hold (gguf_model.h): one by its own path, or the only model
/// in a folder.
class Checkpoint {
public:
  /// Opens every file of the checkpoint. Throws Error for a folder without one,
  /// an index that breaks a rule, a shard that is missing, a tensor that its
  /// shard lacks or that two shards hold, and whatever SafetensorsFile::open,
  /// QuantisedTensors and GgufModel::open refuse.
  static Checkpoint open(const std::filesystem::path &path);
  /// The one file of these in a folder. Throws Error as well.
  static Checkpoint open_file(const std::filesystem::path &folder,
                              std::string_view name);

  /// The folder that the files are in.
  const std::filesystem::path &folder() const { return folder_path; }
  /// The files are GGUF files.
  bool is_gguf() const { return gguf; }
  const std::vector<std::shared_ptr<const WeightFile>> &files() const {
    return shards;
  }
  /// What config.json says of quantised weights; empty where it says nothing.
  std::string quantisation() const;
  /// Names of all tensors that the files hold, sorted.
  std::vector<std::string> names() const;
  /// Whether find() finds it.
  bool contains(std::string_view name) const;

  /// The first of the alternative `names` that the checkpoint holds, as a
  /// tensor, as a quantised weight, or as a part of one (stacked_experts.h).
  /// Throws Error that lists the stored names nearest to what was looked for.
  StoredTensor find(const std::vector<std::string> &names) const;

private:
  void add(std::shared_ptr<const WeightFile> file);
  /// Of no tensor where there is none.
  StoredTensor look_up(const std::string &name) const;

  /// What was opened.
  std::filesystem::path opened_path;
  std::filesystem::path folder_path;
  bool gguf = false;
  std::vector<std::shared_ptr<const WeightFile>> shards;
  /// Tensor name to index into `shards`.
  std::map<std::string, size_t, std::less<>> locations;
  std::shared_ptr<const QuantisedTensors> quantised;
  /// For each shard, what it holds of single experts in tensors of all.
  std::vector<TensorMap> experts;
};

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_CHECKPOINT_H
