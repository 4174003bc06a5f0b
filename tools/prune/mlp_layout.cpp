//===- mlp_layout.cpp - where a checkpoint has the neurons of an MLP ------===//

#include "tools/prune/mlp_layout.h"

#include "runtime/error.h"

#include <algorithm>
#include <charconv>

namespace baton {

std::optional<LayerName> LayerName::parse(std::string_view name) {
  for (std::string_view stack : {"layers.", "h."}) {
    const size_t at = name.find(stack);
    // The whole of a part of the name.
    if (at == name.npos || (at > 0 && name[at - 1] != '.'))
      continue;
    const size_t begin = at + stack.size();
    uint64_t layer = 0;
    auto [end, failure] =
        std::from_chars(name.data() + begin, name.data() + name.size(), layer);
    if (failure != std::errc() || end == name.data() + name.size() ||
        *end != '.')
      continue;
    return LayerName{std::string(name.substr(0, begin)), layer,
                     std::string(end, name.data() + name.size())};
  }
  return std::nullopt;
}

MlpLayout::MlpLayout(const Checkpoint &model, const nlohmann::json &config) {
  for (const char *experts :
       {"num_experts", "num_local_experts", "n_routed_experts"})
    if (config.contains(experts) && !config.at(experts).is_null())
      throw Error((model.folder() / "config.json").string() +
                  ": the MLPs are mixtures of experts ('" + experts +
                  "'), whose neurons --mlp-neurons does not remove; "
                  "--drop-layers removes layers");
  // Each alternative is known by the first of its tensors.
  struct Alternative {
    std::vector<std::pair<std::string, NeuronDimension>> tensors;
    const char *key;
  };
  const Alternative alternatives[] = {{{{".mlp.down_proj.weight", {1, 1, true}},
                                        {".mlp.gate_proj.weight", {0}},
                                        {".mlp.gate_proj.bias", {0}},
                                        {".mlp.up_proj.weight", {0}},
                                        {".mlp.up_proj.bias", {0}},
                                        {".mlp.gate_up_proj.weight", {0, 2}}},
                                       "intermediate_size"},
                                      // GPT-2 stores linears by their inputs.
                                      {{{".mlp.c_proj.weight", {0, 1, true}},
                                        {".mlp.c_fc.weight", {1}},
                                        {".mlp.c_fc.bias", {0}}},
                                       "n_inner"}};
  for (const std::string &name : model.names()) {
    const std::optional<LayerName> parsed = LayerName::parse(name);
    if (!parsed)
      continue;
    for (const Alternative &alternative : alternatives) {
      const auto &[down, dimension] = alternative.tensors.front();
      if (parsed->after != down)
        continue;
      tensors = alternative.tensors;
      down_name = down;
      key = alternative.key;
      count = model.find({name}).tensor->shape.at(dimension.dimension);
      return;
    }
  }
  throw Error(model.folder().string() +
              ": no tensor is called as MLPs of Llama's or GPT-2's families "
              "are (mlp.down_proj, mlp.c_proj); --mlp-neurons needs one");
}

std::optional<NeuronDimension> MlpLayout::find(std::string_view after) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(),
                   [&](const auto &tensor) { return tensor.first == after; });
  if (found == tensors.end())
    return std::nullopt;
  return found->second;
}

} // namespace baton
