//===- stage_tensors.cpp - which layers of a parameter a stage has --------===//

#include "runtime/train/stage_tensors.h"

#include <set>

namespace baton {

std::string parameter_of(const nlohmann::json &tensor) {
  if (tensor.contains("of"))
    return tensor.at("of");
  std::string name = tensor.at("name");
  return name.substr(0, name.rfind('.'));
}

std::map<std::string, WholeParameter>
whole_parameters(const nlohmann::json &training, const Pipeline &pipeline) {
  std::map<std::string, WholeParameter> result;
  std::map<std::string, std::set<uint64_t>> layers;
  for (const nlohmann::json &tensor : training.at("tensors")) {
    if (tensor.at("role") != "parameter")
      continue;
    const std::string name = parameter_of(tensor);
    const uint64_t step = tensor.value("layer_step", uint64_t(1));
    result[name].layer_step = step;
    const Pipeline::Stage &stage =
        pipeline.stages.at(tensor.at("stage").get<size_t>());
    // What is no layer's is the same at all positions.
    const bool layered = tensor.contains("first_layer");
    for (uint64_t offset : stage.offsets)
      for (uint64_t i = 0; i < tensor.at("layers").get<uint64_t>(); ++i)
        layers[name].insert(layered ? tensor.at("first_layer").get<uint64_t>() +
                                          offset + i * step
                                    : 0);
  }
  for (auto &[name, parameter] : result) {
    parameter.first_layer = *layers[name].begin();
    parameter.layers = layers[name].size();
  }
  return result;
}

} // namespace baton
