//===- BodyCosts.h - what a task body computes and reads of weights -------===//

#ifndef BATON_CODEGEN_BODIES_BODYCOSTS_H
#define BATON_CODEGEN_BODIES_BODYCOSTS_H

#include "codegen/bodies/TaskCalls.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace baton::bodies {

/// Elements read of a weight operand.
struct WeightRead {
  event::WeightAttr weight;
  int64_t elements;
  /// Each row picks its own of a table: what two tasks read is not the same,
  /// although they are given the same pointer.
  bool isGathered;
};

/// What a body does for one tile.
struct BodyCost {
  /// Additions, multiplications and comparisons; a fused multiply-add is two,
  /// and a transcendental function one.
  double flops = 0;
  std::vector<WeightRead> weights;
  /// Rows of a state before this one are not read, whatever the access says.
  int64_t firstStateRow = 0;
};

/// `at` is the value of an operand that is a number, for one task. Nothing for
/// what is no body of the library, and where operands do not say.
std::optional<BodyCost>
bodyCost(event::CallOp op, llvm::function_ref<int64_t(mlir::Attribute)> at);

} // namespace baton::bodies

#endif // BATON_CODEGEN_BODIES_BODYCOSTS_H
