// Weights of which ranks have parts are gathered before what reads them: of a
// stack's layers right before each one, or with two in memory one iteration ahead.
//
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1 gathered-layers=2" | FileCheck %s
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1" | FileCheck %s --check-prefix=ONE
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1 gathered-layers=2" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=EVENTS
// RUN: not baton-opt %s --tile-tasks="gathered-layers=3" 2>&1 | FileCheck %s --check-prefix=THREE

dist.mesh [dp = 2] batch [dp]

!t = tensor<?x?xf32>
update.rule @plain {
^bb0(%parameter: !t, %gradient: !t):
  %p = update.map (%w = %parameter, %g = %gradient) {
    %next = arith.subf %w, %g : f32
    update.yield %next
  }
  update.return %p
}
update.group @plain

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!square = !model.tensor<8 x 8 x f32>
!table = !model.tensor<40 x 8 x f32>
model.program @step max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["table"] {dist.gathered = ["dp"]} : !table
  %e = model.embedding %tokens, %table : (!rows, !table) -> !x
  %h = model.stack %e repeat 3 : (!x) -> !x {
  ^bb1(%a: !x):
    %w = model.parameter ["layers.{layer}.w"] {dist.gathered = ["dp"]} : !square
    %shared = model.parameter ["shared"] {dist.gathered = ["dp"]} : !square
    model.save %a to "a" : !x
    %b = model.linear %a, %w : (!x, !square) -> !x
    %c = model.linear %b, %shared : (!x, !square) -> !x
    model.yield %c : !x
  }
  %loss, %dx, %dtable = model.cross_entropy %h, %table, %targets, %weights : (!x, !table, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !table)
  model.gradient %dtable of %table {dist.scattered = "step", dist.summed = ["dp"]} : !table, !table
  %y = model.stack %dx repeat 3 reverse : (!x) -> !x {
  ^bb1(%d: !x):
    %w = model.parameter ["layers.{layer}.w"] {dist.gathered = ["dp"]} : !square
    %a = model.saved "a" : !x
    %dw = model.linear_weight_gradient %d, %a : (!x, !x) -> !square
    model.gradient %dw of %w {dist.scattered = "step", dist.summed = ["dp"]} : !square, !square
    %shared = model.parameter ["shared"] {dist.gathered = ["dp"]} : !square
    %ds = model.linear_weight_gradient %d, %a : (!x, !x) -> !square
    model.gradient %ds of %shared {dist.scattered = "step", dist.summed = ["dp"]} : !square, !square
    %next = model.linear_input_gradient %d, %w : (!x, !square) -> !x
    model.yield %next : !x
  }
  model.return %loss : !model.tensor<rows x f32>
}

// Two layers, in turn, and one of what all layers have in common.
// CHECK: event.storage @parameter.2.weights_memory bytes 512
// CHECK: event.buffer @parameter.2.weights persistent {{.*}} {layer_stride = 64 : i64, layers = 2 : i64, ring, writers = 2 : i64}
// CHECK: event.storage @parameter.3.weights_memory bytes 256
// What is gathered before the first layer is the first one forward, and backward
// the last one: layer 2, which lies where layer 0 does.
// CHECK: event.buffer @parameter.2.weights_part.layer persistent {{.*}} in @parameter.2.weights_part_memory {carry = #event<carry renewed>}
// CHECK: event.buffer @parameter.2.weights.layer persistent {{.*}} in @parameter.2.weights_memory {writers = 1 : i64}
// CHECK: event.buffer @parameter.2.weights_part.layer.2 persistent {{.*}} in @parameter.2.weights_part_memory {carry = #event<carry renewed>, offset = 64 : i64}
// CHECK: event.buffer @parameter.2.weights.layer.2 persistent {{.*}} in @parameter.2.weights_memory {writers = 1 : i64}

// CHECK: event.segment "begin"
// CHECK-NEXT: event.phase "parameters"
// CHECK: event.phase "layers.parameters.first"
// CHECK-NEXT: event.exchange all_gather over ["dp"] for "all_gather" [#event.transfer<@parameter.2.weights_part.layer to @parameter.2.weights.layer, 64 by 32>]
// CHECK: event.segment "layers" repeat 3
// What all layers read is gathered for each.
// CHECK-NEXT: event.phase "layers.parameters" {{.*}} {
// CHECK-NEXT: event.exchange all_gather {{.*}} [#event.transfer<@parameter.3.weights_part to @parameter.3.weights, 64 by 32>]
// CHECK: event.phase "layers.parameters.2" {{.*}} attributes {ahead}
// CHECK-NEXT: event.exchange all_gather {{.*}} [#event.transfer<@parameter.2.weights_part to @parameter.2.weights, 64 by 32>]
// While the loss is computed.
// CHECK: event.segment "end"
// CHECK-NEXT: event.phase "layers.parameters.first.2"
// CHECK: event.phase "cross_entropy
// CHECK: event.segment "layers.backward.2" repeat 3 reverse
// CHECK: event.phase "layers.parameters.4" {{.*}} attributes {ahead}

// ONE: event.storage @parameter.2.weights_memory bytes 256
// ONE-NOT: ring
// ONE: event.segment "layers" repeat 3
// ONE-NEXT: event.phase "layers.parameters"
// ONE-NOT: ahead
// ONE-NEXT: event.exchange all_gather over ["dp"] for "all_gather" [#event.transfer<@parameter.2.weights_part to @parameter.2.weights, 64 by 32>, #event.transfer<@parameter.3.weights_part to @parameter.3.weights, 64 by 32>]

// What gathers a layer waits for whoever has read the one before, and what reads a
// layer for what gathered it an iteration ago.
// EVENTS: proof {{.*}}status = "proved"
// EVENTS: event.segment "layers" repeat 3
// EVENTS: event.phase "layers.parameters.2" {{.*}}#event.wait<@linear.done distance 1,
// EVENTS: event.phase "linear" {{.*}}#event.wait<@layers.parameters.2.done distance 1,

// THREE: tile-tasks: gathered-layers is 3, expected 1 or 2
