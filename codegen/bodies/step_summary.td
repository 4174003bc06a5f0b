//===- step_summary.td - the end of a training step ------------------------===//
//
// No tiling rule: it is no op of a model; passes/tiling/Training.cpp adds it
// behind all gradients.
// No sharding rule: it is no op of a model.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

def StepSummaryBody : Body<"step_summary",
    (takes Writes<["3 + columns"]>:$summary,
           Reads<["rows", "columns"]>:$loss, Stride:$loss_stride,
           Count:$rows, Count:$columns,
           Reads<["count"]>:$squares, Count:$count, Reads<["2"]>:$limit)> {
  let description = [{
    With losses and gradients that are multiplied by `scale = limit[1]`: `summary =
    {`sum of the first column of the losses of all rows `/ scale`; the gradients' norm:
    the root of the sum of `count` squares, `/ scale`; the factor that clips and scales
    them back: `limit[0] / norm` where the limit is not 0 and less, else 1, `/ scale`; 1
    if loss and norm are finite and else 0; of each other column the sum `/ scale}`.
  }];
  let flops = "rows * columns + count";
}
