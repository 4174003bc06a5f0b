// A mixture that trains: places of the backward step are made of the experts that the forward step
// saved, and each expert's weights have gradients of their own segment, which may be empty.
//
// RUN: baton-opt %s --training-form --differentiate --cse --tile-tasks="max-rows=8 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s

// CHECK: event.program @mixture {{.*}}
// An expert's empty segment may lie behind the last place.
// CHECK-DAG: event.buffer @gate_up.saved transient : f32 {{.*}}capacity [17, 32] {{.*}}layers = 2
// CHECK-DAG: event.buffer @gate.weights persistent : f32 {{.*}}capacity [4, 32, 16]
// CHECK-DAG: event.buffer @gate.gradient persistent : f32 {{.*}}capacity [4, 32, 16]
// CHECK-DAG: event.table @dispatch.bounds holds
// CHECK-DAG: event.table @dispatch.2.bounds holds

// CHECK: event.segment "layers" repeat 2
// CHECK: event.phase "route"
// CHECK-SAME: #event.access<write @route.saved
// CHECK: event.phase "dispatch"
// CHECK: event.phase "gate_up.gate" grid {{.*}}capacity [4, 1] entries [#event.address<@dispatch.bounds
// CHECK-SAME: #event.access<read @gate.weights, (d0, d1, d2, d3)[s0, s1, s2] -> (d0, d1 * 64, 0) to (d0, d1, d2, d3)[s0, s1, s2] -> (d0 + 1, d1 * 64 + 64, 16)>
// CHECK: event.call "product"
// Element by element, of whatever place.
// CHECK: event.phase "gate_up.activation" grid {{.*}}capacity [1]
// CHECK: event.call "silu" [#event.address<@gate_up.activation.saved

// CHECK: event.segment "layers.backward{{.*}}" repeat 2 reverse
// CHECK: event.phase "dispatch.2"
// CHECK-SAME: #event.access<read @route.saved
// CHECK: event.phase "combine.input_gradient"
// CHECK: event.call "combine_rows_gradient"
// CHECK: event.phase "combine.weight_gradient"
// CHECK: event.call "combine_weights_gradient"
// CHECK: event.phase "down.input_gradient" grid {{.*}}capacity [4, 1] entries [#event.address<@dispatch.2.bounds
// CHECK: event.call "product"
// CHECK: event.phase "down.weight_gradient" grid {{.*}}capacity [4, 1, 1] entries [#event.address<@dispatch.2.bounds
// CHECK-SAME: #event.access<write @down.gradient, (d0, d1, d2, d3, d4)[s0, s1, s2] -> (d0, d1 * 64, d2 * 64) to (d0, d1, d2, d3, d4)[s0, s1, s2] -> (d0 + 1, d1 * 64 + 64, d2 * 64 + 64)>
// CHECK: event.call "product_gradient"
// CHECK: event.phase "gate_up.activation.gradient" grid
// CHECK: event.phase "gather.2"
// CHECK: event.phase "gather.gradient"
// CHECK: event.call "gather_rows_gradient"
// CHECK: event.phase "route.gradient"
// CHECK: event.call "route_rows_gradient"

// An element-wise rule takes all experts of all layers together.
// CHECK: event.phase "gate.signs"
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 16 x f32>
model.program @mixture max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32> loc("wte")
  %x0 = model.embedding %tokens, %wte : (!rows, !model.tensor<19 x 16 x f32>) -> !x
  %y0 = model.stack %x0 repeat 2 : (!x) -> !x {
  ^bb1(%x: !x):
    %router = model.parameter ["router.{layer}"] : !model.tensor<4 x 16 x f32> loc("router")
    %gate = model.parameter ["layers.{layer}.experts.{expert}.gate"] : !model.tensor<4 x 32 x 16 x f32> loc("gate")
    %up = model.parameter ["layers.{layer}.experts.{expert}.up"] : !model.tensor<4 x 32 x 16 x f32> loc("up")
    %down = model.parameter ["layers.{layer}.experts.{expert}.down"] : !model.tensor<4 x 16 x 32 x f32> loc("down")
    %l = model.linear %x, %router : (!x, !model.tensor<4 x 16 x f32>) -> !model.tensor<rows x 4 x f32> loc("logits")
    %e, %w = model.route %l {normalize} : (!model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) loc("route")
    %b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<5 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>) loc("dispatch")
    %g = model.gather %x, %c : (!x, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 2 x 16 x f32> loc("gather")
    %h = model.grouped_gated_linear %g, %b, %gate, %up {activation = #model.activation<silu>} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<5 x i32>, !model.tensor<4 x 32 x 16 x f32>, !model.tensor<4 x 32 x 16 x f32>) -> !model.tensor<rows x 2 x 32 x f32> loc("gate_up")
    %d = model.grouped_linear %h, %b, %down : (!model.tensor<rows x 2 x 32 x f32>, !model.tensor<5 x i32>, !model.tensor<4 x 16 x 32 x f32>) -> !model.tensor<rows x 2 x 16 x f32> loc("down")
    %s = model.combine %d, %p, %w : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) -> !x loc("combine")
    %r = model.add %x, %s : (!x, !x) -> !x
    model.yield %r : !x
  }
  %last = model.last_rows %y0 : (!x) -> !model.tensor<outputs x 16 x f32>
  %o = model.linear %last, %wte : (!model.tensor<outputs x 16 x f32>, !model.tensor<19 x 16 x f32>) -> !model.tensor<outputs x 19 x f32>
  model.return %o : !model.tensor<outputs x 19 x f32>
}
update.rule @signs states [] {
^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>):
  %rate = update.number "learning_rate"
  %p = update.map (%w = %parameter, %g = %gradient) {
    %change = math.copysign %rate, %g : f32
    %next = arith.subf %w, %change : f32
    update.yield %next
  }
  update.return %p
}
update.group @signs
