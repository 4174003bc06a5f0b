//===- Passes.td - placements that cost least -----------------------------===//

#ifndef BATON_PASSES_PLANNING
#define BATON_PASSES_PLANNING

include "mlir/Pass/PassBase.td"

def PlanSharding : Pass<"plan-sharding", "::mlir::ModuleOp"> {
  let summary = "Find where every value lies, so that a step takes least time";
  let description = [{
    Stands where sharding-propagation does, and says the same of a program. Along one
    axis of the mesh it chooses for each value a dimension that the axis shards, or none,
    and for each op a factor of its rule, or none. All of these together are one integer
    program (Alpa's of operators, arXiv 2201.12023), which CBC solves: no other choice
    takes less time.

    | counted | as |
    |---|---|
    | an op | the longer one of its products' operations and its operands' and results' bytes, of a rank's part |
    | a value that is read elsewhere than it lies | the collectives that lower-reshards writes; a sum that is read by one op linear in it stays in parts |
    | a collective | latency, and the bytes that a rank sends: 2 (n - 1) / n of an all-reduce's payload, (n - 1) / n of others' |
    | a stack | its iterations times one of them, which is chosen once |
    | memory | parameters with gradients and states, what is saved for the backward step, keys and values |

    ```mlir
    %b = model.linear %a, %up
    %c = model.activate %b
    %d = model.linear %c, %down
    ```
    gets, where products are slow beside links,
    ```mlir
    %up = model.parameter ["up"] {dist.placements = [#dist.placement<[shard(tensor), replicate]>]}
    %down = model.parameter ["down"] {dist.placements = [#dist.placement<[replicate, shard(tensor)]>]}
    ```
    Placements that the IR states stay, and tactics come before.

    Only what localize can make a rank's program of is chosen. Ranks exchange sums of
    rows and of gradients; with `share-rows` rows of a training step, with `share-columns`
    columns of rows. A parameter is read where it lies.

    With `share-rows`, insert-reshards may leave sums in parts further than is counted:
    predictions are bounds from above then. Else they are exact.

    Not guaranteed: the best placements along several axes at once; each is best where
    those before it are given. Time that communication is hidden behind computation is
    not known.
  }];
  let options = [
    ListOption<"axes", "axes", "std::string", "The mesh's axes to shard values along, one after the other">,
    ListOption<"tactics", "tactics", "std::string", "Of sharding-propagation, that come before: data:AXIS, ...">,
    Option<"rows", "rows", "double", "4096", "Rows of a step, of all ranks">,
    Option<"outputs", "outputs", "double", "1", "Rows whose logits are wanted">,
    Option<"kv", "kv", "double", "4096", "Positions of keys and values">,
    Option<"flops", "flops", "double", "1e14", "Operations of products in a second, of a rank">,
    Option<"bandwidth", "bandwidth", "double", "1e12", "Bytes of memory in a second, of a rank">,
    Option<"link", "link", "double", "1e11", "Bytes that a rank sends in a second">,
    Option<"latency", "latency", "double", "1e-5", "Seconds that a collective takes at least">,
    Option<"memory", "memory", "double", "0", "Bytes of a rank's memory; 0 for any number">,
    Option<"stateFactor", "state-factor", "double", "4", "Bytes of a trained weight, its gradient and states, for each of the weight">,
    Option<"shareRows", "share-rows", "bool", "false", "In training, ranks may have parts of the rows (sequence parallelism)">,
    Option<"shareColumns", "share-columns", "bool", "false", "Ranks may have parts of the columns, and gather them">,
    Option<"explain", "explain", "bool", "false", "Say what a step takes, as a remark">,
  ];
  let dependentDialects = ["::baton::dist::DistDialect"];
}

def CountCommunication : Pass<"test-count-communication", "::mlir::ModuleOp"> {
  let summary = "Say what the collectives of a program exchange, as a remark";
  let options = [
    Option<"rows", "rows", "double", "4096", "Rows of a step, of all ranks">,
    Option<"outputs", "outputs", "double", "1", "Rows whose logits are wanted">,
    Option<"kv", "kv", "double", "4096", "Positions of keys and values">,
  ];
}

#endif // BATON_PASSES_PLANNING
