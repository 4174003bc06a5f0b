//===- written_values.h - what a phase left in a buffer -------------------===//

#ifndef BATON_RUNTIME_EXECUTE_WRITTEN_VALUES_H
#define BATON_RUNTIME_EXECUTE_WRITTEN_VALUES_H

#include "runtime/execute/metadata.h"
#include "runtime/execute/npy.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace baton {

/// Row-major; BF16 and F16 are widened to F32, which changes no value.
struct WrittenValues {
  std::vector<uint64_t> extents;
  std::vector<std::byte> bytes;
};

/// How values of a buffer's elements are kept. Throws Error for elements that
/// no array is made of.
NpyType stored_type(const WrittenBuffer &buffer);

/// Whether all extents can be told without the program.
bool can_be_evaluated(const WrittenBuffer &buffer);

/// Throws Error where the inputs of a phase's product cannot be seen behind the
/// phases before it, in F32.
void expect_inputs(const PhaseDescription &phase, const Product &product);

/// Copies one layer's values as a step has them; `storage` is the base of the
/// buffer's storage. The buffer can be evaluated.
WrittenValues copy_values(const WrittenBuffer &buffer, const BatonStep &step,
                          uint32_t layer, const std::byte *storage);

using ValueIndex = std::vector<uint64_t>;

/// Calls visit(index) for every index of a box, in row-major order.
template <typename Visit>
void for_each_index(const std::vector<uint64_t> &extents, Visit visit) {
  uint64_t count = 1;
  for (uint64_t extent : extents)
    count *= extent;
  ValueIndex index(extents.size());
  for (uint64_t i = 0; i < count; ++i) {
    visit(index);
    for (size_t dimension = index.size(); dimension-- > 0;) {
      if (++index[dimension] < extents[dimension])
        break;
      index[dimension] = 0;
    }
  }
}

int64_t position_of(const ValueIndex &index,
                    const std::vector<int64_t> &strides);

} // namespace baton

#endif // BATON_RUNTIME_EXECUTE_WRITTEN_VALUES_H
