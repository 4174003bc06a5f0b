//===- HyperOps.td - the model dialect: hyper-connections -----------------===//
//
// Included by ModelOps.td. A residual stream that is n streams wide: what a
// layer reads of them, what it writes to them, and how they mix are functions
// of the streams themselves (Zhu et al., "Hyper-Connections", 2024; Xie et al.,
// "mHC: Manifold-Constrained Hyper-Connections", 2025).
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_MODEL_HYPER_OPS
#define BATON_DIALECTS_MODEL_HYPER_OPS

//===----------------------------------------------------------------------===//
// The maps
//===----------------------------------------------------------------------===//

def Model_Mixing : I32EnumAttr<"Mixing", "how residual streams mix from one sublayer to the next", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"identity", 1>,
    I32EnumAttrCase<"free", 2>, I32EnumAttrCase<"sinkhorn", 3>]> {
  let cppNamespace = "::baton::model";
  let genSpecializedAttr = 0;
}
def Model_MixingAttr : EnumAttr<Model_Dialect, Model_Mixing, "mixing"> {
  let assemblyFormat = "`<` $value `>`";
}

def Model_HyperProjectOp : Model_PlainOp<"hyper_project", [Pure, DeclareOpInterfaceMethods<Model_Differentiable, ["differentiateParameters", "getProductFlops", "isCheapToRecompute"]>]> {
  let summary = "(x · phiᵀ) / sqrt(mean(x²) + epsilon), over all streams of a row";
  let description = [{
    What the maps of a row are made of. The norm comes after the product, which
    is the same but for rounding, and lets both be sums over one reading of x.

    **Constraints:**
    - x is [R, n, C] in f32, R a symbol, n 1 to 8
    - phi is static [M, n·C] in f32; the result is [R, M] in f32
    - M is at most n·n + 2·n
    - epsilon is not negative
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$phi, F32Attr:$epsilon);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_HyperMapsOp : Model_PlainOp<"hyper_maps", [Pure, Model_ParameterAdjoint]> {
  let summary = "weights of what a sublayer reads and writes, and of how streams mix";
  let description = [{
    With `z = scale * logits + base`, a factor of `scale` for each part, a row
    of the result is

    | part | elements | value | with the mixing |
    |---|---|---|---|
    | what is read    | n   | `sigmoid(z) + epsilon` | any |
    | what is written | n   | `2 sigmoid(z)`         | any but `none` |
    | how they mix    | n·n | `z`                    | `free` |
    | how they mix    | n·n | `sinkhorn(z)`          | `sinkhorn` |

    `sinkhorn` makes every column of an n by n matrix sum to one, and every row
    nearly: softmax of the rows plus epsilon, columns divided by their sums plus
    epsilon, then `iterations - 1` times rows and columns so divided. With the
    mixing `identity` every stream stays what it is, `none` is where streams
    end.

    **Constraints:**
    - logits are [R, M] in f32, R a symbol, and the result has their type
    - `streams` n is 1 to 8; M is n, and n more for what is written, and n·n more for `free` and `sinkhorn`
    - scale is static with a number for each part, base is static [M], both f32
    - iterations are 1 to 64; epsilon is not negative
  }];
  let arguments = (ins Model_TensorType:$logits, Model_TensorType:$scale, Model_TensorType:$base,
                       I64Attr:$streams, Model_MixingAttr:$mixing,
                       DefaultValuedAttr<I64Attr, "10">:$iterations, F32Attr:$epsilon);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reading and writing streams
//===----------------------------------------------------------------------===//

def Model_HyperPreOp : Model_PlainOp<"hyper_pre", [Pure, Model_Adjoint]> {
  let summary = "what a sublayer reads: the sum of weights[j] * x[j] over the streams j";
  let description = [{
    **Constraints:**
    - x is [R, n, C] in f32, R a symbol, n 1 to 8; the weights are [R, n] in f32
    - the result is [R, C] in f32
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$weights);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_HyperPostOp : Model_PlainOp<"hyper_post", [Pure, Model_Adjoint]> {
  let summary = "the streams after a sublayer: what it made, and the streams mixed";
  let description = [{
    `result[j] = weights[j] * y + sum over m of weights[n + m·n + j] * x[m]`,
    or, with n weights, `weights[j] * y + x[j]`.

    **Constraints:**
    - x is [R, n, C] in f32, R a symbol, n 1 to 8, and the result has its type
    - y is [R, C] in f32; the weights are [R, n] or [R, n + n·n] in f32
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$y, Model_TensorType:$weights);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Fused forms
//===----------------------------------------------------------------------===//

def Model_HyperEnterOp : Model_PlainOp<"hyper_enter"> {
  let summary = "hyper_project, hyper_maps and hyper_pre over one reading of the streams";
  let description = [{
    The maps' logits are never stored. hyper-fusion makes it.

    **Constraints:**
    - x, phi, scale, base and the attributes are as for `model.hyper_project` and `model.hyper_maps`
    - the result is [R, C] in f32, the maps [R, M] in f32
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$phi, Model_TensorType:$scale,
                       Model_TensorType:$base, F32Attr:$norm_epsilon, Model_MixingAttr:$mixing,
                       DefaultValuedAttr<I64Attr, "10">:$iterations, F32Attr:$epsilon);
  let results = (outs Model_TensorType:$result, Model_TensorType:$maps);
  let hasVerifier = 1;
}

def Model_HyperTurnOp : Model_PlainOp<"hyper_turn"> {
  let summary = "hyper_post of one sublayer and hyper_enter of the next";
  let description = [{
    Between two sublayers the streams are read once and written once.
    hyper-fusion makes it.

    **Constraints:**
    - x, y and weights are as for `model.hyper_post`, and the first result has x's type
    - phi, scale, base and the attributes are as for `model.hyper_enter`, and so are the other results
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$y, Model_TensorType:$weights,
                       Model_TensorType:$phi, Model_TensorType:$scale,
                       Model_TensorType:$base, F32Attr:$norm_epsilon, Model_MixingAttr:$mixing,
                       DefaultValuedAttr<I64Attr, "10">:$iterations, F32Attr:$epsilon);
  let results = (outs Model_TensorType:$streams, Model_TensorType:$result, Model_TensorType:$maps);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

def Model_ScaleRowsOp : Model_PlainOp<"scale_rows"> {
  let summary = "x[r] times the reciprocal deviation of row r";
  let description = [{
    What a norm after a product does to the product's adjoint for its weight.

    **Constraints:**
    - x is [R, K] in f32, R a symbol, and the result has its type
    - the statistics are [R, 2] in f32, of `model.norm_statistics`
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$statistics);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_HyperProjectGradientOp : Model_PlainOp<"hyper_project_gradient"> {
  let summary = "the adjoint of hyper_project for x";
  let description = [{
    With the reciprocal deviation s, `(dy · phi) s - x s² (dy · y) / (n C)`.

    **Constraints:**
    - x and phi are as for `model.hyper_project`; dy and y have its result's type
    - the statistics are [R, 2] in f32, of `model.norm_statistics` over all streams
    - the result has x's type
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x, Model_TensorType:$phi,
                       Model_TensorType:$y, Model_TensorType:$statistics);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_HyperMapsGradientOp : Model_PlainOp<"hyper_maps_gradient"> {
  let summary = "the adjoint of hyper_maps: through all its iterations, which it computes again";
  let description = [{
    The adjoint for the logits, and that for `scale * logits + base`, whose sum
    over rows is base's.

    **Constraints:**
    - logits, scale, base and the attributes are as for `model.hyper_maps`
    - dy and both results have the logits' type
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$logits, Model_TensorType:$scale,
                       Model_TensorType:$base, I64Attr:$streams, Model_MixingAttr:$mixing,
                       DefaultValuedAttr<I64Attr, "10">:$iterations, F32Attr:$epsilon);
  let results = (outs Model_TensorType:$logits_gradient, Model_TensorType:$sums_gradient);
  let hasVerifier = 1;
}

def Model_HyperScaleGradientOp : Model_PlainOp<"hyper_scale_gradient"> {
  let summary = "the adjoint of hyper_maps for its scale: sums of dz * logits over rows and parts";
  let description = [{
    **Constraints:**
    - `streams`, `mixing` and logits are as for `model.hyper_maps`; dz has the logits' type
    - the result has a number for each part, in f32
  }];
  let arguments = (ins Model_TensorType:$dz, Model_TensorType:$logits,
                       I64Attr:$streams, Model_MixingAttr:$mixing);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_HyperPreGradientOp : Model_PlainOp<"hyper_pre_gradient"> {
  let summary = "the adjoint of hyper_pre for streams and weights";
  let description = [{
    **Constraints:**
    - x and weights are as for `model.hyper_pre`, dy has its result's type
    - the results have the types of x and of the weights
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x, Model_TensorType:$weights);
  let results = (outs Model_TensorType:$streams, Model_TensorType:$weights_gradient);
  let hasVerifier = 1;
}

def Model_HyperPostGradientOp : Model_PlainOp<"hyper_post_gradient"> {
  let summary = "the adjoint of hyper_post for streams, what the sublayer made, and weights";
  let description = [{
    **Constraints:**
    - x, y and weights are as for `model.hyper_post`, dx has its result's type
    - the results have the types of x, y and the weights
  }];
  let arguments = (ins Model_TensorType:$dx, Model_TensorType:$x, Model_TensorType:$y,
                       Model_TensorType:$weights);
  let results = (outs Model_TensorType:$streams, Model_TensorType:$made, Model_TensorType:$weights_gradient);
  let hasVerifier = 1;
}

#endif // BATON_DIALECTS_MODEL_HYPER_OPS
