//===- TrainingOps.td - the model dialect: losses, adjoints, gradients ----===//
//
// Included by ModelOps.td. Adjoints are ops like others, so that passes fuse,
// tile and test them; differentiate writes them.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_MODEL_TRAINING_OPS
#define BATON_DIALECTS_MODEL_TRAINING_OPS

//===----------------------------------------------------------------------===//
// The forward step of training
//===----------------------------------------------------------------------===//

def Model_SequenceAttentionOp : Model_PlainOp<"sequence_attention", [Pure, Model_ParameterProductAdjoint]> {
  let summary = "causal attention within the sequences of a step";
  let description = [{
    As `model.attention`, over the step's own rows: row r sees the rows
    `r - positions[r]` to r, of them the last `window` if that is not 0. So
    several sequences, of any lengths, lie behind one another. `statistics` are
    the maximum of each query head's scores, and the sum of their exponentials
    relative to it: with them an adjoint computes any weight again. A sink, as
    `model.softmax` has it, is one more score, and counts in both.

    **Constraints:**
    - q is `rows x H x D`, k is `rows x G x D`, v is `rows x G x E`; the result is `rows x H x E`, the statistics `rows x H x 2`; all f32
    - G divides H
    - positions are `rows x i32`
    - sinks are `H x f32`
    - scale is finite; softcap is not negative; window is 0 (none) or at least 1
  }];
  let arguments = (ins Model_TensorType:$q, Model_TensorType:$k, Model_TensorType:$v,
                       Model_TensorType:$positions, Optional<Model_TensorType>:$sinks,
                       F32Attr:$scale, DefaultValuedAttr<F32Attr, "0.0f">:$softcap,
                       DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs Model_TensorType:$result, Model_TensorType:$statistics);
  let hasVerifier = 1;
}

def Model_CrossEntropyOp : Model_Op<"cross_entropy", [Pure, AttrSizedOperandSegments, Model_ParameterProductAdjoint]> {
  let summary = "an output projection, the loss of its logits, and the gradients of that";
  let description = [{
    With `l = cap(scale * (x[r] · weightᵀ + bias))`, `cap` as in `model.attention`,
    and 0 for a bias that is not there:
    `loss[r] = weights[r] * (log(sum(exp(l))) - l[targets[r]])`. `dx`, `dweight` and
    `dbias` are the gradients of the sum of all losses, for x, the weight and the
    bias. A loss ends its program, so they are known as soon as the logits are,
    which are made once, for some of the rows after others, so that those of all
    never exist. What nobody reads is not computed.

    Where something is made of the losses first, rows count by the gradient for
    them: dx is multiplied by it where weight and bias are frozen, and else logits
    are made again, in a second op whose weights are multiplied by it.

    With a teacher (Hinton et al., "Distilling the Knowledge in a Neural Network", 2015)
    there are, for each row, the N likeliest tokens of another model, ascending, and
    N + 5 numbers: `b, c, 1 / T, log(rest), reverse`, and the logarithms of the
    probabilities p that the teacher gives these tokens at temperature T; `rest` is the
    probability of all others together. Places without a token hold one that is not below
    the vocabulary. With q the softmax of `l / T`, and the tokens that the teacher does not
    name taken for one, `divergence[r]` is the Kullback-Leibler divergence KL(p || q), or
    KL(q || p) where `reverse` is not 0. The loss is three numbers,
    `weights[r] * {b * divergence + c * entropy, divergence, entropy}`, with `entropy` as
    above, and the gradients are those of the first.

    **Constraints:**
    - x is `rows x K x f32`; the weight is static [vocabulary, K], a bias [vocabulary]
    - targets are `rows x i32`, weights `rows x f32`
    - a teacher is two values, `rows x N x i32` and `rows x (N + 5) x f32`, with N at least 1 and at most the vocabulary
    - the loss is `rows x f32`, with a teacher `rows x 3 x f32`, dx has x's type, dweight is [vocabulary, K] in f32
    - with a bias, and only then, there is a dbias, [vocabulary] in f32
    - scale is finite; softcap is not negative
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$weight,
                       Model_TensorType:$targets, Model_TensorType:$weights,
                       Variadic<Model_TensorType>:$teacher,
                       Optional<Model_TensorType>:$bias,
                       DefaultValuedAttr<F32Attr, "1.0f">:$scale,
                       DefaultValuedAttr<F32Attr, "0.0f">:$softcap);
  let results = (outs Model_TensorType:$loss, Model_TensorType:$dx, Model_TensorType:$dweight,
                      Optional<Model_TensorType>:$dbias);
  let assemblyFormat = [{
    $x `,` $weight `,` $targets `,` $weights (`,` $teacher^)? (`bias` $bias^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Model_PreferenceLossOp : Model_PlainOp<"preference_loss", [Pure, Model_Adjoint]> {
  let summary = "the loss of pairs of answers, of which one is preferred";
  let description = [{
    Direct preference optimisation (Rafailov et al., 2023). `losses` are those that
    `model.cross_entropy` makes of rows whose weights are 1 where a token of a chosen
    answer follows, -1 where one of a rejected answer does, and else 0. A pair begins at
    each row whose first number in `preferences` is not 0, and ends before the next one. With
    c and r the log-probabilities of its two answers, the sums over its rows, and w, beta, c' and
    r' the numbers of its first row, `z = beta * ((c - c') - (r - r'))` and its loss is
    `w * -log(sigmoid(z))`.

    `results` are, in the first row of a pair, w times: its loss without w, the rewards
    `beta * (c - c')` and `beta * (r - r')`, z, whether z is above 0, c, and r; and 0 in
    all other rows. `gradient` is that of the sum of the first column for `losses`,
    `w * beta * sigmoid(-z)` in all rows of a pair.

    **Constraints:**
    - losses are `rows x f32`, and so are weights and the gradient
    - preferences are `rows x 4 x f32`, results `rows x 7 x f32`
  }];
  let arguments = (ins Model_TensorType:$losses, Model_TensorType:$weights,
                       Model_TensorType:$preferences);
  let results = (outs Model_TensorType:$results, Model_TensorType:$gradient);
  let hasVerifier = 1;
}

def Model_WeighRowsOp : Model_PlainOp<"weigh_rows"> {
  let summary = "x[r] times the factor of row r";
  let description = [{
    **Constraints:**
    - x is `rows x f32` or `rows x K x f32`, and the result has its type
    - factors are `rows x f32`
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$factors);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_ReindexOp : Model_PlainOp<"reindex", [Pure, Model_Adjoint]> {
  let summary = "rows as positions, or positions as rows, which in training are the same";
  let description = [{
    What `model.kv_append` is to a program that decodes, where attention is
    written as products. No data moves.

    **Constraints:**
    - stands in a training program
    - the result has x's type, but `kv` where x has `rows`, or the other way round
  }];
  let arguments = (ins Model_TensorType:$x);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Adapters whose rows have a trained length
//===----------------------------------------------------------------------===//

def Model_AdaptedSquaresOp : Model_PlainOp<"adapted_squares"> {
  let summary = "sums of squares of the rows of weight + factor * up · down";
  let description = [{
    `result[n]` = the sum over k of `(weight[n, k] + factor * (up · down)[n, k])²`: what
    the rows of a weight with a low-rank pair beside it have as squares of their lengths
    (Liu et al., "DoRA: Weight-Decomposed Low-Rank Adaptation", 2024). The sum of
    matrices never exists. It has no gradient: where a length is divided by, it counts
    as a constant.

    **Constraints:**
    - the weight is static [N, K], down is [R, K] and up [N, R]
    - the weight's elements are those of a `model.linear`'s, the other two are f32
    - the result is [N] in f32
    - the factor is finite
  }];
  let arguments = (ins Model_TensorType:$weight, Model_TensorType:$down,
                       Model_TensorType:$up, F32Attr:$factor);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_MagnitudeOp : Model_Op<"magnitude", [Pure, Model_ParameterAdjoint]> {
  let summary = "x * magnitude / sqrt(squares) + bias, column by column";
  let description = [{
    What makes `magnitude[n]` the length of row n of a weight that x is the product of,
    and whose rows' lengths are the roots of `squares` (`model.adapted_squares`).

    **Constraints:**
    - x is [R, N] in f32, R a symbol, and the result has its type
    - magnitude, squares, and a bias if there is one, are [N]; squares in f32
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$magnitude,
                       Model_TensorType:$squares, Optional<Model_TensorType>:$bias);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = [{
    $x `,` $magnitude `,` $squares (`bias` $bias^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Model_MagnitudeGradientOp : Model_PlainOp<"magnitude_gradient"> {
  let summary = "the sum of all rows of dy * x, divided by sqrt(squares): the adjoint of a magnitude";
  let description = [{
    **Constraints:**
    - dy and x are [R, N] in f32, R a symbol, of one type
    - squares and the result are [N] in f32
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x, Model_TensorType:$squares);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// What a forward stack leaves to the backward one, and gradients
//===----------------------------------------------------------------------===//

def Model_SaveOp : Model_PlainOp<"save", []> {
  let summary = "keeps a value of every iteration for a later stack";
  let description = [{
    **Constraints:**
    - the name is not empty, and no other op of its stack saves to it, nor one of a stack in the same block
    - stands in a stack
    - `rows` or `kv` is a dimension of x, or x is a vector of a fixed size
  }];
  let arguments = (ins Model_TensorType:$x, StrAttr:$name);
  let assemblyFormat = "$x `to` $name attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Model_SavedOp : Model_PlainOp<"saved", []> {
  let summary = "the value that an earlier stack saved for this layer";
  let description = [{
    **Constraints:**
    - an earlier `model.save` to this name has a value of this type, in a stack of as many iterations
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Model_GradientOp : Model_PlainOp<"gradient", []> {
  let summary = "a contribution to the gradient of a parameter";
  let description = [{
    Contributions of a step are added in the order of the program.

    **Constraints:**
    - the parameter is a `model.parameter`
    - the gradient has its shape, with f32 elements
  }];
  let arguments = (ins Model_TensorType:$gradient, Model_TensorType:$parameter);
  let assemblyFormat = "$gradient `of` $parameter attr-dict `:` type($gradient) `,` type($parameter)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Adjoints of linears, embeddings, norms
//===----------------------------------------------------------------------===//

def Model_LinearInputGradientOp : Model_PlainOp<"linear_input_gradient"> {
  let summary = "dy · weight: the adjoint of a linear for its input";
  let description = [{
    **Constraints:**
    - dy is [R, N] in f32, R a symbol; the weight is static [N, K]; the result is [R, K] in f32
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$weight);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_LinearWeightGradientOp : Model_PlainOp<"linear_weight_gradient"> {
  let summary = "dyᵀ · x: the adjoint of a linear for its weight";
  let description = [{
    **Constraints:**
    - dy is [R, N] and x is [R, K], both f32, R a symbol; the result is [N, K] in f32
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_BiasGradientOp : Model_PlainOp<"bias_gradient"> {
  let summary = "the sum of all rows";
  let description = [{
    **Constraints:**
    - dy is [R, N] in f32, R a symbol; the result is [N] in f32
  }];
  let arguments = (ins Model_TensorType:$dy);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_EmbeddingGradientOp : Model_PlainOp<"embedding_gradient"> {
  let summary = "the sum of the rows of each index: the adjoint of an embedding for its table";
  let description = [{
    **Constraints:**
    - dy is `rows x K x f32`, indices are `rows x i32`; the result is static [N, K] in f32
    - the multiplier is finite
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$indices,
                       DefaultValuedAttr<F32Attr, "1.0f">:$multiplier);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_NormStatisticsOp : Model_PlainOp<"norm_statistics"> {
  let summary = "mean and reciprocal deviation of every row, as a norm takes them";
  let description = [{
    For `layer` the mean and `1 / sqrt(variance + epsilon)`, for `rms` 0 and
    `1 / sqrt(mean(x²) + epsilon)`.

    **Constraints:**
    - x is [R, K] or [R, H, K] in f32, R a symbol; the result has 2 in the place of K
    - the norm is `rms` or `layer`
    - epsilon is not negative
  }];
  let arguments = (ins Model_TensorType:$x, Model_NormAttr:$norm, F32Attr:$epsilon);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_NormInputGradientOp : Model_PlainOp<"norm_input_gradient"> {
  let summary = "the adjoint of a norm for its input";
  let description = [{
    **Constraints:**
    - x, dy and the result have one type, as for `model.norm_statistics`, whose result the statistics are; the weight is [K]
    - the norm is `rms` or `layer`
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x, Model_TensorType:$weight,
                       Model_TensorType:$statistics, Model_NormAttr:$norm);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_NormWeightGradientOp : Model_PlainOp<"norm_weight_gradient"> {
  let summary = "the adjoint of a norm for its weight: the sum of dy * (x - mean) / deviation";
  let description = [{
    **Constraints:**
    - dy and x have one type, as for `model.norm_statistics`, whose result the statistics are; the result is [K] in f32
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x, Model_TensorType:$statistics);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_NormBeginGradientOp : Model_Op<"norm_begin_gradient", [Pure, AttrSizedOperandSegments]> {
  let summary = "scaled_gradient * weight + 2 * squares_gradient * x: the adjoint of norm_begin for x";
  let description = [{
    A gradient that there is not is zero.

    **Constraints:**
    - there is a gradient
    - x is [R, K] in f32, R a symbol; the result and the gradient of scaled have its type; weight is [K]
    - the gradient of the squares is [R, 1] in f32
  }];
  let arguments = (ins Model_TensorType:$x, Model_TensorType:$weight,
                       Optional<Model_TensorType>:$scaled_gradient,
                       Optional<Model_TensorType>:$squares_gradient);
  let results = (outs Model_TensorType:$result);
  let assemblyFormat = [{
    $x `,` $weight (`scaled` $scaled_gradient^)? (`squares` $squares_gradient^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Model_NormEndGradientOp : Model_PlainOp<"norm_end_gradient"> {
  let summary = "the adjoint of norm_end for the squares";
  let description = [{
    **Constraints:**
    - dy and x are [R, N] in f32, R a symbol, of one type
    - squares and the result are [R, 1] in f32
    - width is at least 1
    - epsilon is not negative
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x, Model_TensorType:$squares,
                       I64Attr:$width, F32Attr:$epsilon);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_HeadLinearInputGradientOp : Model_PlainOp<"head_linear_input_gradient"> {
  let summary = "dy · weight, each head by its own weight: the adjoint of head_linear for its input";
  let description = [{
    **Constraints:**
    - dy is `rows x H x N x f32`; the weight is static `H x N x K`; the result is `rows x H x K x f32`
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$weight);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_HeadLinearWeightGradientOp : Model_PlainOp<"head_linear_weight_gradient"> {
  let summary = "dyᵀ · x of each head: the adjoint of head_linear for its weight";
  let description = [{
    **Constraints:**
    - dy is `rows x H x N x f32` and x is `rows x H x K x f32`; the result is `H x N x K x f32`
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Adjoints of attention
//===----------------------------------------------------------------------===//

def Model_RopeGradientOp : Model_PlainOp<"rope_gradient"> {
  let summary = "rotates back: the adjoint of rope";
  let description = [{
    **Constraints:**
    - dy and the table are as x and the table of `model.rope`; the result has dy's type
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$table);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_AttentionDeltaOp : Model_PlainOp<"attention_delta"> {
  let summary = "sum(dy * y) of every head's elements";
  let description = [{
    What softmax's adjoint subtracts from the adjoint of every weight of a
    query (Dao, "FlashAttention-2", 2023).

    **Constraints:**
    - dy and y are `rows x H x E x f32`; the result is `rows x H x f32`
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$y);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

class Model_AttentionAdjoint<string mnemonic> : Model_PlainOp<mnemonic> {
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$q, Model_TensorType:$k,
                       Model_TensorType:$v, Model_TensorType:$delta,
                       Model_TensorType:$statistics, Model_TensorType:$positions,
                       F32Attr:$scale, DefaultValuedAttr<F32Attr, "0.0f">:$softcap,
                       DefaultValuedAttr<I64Attr, "0">:$window);
  let hasVerifier = 1;
}

def Model_AttentionQueryGradientOp : Model_AttentionAdjoint<"attention_query_gradient"> {
  let summary = "the adjoint of sequence_attention for its queries";
  let description = [{
    **Constraints:**
    - q, k, v, positions and statistics are as for `model.sequence_attention`, dy has its result's type, delta is `rows x H x f32`
    - the result has q's type
  }];
  let results = (outs Model_TensorType:$result);
}

def Model_AttentionKeyValueGradientOp : Model_AttentionAdjoint<"attention_key_value_gradient"> {
  let summary = "the adjoint of sequence_attention for its keys and values";
  let description = [{
    **Constraints:**
    - q, k, v, positions and statistics are as for `model.sequence_attention`, dy has its result's type, delta is `rows x H x f32`
    - the results have the types of k and v
  }];
  let results = (outs Model_TensorType:$keys, Model_TensorType:$values);
}

def Model_AttentionSinkGradientOp : Model_PlainOp<"attention_sink_gradient"> {
  let summary = "the adjoint of sequence_attention for its sinks, of each row";
  let description = [{
    A sink's weight times what softmax's adjoint subtracts from the adjoint of every
    weight, its value being zero: `result[r, h] = -e^(sinks[h] - m) / s * delta[r, h]`,
    where m and s are the statistics.

    **Constraints:**
    - delta is `rows x H x f32`, statistics are `rows x H x 2 x f32`, sinks `H x f32`
    - the result has delta's type
  }];
  let arguments = (ins Model_TensorType:$delta, Model_TensorType:$statistics, Model_TensorType:$sinks);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_MaskGradientOp : Model_PlainOp<"mask_gradient"> {
  let summary = "the adjoint of a mask: 0 where a row does not see";
  let description = [{
    **Constraints:**
    - dy is `H x rows x kv` and the result has its type
    - positions are `rows x i32`
    - window is 0 (none) or at least 1
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$positions,
                       DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_GateGradientOp : Model_PlainOp<"gate_gradient"> {
  let summary = "the adjoint of a gate for the gate";
  let description = [{
    **Constraints:**
    - dy and x have one type, x and the gate are as for `model.gate`; the result has the gate's type
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x, Model_TensorType:$gate);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Adjoints of element-wise ops and views
//===----------------------------------------------------------------------===//

/// The second operand, `value`, is what the adjoint reads of the forward step.
class Model_RowAdjoint<string mnemonic, string value, string text, list<Trait> traits = []>
    : Model_PlainOp<mnemonic, [Pure] # traits> {
  let summary = text;
  let description = [{
    **Constraints:**
    - both operands and the result have the same type
    - elements are floating-point
  }];
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      if (failed(expectTypeOf(*this, "}] # value # [{", getOperand(1), "dy", getDy())))
        return failure();
      return verifySameTypeUnary(*this, getDy(), getResult());
    }
  }];
}

def Model_ActivateGradientOp
    : Model_RowAdjoint<"activate_gradient", "x", "dy * activation'(x)",
                       [DeclareOpInterfaceMethods<Model_Elementwise, ["getBodyNumbers"]>]> {
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$x, Model_ActivationAttr:$activation);
}

def Model_TanhGradientOp
    : Model_RowAdjoint<"tanh_gradient", "y", "dy * (1 - y²), y the result of tanh",
                       [Model_Elementwise]> {
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$y);
}

def Model_SoftmaxGradientOp
    : Model_RowAdjoint<"softmax_gradient", "y",
                       "y * (dy - sum(dy * y)), y the result of softmax"> {
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$y);
}

def Model_JoinOp : Model_PlainOp<"join"> {
  let summary = "values one after another along a numbered dimension: the adjoint of slices";
  let description = [{
    **Constraints:**
    - there are at least two parts
    - `axis` names a dimension that is a number; parts and result agree in everything else, and there the parts add up
  }];
  let arguments = (ins Variadic<Model_TensorType>:$parts, I64Attr:$axis);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

#endif // BATON_DIALECTS_MODEL_TRAINING_OPS
