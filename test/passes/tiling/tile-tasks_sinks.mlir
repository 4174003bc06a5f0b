// A softmax that is no part of attention has sinks too: a task of one head reads its own.
//
// RUN: baton-opt %s --tile-tasks="max-rows=8 max-outputs=3" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s

// CHECK: event.parameter @weights.sinks : f32 layers 1 as #event.vector<2>
// CHECK: event.phase "weights"
// CHECK: event.call "softmax"
// CHECK-SAME: @weights.sinks, {{[^>]*}} -> (d1)
// CHECK: event.phase "plain"
// CHECK: event.call "softmax"
// CHECK-NOT: @weights.sinks
// CHECK-SAME: #event.null
!last = !model.tensor<outputs x 4 x f32>
!heads = !model.tensor<2 x rows x 2 x f32>
!rows = !model.tensor<rows x 2 x 2 x f32>
model.program @sinks max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %sinks = model.parameter ["s"] : !model.tensor<2 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %h = model.reshape %e : (!model.tensor<rows x 4 x f32>) -> !rows
  %x = model.transpose %h {permutation = array<i64: 1, 0, 2>} : (!rows) -> !heads
  %s = model.softmax %x sinks %sinks : (!heads, !model.tensor<2 x f32>) -> !heads loc("weights")
  %p = model.softmax %s : (!heads) -> !heads loc("plain")
  %y = model.transpose %p {permutation = array<i64: 1, 0, 2>} : (!heads) -> !rows
  %z = model.reshape %y : (!rows) -> !model.tensor<rows x 4 x f32>
  %l = model.last_rows %z : (!model.tensor<rows x 4 x f32>) -> !last
  model.return %l : !last
}
