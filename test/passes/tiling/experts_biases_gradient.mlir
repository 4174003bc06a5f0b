// Experts with biases and sinks of attention that train: each is a persistent buffer, row-major, whatever
// order and tensor the checkpoint has it in.
//
// RUN: baton-opt %s --training-form --differentiate --cse --tile-tasks="max-rows=8 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s

// The gates' rows of all experts, and each expert's bias, are one buffer each.
// CHECK: event.buffer @parameter.2.weights persistent : f32 {{.*}}capacity [2] strides [1]
// CHECK: event.buffer @parameter.4.weights persistent : f32 {{.*}}capacity [2, 16, 16] strides [256, 16, 1]
// CHECK-SAME: ["experts.0.gate_up"] : 16 by 32 transposed blocks array<i64: 1, 2, 0>>
// CHECK: event.buffer @parameter.6.weights persistent : f32 {{.*}}capacity [2, 16] strides [16, 1]
// CHECK-SAME: ["experts.0.gate_up_bias"] : 32 blocks array<i64: 1, 2, 0>>
// CHECK: event.call "sequence_attention"
// CHECK-SAME: #event.address<@parameter.2.weights, (d0, d1)[s0, s1, s2] -> (d1 * 2)>
// CHECK: event.phase "gate_up.gate"
// CHECK: event.call "product" {{.*}}#event.address<@parameter.6.weights, (d0, d1, d2, d3)[s0, s1, s2] -> (d0, d1 * 64)>
// CHECK: event.call "clamped_swiglu"

// An expert's bias has the sum of its own places.
// CHECK: event.phase "down.bias_gradient" grid {{.*}}capacity [2, 1] entries [#event.address<@dispatch.bounds
// CHECK: event.call "sum_rows" [#event.address<@parameter.9.gradient, (d0, d1, d2, d3)[s0, s1, s2] -> (d0, d1 * 64)>
// CHECK: event.call "clamped_swiglu_gate_gradient"
// CHECK: event.call "clamped_swiglu_up_gradient"
// CHECK: event.phase "attend.sink_gradient"
// CHECK: event.call "attention_sink_gradient"
// CHECK: event.phase "attend.bias_gradient"
// CHECK: event.call "sum_rows" [#event.address<@parameter.2.gradient
// What a slice is of gets its gradient there, and others elsewhere.
// CHECK: event.phase "join.join.part" {{.*}}read @add.2
// CHECK: event.phase "join.join.part.2" {{.*}}read @attend.query_gradient
// Vectors of experts are rows of one matrix.
// CHECK: event.phase "parameter.6.signs"
model.program @biases max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32>
  %sinks = model.parameter ["sinks"] : !model.tensor<2 x f32>
  %router = model.parameter ["router"] : !model.tensor<2 x 16 x f32>
  %gate = model.parameter ["experts.{expert}.gate_up"] transposed {blocks = array<i64: 1, 2, 0>} : !model.tensor<2 x 16 x 16 x f32>
  %up = model.parameter ["experts.{expert}.gate_up"] transposed {blocks = array<i64: 1, 2, 1>} : !model.tensor<2 x 16 x 16 x f32>
  %gate_bias = model.parameter ["experts.{expert}.gate_up_bias"] {blocks = array<i64: 1, 2, 0>} : !model.tensor<2 x 16 x f32>
  %up_bias = model.parameter ["experts.{expert}.gate_up_bias"] {blocks = array<i64: 1, 2, 1>} : !model.tensor<2 x 16 x f32>
  %down = model.parameter ["experts.{expert}.down"] : !model.tensor<2 x 16 x 16 x f32>
  %down_bias = model.parameter ["experts.{expert}.down_bias"] : !model.tensor<2 x 16 x f32>
  %x = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<19 x 16 x f32>) -> !model.tensor<rows x 16 x f32>
  %q = model.reshape %x : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 2 x 8 x f32>
  %h = model.slice %x {axis = 1 : i64, offset = 0 : i64} : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 8 x f32>
  %h1 = model.reshape %h : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 1 x 8 x f32>
  %k = model.kv_append %h1 to "k" : (!model.tensor<rows x 1 x 8 x f32>) -> !model.tensor<kv x 1 x 8 x f32>
  %v = model.kv_append %h1 to "v" : (!model.tensor<rows x 1 x 8 x f32>) -> !model.tensor<kv x 1 x 8 x f32>
  %a = model.attention %q, %k, %v sinks %sinks {scale = 0.5 : f32} : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<kv x 1 x 8 x f32>, !model.tensor<kv x 1 x 8 x f32>, !model.tensor<2 x f32>) -> !model.tensor<rows x 2 x 8 x f32> loc("attend")
  %y = model.reshape %a : (!model.tensor<rows x 2 x 8 x f32>) -> !model.tensor<rows x 16 x f32>
  %l = model.linear %y, %router : (!model.tensor<rows x 16 x f32>, !model.tensor<2 x 16 x f32>) -> !model.tensor<rows x 2 x f32>
  %e, %w = model.route %l {normalize} : (!model.tensor<rows x 2 x f32>) -> (!model.tensor<rows x 1 x i32>, !model.tensor<rows x 1 x f32>)
  %b, %c, %p = model.dispatch %e : (!model.tensor<rows x 1 x i32>) -> (!model.tensor<3 x i32>, !model.tensor<rows x 1 x i32>, !model.tensor<rows x 1 x i32>)
  %g = model.gather %y, %c : (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 1 x i32>) -> !model.tensor<rows x 1 x 16 x f32>
  %m = model.grouped_gated_linear %g, %b, %gate, %up gate_bias %gate_bias up_bias %up_bias {activation = #model.activation<clamped_swiglu>} : (!model.tensor<rows x 1 x 16 x f32>, !model.tensor<3 x i32>, !model.tensor<2 x 16 x 16 x f32>, !model.tensor<2 x 16 x 16 x f32>, !model.tensor<2 x 16 x f32>, !model.tensor<2 x 16 x f32>) -> !model.tensor<rows x 1 x 16 x f32> loc("gate_up")
  %d = model.grouped_linear %m, %b, %down, %down_bias : (!model.tensor<rows x 1 x 16 x f32>, !model.tensor<3 x i32>, !model.tensor<2 x 16 x 16 x f32>, !model.tensor<2 x 16 x f32>) -> !model.tensor<rows x 1 x 16 x f32> loc("down")
  %s = model.combine %d, %p, %w : (!model.tensor<rows x 1 x 16 x f32>, !model.tensor<rows x 1 x i32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 16 x f32>
  %last = model.last_rows %s : (!model.tensor<rows x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
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
