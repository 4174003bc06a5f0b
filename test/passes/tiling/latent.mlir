// Attention to compressed rows: each head's part of one matrix, and one state that has keys and values.
//
// RUN: baton-opt %s --tile-tasks="max-rows=8 max-outputs=3" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s
// RUN: baton-opt %s --batch-form="sequences=2" --tile-tasks="max-rows=8 max-outputs=3" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=BATCH

// Transposed, a head's inputs are rows of the matrix; else its outputs are.
// CHECK: event.parameter @absorb.weight : f32 layers 1 as #event.panels<192 by 6>
// CHECK-SAME: ["kv_b"] : 264 by 16 transposed inputs array<i64: 0, 6>>
// CHECK-SAME: ["kv_b"] : 264 by 16 transposed inputs array<i64: 22, 6>>
// CHECK: event.buffer @latent state : f32 {{.*}} capacity [64, 1, 22] strides [22, 1408, 1]
// CHECK: event.parameter @expand.weight : f32 layers 1 as #event.panels<192 by 16>
// CHECK-SAME: ["kv_b"] : 264 by 16 blocks array<i64: 16, 22, 6>>
// Each task has a head.
// CHECK: event.phase "absorb"
// CHECK: event.call "linear_f32"
// CHECK-SAME: @absorb.weight, {{[^>]*}} -> (d1 * 96
// A row's heads are joined in one task, of both parts.
// CHECK: event.phase "queries"
// CHECK: event.call "copy"
// CHECK: event.call "copy"
// Six heads of twelve are a task; keys and values are rows of one state.
// CHECK: event.phase "attend"
// CHECK: event.call "attention"
// CHECK-SAME: @latent
// CHECK-SAME: @latent
// CHECK: event.phase "expand"

// BATCH: event.call "append_key_pages"
// BATCH-NOT: append_value_pages
// BATCH: event.call "paged_latent_attention"
model.program @latent_rows max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 72 x f32>
  %keys = model.parameter ["kv_b"] transposed {heads = array<i64: 22, 0>} : !model.tensor<12 x 16 x 6 x f32>
  %values = model.parameter ["kv_b"] {heads = array<i64: 22, 6>} : !model.tensor<12 x 16 x 16 x f32>
  %down = model.parameter ["down"] : !model.tensor<24 x 72 x f32>
  %head = model.parameter ["head"] : !model.tensor<19 x 192 x f32>
  %x = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<19 x 72 x f32>) -> !model.tensor<rows x 72 x f32>
  %q = model.reshape %x : (!model.tensor<rows x 72 x f32>) -> !model.tensor<rows x 12 x 6 x f32>
  %a = model.head_linear %q, %keys : (!model.tensor<rows x 12 x 6 x f32>, !model.tensor<12 x 16 x 6 x f32>) -> !model.tensor<rows x 12 x 16 x f32> loc("absorb")
  %j = model.join_heads %a, %q : (!model.tensor<rows x 12 x 16 x f32>, !model.tensor<rows x 12 x 6 x f32>) -> !model.tensor<rows x 12 x 22 x f32> loc("queries")
  %r = model.linear %x, %down : (!model.tensor<rows x 72 x f32>, !model.tensor<24 x 72 x f32>) -> !model.tensor<rows x 24 x f32>
  %r1 = model.slice %r {axis = 1 : i64, offset = 2 : i64} : (!model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 22 x f32>
  %r2 = model.reshape %r1 : (!model.tensor<rows x 22 x f32>) -> !model.tensor<rows x 1 x 22 x f32>
  %k = model.kv_append %r2 to "latent" : (!model.tensor<rows x 1 x 22 x f32>) -> !model.tensor<kv x 1 x 22 x f32>
  %v = model.slice %k {axis = 2 : i64, offset = 0 : i64} : (!model.tensor<kv x 1 x 22 x f32>) -> !model.tensor<kv x 1 x 16 x f32>
  %s = model.attention %j, %k, %v {scale = 0.5 : f32} : (!model.tensor<rows x 12 x 22 x f32>, !model.tensor<kv x 1 x 22 x f32>, !model.tensor<kv x 1 x 16 x f32>) -> !model.tensor<rows x 12 x 16 x f32> loc("attend")
  %o = model.head_linear %s, %values : (!model.tensor<rows x 12 x 16 x f32>, !model.tensor<12 x 16 x 16 x f32>) -> !model.tensor<rows x 12 x 16 x f32> loc("expand")
  %m = model.reshape %o : (!model.tensor<rows x 12 x 16 x f32>) -> !model.tensor<rows x 192 x f32>
  %last = model.last_rows %m : (!model.tensor<rows x 192 x f32>) -> !model.tensor<outputs x 192 x f32>
  %l = model.linear %last, %head : (!model.tensor<outputs x 192 x f32>, !model.tensor<19 x 192 x f32>) -> !model.tensor<outputs x 19 x f32>
  model.return %l : !model.tensor<outputs x 19 x f32>
}
