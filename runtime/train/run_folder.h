//===- run_folder.h - the checkpoints of a training run ------------------===//
//
// A run's folder holds
//
//   step-1200/   after 1200 steps:
//     model.safetensors      the weights, or of an adapter
//     adapter_model.safetensors, adapter_config.json
//     optimizer.safetensors  what the optimizer keeps of them
//     state.json             see training_state.h
//     config.json, tokenizer.json, ...
//                            copies from the folder of the model, so that
//                            Transformers and decoding load the weights
//     checksums.json         size and checksum of every file above
//   latest       a line of text that names the newest one, "step-1200"
//
// A checkpoint is written into step-1200.tmp, every file and the folder are
// synchronised to the disk, and only then it gets its name; `latest` and the
// removal of older ones come afterwards, and an older one loses its name before
// its files. So a folder called step-N is complete whenever the process is
// killed or the power fails, but for damage to the disk, which the checksums
// show. Who resumes does not need `latest`.
//
// While a RunFolder exists the folder is locked (flock), where the file system
// has locks: two runs would remove each other's checkpoints.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_RUN_FOLDER_H
#define BATON_RUNTIME_TRAIN_RUN_FOLDER_H

#include "runtime/train/safetensors_writer.h"
#include "runtime/train/training_state.h"
#include "runtime/weights/adapter.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/descriptor.h"
#include "runtime/weights/safetensors.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace baton {

enum class RunStart {
  /// The folder must hold no checkpoint.
  New,
  /// It may.
  Continued,
};

/// The folder that one run writes its checkpoints to. Used by one thread at a
/// time.
class RunFolder {
public:
  /// Creates the folder when it is absent, removes what a killed process left
  /// unfinished in it, and reads the files of the model's folder that go with
  /// every checkpoint (those of model_file_names() that are there), so that
  /// the model's folder may change or vanish. The newest `keep` checkpoints
  /// stay; 0: all. Throws Error when the folder cannot be used, another process
  /// uses it, or it holds checkpoints and the run is New.
  /// With an adapter its weights are saved and its config, for the model's.
  RunFolder(std::filesystem::path folder,
            const std::filesystem::path &model_folder, uint64_t keep,
            RunStart start,
            const std::optional<Adapter> &adapter = std::nullopt);

  /// Writes the checkpoint step-<state.step> and returns once it is on the
  /// disk; one of the same number is replaced. Throws Error, leaving nothing of
  /// it and every earlier one as it was, when the disk refuses; what the
  /// tensors' `read` throws passes through. An older one that cannot be removed
  /// is a warning on standard error.
  void save(const TrainingState &state, const std::vector<TensorSource> &model,
            const std::vector<TensorSource> &optimizer);

  const std::filesystem::path &path() const { return folder; }

private:
  void remove_leftovers() const;
  void remove_older(uint64_t step) const;

  std::filesystem::path folder;
  std::unique_ptr<Descriptor> lock;
  /// Name and bytes of each.
  std::map<std::string, std::string> model_files;
  std::string_view weights_name;
  uint64_t keep;
};

/// The files beside the weights that belong to a model: config.json,
/// generation_config.json, and those that tokenizers are made of.
const std::vector<std::string> &model_file_names();

/// A checkpoint that was found intact.
struct ResumePoint {
  std::filesystem::path folder;
  TrainingState state;
  std::shared_ptr<const SafetensorsFile> optimizer;
  /// The weights, which are an adapter's where there is one.
  Checkpoint weights;
  std::optional<Adapter> adapter;
};

/// The newest checkpoint of a run's folder whose files are all as they were
/// written; every byte is read. A damaged one is named on standard error, with
/// what is wrong, unless another process `warns`, and skipped. Throws Error
/// when there is no intact one.
ResumePoint resume(const std::filesystem::path &folder, bool warns = true);

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_RUN_FOLDER_H
