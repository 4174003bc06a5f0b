//===- Passes.td - from a model to its training step ----------------------===//

#ifndef BATON_PASSES_TRAINING
#define BATON_PASSES_TRAINING

include "mlir/Pass/PassBase.td"

def TrainingForm : Pass<"training-form", "::mlir::ModuleOp"> {
  let summary = "Make the forward step of training of a program that decodes";
  let description = [{
    ```mlir
    model.program @p max_seq 64 {
    ^bb0(%tokens: !model.tensor<rows x i32>):
      ...
      %k = model.kv_append %a to "k"
      %v = model.kv_append %b to "v"
      %y = model.attention %q, %k, %v
      ...
      %l = model.last_rows %x
      %logits = model.linear %l, %w
      model.return %logits
    }
    ```
    becomes
    ```mlir
    model.program @p max_seq 64 training {
    ^bb0(%tokens, %positions, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
      ...
      %y, %s = model.sequence_attention %q, %a, %b, %positions
      ...
      %loss, %dx, %dw = model.cross_entropy %x, %w, %targets, %weights
      model.return %loss
    }
    ```
    What takes a row's position takes it from `%positions`; a gate that attention
    has becomes an op of its own again. Factors and a softcap after the last
    linear become the cross-entropy's.

    Where attention is products, a `model.reindex` stands in the place of each
    `model.kv_append`, and masks get the positions.

    With `preferences` losses are of pairs of answers, of which one is preferred; the
    program takes the numbers of these pairs:
    ```mlir
    ^bb0(%tokens, %positions, %targets, %weights, %preferences: !model.tensor<rows x 4 x f32>):
      ...
      %loss, %dx, %dw = model.cross_entropy %x, %w, %targets, %weights
      %losses, %gradient = model.preference_loss %loss, %weights, %preferences
      model.return %losses
    ```
    With `teacher-tokens` losses are divergences from what another model says of each
    row; of a smaller vocabulary there are as many tokens as that has:
    ```mlir
    ^bb0(%tokens, %positions, %targets, %weights, %named: !model.tensor<rows x 64 x i32>, %numbers: !model.tensor<rows x 69 x f32>):
      ...
      %losses, %dx, %dw = model.cross_entropy %x, %w, %targets, %weights, %named, %numbers
      model.return %losses
    ```

    Refused: attention over what is no state as it is, products that sum over
    positions of which no mask hides other sequences, linears that have norms or
    activations already, and logits that no linear makes; its bias, if it has one, is
    the cross-entropy's.
  }];
  let options = [
    Option<"preferences", "preferences", "bool", "false", "Losses of pairs of answers">,
    Option<"teacherTokens", "teacher-tokens", "int64_t", "0", "Losses are divergences from a teacher, which names so many tokens of a row; 0: without one">,
  ];
}

def LowRankAdapters : Pass<"low-rank-adapters", "::mlir::ModuleOp"> {
  let summary = "Freeze a model, and train low-rank pairs beside its linears";
  let description = [{
    ```mlir
    %w = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight"]
    %y = model.linear %x, %w
    ```
    becomes, of rank 16, alpha 32 and the target q_proj,
    ```mlir
    %w = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight"] {frozen}
    %0 = model.linear %x, %w
    %a = model.parameter ["base_model.model.model.layers.{layer}.self_attn.q_proj.lora_A.weight"]
    %1 = model.linear %x, %a
    %2 = model.scale %1 {factor = 2.0}
    %b = model.parameter ["base_model.model.model.layers.{layer}.self_attn.q_proj.lora_B.weight"]
    %y = model.linear %2, %b residual %0
    ```
    All other parameters are frozen, too. The factor is alpha / rank, or with
    `stabilized` alpha / sqrt(rank). A target is the last part of a module's name,
    its last parts, or its whole name; `all-linear` means all linears but routers
    and the output projection.

    With `decomposed` each row of the adapted weight is divided by its length and
    multiplied by one that trains (Liu et al., "DoRA: Weight-Decomposed Low-Rank
    Adaptation", 2024). A bias is added behind that:
    ```mlir
    %m = model.parameter ["base_model.model.model.layers.{layer}.self_attn.q_proj.lora_magnitude_vector"]
    %3 = model.adapted_squares %w, %a, %b {factor = 2.0}
    %z = model.magnitude %y, %m, %3
    ```

    The program gets an attribute `model.adapter` that says what came of it.

    Refused: programs that are not in training form, targets that no linear has.
  }];
  let options = [
    Option<"rank", "rank", "int64_t", "16", "Rows of A, columns of B">,
    Option<"alpha", "alpha", "double", "32", "By which the pair's product counts, divided by the rank">,
    Option<"stabilized", "stabilized", "bool", "false", "Divide by the rank's square root instead">,
    Option<"decomposed", "decomposed", "bool", "false", "Train the lengths of the adapted weights' rows">,
    ListOption<"targets", "targets", "std::string", "Names of the linears that get a pair">,
  ];
  let statistics = [
    Statistic<"numPairs", "pairs", "Pairs that were added">,
  ];
}

def RouterLosses : Pass<"router-losses", "::mlir::ModuleOp"> {
  let summary = "Add what routers of a mixture of experts add to its loss";
  let description = [{
    ```mlir
    %y = model.stack %x repeat 4 {
    ^bb0(%a: ...):
      %e, %w = model.route %logits
      ...
      model.yield %b
    }
    %loss, %dx, %dw = model.cross_entropy ...
    model.return %loss
    ```
    becomes
    ```mlir
    %none = model.router_begin %weights
    %y, %sums = model.stack %x, %none repeat 4 {
    ^bb0(%a: ..., %before: ...):
      %e, %w = model.route %logits
      %own = model.router_sums %before, %logits, %e
      ...
      model.yield %b, %own
    }
    %loss, %dx, %dw = model.cross_entropy ...
    %losses, %dsums = model.router_loss %loss, %sums, %weights {balance, z, layers = 4}
    model.return %losses
    ```
    The balance loss has the program's own factor (`model.balance_loss`, as its config
    has it) where no option says another one; the z-loss has none. With neither, nothing
    changes.

    Refused: programs without routers, routers of several numbers of experts, a balance
    loss of routers whose scores are no softmax, losses that no `model.cross_entropy` makes.
  }];
  let options = [
    Option<"balance", "balance", "double", "-1", "Factor of the loss that balances experts; below 0: the program's own">,
    Option<"z", "z", "double", "0", "Factor of the loss of the size of routers' logits">,
  ];
}

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "Append the gradients of a training program's loss";
  let description = [{
    Walks the program back and writes every op's adjoint (`Differentiable`). A
    stack gets a reversed one, of the same depth; what its adjoints read of the
    forward step is saved by name, once, views and parameters are made again
    instead.

    ```mlir
    %y = model.stack %x repeat 4 {
    ^bb0(%a: ...):
      %w = model.parameter ["l.{layer}.w"]
      %b = model.linear %a, %w
      %c = model.activate %b
      model.yield %c
    }
    ```
    gets
    ```mlir
    // in the stack: model.save %a to "layers.input"; model.save %b to "..."
    %dx = model.stack %dy repeat 4 reverse {
    ^bb0(%dc: ...):
      %b = model.saved "..."
      %db = model.activate_gradient %dc, %b
      %w = model.parameter ["l.{layer}.w"]
      %da = model.linear_input_gradient %db, %w
      %a = model.saved "layers.input"
      %dw = model.linear_weight_gradient %db, %a
      model.gradient %dw of %w
      model.yield %da
    }
    ```
    A program that has gradients stays as it is. With `split`, adjoints for
    parameters come after all others, in stacks of their own, which what the
    others leave is saved for; but for `model.cross_entropy`'s, which has both
    where its logits are.

    Gradients begin at `model.cross_entropy`, at a `model.router_loss` that adds to it, and at
    a `model.preference_loss` of it.

    Refused: ops without an adjoint, values from outside of a stack that its
    pattern would have to differentiate, slices that leave out a part.
  }];
  let options = [
    Option<"split", "split", "bool", "false", "Adjoints for parameters apart from those for inputs">,
  ];
  let statistics = [
    Statistic<"numSaved", "saved", "Values saved for the backward step">,
    Statistic<"numGradients", "gradients", "Contributions to gradients of parameters">,
  ];
}

def Recompute : Pass<"recompute", "::mlir::ModuleOp"> {
  let summary = "Decide which values of the forward step are kept for the backward one";
  let description = [{
    A value that a forward stack saves is kept for all layers until the backward
    step reads it. Instead, a reversed stack may repeat the ops that make it:

    ```mlir
    // in the stack
    %b = model.linear %a, %w
    model.save %b to "b"
    %c = model.activate %b
    model.save %c to "c"
    // in the reversed stack
    %b2 = model.saved "b"
    %c2 = model.saved "c"
    %dw = model.linear_weight_gradient %dd, %c2
    ```
    becomes with `mode=selective`
    ```mlir
    %b = model.linear %a, %w
    model.save %b to "b"
    %c = model.activate %b
    // in the reversed stack
    %b2 = model.saved "b"
    %c2 = model.activate %b2
    %dw = model.linear_weight_gradient %dd, %c2
    ```

    - `none`: everything that is read is kept.
    - `selective`: no op is repeated whose `isCheapToRecompute` (`Differentiable`)
      says no, which are products of matrices, but hyper-connections' small ones,
      and attention. Under that condition the bytes that are kept are the fewest: a
      minimum cut, of several the one that repeats least. Views are never kept
      themselves, but their sources.
    - `full`: of each iteration of the pattern only what the stack carries into it
      is kept.

    Copies of ops compute the bits that the ops did. They stand where their result
    is first read; cse and canonicalize find them nothing to merge with, since the
    forward ops are in another stack's pattern.

    The program gets an attribute `model.recompute` that says what came of it:
    mode, values saved, ops recomputed, the bytes that the saved values of all
    layers take for each row of a step, and the floating-point operations of
    products (`getProductFlops`) that are made again for each row.

    What reversed stacks save (`differentiate=split`) stays saved.
  }];
  let options = [
    Option<"mode", "mode", "::baton::training::RecomputeMode",
           "::baton::training::RecomputeMode::none", "What is recomputed",
           [{::llvm::cl::values(
               clEnumValN(::baton::training::RecomputeMode::none, "none", "Nothing"),
               clEnumValN(::baton::training::RecomputeMode::selective, "selective",
                          "What saves most memory without a second product of matrices, but small ones"),
               clEnumValN(::baton::training::RecomputeMode::full, "full",
                          "All but what a stack carries"))}]>,
  ];
  let statistics = [
    Statistic<"numSaved", "saved", "Values that forward stacks save">,
    Statistic<"numRecomputed", "recomputed", "Ops that are repeated">,
    Statistic<"numRowBytes", "row-bytes", "Bytes that saved values take for each row">,
  ];
}

#endif // BATON_PASSES_TRAINING
