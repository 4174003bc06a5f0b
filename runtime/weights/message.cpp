//===- message.cpp - names and shapes in error messages ------------------===//

#include "runtime/weights/message.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace baton {

size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the table of all prefixes: the present one and two before it.
  std::vector<size_t> row(b.size() + 1), last(b.size() + 1),
      before_last(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string nearest_text(std::string_view given,
                         const std::vector<std::string> &names,
                         std::string_view dashes) {
  // The distance is quadratic.
  constexpr size_t longest = 64;
  size_t least = given.size() / 3 + 1;
  std::string text;
  if (given.size() > longest)
    return text;
  for (const std::string &name : names) {
    const size_t distance = edit_distance(given, name);
    // Of equally near ones that which goes on where the given one ends.
    const bool follows = !text.empty() && name.starts_with(given);
    if (distance < least || (distance == least && follows)) {
      least = distance;
      text = "; did you mean " + std::string(dashes) + name + "?";
    }
  }
  return text;
}

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
