//===- ExpertGates.h - gates and ups of experts, each by itself -----------===//

#ifndef BATON_DIALECTS_MODEL_EXPERTGATES_H
#define BATON_DIALECTS_MODEL_EXPERTGATES_H

#include "dialects/Model/Model.h"

#include "mlir/IR/PatternMatch.h"

namespace baton::model {

/// Replaces the op by a product of gates and one of ups, and by what makes
/// their activation of both. Gates and ups of `op` may have other types from
/// each other.
void separateGates(mlir::RewriterBase &rewriter, GroupedGatedLinearOp op);

} // namespace baton::model

#endif // BATON_DIALECTS_MODEL_EXPERTGATES_H
