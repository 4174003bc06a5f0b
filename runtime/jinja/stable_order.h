//===- stable_order.h - sorting by whatever comparison --------------------===//

#ifndef BATON_RUNTIME_JINJA_STABLE_ORDER_H
#define BATON_RUNTIME_JINJA_STABLE_ORDER_H

#include <cstddef>
#include <utility>
#include <vector>

namespace baton::jinja {

/// The positions 0 to count - 1 in order. `less` may throw, and need not be an
/// order: with NaN, Python's comparisons are none, for which std::sort is not
/// made. Merges, in n log n comparisons.
template <typename Less>
std::vector<size_t> stable_order(size_t count, const Less &less) {
  std::vector<size_t> order(count), merged(count);
  for (size_t at = 0; at < count; ++at)
    order[at] = at;
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      const size_t middle = begin + width < count ? begin + width : count;
      const size_t end = begin + 2 * width < count ? begin + 2 * width : count;
      size_t left = begin, right = middle;
      for (size_t at = begin; at < end; ++at) {
        const bool take_right =
            left == middle || (right < end && less(order[right], order[left]));
        merged[at] = take_right ? order[right++] : order[left++];
      }
    }
    std::swap(order, merged);
  }
  return order;
}

} // namespace baton::jinja

#endif // BATON_RUNTIME_JINJA_STABLE_ORDER_H
