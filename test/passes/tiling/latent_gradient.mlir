// Attention to compressed rows that trains: heads have their own parts of one matrix, in their own
// order, and the first numbers of a row get gradients as keys and as values.
//
// RUN: baton-opt %s --training-form --differentiate --cse --tile-tasks="max-rows=8 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s

// CHECK: event.buffer @parameter.2.weights persistent : f32 {{.*}}capacity [12, 16, 6] strides [96, 6, 1]
// CHECK-SAME: ["kv_b"] : 264 by 16 transposed inputs array<i64: 0, 6>>, #event.source<["kv_b"] : 264 by 16 transposed inputs array<i64: 22, 6>>
// CHECK: event.buffer @parameter.3.weights persistent : f32 {{.*}}capacity [12, 16, 16] strides [256, 16, 1]
// CHECK-SAME: ["kv_b"] : 264 by 16 blocks array<i64: 16, 22, 6>>
// Each task has a head.
// CHECK: event.phase "absorb" grid {{.*}}capacity [1, 12, 1]
// CHECK-SAME: #event.access<read @parameter.2.weights, (d0, d1, d2)[s0, s1, s2] -> (d1, d2 * 16, 0)
// CHECK: event.call "product"
// CHECK: event.call "sequence_attention"
// CHECK: event.phase "expand.input_gradient" grid {{.*}}capacity [1, 12, 1]
// CHECK: event.phase "expand.weight_gradient" grid {{.*}}capacity [12, 1, 1]
// CHECK: event.call "product_gradient" [#event.address<@parameter.3.gradient, (d0, d1, d2)[s0, s1, s2] -> (d0, d1 * 16, d2 * 16)>
// CHECK: event.call "attention_key_value_gradient"
// CHECK: event.phase "add" {{.*}}read @attend.key_value_gradient
// CHECK: event.phase "join.join.part" {{.*}}read @add
// CHECK: event.phase "join.join.part.2" {{.*}}read @attend.key_value_gradient
// CHECK: event.phase "absorb.input_gradient" {{.*}}read @attend.query_gradient
// CHECK: event.phase "absorb.weight_gradient"
model.program @latent_rows max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 72 x f32>
  %keys = model.parameter ["kv_b"] transposed {heads = array<i64: 22, 0>} : !model.tensor<12 x 16 x 6 x f32>
  %values = model.parameter ["kv_b"] {heads = array<i64: 22, 6>} : !model.tensor<12 x 16 x 16 x f32>
  %down = model.parameter ["down"] : !model.tensor<22 x 72 x f32>
  %head = model.parameter ["head"] : !model.tensor<19 x 192 x f32>
  %x = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<19 x 72 x f32>) -> !model.tensor<rows x 72 x f32>
  %q = model.reshape %x : (!model.tensor<rows x 72 x f32>) -> !model.tensor<rows x 12 x 6 x f32>
  %a = model.head_linear %q, %keys : (!model.tensor<rows x 12 x 6 x f32>, !model.tensor<12 x 16 x 6 x f32>) -> !model.tensor<rows x 12 x 16 x f32> loc("absorb")
  %j = model.join_heads %a, %q : (!model.tensor<rows x 12 x 16 x f32>, !model.tensor<rows x 12 x 6 x f32>) -> !model.tensor<rows x 12 x 22 x f32> loc("queries")
  %r = model.linear %x, %down : (!model.tensor<rows x 72 x f32>, !model.tensor<22 x 72 x f32>) -> !model.tensor<rows x 22 x f32>
  %r2 = model.reshape %r : (!model.tensor<rows x 22 x f32>) -> !model.tensor<rows x 1 x 22 x f32>
  %k = model.kv_append %r2 to "latent" : (!model.tensor<rows x 1 x 22 x f32>) -> !model.tensor<kv x 1 x 22 x f32>
  %v = model.slice %k {axis = 2 : i64, offset = 0 : i64} : (!model.tensor<kv x 1 x 22 x f32>) -> !model.tensor<kv x 1 x 16 x f32>
  %s = model.attention %j, %k, %v {scale = 0.5 : f32} : (!model.tensor<rows x 12 x 22 x f32>, !model.tensor<kv x 1 x 22 x f32>, !model.tensor<kv x 1 x 16 x f32>) -> !model.tensor<rows x 12 x 16 x f32> loc("attend")
  %o = model.head_linear %s, %values : (!model.tensor<rows x 12 x 16 x f32>, !model.tensor<12 x 16 x 16 x f32>) -> !model.tensor<rows x 12 x 16 x f32> loc("expand")
  %m = model.reshape %o : (!model.tensor<rows x 12 x 16 x f32>) -> !model.tensor<rows x 192 x f32>
  %last = model.last_rows %m : (!model.tensor<rows x 192 x f32>) -> !model.tensor<outputs x 192 x f32>
  %l = model.linear %last, %head : (!model.tensor<outputs x 192 x f32>, !model.tensor<19 x 192 x f32>) -> !model.tensor<outputs x 19 x f32>
  model.return %l : !model.tensor<outputs x 19 x f32>
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
