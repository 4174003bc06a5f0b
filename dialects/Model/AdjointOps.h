//===- AdjointOps.h - ops that the adjoints of ops are made of ------------===//

#ifndef BATON_DIALECTS_MODEL_ADJOINTOPS_H
#define BATON_DIALECTS_MODEL_ADJOINTOPS_H

#include "dialects/Model/Model.h"

namespace baton::model {

/// An op of an adjoint, where the adjoint's ops go.
template <typename OpT, typename... Operands>
OpT create(Adjoint &adjoint, Operands &&...operands) {
  return adjoint.builder.create<OpT>(adjoint.location,
                                     std::forward<Operands>(operands)...);
}

/// A contribution to a parameter's gradient, if it has one.
inline void contribute(Adjoint &adjoint, mlir::Value parameter,
                       mlir::Value gradient) {
  if (isFrozen(parameter))
    return;
  create<GradientOp>(adjoint, gradient, adjoint.value(parameter));
}

} // namespace baton::model

#endif // BATON_DIALECTS_MODEL_ADJOINTOPS_H
