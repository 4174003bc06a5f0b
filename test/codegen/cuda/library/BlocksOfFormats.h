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

/// At least `columns` outputs, of each format of the list as many.
inline QuantisedWeight weight_of(const std::string &list, int64_t columns,
                                 int64_t k, uint64_t seed) {
  const std::vector<DataType> types = types_of(list);
  const auto count = static_cast<int64_t>(types.size());
  // A panel has one format, so a part is whole panels of one type.
  const int64_t outputs =
      count == 1 ? columns : ((columns + 15) / 16 + count - 1) / count * 16;
  return {types, static_cast<uint64_t>(outputs), static_cast<uint64_t>(k), list,
          seed};
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
