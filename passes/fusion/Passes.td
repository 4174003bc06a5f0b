//===- Passes.td - from primitive model ops to fused ones ----------------===//

#ifndef BATON_PASSES_FUSION
#define BATON_PASSES_FUSION

include "mlir/Pass/PassBase.td"

def AttentionFusion : Pass<"attention-fusion", "::mlir::ModuleOp"> {
  let summary = "Make one attention op of matmul, mask, softmax, matmul";
  let description = [{
    The scores between the two products are as large as rows times positions;
    `model.attention` never stores them.

    ```mlir
    %qh = model.transpose %q {permutation = array<i64: 1, 0, 2>}   // [H, rows, D]
    %kt = model.transpose %k {permutation = array<i64: 1, 2, 0>}   // [G, D, kv]
    %kh = model.broadcast %kt {axis = 0, times = H/G}
    %vt = model.transpose %v {permutation = array<i64: 1, 0, 2>}   // [G, kv, E]
    %vh = model.broadcast %vt {axis = 0, times = H/G}
    %s0 = model.matmul %qh, %kh
    %s1 = model.scale %s0 {factor = 0.25}
    %s2 = model.mask %s1 {window = 64}
    %p  = model.softmax %s2
    %r  = model.matmul %p, %vh
    %o  = model.transpose %r {permutation = array<i64: 1, 0, 2>}   // [rows, H, E]
    ```
    becomes
    ```mlir
    %o = model.attention %q, %k, %v {scale = 0.25, window = 64}
    ```
    What may differ:
    - the scale is absent, on the scores, or on q before or after its transpose;
    - `scale(1/c), tanh, scale(c)` between scale and mask is the softcap c;
    - the broadcasts are absent, before or among the transposes, as long as all
      views together make each key/value head serve H/G query heads in a row.

    A `model.gate` of a result that nothing else reads becomes its `gate`.

    It is left alone when a value between the two products has another user,
    when there is no mask (the op is causal), when keys and values are repeated
    differently, or when c and 1/c are not each other's reciprocal in F32.

    Not guaranteed: the same rounding (a scale on q moves behind the product).
  }];
  let options = [
    Option<"explain", "explain", "bool", "false", "Say what was done, what not, and why, as remarks">,
  ];
  let statistics = [
    Statistic<"numFused", "fused", "Attention ops made">,
    Statistic<"numGates", "gates", "Gates moved into attention">,
    Statistic<"numKept", "kept", "Softmaxes between two products left as they are">,
  ];
}

def HyperFusion : Pass<"hyper-fusion", "::mlir::ModuleOp"> {
  let summary = "Read the streams of hyper-connections once between two sublayers";
  let description = [{
    Two rules, for every `model.hyper_pre`:

    1. the maps of the streams that it reads are computed with it,
    ```mlir
    %l = model.hyper_project %x, %phi
    %m = model.hyper_maps %l, %scale, %base
    %w = model.slice %m {axis = 1, offset = 0}
    %h = model.hyper_pre %x, %w
    ```
    becomes
    ```mlir
    %h, %m = model.hyper_enter %x, %phi, %scale, %base
    ```
    2. and if a `model.hyper_post` makes these streams, that as well,
    ```mlir
    %x = model.hyper_post %before, %y, %weights
    %h, %m = model.hyper_enter %x, %phi, %scale, %base
    ```
    becomes
    ```mlir
    %x, %h, %m = model.hyper_turn %before, %y, %weights, %phi, %scale, %base
    ```

    It is left alone where anything else reads the logits (in a training
    program their adjoint does), where the weights are no first part of the
    maps, or where the ops stand in different blocks: the first sublayer of a
    stack's pattern enters what the last one of the iteration before has left.

    The bits are the same.
  }];
  let options = [
    Option<"explain", "explain", "bool", "false", "Say what was done, what not, and why, as remarks">,
  ];
  let statistics = [
    Statistic<"numEntered", "entered", "hyper_enter ops that stayed">,
    Statistic<"numTurned", "turned", "hyper_turn ops made">,
  ];
}

def LinearGrouping : Pass<"linear-grouping", "::mlir::ModuleOp"> {
  let summary = "Make one linear of several that read the same rows";
  let description = [{
    Two rules, in this order:

    1. A gated feed-forward layer,
    ```mlir
    %g = model.linear %x, %wg
    %u = model.linear %x, %wu
    %a = model.activate %g {activation = #model.activation<silu>}
    %y = model.mul %a, %u
    ```
    becomes
    ```mlir
    %y = model.gated_linear %x, %wg, %wu {activation = #model.activation<silu>}
    ```
    when nothing else uses %g, %u and %a.

    2. Other linears of one block with the same input,
    ```mlir
    %q = model.linear %x, %wq
    %k = model.linear %x, %wk
    ```
    become
    ```mlir
    %w  = model.concat %wq, %wk
    %qk = model.linear %x, %w
    %q  = model.slice %qk {axis = 1, offset = 0}
    %k  = model.slice %qk {axis = 1, offset = Nq}
    ```

    The linears are plain (no norm, activation or residual yet), their weights
    and biases are parameters that nobody else reads, with the same element
    types; all are stored transposed or none is, all have a bias or none has.
    A linear whose only user is an activation or a sum is not grouped: as an
    epilogue that op is worth more (norm-rewrites).

    Not guaranteed: that the parts start at multiples of any tile size.
  }];
  let options = [
    Option<"explain", "explain", "bool", "false", "Say what was done, what not, and why, as remarks">,
  ];
  let statistics = [
    Statistic<"numGated", "gated", "Gated linears made">,
    Statistic<"numGroups", "groups", "Groups of linears made">,
  ];
}

def NormRewrites : Pass<"norm-rewrites", "::mlir::ModuleOp"> {
  let summary = "Move norms, activations and residual sums into linears";
  let description = [{
    Three rules, each over the whole program before the next:

    1. a norm that only linears of its block read, as their input, becomes their
       prologue (each computes the row's statistics itself);
    2. an activation of a linear that nothing else uses becomes its epilogue;
    3. a sum with a linear that nothing else uses becomes its residual, which
       is added after the activation. Of two such linears the right one takes
       the other's result.

    ```mlir
    %n = model.rms_norm %x, %g {epsilon = 1.0e-5}
    %l = model.linear %n, %w
    %a = model.activate %l {activation = #model.activation<relu>}
    %y = model.add %r, %a
    ```
    becomes
    ```mlir
    %y = model.linear %x, %w norm_weight %g residual %r
           {norm = #model.norm<rms>, epsilon = 1.0e-5, activation = #model.activation<relu>}
    ```
    A linear takes the location of the op whose value it now has.

    Not rewritten: a norm that anything else reads or that a linear with a norm
    of its own reads; an activation after a residual; a second residual; ops of
    different blocks, as a stack would repeat what now happens once.
  }];
  let options = [
    Option<"explain", "explain", "bool", "false", "Say what was done, what not, and why, as remarks">,
  ];
  let statistics = [
    Statistic<"numNorms", "norms", "Norms moved">,
    Statistic<"numActivations", "activations", "Activations moved">,
    Statistic<"numResiduals", "residuals", "Residual sums moved">,
  ];
}

def DeferNorms : Pass<"defer-norms", "::mlir::ModuleOp"> {
  let summary = "Divide by a row's norm behind the products that read it";
  let description = [{
    A norm needs all of a row before anything can be multiplied by it. Its division
    is the same for all elements of the row, so it may as well follow the product:

    ```mlir
    %n = model.rms_norm %x, %g {epsilon = 1.0e-5}
    %y = model.linear %n, %w
    ```
    becomes
    ```mlir
    %s, %q = model.norm_begin %x, %g
    %h = model.linear %s, %w
    %y = model.norm_end %h, %q {width = K, epsilon = 1.0e-5}
    ```
    Where ranks have parts of the rows, `%h` and `%q` are partial sums, and what is
    communicated is as narrow as the product (bottleneck tensor parallelism). To be
    run before differentiate and sharding-propagation.

    Deferred are norms that only linears of their block read, as their input, each
    of which makes fewer elements than it reads and does nothing but multiply.

    Not guaranteed: the same rounding.
  }];
  let options = [
    Option<"explain", "explain", "bool", "false", "Say what was done, what not, and why, as remarks">,
  ];
  let statistics = [
    Statistic<"numDeferred", "deferred", "Norms in two halves">,
  ];
}

#endif // BATON_PASSES_FUSION
