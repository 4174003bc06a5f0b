//===- ExpertGradientOps.td - the model dialect: adjoints of experts ------===//
//
// Included by ModelOps.td, behind ExpertOps.td. Who goes where has no gradient:
// these ops read choices and places as the forward step made them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_MODEL_EXPERTGRADIENTOPS
#define BATON_DIALECTS_MODEL_EXPERTGRADIENTOPS

def Model_RouteGradientOp : Model_PlainOp<"route_gradient"> {
  let summary = "the adjoint of route for its logits";
  let description = [{
    Of the weights of the chosen experts; that others were not chosen has no
    gradient, nor has a bias.

    **Constraints:**
    - dy is `rows x k x f32`, logits are `rows x E x f32`, experts `rows x k x i32`; k is 1 to E, at most 64
    - the result has the logits' type
    - the factor is finite
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$logits, Model_TensorType:$experts,
                       DefaultValuedAttr<Model_ScoringAttr, "::baton::model::Scoring::softmax">:$scoring,
                       UnitAttr:$normalize, DefaultValuedAttr<F32Attr, "1.0f">:$factor);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_GatherGradientOp : Model_PlainOp<"gather_gradient"> {
  let summary = "the sum over a row's places: the adjoint of gather";
  let description = [{
    Row r is the sum over j, ascending, of place `places[r][j]` of dy. With `bounds`, of
    places of the rank's own experts alone.

    **Constraints:**
    - dy is `rows x k x K x f32`, places are `rows x k x i32`, made by `model.dispatch`
    - bounds are there if that has `axes`, made by it
    - the result is `rows x K x f32`
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$places, Optional<Model_TensorType>:$bounds);
  let results = (outs Model_TensorType:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$dy, "::mlir::Value":$places),
                            [{ build($_builder, $_state, result, dy, places, ::mlir::Value()); }]>];
  let hasVerifier = 1;
}

def Model_CombineInputGradientOp : Model_PlainOp<"combine_input_gradient"> {
  let summary = "the adjoint of combine for what experts have made";
  let description = [{
    Place p is `weights` of its choice times dy of the choice's row.

    **Constraints:**
    - dy is `rows x K x f32`, choices are `rows x k x i32`, made by `model.dispatch`, weights `rows x k x f32`
    - the result is `rows x k x K x f32`
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$choices, Model_TensorType:$weights);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_CombineWeightGradientOp : Model_PlainOp<"combine_weight_gradient"> {
  let summary = "the adjoint of combine for its weights";
  let description = [{
    `result[r][j]` is the product of dy[r] and place `places[r][j]` of x. With `bounds`, it
    is 0 for a place of other ranks' experts.

    **Constraints:**
    - dy is `rows x K x f32`, x is `rows x k x K x f32`, places are `rows x k x i32`, made by `model.dispatch`
    - bounds are there if that has `axes`, made by it
    - the result is `rows x k x f32`
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x, Model_TensorType:$places,
                       Optional<Model_TensorType>:$bounds);
  let results = (outs Model_TensorType:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$dy, "::mlir::Value":$x,
                                 "::mlir::Value":$places),
                            [{ build($_builder, $_state, result, dy, x, places, ::mlir::Value()); }]>];
  let hasVerifier = 1;
}

def Model_GroupedLinearInputGradientOp : Model_PlainOp<"grouped_linear_input_gradient"> {
  let summary = "dy · weight, each place by its expert's weight";
  let description = [{
    **Constraints:**
    - dy is `rows x k x N x f32` by places, bounds are made by `model.dispatch`, of E experts
    - the weight is static `E x N x K`; the result is `rows x k x K x f32`
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$bounds, Model_TensorType:$weight);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_GroupedLinearWeightGradientOp : Model_PlainOp<"grouped_linear_weight_gradient"> {
  let summary = "dyᵀ · x of each expert's places";
  let description = [{
    That of an expert that no row has is zero.

    **Constraints:**
    - dy is `rows x k x N x f32` and x is `rows x k x K x f32`, both by places
    - bounds are made by `model.dispatch`, of E experts; the result is `E x N x K x f32`
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x, Model_TensorType:$bounds);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_GroupedBiasGradientOp : Model_PlainOp<"grouped_bias_gradient"> {
  let summary = "the sum of each expert's places: the adjoint of a grouped linear for its bias";
  let description = [{
    That of an expert that no row has is zero.

    **Constraints:**
    - dy is `rows x k x N x f32` by places
    - bounds are made by `model.dispatch`, of E experts; the result is `E x N x f32`
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$bounds);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

class Model_ClampedSwigluAdjoint<string mnemonic, string text>
    : Model_PlainOp<mnemonic, [Pure, Model_Elementwise]> {
  let summary = text;
  let description = [{
    A number that is clamped has no gradient.

    **Constraints:**
    - all operands and the result have the same type
    - elements are floating-point
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$gate, Model_TensorType:$up);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      if (failed(expectTypeOf(*this, "dy", getDy(), "the gate", getGate())))
        return failure();
      return verifySameTypeBinary(*this, getGate(), getUp(), getResult());
    }
  }];
}

def Model_ClampedSwigluGateGradientOp
    : Model_ClampedSwigluAdjoint<"clamped_swiglu_gate_gradient", "the adjoint of clamped_swiglu for the gate">;
def Model_ClampedSwigluUpGradientOp
    : Model_ClampedSwigluAdjoint<"clamped_swiglu_up_gradient", "the adjoint of clamped_swiglu for the up">;

#endif // BATON_DIALECTS_MODEL_EXPERTGRADIENTOPS
