//===- message.cpp - names and shapes in error messages ------------------===//

#include "runtime/weights/message.h"

#include <nlohmann/json.hpp>

namespace baton {

std::string quote_name(std::string_view name) {
  constexpr size_t longest = 200;
  bool shortened = name.size() > longest;
  nlohmann::json text = std::string(name.substr(0, longest));
  // Also replaces what is no UTF-8: a path may be any bytes, and the cut may
  // have split a character.
  return text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
         (shortened ? "..." : "");
}

std::string shape_text(const std::vector<uint64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace baton
