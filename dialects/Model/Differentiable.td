//===- Differentiable.td - ops that state their adjoint -------------------===//

#ifndef BATON_DIALECTS_MODEL_DIFFERENTIABLE
#define BATON_DIALECTS_MODEL_DIFFERENTIABLE

include "mlir/IR/OpBase.td"

def Model_Differentiable : OpInterface<"Differentiable"> {
  let cppNamespace = "::baton::model";
  let description = [{
    How the gradient of a loss goes from an op's results to its operands. The
    adjoint for inputs and that for parameters are apart, since nothing waits
    for the latter. Both write ops with `Adjoint`, which also says what is kept
    of the forward step: whatever `Adjoint::value` is asked for.
  }];
  let methods = [
    InterfaceMethod<"Adds to the gradients of operands that are computed.",
                    "void", "differentiateInputs", (ins "::baton::model::Adjoint &":$adjoint)>,
    InterfaceMethod<"Adds to the gradients of operands that are parameters.",
                    "void", "differentiateParameters", (ins "::baton::model::Adjoint &":$adjoint),
                    "", "return;">,
    InterfaceMethod<"Floating-point operations of its products of matrices, for one of a step's rows; of attention, for the last row of the longest sequence.",
                    "int64_t", "getProductFlops", (ins), "", "return 0;">,
    InterfaceMethod<"Whether computing the results again costs less than keeping them.",
                    "bool", "isCheapToRecompute", (ins), "", "return $_op.getProductFlops() == 0;">
  ];
}

#endif // BATON_DIALECTS_MODEL_DIFFERENTIABLE
