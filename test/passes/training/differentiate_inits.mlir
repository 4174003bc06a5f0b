// RUN: baton-opt %s --differentiate | FileCheck %s

// What a stack starts with is read again behind it: both gradients add up behind
// the reversed stack.
//
// CHECK: %[[LOSS:.+]], %[[DZ:.+]], %{{.+}} = model.cross_entropy
// CHECK: %[[DX:.+]] = model.stack %[[DZ]] repeat 3 reverse
// CHECK: model.yield
// CHECK-NEXT: }
// CHECK-NEXT: %[[DE:.+]] = model.add %[[DZ]], %[[DX]]
// CHECK: model.embedding_gradient %[[DE]]
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!table = !model.tensor<16 x 8 x f32>
!w = !model.tensor<8 x 8 x f32>
model.program @skip max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !table
  %e = model.embedding %tokens, %wte : (!rows, !table) -> !x
  %y = model.stack %e repeat 3 : (!x) -> !x {
  ^bb1(%a: !x):
    %w = model.parameter ["w.{layer}"] : !w
    %b = model.linear %a, %w : (!x, !w) -> !x
    model.yield %b : !x
  }
  %z = model.add %y, %e : (!x, !x) -> !x
  %loss, %dx, %dw = model.cross_entropy %z, %wte, %targets, %weights : (!x, !table, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !table)
  model.return %loss : !model.tensor<rows x f32>
}
