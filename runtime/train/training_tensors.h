//===- training_tensors.h - what a program that trains keeps --------------===//
//
// A program that trains holds its weights, their gradients and the optimizer's
// states in storages of its own, in F32 (or F64, for a program that computes in
// it) and row-major, all layers behind one another. Its description names them
// under "training":
//
//   {"longest_sequence": 512, "compute": "f32", "vocabulary": 256, "tensors": [
//     {"name": "layers.mlp.up_proj", "role": "parameter", "element": "f32",
//      "storage": 3, "shape": [100, 60], "layers": 4, "first_layer": 0,
//      "layer_step": 1, "parts": [as in weights/description.h]},
//     {"name": "layers.mlp.up_proj.gradient", "role": "gradient", ...},
//     {"name": "layers.mlp.up_proj.exp_avg", "role": "optimizer", ...},
//     {"name": "tokens", "role": "input", ...}]}
//
// Of several ranks each may have a part: "shards" (comm/shards.h) of the
// tensor, or of its part of the checkpoint, cut every layer. "shape" is then
// that of the part. Files have whole tensors, whatever the ranks.
//
// Of a mixture of experts "shape" begins with their number, and "parts" has
// each one's; of heads' parts of a matrix "shape" begins with theirs, and a
// part has all of them, or, where they are transposed, each its own.
//
// What does not begin with its storage, or has room between layers, has an
// "offset" and a "layer_stride", in elements.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_TRAINING_TENSORS_H
#define BATON_RUNTIME_TRAIN_TRAINING_TENSORS_H

#include "runtime/comm/shards.h"
#include "runtime/execute/execution.h"
#include "runtime/train/reals.h"
#include "runtime/train/safetensors_writer.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/description.h"
#include "runtime/weights/memory.h"
#include "runtime/weights/safetensors.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace baton {

/// One of them, where it lies.
struct TrainingTensor {
  std::string name;
  std::string role;
  /// F32, F64 or I32.
  DataType type = DataType::F32;
  /// Of one layer, in memory.
  std::vector<uint64_t> shape;
  /// What of it ranks have.
  std::optional<ShardedTensor> cut;
  uint64_t layers = 1;
  size_t storage = 0;
  /// The first layer, elements before it in the storage, and from each layer to
  /// the next.
  std::byte *data = nullptr;
  uint64_t offset = 0, layer_stride = 0;
  /// Of the optimizer's numbers: the place of the loss scale among them.
  uint64_t loss_scale = 0;
  /// Of a parameter and its gradient: what the checkpoint calls it; of experts,
  /// which are the first dimension, each one by itself.
  uint64_t first_layer = 0;
  uint64_t layer_step = 1;
  std::vector<ParameterPart> parts;

  /// How many layers of it, or rows of an optimizer's state, come before these
  /// and are there in all, where stages have some of them.
  uint64_t begin = 0, whole = 0;
  /// Which of a stage's chunks has it.
  uint32_t chunk = 0;
  /// Of what was collected from stages: the ranks that have different parts,
  /// and where these lie.
  std::vector<std::pair<uint32_t, std::byte *>> owners;

  /// Of one layer, in memory.
  uint64_t elements() const;
  /// Of one layer of all ranks' parts together.
  uint64_t whole_elements() const;
  /// Of all layers.
  uint64_t bytes() const { return elements() * layers * bytes_of(type); }
  /// Of the storage, up to the end of the last layer.
  uint64_t bytes_in_storage() const {
    const uint64_t last = layers ? layers - 1 : 0;
    return (offset + last * layer_stride + elements()) * bytes_of(type);
  }
  std::span<std::byte> in_storage() const {
    return {data - offset * bytes_of(type), bytes_in_storage()};
  }
  std::byte *layer_data(uint64_t layer) const {
    return data + layer * layer_stride * bytes_of(type);
  }
  int32_t *integers() const { return reinterpret_cast<int32_t *>(data); }
};

/// What each rank gives to the one that writes a file, in their order; on ranks
/// that write nothing, nothing. All ranks call it as often, in one order.
using PartsOfRanks =
    std::function<std::vector<std::string>(const std::string &own)>;

/// All of a rank's, in the storages that an execution runs with, which
/// outlives it. Of a device's memory the host has copies, as old as the last
/// fetch().
class TrainingTensors {
public:
  /// Throws Error when the program does not train.
  /// `paged`: the optimizer's states lie in a PagedRegion.
  TrainingTensors(const Metadata &metadata, Execution &execution,
                  uint32_t rank = 0, bool paged = false);

  /// Of a rank that has some of the layers: rank 0 gets all tensors of a role,
  /// which sources() and optimizer() then give, until it lets go of them. All
  /// ranks call it.
  void collect(Communicator &communicator, std::string_view role);
  void release() { collected.clear(); }

  /// Gives the execution what the tensors of a role hold, and takes it from
  /// there. On the host they are the same memory.
  void send(std::string_view role) const;
  /// What a step changes, parameters and the optimizer's states, which is much:
  /// says how far it is, with growing `done`, where there is something to copy.
  void send_state(
      const std::function<void(uint64_t done, uint64_t total)> &progress) const;
  void fetch(std::string_view role) const;

  const std::vector<TrainingTensor> &all() const { return tensors; }
  /// The only one of this name; throws Error when there is none.
  const TrainingTensor &find(const std::string &name) const;
  /// The same, or null.
  const TrainingTensor *find_if(const std::string &name) const;

  /// Parameters by whose they are.
  enum class Of { Model, Adapter };
  /// Reads all of them. Throws Error for a tensor that is missing, of another
  /// shape, or no weights.
  void load(const Checkpoint &checkpoint, unsigned threads, Of of = Of::Model);
  /// Draws them: matrices from a normal distribution of the standard deviation
  /// 0.02, vectors 1, or 0 if their name ends in "bias" or "sinks". Of an
  /// adapter's pairs A is uniform between plus and minus one over the root of
  /// its inputs, and B zero, as PEFT has it: at first it changes nothing. The
  /// same seed gives the same weights. Lengths of rows are 1, which rows of
  /// random weights have, more or less.
  void initialize(uint64_t seed, Of of = Of::Model);
  /// Of an adapter with lengths of rows (DoRA): makes these the lengths of the
  /// rows of the model's weights, as the program has them, so that the adapter
  /// changes nothing. Throws Error as load().
  void initialize_magnitudes(const Checkpoint &model, unsigned threads);

  /// Parameters as a checkpoint stores them, of an adapter alone if there is
  /// one, under their first name, or the one that `like` has; or their
  /// gradients, multiplied by `factor`. They are read while they are written.
  /// Without `parts`, what only other ranks have is zero.
  std::vector<TensorSource> sources(const Checkpoint *like,
                                    const char *role = "parameter",
                                    double factor = 1,
                                    const PartsOfRanks &parts = {}) const;
  /// The optimizer's states, under their own names.
  std::vector<TensorSource> optimizer(const PartsOfRanks &parts = {}) const;
  /// The storages that nothing but states of the optimizer lies in.
  static std::vector<size_t> optimizer_storages(const Metadata &metadata);
  /// Reads these back. Throws Error for one that is missing or of another
  /// shape.
  void load_optimizer(const SafetensorsFile &file);

private:
  void add(const nlohmann::json &entry, void *const *storages);
  void add_stages(const nlohmann::json &training, const Pipeline &pipeline);
  /// Those that were collected, if there are any of a role, or else the own.
  std::vector<const TrainingTensor *> of_role(std::string_view role) const;

  Execution &execution;
  uint32_t rank;
  bool paged;
  Mesh mesh;
  bool adapts;
  /// Where weights that are packed come from, and the type of their numbers, by
  /// what the checkpoint calls them.
  struct FrozenWeight {
    ParameterPart part;
    DataType type;
  };
  std::map<std::string, FrozenWeight> frozen;
  std::vector<HugeRegion> copies;
  std::vector<TrainingTensor> tensors;
  struct Collected {
    TrainingTensor tensor;
    std::vector<HugeRegion> memory;
  };
  std::vector<Collected> collected;
};

/// On a rank that does not write them: gives what the one that does reads.
void give_parts(const std::vector<TensorSource> &sources);

/// What products multiply: "f32", "bf16", "f16", or "f64" where all is F64.
std::string compute_type(const Metadata &metadata);

/// The longest sequence that the model takes, in tokens.
uint64_t longest_sequence(const Metadata &metadata);

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_TRAINING_TENSORS_H
