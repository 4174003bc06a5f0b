//===- Walks.h - how the code of a task body walks its arguments ----------===//

#ifndef BATON_COMPILER_BODIES_WALKS_H
#define BATON_COMPILER_BODIES_WALKS_H

#include "compiler/bodies/Body.h"

#include "llvm/Support/Error.h"

namespace baton::checks {

struct ArgumentDimension {
  unsigned argument, dimension;
};

/// The code reaches up to `numerator / denominator` of the size of `bound` in
/// `walked`.
struct Walk {
  ArgumentDimension walked, bound;
  int64_t numerator, denominator;
};
/// The code divides a size by a constant.
struct Division {
  ArgumentDimension divided;
  int64_t divisor;
};

struct Walks {
  std::vector<Walk> walks;
  std::vector<Division> divisions;
};

/// What can be seen in the code: accesses behind loops whose bounds are made of
/// one size. Others are left out.
llvm::Expected<Walks> findWalks(const Body &body);

} // namespace baton::checks

#endif // BATON_COMPILER_BODIES_WALKS_H
