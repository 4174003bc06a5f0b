//===- BodyCosts.cpp - what a task body computes and reads of weights -----===//

#include "codegen/bodies/BodyCosts.h"

#include "codegen/bodies/Formulas.h"

using namespace baton;
using namespace baton::bodies;

std::optional<BodyCost>
bodies::bodyCost(event::CallOp op,
                 llvm::function_ref<int64_t(mlir::Attribute)> at) {
  std::optional<BodyFunction> function = lookUp(op);
  if (!function)
    return std::nullopt;
  BodyCost cost;
  auto read = [&](mlir::Attribute operand, int64_t elements, bool isGathered) {
    if (auto weight = mlir::dyn_cast<event::WeightAttr>(operand))
      cost.weights.push_back({weight, elements, isGathered});
  };
  auto overhead = [&] { return matrixOverhead(op); };
  switch (function->kind) {
#define GET_BODY_COSTS
#include "codegen/bodies/Table.inc"
#undef GET_BODY_COSTS
  }
  return cost;
}
