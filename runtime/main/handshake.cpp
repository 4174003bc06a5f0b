//===- handshake.cpp - ranks of one run run the same ----------------------===//

#include "runtime/main/handshake.h"

#include "runtime/main/plain_text.h"
#include "runtime/main/weights.h"
#include "runtime/train/checksum.h"
#include "runtime/weights/checkpoint.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <map>

namespace baton {

namespace {

/// Of what all ranks have.
std::string hash_of(const TrainingTensors &tensors, std::string_view role) {
  uint64_t hash = 0;
  for (const TrainingTensor &tensor : tensors.all())
    if (tensor.role == role && !tensor.cut->is_cut())
      hash = hash_bytes(tensor.data, tensor.bytes(), hash);
  return hash_text(hash);
}

/// Of tensors that are cut over the same axes: whoever has the same part of one
/// has the same of all.
std::map<std::vector<std::string>, uint64_t>
hash_parts(const TrainingTensors &tensors) {
  std::map<std::vector<std::string>, uint64_t> result;
  for (const TrainingTensor &tensor : tensors.all()) {
    if (tensor.role != "parameter" && tensor.role != "optimizer")
      continue;
    uint64_t &hash = result[tensor.cut->axes()];
    hash = hash_bytes(tensor.data, tensor.bytes(), hash);
  }
  return result;
}

/// Of every tensor its name, its shape and a few of its bytes: a rank that
/// decodes reads its own part only.
std::string sample_of(const Checkpoint &checkpoint) {
  constexpr uint64_t samples = 16, most = 64;
  uint64_t hash = 0;
  for (const std::string &name : checkpoint.names()) {
    const Tensor &tensor = *checkpoint.find({name}).tensor;
    hash = hash_bytes(name.data(), name.size(), hash);
    hash = hash_bytes(tensor.shape.data(),
                      tensor.shape.size() * sizeof(uint64_t), hash);
    const uint64_t bytes = std::min(most, tensor.bytes);
    for (uint64_t i = 0; i < samples; ++i)
      hash = hash_bytes(tensor.data + (tensor.bytes - bytes) / samples * i,
                        bytes, hash);
  }
  return hash_text(hash);
}

} // namespace

nlohmann::ordered_json identity(const Metadata &metadata,
                                const RunOptions &run) {
  nlohmann::ordered_json result;
  result["executable"] = summarize_file("/proc/self/exe").checksum;
  result["mesh"] = Mesh::parse(metadata.json).text();
  result["weights"] = sample_of(Checkpoint::open(weights_path(run)));
  return result;
}

nlohmann::ordered_json identity(const TrainingRun &run,
                                const TrainingTensors &tensors) {
  nlohmann::ordered_json result;
  result["executable"] = summarize_file("/proc/self/exe").checksum;
  result["mesh"] = Mesh::parse(run.metadata.json).text();
  result["weights"] = hash_of(tensors, "parameter");
  if (run.base)
    result["frozen weights"] = sample_of(Checkpoint::open(*run.base));
  result["optimizer's states"] = hash_of(tensors, "optimizer");
  result["seed"] = run.state.seed;
  result["step to begin with"] = run.state.step;
  result["data"] = hash_text(run.batches.sample());
  const nlohmann::json &settings = run.state.extra.at("settings");
  for (const auto &[flag, value] : settings.items())
    result[flag] = value;
  // What is due when is decided by each rank for itself.
  result["--save-every"] = run.options.save_every;
  result["--validate-every"] = run.options.validate_every;
  result["--gradients"] = run.options.gradients.has_value();
  result["--trace"] = run.options.run.trace.has_value();
  result["--json"] = run.options.json;
  result["--no-health"] = !run.options.health;
  result["loss scale"] = run.scale.value();
  return result;
}

void compare_weights(Communicator &communicator, const TrainingTensors &tensors,
                     const std::string &axis) {
  nlohmann::ordered_json text = nlohmann::ordered_json::array();
  for (const auto &[axes, hash] : hash_parts(tensors))
    text.push_back({axes, hash});
  std::vector<nlohmann::ordered_json> hashes;
  for (const std::string &other :
       communicator.share(text.dump(), "the comparison of all weights"))
    hashes.push_back(nlohmann::ordered_json::parse(other));
  for (uint32_t rank = 0; rank < hashes.size(); ++rank)
    for (size_t number = 0; number < hashes[rank].size(); ++number) {
      auto axes = hashes[rank][number].at(0).get<std::vector<std::string>>();
      // Stages have other tensors.
      if (!axis.empty())
        axes.push_back(axis);
      uint32_t owner = communicator.mesh().first_like(rank, axes);
      if (hashes[rank][number] != hashes[owner].at(number))
        throw AgreedError(
            (communicator.step()
                 ? "step " + std::to_string(communicator.step()) + ": "
                 : std::string()) +
            "rank " + std::to_string(rank) + " has other weights than rank " +
            std::to_string(owner) +
            (communicator.step() ? " after the same steps; the last checkpoint "
                                   "is as it was"
                                 : " to begin with"));
    }
}

void shake_hands(Communicator &communicator,
                 const nlohmann::ordered_json &identity,
                 const std::string &axis) {
  std::vector<std::string> texts =
      communicator.share(identity.dump(), "the comparison of all ranks");
  auto first = nlohmann::ordered_json::parse(texts[0]);
  for (uint32_t rank = 1; rank < texts.size(); ++rank) {
    auto other = nlohmann::ordered_json::parse(texts[rank]);
    // What stages have of the model differs.
    uint32_t like =
        axis.empty() ? 0 : communicator.mesh().first_like(rank, {axis});
    auto same = nlohmann::ordered_json::parse(texts[like]);
    for (auto [name, value] : first.items()) {
      bool is_stage = name == "weights" || name == "optimizer's states";
      if (is_stage)
        value = same.at(name);
      if (auto found = other.find(name);
          found == other.end() || *found != value)
        throw AgreedError(
            "rank " + std::to_string(rank) +
            " is refused: it differs from rank " +
            std::to_string(is_stage ? like : 0) + " in " + name + ", " +
            (found == other.end()
                 ? "which it lacks"
                 : plain_text(*found) + " and not " + plain_text(value)));
    }
  }
}

} // namespace baton
