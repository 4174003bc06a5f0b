//===- ExpertGates.h - gates and ups of experts, each by itself -----------===//

#ifndef BATON_DIALECTS_MODEL_EXPERTGATES_H
#define BATON_DIALECTS_MODEL_EXPERTGATES_H

#include "dialects/Model/Model.h"

#include "mlir/IR/PatternMatch.h"

namespace baton::model {

/// Whether gates and ups can be products of their own: their activation is of
/// the gate alone, and has no biases.
bool areSeparable(GroupedGatedLinearOp op);

/// Replaces the op by a product of gates and one of ups, an activation and a
/// multiplication. Gates and ups of `op` may have other types from each other.
void separateGates(mlir::RewriterBase &rewriter, GroupedGatedLinearOp op);

} // namespace baton::model

#endif // BATON_DIALECTS_MODEL_EXPERTGATES_H
