//===- BlocksOfFormats.h - weights of a list of formats -------------------===//

#ifndef BATON_TEST_CODEGEN_CUDA_LIBRARY_BLOCKSOFFORMATS_H
#define BATON_TEST_CODEGEN_CUDA_LIBRARY_BLOCKSOFFORMATS_H

#include "codegen/cpu/library/library.h"
#include "test/codegen/cpu/library/BlocksProblem.h"
#include "test/codegen/cpu/library/Support.h"

#include <algorithm>

namespace baton::test {

/// Types of a file's tensors that become these formats, one for each.
inline std::vector<DataType> types_of(const std::string &list) {
  std::vector<DataType> types;
  for (const blocks::Format *format : blocks::listed_formats(list))
    if (format->is_plain)
      types.push_back(
          plain_types[format - &blocks::formats[blocks::first_plain_format]]);
    else
      types.push_back(
          std::find_if(std::begin(stored_formats), std::end(stored_formats),
                       [&](const StoredFormat &stored) {
                         return format->name == std::string(stored.format);
                       })
              ->type);
  return types;
}

/// Outputs that each of so many formats has, of `columns` or some more. A panel
/// has one format, so they are those of whole panels.
inline int64_t outputs_of_each(int64_t columns, size_t formats) {
  const auto count = static_cast<int64_t>(formats);
  return count == 1 ? columns : ((columns + 15) / 16 + count - 1) / count * 16;
}

/// At least `columns` outputs, of each format of the list as many.
inline QuantisedWeight weight_of(const std::string &list, int64_t columns,
                                 int64_t k, uint64_t seed) {
  const std::vector<DataType> types = types_of(list);
  return {types, static_cast<uint64_t>(outputs_of_each(columns, types.size())),
          static_cast<uint64_t>(k), list, seed};
}

/// Whether the numbers of an output of weight_of() are weights as they are.
inline bool is_plain(const std::string &list, int64_t columns, int64_t column) {
  const std::vector<const blocks::Format *> formats =
      blocks::listed_formats(list);
  return formats[column / outputs_of_each(columns, formats.size())]->is_plain;
}

/// What quantise_rows makes of rows.
inline Buffer in_bytes(const Buffer &x) {
  Buffer out(x.rows, x.width / 32 * 10);
  baton_task_quantise_rows(out.data(), out.stride, x.data(), x.stride, x.rows,
                           x.width);
  return out;
}

} // namespace baton::test

#endif // BATON_TEST_CODEGEN_CUDA_LIBRARY_BLOCKSOFFORMATS_H
