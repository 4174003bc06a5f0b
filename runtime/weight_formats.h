//===- weight_formats.h - formats of quantised weights by name ------------===//
//
// What the compiler and the loader have to agree on of a parameter whose
// weights lie in blocks (weight_blocks.h). Its formats are names separated by
// `|`: "q4_k", or "q4_k|q6_k" where some panels have one and some the other.
// Panels of several formats are equally long, and each begins with a MixedHead.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_WEIGHT_FORMATS_H
#define BATON_RUNTIME_WEIGHT_FORMATS_H

#include "runtime/weight_blocks.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace baton::blocks {

struct Format {
  const char *name;
  /// Inputs of a block.
  int inputs;
  /// Bytes of a block, for each output.
  int bytes;
  /// Whether its numbers are whole ones of 8 bits.
  bool is_integer;
};

/// By Index.
inline constexpr Format formats[] = {
#define BATON_FORMAT(NAME, BLOCK)                                              \
  {#NAME, BLOCK::inputs, sizeof(BLOCK) / lanes, IsInteger<BLOCK>::value},
    BATON_FOR_EACH_BLOCK(BATON_FORMAT)
#undef BATON_FORMAT
};

/// The format called `name`, or null.
inline const Format *find_format(std::string_view name) {
  for (const Format &format : formats)
    if (name == format.name)
      return &format;
  return nullptr;
}

/// The formats that a list names; null for names of none.
inline std::vector<const Format *> listed_formats(std::string_view list) {
  std::vector<const Format *> found;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find('|', begin), list.size());
    found.push_back(find_format(list.substr(begin, end - begin)));
    begin = end + 1;
  }
  return found;
}

/// What is wrong with a list of formats, or nothing.
inline std::string check_formats(std::string_view list) {
  std::vector<const Format *> found = listed_formats(list);
  for (size_t i = 0; i < found.size(); ++i)
    if (!found[i] ||
        std::find(found.begin() + i + 1, found.end(), found[i]) != found.end())
      return "'" + std::string(list) + "' lists formats of weights of which " +
             (found[i] ? "one is there twice" : "one is unknown");
  return {};
}

/// What the bodies that read such panels are called for.
inline std::string_view variant_of(std::string_view list) {
  return list.find('|') == std::string_view::npos ? list : "mixed";
}

/// Inputs that every listed format has whole blocks of.
inline int64_t block_inputs(std::string_view list) {
  int64_t inputs = 1;
  for (const Format *format : listed_formats(list))
    inputs = std::max<int64_t>(inputs, format->inputs);
  return inputs;
}

/// Bytes of one output in a panel of so many inputs, whole blocks.
inline int64_t bytes_of_output(std::string_view list, int64_t inputs) {
  int64_t bytes = 0;
  for (const Format *format : listed_formats(list))
    bytes = std::max(bytes, inputs / format->inputs * format->bytes);
  if (variant_of(list) == "mixed")
    bytes += static_cast<int64_t>(sizeof(MixedHead)) / lanes;
  return bytes;
}

} // namespace baton::blocks

#endif // BATON_RUNTIME_WEIGHT_FORMATS_H
