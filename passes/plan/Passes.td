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
