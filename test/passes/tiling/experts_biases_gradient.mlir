// Experts with biases and sinks of attention that train: each is a persistent buffer, row-major, whatever
// order and tensor the checkpoint has it in.
//
// RUN: baton-opt %s --training-form --differentiate --cse --tile-tasks="max-rows=8 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s

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
