//===- weight_formats.h - formats of quantised weights by name ------------===//
//
// What the compiler and the loader have to agree on of a parameter whose
// weights lie in blocks (weight_blocks.h). Its formats are names separated by
// `|`: "q4_k", or "q4_k|q6_k" where some panels have one and some the other, or
// "q4_k|f16" where some are not quantised. Panels of several formats each begin
// with a MixedHead; those of a layer are equally long, as the longest of its
// own formats is. Offsets in a plan count them as the longest of all (panel_at
// in the libraries, PhaseEmitter in the compiler, find the layer's own).
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
  /// Whether its numbers are weights as they are.
  bool is_plain;
};

/// By Index.
inline constexpr Format formats[] = {
#define BATON_FORMAT(NAME, BLOCK)                                              \
  {#NAME, BLOCK::inputs, sizeof(BLOCK) / lanes, IsInteger<BLOCK>::value,       \
   is_plain(NAME)},
    BATON_FOR_EACH_BLOCK(BATON_FORMAT) BATON_FOR_EACH_PLAIN_FORMAT(BATON_FORMAT)
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
  if (std::all_of(found.begin(), found.end(),
                  [](const Format *format) { return format->is_plain; }))
    return "'" + std::string(list) +
           "' lists formats of weights of which none is quantised; f16, bf16 "
           "and f32 are types of elements by themselves";
  return {};
}

/// Whether some of the listed formats' numbers are weights as they are.
inline bool lists_plain_formats(std::string_view list) {
  for (const Format *format : listed_formats(list))
    if (format->is_plain)
      return true;
  return false;
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

/// Bytes of one output in a panel of so many inputs, whole blocks, of the
/// longest of the listed formats.
inline int64_t bytes_of_longest(std::string_view list, int64_t inputs) {
  int64_t bytes = 0;
  for (const Format *format : listed_formats(list))
    bytes = std::max(bytes, inputs / format->inputs * format->bytes);
  return bytes;
}

/// The same where panels say which of a parameter's formats they have, in a
/// layer that has these.
inline int64_t mixed_bytes_of_output(std::string_view list, int64_t inputs) {
  return bytes_of_longest(list, inputs) +
         static_cast<int64_t>(sizeof(MixedHead)) / lanes;
}

/// The same of a parameter with these formats, whichever a layer has.
inline int64_t bytes_of_output(std::string_view list, int64_t inputs) {
  return variant_of(list) == "mixed" ? mixed_bytes_of_output(list, inputs)
                                     : bytes_of_longest(list, inputs);
}

/// Whether a layer may have these formats of those that a parameter has.
inline bool is_part_of_list(std::string_view part, std::string_view list) {
  const std::vector<const Format *> all = listed_formats(list);
  for (const Format *format : listed_formats(part))
    if (!format || std::find(all.begin(), all.end(), format) == all.end())
      return false;
  return true;
}

} // namespace baton::blocks

#endif // BATON_RUNTIME_WEIGHT_FORMATS_H
