//===- Passes.td - a plan is proved, or rejected --------------------------===//

#ifndef BATON_PASSES_PROOF
#define BATON_PASSES_PROOF

include "mlir/Pass/PassBase.td"

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

#endif // BATON_PASSES_PROOF
