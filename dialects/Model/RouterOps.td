//===- RouterOps.td - the model dialect: losses and loads of routers ------===//
//
// Included by ModelOps.td, behind ExpertOps.td. What a loss asks of all layers'
// routers goes through the stack as one sum for each row: of E experts the
// probabilities, the square of the logits' log-sum-exp, and how often each
// expert was chosen, 2 E + 1 numbers. The last E are counts, and have no
// gradient: gradients of such sums are of the first E + 1.
//
//===----------------------------------------------------------------------===//

#ifndef BATON_DIALECTS_MODEL_ROUTEROPS
#define BATON_DIALECTS_MODEL_ROUTEROPS

def Model_RouterBeginOp : Model_PlainOp<"router_begin", [Pure, Model_Adjoint]> {
  let summary = "the sums of no layer's router, for rows that losses weigh";
  let description = [{
    **Constraints:**
    - weights are `rows x f32`, sums are `rows x 2 E + 1 x f32` for 1 to 4096 experts
  }];
  let arguments = (ins Model_TensorType:$weights);
  let results = (outs Model_TensorType:$sums);
  let hasVerifier = 1;
}

def Model_RouterSumsOp : Model_PlainOp<"router_sums", [Pure, Model_Adjoint]> {
  let summary = "adds a layer's router to the sums of those before";
  let description = [{
    With p the softmax of a row's logits, to its sums are added `p[e]` at e,
    `logsumexp(logits)²` at E, and 1 at `E + 1 + e` for each of its experts.

    **Constraints:**
    - logits are `rows x E x f32`, experts `rows x k x i32`; k is 1 to E, at most 64
    - sums are `rows x 2 E + 1 x f32`; the result has their type
  }];
  let arguments = (ins Model_TensorType:$sums, Model_TensorType:$logits, Model_TensorType:$experts);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_RouterSumsGradientOp : Model_PlainOp<"router_sums_gradient"> {
  let summary = "the adjoint of router_sums for its logits";
  let description = [{
    **Constraints:**
    - logits are `rows x E x f32`, dy is `rows x E + 1 x f32`; the result has the logits' type
  }];
  let arguments = (ins Model_TensorType:$dy, Model_TensorType:$logits);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

def Model_RouterLossOp : Model_PlainOp<"router_loss", [Pure, Model_Adjoint]> {
  let summary = "losses that routers add, and the gradients of those";
  let description = [{
    Of the sums of `layers` routers. Expert e has the share `f[e]` of the rows of
    the step, of all layers, that it was chosen for; rows of weight 0 do not count,
    nor do rows that other ranks have. A row adds, with w its weight,

    - to the balance loss (Fedus et al., "Switch Transformers", 2021) `w * E / layers`
      times the sum of `f[e] * sums[e]`: all rows together, of one weight each, E times the
      sum of `f[e]` times the mean probability of e. It is k where experts are chosen alike.
    - to the z-loss (Zoph et al., "ST-MoE", 2022) `w / layers * sums[E]`.

    `losses` are, in a row, `loss + balance * its balance loss + z * its z-loss`, the
    loss, the balance loss, and the z-loss. `dsums` is the gradient of the sum of the
    first column, for the sums; shares have none.

    **Constraints:**
    - the loss is `rows x f32`, and so are weights
    - sums are `rows x 2 E + 1 x f32`; losses are `rows x 4 x f32`, dsums `rows x E + 1 x f32`
    - balance and z are finite and not negative; there is a layer
  }];
  let arguments = (ins Model_TensorType:$loss, Model_TensorType:$sums, Model_TensorType:$weights,
                       F32Attr:$balance, F32Attr:$z, I64Attr:$layers);
  let results = (outs Model_TensorType:$losses, Model_TensorType:$dsums);
  let hasVerifier = 1;
}

def Model_RouterLoadsOp : Model_PlainOp<"router_loads"> {
  let summary = "how many of a step's rows each expert was chosen for";
  let description = [{
    Whole numbers, so that their sums are the same in any order. In place of a
    gradient of the bias that corrects a choice, what they say moves it: an expert of
    more rows than the mean is chosen less often, without a loss (Wang et al.,
    "Auxiliary-Loss-Free Load Balancing", 2024).

    **Constraints:**
    - experts are `rows x k x i32`; the result is `E x f32`
  }];
  let arguments = (ins Model_TensorType:$experts);
  let results = (outs Model_TensorType:$result);
  let hasVerifier = 1;
}

#endif // BATON_DIALECTS_MODEL_ROUTEROPS
