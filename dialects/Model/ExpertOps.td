//===- ExpertOps.td - the model dialect: mixtures of experts --------------===//
//
// Included by ModelOps.td. Each row goes to `k` of many experts, and comes back
// as the weighted sum of what they make of it. In between stand rows * k
// places, those of one expert behind one another, in the order of rows: a value
// of places is [rows, k, ...], of which place p is [p / k, p % k]. There is no
// capacity, and no row is dropped.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_MODEL_EXPERTOPS
#define BATON_DIALECTS_MODEL_EXPERTOPS

def Model_Scoring : I32EnumAttr<"Scoring", "how logits of a router become weights", [
    I32EnumAttrCase<"softmax", 0>, I32EnumAttrCase<"sigmoid", 1>]> {
  let cppNamespace = "::baton::model";
  let genSpecializedAttr = 0;
}
def Model_ScoringAttr : EnumAttr<Model_Dialect, Model_Scoring, "scoring"> {
  let assemblyFormat = "`<` $value `>`";
}

def Model_RouteOp : Model_PlainOp<"route", [Pure, Model_ParameterAdjoint]> {
  let summary = "the experts of each row, and their weights";
  let description = [{
    A row's scores are the softmax of its logits, or their sigmoids. Its experts are
    those with the `k` largest scores, or, with `bias`, scores plus bias; of equal ones
    the lower number comes first. With `groups` experts are in so many groups, those
    of one behind one another, and only experts of a row's `groups_of_row` best are
    taken. A group is as good as its best expert, or with `best_two` as the sum of its
    best two; of equal ones the lower number comes first. `experts` lists them in ascending order, `weights`
    their scores, divided by their sum with `normalize`, times `factor`. A row
    whose logits are no numbers has the experts 0 to k - 1, with weights that are
    none.

    A bias has no gradient. With `counts_loads` its adjoint contributes
    `model.router_loads` in place of one.

    **Constraints:**
    - logits are `rows x E x f32`, bias is `E x f32`
    - experts are `rows x k x i32`, weights `rows x k x f32`; k is 1 to E, at most 64
    - the factor is finite
    - `counts_loads` needs a bias
    - groups, at most 64, divide E; of a row's groups, 1 to groups, there are k experts; with `best_two` a group has at least 2
  }];
  let arguments = (ins Model_TensorType:$logits, Optional<Model_TensorType>:$bias,
                       DefaultValuedAttr<Model_ScoringAttr, "::baton::model::Scoring::softmax">:$scoring,
                       UnitAttr:$normalize, DefaultValuedAttr<F32Attr, "1.0f">:$factor,
                       DefaultValuedAttr<I64Attr, "1">:$groups,
                       DefaultValuedAttr<I64Attr, "1">:$groups_of_row, UnitAttr:$best_two,
                       UnitAttr:$counts_loads);
  let results = (outs Model_TensorType:$experts, Model_TensorType:$weights);
  let hasVerifier = 1;
}

def Model_DispatchOp : Model_PlainOp<"dispatch", [Pure, Model_Segments]> {
  let summary = "the places of rows, expert by expert";
  let description = [{
    Choice c of the step is [c / k, c % k] of `experts`. Expert e has places
    `bounds[e]` to `bounds[e + 1]`; `choices` has for each place the choice that
    stands there, and `places` for each choice its place. Choices of one expert
    ascend.

    With `axes` ranks along them have some of the experts each, the first ones the
    first rank. Places of a rank's own experts come first, those of all others are
    the last segment, of which it makes nothing.

    **Constraints:**
    - experts are `rows x k x i32`, and so are choices and places
    - bounds are `E + 1 x i32`, of which E are the router's; with `axes`, `E + 2 x i32`, of which E divide them
  }];
  let arguments = (ins Model_TensorType:$experts, OptionalAttr<StrArrayAttr>:$axes);
  let results = (outs Model_TensorType:$bounds, Model_TensorType:$choices, Model_TensorType:$places);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t countExperts();
    bool hasOthers() { return getAxes().has_value(); }
    ::mlir::Value getSegmentBounds() { return getBounds(); }
  }];
}

def Model_GatherOp : Model_PlainOp<"gather", [Pure, Model_Adjoint]> {
  let summary = "the rows that stand at places";
  let description = [{
    Place p has row `choices[p] / k` of x.

    **Constraints:**
    - x is `rows x K x f32`, choices are `rows x k x i32`, made by `model.dispatch`
    - the result is `rows x k x K x f32`
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$choices);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_GroupedLinearOp : Model_PlainOp<"grouped_linear", [Pure, Model_ParameterProductAdjoint]> {
  let summary = "x · weightᵀ + bias, each place by its expert's weight";
  let description = [{
    **Constraints:**
    - x is `rows x k x K x f32` by places, bounds are made by `model.dispatch`, of E experts
    - the weight is static `E x N x K`, N a multiple of 16; the result is `rows x k x N x f32`
    - the bias is `E x N x f32`
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$bounds, Model_TensorType:$weight,
                       Optional<Model_TensorType>:$bias);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_GroupedGatedLinearOp : Model_Op<"grouped_gated_linear", [Pure, AttrSizedOperandSegments]> {
  let summary = "activation(x · gateᵀ + gate_bias) * (x · upᵀ + up_bias), each place by its expert's weights";
  let description = [{
    The activation `clamped_swiglu` (gpt-oss, 2025) is, with g the first sum and u the
    other, `g' * sigmoid(1.702 * g') * (u' + 1)`, where g' is at most 7, and u' within -7
    and 7.

    **Constraints:**
    - x, bounds, each weight and each bias are those of `model.grouped_linear`, both weights have one type
    - both biases are there, or neither
    - the activation is not `identity`
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$bounds, Model_TensorType:$gate,
                       Model_TensorType:$up, Optional<Model_TensorType>:$gate_bias,
                       Optional<Model_TensorType>:$up_bias, Model_ActivationAttr:$activation);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = [{
    $x `,` $bounds `,` $gate `,` $up (`gate_bias` $gate_bias^)? (`up_bias` $up_bias^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Model_ClampedSwigluOp : Model_PlainOp<"clamped_swiglu", [Pure, Model_Adjoint, Model_Elementwise]> {
  let summary = "the activation clamped_swiglu of a gate and an up that are there";
  let description = [{
    What `model.grouped_gated_linear` makes of its two sums, where these are made by
    products of their own: in training, whose adjoint reads them.

    **Constraints:**
    - both operands and the result have the same type
    - elements are floating-point
  }];
  let arguments = (ins Model_TensorType:$gate, Model_TensorType:$up);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return verifySameTypeBinary(*this, getGate(), getUp(), getResult());
    }
  }];
}

def Model_CombineOp : Model_PlainOp<"combine", [Pure, Model_Adjoint]> {
  let summary = "the weighted sum of what a row's experts have made";
  let description = [{
    Row r is the sum over j, ascending, of `weights[r][j]` times place `places[r][j]`
    of x: in ascending order of experts. With `bounds`, of places of the rank's own
    experts alone.

    **Constraints:**
    - x is `rows x k x K x f32`, places are `rows x k x i32`, made by `model.dispatch`, weights `rows x k x f32`
    - bounds are there if that has `axes`, made by it
    - the result is `rows x K x f32`
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$places, Model_TensorType:$weights,
                       Optional<Model_TensorType>:$bounds);
  let results = (outs Model_TensorType:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$x, "::mlir::Value":$places,
                                 "::mlir::Value":$weights),
                            [{ build($_builder, $_state, result, x, places, weights, ::mlir::Value()); }]>];
  let hasVerifier = 1;
}

#endif // BATON_DIALECTS_MODEL_EXPERTOPS
