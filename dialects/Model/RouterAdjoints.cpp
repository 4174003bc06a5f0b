//===- RouterAdjoints.cpp - how gradients go to routers -------------------===//

#include "dialects/Model/AdjointOps.h"

using namespace mlir;
using namespace baton::model;

/// Sums begin with nothing that depends on parameters.
void RouterBeginOp::differentiateInputs(Adjoint &) {}

// A sum's gradient is that of each of its terms. Counts have none, so that it
// is shorter than the sum.
void RouterSumsOp::differentiateInputs(Adjoint &adjoint) {
  Value dy = adjoint.gradient(getResult());
  adjoint.add(getSums(), dy);
  adjoint.add(getLogits(),
              create<RouterSumsGradientOp>(adjoint, typeOf(getLogits()), dy,
                                           adjoint.value(getLogits())));
}

// The loss that it adds to begins its own adjoints.
void RouterLossOp::differentiateInputs(Adjoint &adjoint) {
  adjoint.add(getSums(), getDsums());
}
