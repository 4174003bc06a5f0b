//===- Passes.td - from one model to one rank's program -------------------===//

#ifndef BATON_PASSES_SHARDING
#define BATON_PASSES_SHARDING

include "mlir/Pass/PassBase.td"

def PrintRules : Pass<"test-print-sharding-rules", "::mlir::ModuleOp"> {
  let summary = "Say every op's sharding rule, or why it has none, as a remark";
}

def SplitLinears : Pass<"split-linears", "::mlir::ModuleOp"> {
  let summary = "Make a linear for each part of one that is read in parts";
  let description = [{
    One product for queries, keys and values (GPT-2) has columns of all heads side by
    side. Cut over ranks, it would give one rank queries and another one values; its
    parts are cut by heads, each by itself.

    ```mlir
    %w = model.parameter ["c_attn.weight"] transposed : <144 x 48 x f32>
    %y = model.linear %x, %w
    %k = model.slice %y {axis = 1, offset = 48}    // [rows, 48]
    ```
    becomes
    ```mlir
    %w = model.parameter ["c_attn.weight"] transposed {blocks = array<i64: 48, 144, 48>} : <48 x 48 x f32>
    %k = model.linear %x, %w
    ```
    Left alone is a linear whose result something else reads, one with a residual,
    and one whose weight or bias has other users, blocks, or shards.

    Results have the same bits; gradients of x are added up in another order.
  }];
  let statistics = [
    Statistic<"numSplit", "split", "Linears that are several now">,
  ];
  let dependentDialects = ["::baton::model::ModelDialect"];
}

def ShardingPropagation : Pass<"sharding-propagation", "::mlir::ModuleOp"> {
  let summary = "Find where every value lies, from a few that are known";
  let description = [{
    Tactics come one after the other. Each says of some values on which axis they
    are sharded (its seeds), and what follows from that by the ops' rules,
    forwards and backwards, is found before the next one begins.

    | tactic        | seeds                                                               |
    |---------------|---------------------------------------------------------------------|
    | (always first) | placements that the IR states: `dist.placements`, `dist.arguments`, `dist.gradient` |
    | `data:A`      | the program's rows, between sequences; A is a batch axis of the mesh |
    | `tensor:A`    | attention's heads, the width of feed-forward layers and of experts, the vocabulary |
    | `experts:A`   | a mixture's experts                                                 |
    | `bottleneck:A` | attention's heads, what low-rank pairs of linears narrow, columns of what stacks carry, the vocabulary |
    | `sequence:A`  | rows of what stacks carry                                           |
    | `zero:A`      | parameters, hence their gradients (ZeRO-3, FSDP)                    |
    | `gradients:A` | gradients alone (ZeRO-1 and 2)                                      |

    ```mlir
    dist.mesh [tensor = 2]
    %up = model.parameter ["up"] : !model.tensor<12 x 8 x f32>
    %b = model.linear %a, %up
    %c = model.activate %b
    %down = model.parameter ["down"] : !model.tensor<8 x 12 x f32>
    %d = model.linear %c, %down
    ```
    gets with `tactics=tensor:tensor`
    ```mlir
    %up = model.parameter ["up"] {dist.placements = [#dist.placement<[shard(tensor), replicate]>]}
    %b = model.linear %a, %up {dist.placements = [#dist.placement<[replicate, shard(tensor)]>]}
    %c = model.activate %b {dist.placements = [#dist.placement<[replicate, shard(tensor)]>]}
    %down = model.parameter ["down"] {dist.placements = [#dist.placement<[replicate, shard(tensor)]>]}
    %d = model.linear %c, %down {
      dist.computed = [#dist.placement<[replicate, replicate], partial sum(tensor)>],
      dist.placements = [#dist.placement<[replicate, replicate]>]}
    ```
    `dist.operands` and `dist.computed` say how an op reads and writes where that
    is not where the values lie.

    An axis never leaves a value that it shards: where two tactics want one axis
    in one op, or for one value, the earlier one has it. What the other one
    wanted, and where both come from, is a remark with `explain`.

    A stack is seen once. What it carries lies in one place before, in and behind
    it, so do parameters of the same names, and a value and what is saved of it.

    Of axes that a plan has decided (`dist.planned`), parameters have what is stated of
    them and no more, and `tensor`, `experts` and `bottleneck` are left out.

    Only the vocabulary may be uneven. Key/value heads that are fewer than the
    ranks are replicated (`dist.shared_heads`).

    Not guaranteed: that a communication is needed least often; it only follows
    where values lie.
  }];
  let options = [
    ListOption<"tactics", "tactics", "std::string", "In their order: data:AXIS, tensor:AXIS, ...">,
    Option<"explain", "explain", "bool", "false", "Say what was decided against, and why, as remarks">,
  ];
  let dependentDialects = ["::baton::dist::DistDialect"];
}

def InsertReshards : Pass<"insert-reshards", "::mlir::ModuleOp"> {
  let summary = "Write a reshard wherever a value is read from another place than it lies in";
  let description = [{
    ```mlir
    %d = model.linear %c, %down {
      dist.computed = [#dist.placement<[replicate, replicate], partial sum(tensor)>],
      dist.placements = [#dist.placement<[replicate, replicate]>]}
    ```
    becomes
    ```mlir
    %p = model.linear %c, %down {dist.placements = [#dist.placement<[replicate, replicate], partial sum(tensor)>]}
    %d = dist.reshard %p from #dist.placement<[replicate, replicate], partial sum(tensor)> to #dist.placement<[replicate, replicate]>
    ```
    Sums of partial values that nothing else reads stay partial, so that they are
    communicated once. A value that several ops read from one place is brought
    there once.

    `model.cross_entropy` with a sharded vocabulary becomes `dist.logit_maximum`,
    `dist.logit_sums`, `dist.losses` and `dist.loss_gradients`, between which
    three numbers a row are communicated.
  }];
  let statistics = [
    Statistic<"numReshards", "reshards", "Reshards written">,
  ];
  let dependentDialects = ["::baton::dist::DistDialect"];
}

def VerifySharding : Pass<"verify-sharding", "::mlir::ModuleOp"> {
  let summary = "Show that every op gets its operands as its rule wants them";
  let description = [{
    From where an op's operands lie its rule gives where its results do; that has
    to be what is stated. So no partial value reaches an op that is not linear in
    it, a stack's border, a saved value, a gradient or the end of the program, no
    factor that an op needs whole is sharded, and all operands shard a factor
    alike.
  }];
}

def LowerReshards : Pass<"lower-reshards", "::mlir::ModuleOp"> {
  let summary = "Make collectives of reshards";
  let description = [{
    | from | to | becomes |
    |------|----|---------|
    | partial | replicate | `dist.all_reduce` |
    | partial | shard | `dist.reduce_scatter` |
    | shard | replicate | `dist.all_gather` |
    | shard of one dimension | of another | `dist.all_to_all` |
    | replicate | shard | `dist.slice`, which sends nothing |
    | replicate | partial | `dist.first_rank`, which sends nothing |

    Reductions come first, gathers last, where tensors are smallest and largest.
    A collective's `payload` are the bytes of the tensor that a rank has, as a
    formula in the symbols of the step.
  }];
  let statistics = [
    Statistic<"numCollectives", "collectives", "Ops that communicate">,
  ];
  let dependentDialects = ["::baton::dist::DistDialect"];
}

def JoinCollectives : Pass<"join-collectives", "::mlir::ModuleOp"> {
  let summary = "Communicate at once what can be";
  let description = [{
    Sums over the same ranks that do not depend on one another are one communication
    of several tensors: of what a norm's products and its squares are, say
    (`defer-norms`).

    ```mlir
    %q1 = dist.all_reduce %q over ["tensor"]
    %a = model.norm_end %h, %q1
    %k1 = dist.all_reduce %k over ["tensor"]
    ```
    becomes
    ```mlir
    %q1 = dist.all_reduce %q over ["tensor"]
    %k1 = dist.all_reduce %k over ["tensor"] {dist.joined}
    %a = model.norm_end %h, %q1
    ```
    A sum waits for a later one of its block where neither a third one nor any op with
    an effect, but for `model.save`, stands between them and depends on it, so that
    nothing else that others may see comes later than it did.

    Not guaranteed: that fewer ones would be impossible.
  }];
  let statistics = [
    Statistic<"numJoined", "joined", "Collectives that go along with another one">,
  ];
  let dependentDialects = ["::baton::dist::DistDialect"];
}

def Localize : Pass<"localize", "::mlir::ModuleOp"> {
  let summary = "Make one model's program that of one rank";
  let description = [{
    Every rank runs the same program on what it has. Over batch axes rows are cut
    between sequences, so that `rows` are simply a rank's rows. Numbers that are cut
    become those of a part, the largest where parts are uneven, and a parameter says
    which part of the checkpoint's tensor it is:
    ```mlir
    %w = model.parameter ["lm_head.weight"] {dist.placements = [#dist.placement<[ragged(tp: 1, [66, 65]), replicate]>]} : <131 x 60 x f32>
    ```
    becomes
    ```mlir
    %w = model.parameter ["lm_head.weight"] {shards = [#model.shard<0 of 131 over ["tp"] by 1 units [66, 65]>]} : <66 x 60 x f32>
    ```
    Over other axes rows of what a training step makes become a part of them:
    ```mlir
    %y = dist.all_gather %x : !model.tensor<rows x 60 x f32> dimension 0 over ["tp"] from <[shard(tp), replicate]> to <[replicate, replicate]> payload "4 * rows * 60"
    ```
    becomes
    ```mlir
    %y = dist.all_gather %x : !model.tensor<rows over 2 x 60 x f32> -> !model.tensor<rows x 60 x f32> dimension 0 over ["tp"] from <[shard(tp), replicate]> to <[replicate, replicate]> payload "4 * rows * 60"
    ```
    Sums over ranks within a step stay, of all that a rank has, and so do gathers and
    reduce-scatters of rows, and gathers and slices of columns of rows. Sums of gradients become notes:
    ```mlir
    %d = model.linear_weight_gradient %dy, %x {dist.placements = [#dist.placement<[replicate, replicate], partial sum(dp)>]}
    %g = dist.all_reduce %d over ["dp"] from <[replicate, replicate], partial sum(dp)> to <[replicate, replicate]> payload "4 * 60 * 96"
    model.gradient %g of %weight
    ```
    becomes
    ```mlir
    %d = model.linear_weight_gradient %dy, %x
    model.gradient %d of %weight {dist.summed = ["dp"]}
    ```
    A reduce-scatter, of whose sum each rank has a part, leaves `dist.scattered`
    beside it, which says when it is made (`scatter`), with `dist.scattered_over`
    where the sum is also over other axes of the batch, and an all-gather of a
    parameter leaves `dist.gathered` on that. What a gradient is summed up of, and over several steps of one update, is a
    rank's own until the step that ends with an update: there it is communicated,
    once. Where the step is cut into stages, ranks in one place of the batch's axes
    run all of them, and messages between stages have a rank's rows.

    Placements are gone afterwards. Rows of the program's arguments, or of one that
    decodes, that are cut over axes that are not of the batch, what is communicated
    within a step beside sums, rows and columns, and several key/value heads that all
    ranks have are errors that say so.
  }];
  let options = [
    Option<"scatter", "scatter", "std::string", "\"update\"", "When ranks scatter gradients: once a step ends with an update, or in each step">,
  ];
  let dependentDialects = ["::baton::dist::DistDialect"];
}

def ExchangeExperts : Pass<"exchange-experts", "::mlir::ModuleOp"> {
  let summary = "Send rows to the ranks of their experts";
  let description = [{
    Of one rank's program, where ranks along a batch axis have all experts of a
    mixture, each for its own rows. Then each has some, and rows go to theirs and come back:
    ```mlir
    %p = model.gather %x, %choices : ... -> !model.tensor<rows x 2 x 64 x f32>
    %y = model.grouped_linear %p, %bounds, %weight : ..., !model.tensor<5 x i32>, !model.tensor<4 x 96 x 64 x f32>
    %z = model.combine %y, %places, %weights
    ```
    becomes, of two ranks,
    ```mlir
    %received, %counts = dist.exchange_counts %bounds over ["ep"] payload "4 * 2 * 16"
    %p = model.gather %x, %choices : ... -> !model.tensor<rows x 2 x 64 x f32>
    %q = dist.dispatch_rows %p, %bounds, %received, %counts over ["ep"] payload "4 * rows * 2 * 64"
    %y = model.grouped_linear %q, %received, %weight : !model.tensor<rows x 4 x 64 x f32>, !model.tensor<4 x i32>, !model.tensor<2 x 96 x 64 x f32>
    %h = dist.combine_rows %y, %bounds, %received, %counts over ["ep"] payload "4 * rows * 2 * 96"
    %z = model.combine %h, %places, %weights
    ```
    Whatever lies between two products, in either direction, and what a layer saves of
    it, is of received rows; the second product's result is saved for the router's gradient as
    it has come back. A parameter gets a shard, and the axis leaves its gradient's
    `dist.summed`.

    Not guaranteed: that a value is exchanged only once where several stacks read it.
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"ep\"", "The axis whose ranks have some of the experts each">,
  ];
  let statistics = [
    Statistic<"numExchanges", "exchanges", "Values whose rows go to other ranks">,
  ];
  let dependentDialects = ["::baton::dist::DistDialect"];
}

#endif // BATON_PASSES_SHARDING
