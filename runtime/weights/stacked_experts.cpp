//===- stacked_experts.cpp - tensors that hold all experts of a layer -----===//

#include "runtime/weights/stacked_experts.h"

#include <charconv>

namespace baton {

static constexpr std::string_view module = ".experts.";

std::optional<std::string> name_of_expert(std::string_view name,
                                          uint64_t expert) {
  const size_t place = name.rfind(module);
  if (place == std::string_view::npos)
    return std::nullopt;
  const std::string_view leaf = name.substr(place + module.size());
  if (leaf.empty() || leaf.find('.') != std::string_view::npos)
    return std::nullopt;
  std::string result(name.substr(0, place + module.size()));
  result += std::to_string(expert);
  result += '.';
  return result += leaf;
}

std::optional<StackedExpert> stack_of_expert(std::string_view name) {
  const size_t place = name.rfind(module);
  if (place == std::string_view::npos)
    return std::nullopt;
  const size_t begin = place + module.size(), dot = name.find('.', begin);
  if (dot == std::string_view::npos || dot + 1 == name.size() ||
      name.find('.', dot + 1) != std::string_view::npos)
    return std::nullopt;
  StackedExpert result{std::string(name.substr(0, begin)), 0};
  const char *const end = name.data() + dot;
  const auto [stop, error] =
      std::from_chars(name.data() + begin, end, result.expert);
  if (error != std::errc() || stop != end)
    return std::nullopt;
  result.name += name.substr(dot + 1);
  return result;
}

Tensor tensor_of_expert(const Tensor &all, uint64_t expert) {
  Tensor own = all;
  own.shape.erase(own.shape.begin());
  own.bytes = all.bytes / all.shape.front();
  own.data = all.data + expert * own.bytes;
  return own;
}

void add_experts_of(const TensorMap &tensors, TensorMap &result) {
  for (const auto &[name, tensor] : tensors) {
    if (tensor.shape.size() < 2)
      continue;
    for (uint64_t expert = 0; expert < tensor.shape.front(); ++expert) {
      std::optional<std::string> own = name_of_expert(name, expert);
      if (!own)
        break;
      result.emplace(std::move(*own), tensor_of_expert(tensor, expert));
    }
  }
}

} // namespace baton
