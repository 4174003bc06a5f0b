// Logits are made for parts of the rows that fit into their memory, one part
// after the other, and never for all of them: the first two halve what no whole
// part takes.
//
// RUN: baton-opt %s --tile-tasks="max-rows=12 max-outputs=1 logits-bytes=192 linear-rows=2 linear-columns=16" -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: baton-opt %t --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=PROOF
// RUN: baton-opt %s --tile-tasks="max-rows=12 max-outputs=1 logits-bytes=768" | FileCheck %s --check-prefix=HALVES
// RUN: baton-opt %s --tile-tasks="max-rows=12 max-outputs=1 logits-bytes=768" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=PROOF
// RUN: baton-opt %s --tile-tasks="max-rows=1 max-outputs=1" | FileCheck %s --check-prefix=ONE
//
// Parts divide the most rows there may be, which some numbers do not let them.
// RUN: baton-opt %s --tile-tasks="max-rows=15 max-outputs=1 logits-bytes=192" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefixes=PROOF,FIVE
// RUN: baton-opt %s --tile-tasks="max-rows=13 max-outputs=1 logits-bytes=192" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefixes=PROOF,PRIME
//
// Gradients that nobody reads are not computed.
// RUN: sed '/model.gradient %dw/d' %s | baton-opt --tile-tasks | FileCheck %s --check-prefix=INPUT --implicit-check-not=product_gradient
// RUN: sed -e '/%db/d' %s | baton-opt --tile-tasks | FileCheck %s --check-prefix=WEIGHT --implicit-check-not=loss_input_gradient

// CHECK-DAG: #[[HALF:.+]] = affine_map<()[s0, s1, s2] -> (((s0 - 1) mod 3 + 1) ceildiv 2)>
// CHECK-DAG: #[[THREE:.+]] = affine_map<()[s0, s1, s2] -> (3)>
// CHECK: event.buffer @head.loss.logits transient : f32 {{.*}} capacity [3, 16]
// CHECK: event.phase "head.loss.logits" grid
// CHECK: event.call "product"
// CHECK: event.phase "head.loss" grid #[[HALF]] capacity [3]
// CHECK: event.call "cross_entropy"
// CHECK: event.phase "head.loss_input_gradient" grid
// CHECK: event.call "product"
// CHECK: event.phase "head.loss_weight_gradient" grid
// CHECK: event.call "product_gradient" [{{.*}}#event.address<@accumulate
// CHECK: event.phase "head.loss.logits.2" grid
// CHECK: event.phase "head.loss.2" grid #[[HALF]] capacity [3]
// CHECK: event.phase "head.loss_weight_gradient.2"
// CHECK-NOT: @accumulate
// CHECK: event.phase "head.loss.3" grid #[[THREE]] capacity [3]
// The next part's rows are not there in every step.
// CHECK: event.call "cross_entropy" [{{.*}}#event.count<(d0)[s0, s1, s2] -> (1, -d0 + ((s0 - 1) floordiv 3) * 3)>
// CHECK: event.phase "head.loss.logits.5"
// CHECK-NOT: event.phase "head.loss.logits
// CHECK: event.phase "head.bias_gradient"
// PROOF: proof
// FIVE: event.buffer @head.loss.logits {{.*}} capacity [3, 16]
// PRIME: event.buffer @head.loss.logits {{.*}} capacity [7, 16]

// HALVES: event.buffer @head.loss.logits transient : f32 {{.*}} capacity [6, 16]
// HALVES: event.phase "head.loss.logits"
// HALVES: event.phase "head.loss.logits.2"
// HALVES-NOT: event.phase "head.loss.logits

// ONE: event.buffer @head.loss.logits transient : f32 {{.*}} capacity [1, 16]
// ONE: event.phase "head.loss.logits"
// ONE-NOT: event.phase "head.loss.logits

// INPUT: event.phase "head.loss_input_gradient"
// WEIGHT: event.phase "head.loss_weight_gradient"
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!table = !model.tensor<16 x 8 x f32>
update.rule @keep {
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>):
  %n = update.map (%w = %p) {
    update.yield %w
  }
  update.return %n
}
update.group @keep
model.program @head max_seq 12 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["t"] : !table
  %bias = model.parameter ["b"] : !model.tensor<8 x f32>
  %e = model.embedding %tokens, %table : (!rows, !table) -> !x
  %loss, %dx, %dw = model.cross_entropy %e, %table, %targets, %weights : (!x, !table, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !table) loc("head")
  model.gradient %dw of %table : !table, !table
  %db = model.bias_gradient %dx : (!x) -> !model.tensor<8 x f32> loc("head")
  model.gradient %db of %bias : !model.tensor<8 x f32>, !model.tensor<8 x f32>
  model.return %loss : !model.tensor<rows x f32>
}
