// ZeRO: of gradients that are scattered each rank updates a part, if the rule goes
// through them once, element by element.
//
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1" | FileCheck %s
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=EVENTS

dist.mesh [dp = 2, tp = 1] batch [dp]

!t = tensor<?x?xf32>
update.rule @plain states ["average"] {
^bb0(%parameter: !t, %gradient: !t, %average: !t):
  %p, %a = update.map (%w = %parameter, %g = %gradient, %old = %average) {
    %new = arith.addf %old, %g : f32
    %next = arith.subf %w, %new : f32
    update.yield %next, %new
  }
  update.return %p, %a
}
update.rule @whole {
^bb0(%parameter: !t, %gradient: !t):
  %total = update.sum (%g = %gradient) {
    update.yield %g
  }
  %p = update.map (%w = %parameter) {
    %next = arith.subf %w, %total : f32
    update.yield %next
  }
  update.return %p
}
update.group @whole names ["*bias*"]
update.group @plain

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!wide = !model.tensor<24 x 8 x f32>
!table = !model.tensor<40 x 8 x f32>
model.program @step max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["table"] : !table
  %e = model.embedding %tokens, %table : (!rows, !table) -> !x
  %loss, %dx, %dtable = model.cross_entropy %e, %table, %targets, %weights : (!x, !table, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !table)
  model.gradient %dtable of %table {dist.scattered, dist.summed = ["dp"]} : !table, !table
  %y = model.stack %dx repeat 3 reverse : (!x) -> !x {
  ^bb1(%a: !x):
    %w = model.parameter ["layers.{layer}.wide"] : !wide
    %b = model.parameter ["layers.{layer}.bias"] : !model.tensor<24 x f32>
    %shared = model.parameter ["shared"] : !wide
    %z = model.linear %a, %w : (!x, !wide) -> !model.tensor<rows x 24 x f32>
    %dw = model.linear_weight_gradient %z, %a : (!model.tensor<rows x 24 x f32>, !x) -> !wide
    model.gradient %dw of %w {dist.scattered, dist.summed = ["dp"]} : !wide, !wide
    %db = model.bias_gradient %z : (!model.tensor<rows x 24 x f32>) -> !model.tensor<24 x f32>
    model.gradient %db of %b {dist.scattered, dist.summed = ["dp"]} : !model.tensor<24 x f32>, !model.tensor<24 x f32>
    %ds = model.linear_weight_gradient %z, %a : (!model.tensor<rows x 24 x f32>, !x) -> !wide
    model.gradient %ds of %shared {dist.scattered, dist.summed = ["dp"]} : !wide, !wide
    %next = model.linear_input_gradient %z, %w : (!model.tensor<rows x 24 x f32>, !wide) -> !x
    model.yield %next : !x
  }
  %more = model.embedding_gradient %y, %tokens : (!x, !rows) -> !table
  model.gradient %more of %table {dist.scattered, dist.summed = ["dp"]} : !table, !table
  model.return %loss : !model.tensor<rows x f32>
}

