//===- Passes.td - the phase between a model and its plan ----------------===//

#ifndef BATON_PASSES_TASKS
#define BATON_PASSES_TASKS

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

def DeriveEvents : Pass<"derive-events", "::mlir::ModuleOp"> {
  let summary = "Derive event tensors from overlapping accesses";
  let description = [{
    For every two tasks that touch the same elements of a buffer, one of them
    writing, the later one in rank waits for the earlier: directly, unless
    events that are already there order them. An event tensor has a dimension
    for each coordinate of its notifying phase that some waiting task tells
    apart; the others are counted.

    With `whole-phase`, every wait is for all tasks of a phase: the ablation
    that shows what finer events gain.
  }];
  let options = [
    Option<"wholePhase", "whole-phase", "bool", "false", "One event per phase, for comparison">,
  ];
}

def ScheduleStatic : Pass<"schedule-static", "::mlir::ModuleOp"> {
  let summary = "Choose which worker runs which tile, for every number of workers";
  let description = [{
    Sets every phase's distribution. Order is by rank, so no list of tasks is
    stored; a program that has an `event.schedule` keeps it.
  }];
}

def PlanMemory : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give buffers storage, shared where the order of tasks allows it";
  let description = [{
    Transient buffers of equal row indexing share a storage when, row by row,
    events order every task that touches one before every task that writes the
    other, in each iteration and from one iteration to the next. States and
    other buffers get a storage of their own.
  }];
  let statistics = [
    Statistic<"numStorages", "storages", "Storages of transient buffers">,
    Statistic<"numBuffers", "buffers", "Transient buffers placed">,
  ];
}

def EventVerify : Pass<"event-verify", "::mlir::ModuleOp"> {
  let summary = "Prove a plan free of races and deadlocks, or reject it";
  let description = [{
    For all symbols in range, all worker counts and any interleaving:
    - every event word's count is the number of tasks that notify it, and no
      notification of one iteration comes before all of the one before;
    - every wait is for tasks of lower rank, so that the union of events and
      rank order has no cycle (explicit schedules: checked task by task);
    - every task that reads or writes elements comes after all tasks of lower
      rank that write them, and every task that writes after all that read;
    - every element read was written in this step, or by an earlier one if it
      belongs to a state;
    - elements and words lie inside their buffers and event tensors;
    - what a message or an exchange moves is what its phase states.

    The program gets a `proof` attribute, or an error names the two tasks and
    the buffer.
  }];
}

#endif // BATON_PASSES_TASKS
