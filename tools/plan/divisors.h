//===- divisors.h - into how many equal parts a number can be cut ---------===//

#ifndef BATON_TOOLS_PLAN_DIVISORS_H
#define BATON_TOOLS_PLAN_DIVISORS_H

#include <cstdint>
#include <vector>

namespace baton::plan {

/// Parts of a pipeline's stage that are tried at most: more send more than the
/// shorter bubble saves.
inline constexpr int64_t most_chunks = 8;

/// Ascending.
std::vector<int64_t> divisors(int64_t number);

} // namespace baton::plan

#endif // BATON_TOOLS_PLAN_DIVISORS_H
