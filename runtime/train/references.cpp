//===- references.cpp - what a model says of pairs before it is trained ---===//

#include "runtime/train/references.h"

#include "runtime/error.h"
#include "runtime/train/reals.h"
#include "runtime/train/safetensors_writer.h"
#include "runtime/weights/hash.h"
#include "runtime/weights/safetensors.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>

namespace baton {

static constexpr const char *tensor_name = "logps";

void write_references(const References &references, DataType type,
                      uint64_t data, const std::filesystem::path &folder) {
  std::vector<std::byte> values(references.size() * 2 * bytes_of(type));
  for (size_t pair = 0; pair < references.size(); ++pair)
    for (size_t answer = 0; answer < 2; ++answer)
      set_real(values.data(), type, 2 * pair + answer,
               references[pair][answer]);
  SafetensorsWriter writer(folder / references_name);
  writer.write({{tensor_name, type, {references.size(), 2}, values.data()}},
               {{"format", "pt"}, {"data", hash_text(data)}});
  writer.publish();
}

References read_references(const std::filesystem::path &folder, uint64_t count,
                           uint64_t data) {
  const std::filesystem::path path = folder / references_name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error("--resume: " + path.string() +
                " is not there, in which the run has kept what its reference "
                "says of each pair; without it begin a new run");
  const auto file = SafetensorsFile::open(path);
  const auto header = nlohmann::json::parse(file->header());
  const auto found = file->tensors().find(tensor_name);
  const auto described = header.find("__metadata__");
  if (found == file->tensors().end() || described == header.end() ||
      !described->contains("data"))
    throw Error(path.string() + ": is no file of references, as a run writes "
                                "one");
  const Tensor &tensor = found->second;
  if (tensor.shape != std::vector<uint64_t>{count, 2} ||
      described->at("data") != hash_text(data))
    throw Error(path.string() +
                ": is of other pairs than --data, --seq and --long-documents "
                "now come to; resume with those that the run began with");
  if (tensor.type != DataType::F32 && tensor.type != DataType::F64)
    throw Error(path.string() + ": " + tensor_name +
                " has numbers of another type than F32 and F64");
  References result(count);
  for (uint64_t pair = 0; pair < count; ++pair)
    for (size_t answer = 0; answer < 2; ++answer) {
      result[pair][answer] =
          real_at(tensor.data, tensor.type, 2 * pair + answer);
      if (!std::isfinite(result[pair][answer]))
        throw Error(path.string() + ": " + tensor_name + " of pair " +
                    std::to_string(pair) + " is not finite");
    }
  return result;
}

} // namespace baton
