//===- packing.h - whole documents to sequences of a length ---------------===//

#ifndef BATON_RUNTIME_DOCUMENTS_PACKING_H
#define BATON_RUNTIME_DOCUMENTS_PACKING_H

#include <cstdint>
#include <span>
#include <vector>

namespace baton {

/// Bins that hold items of the sizes together, each item whole and once, in few
/// bins of the capacity: best fit, the largest first (Johnson, "Near-optimal
/// bin packing algorithms", 1973), which takes at most 11/9 of the fewest bins,
/// and one more. Each bin lists its items in their order, and bins are in the
/// order of their largest items. Of the same sizes always the same. A size is
/// at least 1 and at most the capacity.
std::vector<std::vector<uint32_t>> pack(std::span<const uint32_t> sizes,
                                        uint32_t capacity);

} // namespace baton

#endif // BATON_RUNTIME_DOCUMENTS_PACKING_H
