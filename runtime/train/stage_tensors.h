//===- stage_tensors.h - which layers of a parameter a stage has ----------===//
//
// A pipeline's stages each have some of the layers. Checkpoints have all, one
// behind the other, whichever stages there are.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_STAGE_TENSORS_H
#define BATON_RUNTIME_TRAIN_STAGE_TENSORS_H

#include "runtime/execute/pipeline.h"

#include <map>

namespace baton {

/// A parameter over all stages.
struct WholeParameter {
  uint64_t first_layer = 0, layer_step = 1, layers = 0;
};

/// Of a description's "training", by the parameters' names.
std::map<std::string, WholeParameter>
whole_parameters(const nlohmann::json &training, const Pipeline &pipeline);

/// What a stage's tensors are called after: "a.weights" and "a.gradient" are
/// of the parameter "a", and so is what says it is "of" it.
std::string parameter_of(const nlohmann::json &tensor);

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_STAGE_TENSORS_H
