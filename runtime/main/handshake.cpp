//===- handshake.cpp - ranks of one run run the same ----------------------===//

#include "runtime/main/handshake.h"

#include "runtime/train/checksum.h"
#include "runtime/weights/hash.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace baton {

namespace {

std::string hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(value));
  return text;
}

/// Of what all ranks have.
std::string hash_of(const TrainingTensors &tensors, std::string_view role) {
  uint64_t hash = 0;
  for (const TrainingTensor &tensor : tensors.all())
    if (tensor.role == role && !tensor.cut->is_cut())
      hash = hash_bytes(tensor.data, tensor.bytes(), hash);
  return hexadecimal(hash);
}

/// Tensors that are cut over the same axes; whoever has the same part of one
/// has the same of all.
struct PartsHash {
  const TrainingTensor *first = nullptr;
  uint64_t hash = 0;
};

std::map<std::vector<std::string>, PartsHash>
hash_parts(const TrainingTensors &tensors) {
  std::map<std::vector<std::string>, PartsHash> result;
  for (const TrainingTensor &tensor : tensors.all()) {
    if (tensor.role != "parameter" && tensor.role != "optimizer")
      continue;
    PartsHash &parts = result[tensor.cut->axes()];
    if (!parts.first)
      parts.first = &tensor;
    parts.hash = hash_bytes(tensor.data, tensor.bytes(), parts.hash);
  }
  return result;
}

std::string plain_text(const nlohmann::ordered_json &value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

} // namespace

nlohmann::ordered_json identity(const TrainingRun &run,
                                const TrainingTensors &tensors) {
  nlohmann::ordered_json result;
  result["executable"] = summarize_file("/proc/self/exe").checksum;
  result["mesh"] = Mesh::parse(run.metadata.json).text();
  result["weights"] = hash_of(tensors, "parameter");
  result["optimizer's states"] = hash_of(tensors, "optimizer");
  result["seed"] = run.state.seed;
  result["step to begin with"] = run.state.step;
  result["data"] = hexadecimal(run.batches.sample());
  const nlohmann::json &settings = run.state.extra.at("settings");
  for (const auto &[flag, value] : settings.items())
    result[flag] = value;
  // What is due when is decided by each rank for itself.
  result["--save-every"] = run.options.save_every;
  result["--validate-every"] = run.options.validate_every;
  result["--gradients"] = run.options.gradients.has_value();
  result["--trace"] = run.options.run.trace.has_value();
  result["--json"] = run.options.json;
  result["loss scale"] = run.scale.value();
  return result;
}

void compare_weights(Communicator &communicator,
                     const TrainingTensors &tensors) {
  auto own = hash_parts(tensors);
  nlohmann::ordered_json text = nlohmann::ordered_json::array();
  for (const auto &[axes, parts] : own)
    text.push_back(parts.hash);
  std::vector<nlohmann::ordered_json> hashes;
  for (const std::string &other :
       communicator.share(text.dump(), "the comparison of all weights"))
    hashes.push_back(nlohmann::ordered_json::parse(other));
  size_t number = 0;
  for (const auto &[axes, parts] : own) {
    for (uint32_t rank = 0; rank < hashes.size(); ++rank) {
      uint32_t owner = parts.first->cut->owner(rank);
      if (hashes[rank].at(number) != hashes[owner].at(number))
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
    ++number;
  }
}

void shake_hands(Communicator &communicator,
                 const nlohmann::ordered_json &identity) {
  std::vector<std::string> texts =
      communicator.share(identity.dump(), "the comparison of all ranks");
  auto first = nlohmann::ordered_json::parse(texts[0]);
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    auto other = nlohmann::ordered_json::parse(texts[rank]);
    for (const auto &[name, value] : first.items())
      if (auto found = other.find(name);
          found == other.end() || *found != value)
        throw AgreedError(
            "rank " + std::to_string(rank) +
            " is refused: it differs from rank 0 in " + name + ", " +
            (found == other.end()
                 ? "which it lacks"
                 : plain_text(*found) + " and not " + plain_text(value)));
  }
}

} // namespace baton
