//===- Passes.td - from a model to task grids -----------------------------===//

#ifndef BATON_PASSES_TILING
#define BATON_PASSES_TILING

include "mlir/Pass/PassBase.td"

def TileTasks : Pass<"tile-tasks", "::mlir::ModuleOp"> {
  let summary = "Turn model ops into task grids with access maps";
  let description = [{
    Every `model.program` becomes an `event.program`: each op that computes is a
    phase, whose tasks compute tiles of its result; views (reshape, transpose,
    slice, broadcast, concat, last_rows) become part of index maps. Tasks state
    what they read and write, and do not wait yet. A training program ends with
    the phases that the module's `update.group`s give its parameters; passes of
    their rules become `event.body`s.

    With `attention-split`, attention of programs whose rows all fit into one of
    its tiles is two phases: the first computes so many positions a task, each
    block of 64 on its own; the second merges the blocks, query head by query
    head, in the order in which one task would have, so that no bit depends on
    the split.

    Over a `dist.mesh` the program is one rank's (localize). Gradients that are sums
    over ranks are exchanged in buckets, as they become complete: those of one
    iteration of a stack, or outside of stacks, until they have `bucket` bytes. A
    bucket's parts are added up and gathered after the backward step.

    Weights of which ranks have parts (`dist.gathered`) are gathered before what
    reads them. Of a stack that is before each iteration or, with 2
    `gathered-layers`, in the iteration before: weights then lie in a ring of two
    layers, one that is read and one that is received.

    A program that is cut into stages (`dist.schedule`) becomes several: of each
    `dist.stage` one for each of its phases, for sums of gradients and for the
    update, and one in which all ranks agree on loss and norm. What phases keep for
    one another lies in persistent buffers that say so.

    Logits of a batch that a linear makes, and that sampling alone reads, may be left
    out: the linear's phase has a condition (`event.condition`) by panels of 16 columns,
    whose table `wanted_panels` the runtime writes. Sampling `may read` them.

    Not guaranteed: any order between tasks of different workers (derive-events)
    and shared memory between buffers (plan-memory).
  }];
  let options = [
    Option<"maxRows", "max-rows", "int64_t", "256", "Most tokens in one step">,
    Option<"maxOutputs", "max-outputs", "int64_t", "16", "Most rows that get logits in one step">,
    Option<"linearRows", "linear-rows", "int64_t", "48", "Rows of a linear's tile">,
    Option<"linearColumns", "linear-columns", "int64_t", "64", "Columns of a linear's tile, a multiple of 16">,
    Option<"attentionRows", "attention-rows", "int64_t", "16", "Rows of an attention tile">,
    Option<"attentionSplit", "attention-split", "int64_t", "0", "Positions of an attention task, a multiple of 64; 0 for all">,
    Option<"plainRows", "plain-rows", "int64_t", "16", "Rows of any other tile">,
    Option<"logitsBytes", "logits-bytes", "int64_t", "134217728", "Most memory for logits of a training step, which are made for so many rows at a time">,
    Option<"bucket", "bucket", "int64_t", "26214400", "Bytes of gradients at which ranks exchange those that they have, iteration by iteration">,
    Option<"gatheredLayers", "gathered-layers", "int64_t", "1", "Layers, 1 or 2, whose gathered weights are there at once">,
  ];
  // Bodies of update rules are written in the others.
  let dependentDialects = ["::baton::event::EventDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // BATON_PASSES_TILING
