//===- Passes.td - a model cut into stages --------------------------------===//

#ifndef BATON_PASSES_PIPELINE
#define BATON_PASSES_PIPELINE

include "mlir/Pass/PassBase.td"

def PipelinePartitioning : Pass<"pipeline-partitioning", "::mlir::ModuleOp"> {
  let summary = "Cut a program into the stages of a pipeline";
  let description = [{
    Of a training step it comes after differentiate. The ranks of `axis` become
    stages, and the schedule says who does what when.

    ```mlir
    dist.mesh [pipe = 2]
    ...
    %e = model.embedding %tokens, %table
    %y = model.stack %e repeat 4 { ... }
    %loss, %dx, %dw = model.cross_entropy %y, %head, %targets, %weights
    %de = model.stack %dx repeat 4 reverse { ... }   // gradients of inputs
    %g = model.embedding_gradient %de, %tokens
    model.gradient %g of %table
    model.stack repeat 4 reverse { ... }             // gradients of parameters
    model.return %loss
    ```
    becomes with `schedule=zb-h1 microbatches=4`
    ```mlir
    dist.schedule "zb-h1" over "pipe" microbatches 4 in_flight [2, 2] tables [...]
    dist.stage [0] offsets [0] {
      dist.phase forward
      %e = model.embedding %tokens, %table
      %y = model.stack %e repeat 2 { ... }
      dist.send %y to next
      dist.phase input
      %dy = dist.receive from next
      %de = model.stack %dy repeat 2 reverse { ... }
      dist.phase weight
      model.stack repeat 2 reverse { ... }
      %g = model.embedding_gradient %de, %tokens
      model.gradient %g of %table
    }
    %loss = dist.stage [1] offsets [0] {
      dist.phase forward
      %x = dist.receive from previous
      %y = model.stack %x repeat 2 { ... } {first_layer = 2}
      %loss, %dx, %dw = model.cross_entropy %y, %head, %targets, %weights
      ...
      dist.stage_end %loss
    }
    model.return %loss
    ```

    - What is cut is a row of items: every iteration of a stack, and what stands
      before, between and behind stacks. An item costs the floating-point
      operations of its products, forward and backward (`getProductFlops`); the
      largest part is as small as possible.
    - Stacks stay rolled: a part of one is a stack of fewer layers. Positions that
      differ in their layers' numbers alone are one `dist.stage`.
    - A value that is read at another position than it is made at is sent from
      one to the next, and so to where it is read. Parameters, tables of rotary
      angles and views of them are made again instead, in every phase.
    - The program's arguments, a microbatch, are on all stages.
    - The gradient of a logits' weight is made with the loss, and added up in the
      forward phase: nobody keeps it.
    - Where several stages contribute to a parameter's gradient,
      `dist.sum_gradients` says so.

    Of a program that decodes each position becomes a program of its own
    (`dist.position`), the last one first. There is no schedule to it.

    `dist.bubble` of the schedule is the part of a step that stages idle, if
    products take all of its time.

    The schedules `zb-h1` and `zb-h2` want gradients of parameters apart from
    those of inputs (`differentiate=split`); others take both forms.

    Refused: fewer items than positions, an axis that shards values already, an
    adjoint of no stack, a gradient that a later layer reads.

    Not guaranteed: that stages take as long as their products say. Memory, and
    what messages cost, do not count for the cut.
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"pipe\"", "The mesh's axis whose ranks are the stages">,
    Option<"schedule", "schedule", "std::string", "\"1f1b\"", "gpipe, 1f1b, interleaved:CHUNKS, zb-h1 or zb-h2">,
    Option<"microbatches", "microbatches", "int", "1", "Microbatches of a step">,
    ListOption<"layers", "layers", "int64_t", "Layers of each position; none to cut evenly">,
    Option<"explain", "explain", "bool", "false", "Say what each position has, as remarks">,
  ];
  let statistics = [
    Statistic<"numStages", "stages", "Stages that differ">,
    Statistic<"numMessages", "messages", "Values that a microbatch sends">,
  ];
  let dependentDialects = ["::baton::dist::DistDialect"];
}

#endif // BATON_PASSES_PIPELINE
