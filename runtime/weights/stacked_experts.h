//===- stacked_experts.h - tensors that hold all experts of a layer -------===//
//
// Some checkpoints have a tensor for each expert ("X.experts.3.up_proj"),
// others one of all ("X.experts.up_proj", whose first dimension is experts).
// Whoever looks for the former finds a part of the latter.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHTS_STACKED_EXPERTS_H
#define BATON_RUNTIME_WEIGHTS_STACKED_EXPERTS_H

#include "runtime/weights/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace baton {

/// The name of an expert's tensor among what `name` holds; nothing where that
/// is no name of a tensor of all experts.
std::optional<std::string> name_of_expert(std::string_view name,
                                          uint64_t expert);

/// An expert, and the name of the tensor of all experts that has its own.
struct StackedExpert {
  std::string name;
  uint64_t expert;
};

/// The other way round; nothing where a tensor of this name is one by itself.
std::optional<StackedExpert> stack_of_expert(std::string_view name);

/// What a tensor of all experts holds of one, which is less than the first
/// dimension.
Tensor tensor_of_expert(const Tensor &all, uint64_t expert);

/// Adds the tensors of single experts that `tensors` has in those of all.
void add_experts_of(const TensorMap &tensors, TensorMap &result);

} // namespace baton

#endif // BATON_RUNTIME_WEIGHTS_STACKED_EXPERTS_H
