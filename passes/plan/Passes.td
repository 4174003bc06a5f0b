//===- Passes.td - events, memory and workers of a plan -------------------===//

#ifndef BATON_PASSES_PLAN
#define BATON_PASSES_PLAN

include "mlir/Pass/PassBase.td"

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

def InsertTiers : Pass<"insert-tiers", "::mlir::ModuleOp"> {
  let summary = "Have what layers touch fetched before, and released behind";
  let description = [{
    Each iteration of a repeated segment begins with a task that fetches its copies
    of the tensors that it touches, and ends with one that releases them
    (dialects/Event/Tiers.h). Tensors are buffers of a copy for each iteration, of
    `smallest` bytes each or more: weights, gradients, and what a training step
    saves for its backward one. `slots` layers may be in memory at once.

    Stands before derive-events, which orders these tasks as all others.
  }];
  let options = [
    Option<"slots", "slots", "int64_t", "1", "Layers there is room for, beside those that stay">,
    Option<"smallest", "smallest", "int64_t", "16384", "Bytes of a layer's copy that is worth a move">,
  ];
  let statistics = [
    Statistic<"numTensors", "tensors", "Tensors whose layers are fetched and released">,
  ];
}

def OffloadLayers : Pass<"offload-layers", "::mlir::ModuleOp"> {
  let summary = "Let layers come from a file while a step runs";
  let description = [{
    At the beginning of each iteration of a segment that repeats there is a task
    that has the runtime bring what the layer reads into memory, and waits for it
    (the body `layer_arrival`). Every phase that reads a layer's parameters, or a state,
    reads what the task writes. So derive-events makes these wait for it, and it for
    all of them in the iteration before, whose room the runtime then fills with
    what comes next.

    ```mlir
    event.segment "layers" repeat 16 {
      event.phase "layers.arrival" ... accesses [read @layer_arrival[0 to 4], write @layer_arrived[0 to 1]]
      event.phase "layers.q_proj" ... accesses [..., read @layer_arrived[0 to 1]]
    ```

    Parameters of segments that do not repeat stay in memory. Which of the others
    do, the runtime decides when it starts: nothing else of the plan depends on it.
    A program without a segment that repeats is an error.
  }];
}

def ScheduleStatic : Pass<"schedule-static", "::mlir::ModuleOp"> {
  let summary = "Choose which worker runs which tile, for every number of workers";
  let description = [{
    Sets every phase's distribution. Order is by rank, so no list of tasks is
    stored; a program that has an `event.schedule` keeps it.
  }];
  let options = [
    Option<"fewTasks", "few-tasks", "int64_t", "0", "As of transform.baton.distribute">,
  ];
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

#endif // BATON_PASSES_PLAN
