// RUN: baton-opt %s --differentiate=split --pipeline-partitioning="schedule=1f1b microbatches=2" | FileCheck %s

// What the first position makes and the last one reads goes by way of those
// between; so does its gradient, back.
//
// CHECK: dist.stage [0] offsets [0]
// CHECK: %[[E:.+]] = model.embedding
// CHECK: %[[Y:.+]] = model.stack %[[E]] repeat 2
// CHECK: dist.send %[[Y]] to next payload "4 * rows * 8"
// CHECK-NEXT: dist.send %[[E]] to next payload "4 * rows * 8"
// CHECK-NEXT: dist.phase input
// CHECK-NEXT: %[[DY:.+]] = dist.receive from next
// CHECK-NEXT: %[[DE1:.+]] = dist.receive from next
// CHECK-NEXT: %[[DE2:.+]] = model.stack %[[DY]] repeat 2 reverse
// CHECK: dist.phase weight
// CHECK: %[[DE:.+]] = model.add %[[DE1]], %[[DE2]]
// CHECK-NEXT: model.embedding_gradient %[[DE]]
//
// CHECK: dist.stage [1] offsets [0]
// CHECK: %[[X:.+]] = dist.receive from previous
// CHECK-NEXT: %[[PASSED:.+]] = dist.receive from previous
// CHECK: %[[X2:.+]] = model.stack %[[X]] repeat 2
// CHECK: dist.send %[[X2]] to next
// CHECK-NEXT: dist.send %[[PASSED]] to next
// CHECK-NEXT: dist.phase input
// CHECK-NEXT: %[[DX:.+]] = dist.receive from next
// CHECK-NEXT: %[[DPASSED:.+]] = dist.receive from next
// CHECK: %[[DX2:.+]] = model.stack %[[DX]] repeat 2 reverse
// CHECK: dist.send %[[DX2]] to previous
// CHECK-NEXT: dist.send %[[DPASSED]] to previous
//
// CHECK: dist.stage [2] offsets [0]
// CHECK: %[[Z:.+]] = model.stack
// CHECK: model.add %[[Z]], %{{.+}}
// CHECK: model.cross_entropy
//
// Two tables, on a stage each: nothing is summed.
// CHECK-NOT: dist.sum_gradients
dist.mesh [pipe = 3]
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!table = !model.tensor<16 x 8 x f32>
!w = !model.tensor<8 x 8 x f32>
model.program @skip max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !table
  %e = model.embedding %tokens, %wte : (!rows, !table) -> !x
  %y = model.stack %e repeat 5 : (!x) -> !x {
  ^bb1(%a: !x):
    %up = model.parameter ["up.{layer}"] : !w
    %b = model.linear %a, %up : (!x, !w) -> !x
    %c = model.activate %b {activation = #model.activation<gelu>} : (!x) -> !x
    %down = model.parameter ["down.{layer}"] : !w
    %d = model.linear %c, %down : (!x, !w) -> !x
    model.yield %d : !x
  }
  %z = model.add %y, %e : (!x, !x) -> !x
  %head = model.parameter ["head"] : !table
  %loss, %dx, %dw = model.cross_entropy %z, %head, %targets, %weights : (!x, !table, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !table)
  model.return %loss : !model.tensor<rows x f32>
}
