// RUN: baton-opt %s --differentiate=split --cse --pipeline-partitioning="schedule=zb-h1 microbatches=4" | FileCheck %s
// RUN: baton-opt %s --differentiate --pipeline-partitioning="schedule=1f1b microbatches=4 explain" 2>&1 | FileCheck %s --check-prefix=FUSED
// RUN: baton-opt %s --differentiate=split --pipeline-partitioning="schedule=zb-h1 microbatches=4 explain" 2>&1 | FileCheck %s --check-prefix=KEPT
// RUN: baton-opt %s --differentiate=split --pipeline-partitioning="schedule=interleaved:2 microbatches=4" | FileCheck %s --check-prefix=CHUNKS

// Six layers, and an output projection that costs as much as two of them: the
// first stage has four layers, the second one two.
//
// CHECK: dist.schedule "zb-h1" over "pipe" microbatches 4 in_flight [2, 2] tables ["F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3", "F0 B0 F1 B1 W0 F2 B2 W1 F3 B3 W2 W3"]
// CHECK-NEXT: dist.stage [0] offsets [0] {
// CHECK-NEXT: dist.phase forward
// CHECK-NEXT: %[[WTE:.+]] = model.parameter ["wte"]
// CHECK-NEXT: %[[E:.+]] = model.embedding %arg0, %[[WTE]]
// CHECK-NEXT: %[[Y:.+]] = model.stack %[[E]] repeat 4 {dist.part_of = 1 : i64, first_layer = 1 : i64}
// CHECK: model.save %{{.+}} to "layers.input"
// CHECK: dist.send %[[Y]] to next payload "4 * rows * 8"
// CHECK-NEXT: dist.phase input
// CHECK-NEXT: %[[DY:.+]] = dist.receive from next payload "4 * rows * 8"
// CHECK-NEXT: %[[DE:.+]] = model.stack %[[DY]] repeat 4 reverse {dist.part_of = 1 : i64, first_layer = 1 : i64}
// CHECK-NOT: model.gradient
// CHECK: dist.phase weight
// The table again: nothing of it is kept from phase to phase.
// CHECK-NEXT: %[[G:.+]] = model.embedding_gradient %[[DE]], %arg0
// CHECK-NEXT: %[[AGAIN:.+]] = model.parameter ["wte"]
// CHECK-NEXT: model.gradient %[[G]] of %[[AGAIN]]
// CHECK-NEXT: model.stack repeat 4 reverse {dist.part_of = 1 : i64, first_layer = 1 : i64} : () -> ()
// CHECK: dist.stage_end
//
// CHECK: %[[LOSSES:.+]] = dist.stage [1] offsets [0] -> !model.tensor<rows x f32> {
// CHECK-NEXT: dist.phase forward
// CHECK-NEXT: %[[X:.+]] = dist.receive from previous payload "4 * rows * 8"
// CHECK-NEXT: %[[Z:.+]] = model.stack %[[X]] repeat 2 {dist.part_of = 1 : i64, first_layer = 5 : i64}
// CHECK: %[[TABLE:.+]] = model.parameter ["wte"]
// CHECK-NEXT: %[[LOSS:.+]], %[[DZ:.+]], %[[DTABLE:.+]] = model.cross_entropy %[[Z]], %[[TABLE]], %arg2, %arg3
// The gradient of the logits' weight is added up where it is made.
// CHECK-NEXT: model.gradient %[[DTABLE]] of %[[TABLE]]
// CHECK-NEXT: dist.phase input
// CHECK-NEXT: %[[DX:.+]] = model.stack %[[DZ]] repeat 2 reverse {dist.part_of = 1 : i64, first_layer = 5 : i64}
// CHECK: dist.send %[[DX]] to previous payload "4 * rows * 8"
// CHECK-NEXT: dist.phase weight
// CHECK-NEXT: model.stack repeat 2 reverse {dist.part_of = 1 : i64, first_layer = 5 : i64} : () -> ()
// CHECK: dist.stage_end %[[LOSS]]
//
// CHECK: %[[TIED:.+]] = model.parameter ["wte"]
// CHECK-NEXT: dist.sum_gradients %[[TIED]] over [0, 1] payload "4 * 32 * 8"
// CHECK-NEXT: model.return %[[LOSSES]]

// Both halves of a backward step are one: gradients of parameters stand in the
// input phase, and what the stage before waits for leaves after weight.
//
// FUSED: remark: position 0: layers 1 to 4, 50.0 % of the products
// FUSED: remark: position 1: layers 5 to 6, 50.0 % of the products
// FUSED: dist.schedule "1f1b" over "pipe" microbatches 4 fused in_flight [2, 1]
// FUSED: dist.stage [1]
// FUSED: dist.phase input
// FUSED: %[[DX:.+]] = model.stack {{.*}} repeat 2 reverse
// FUSED: model.gradient
// FUSED: dist.phase weight
// FUSED-NEXT: dist.send %[[DX]] to previous

// Of each layer, adjoints for inputs read a linear's result, 32 bytes a row, and
// those for parameters what both linears read, and the gradients of what both make:
// 96 bytes from forward to input, 128 from input to weight. The first stage has four
// layers, and the gradient of the embedding; the most is there when one microbatch
// has come back and another one has not.
//
// KEPT: remark: schedule 'zb-h1': {{.*}}; stage 0 keeps the most between phases, 928 bytes for each row of a microbatch

// Four positions: the two in the middle differ in their layers alone, and the last one
// has none.
//
// CHUNKS: dist.schedule "interleaved" over "pipe" microbatches 4 chunks 2 fused in_flight [5, 3]
// CHUNKS: dist.stage [0] offsets [0]
// CHUNKS: repeat 2 {dist.part_of = 1 : i64, first_layer = 1 : i64}
// CHUNKS: dist.stage [1, 2] offsets [0, 2]
// CHUNKS: dist.receive from previous
// CHUNKS: repeat 2 {dist.part_of = 1 : i64, first_layer = 3 : i64}
// CHUNKS: dist.send %{{.+}} to next
// CHUNKS: dist.receive from next
// CHUNKS: repeat 2 reverse {dist.part_of = 1 : i64, first_layer = 3 : i64}
// CHUNKS: repeat 2 reverse {dist.part_of = 1 : i64, first_layer = 3 : i64}
// CHUNKS: dist.send %{{.+}} to previous
// CHUNKS: dist.stage [3]
// CHUNKS-NOT: model.stack
// CHUNKS: model.cross_entropy
// CHUNKS-NOT: model.stack
// CHUNKS: dist.sum_gradients %{{.+}} over [0, 1]
dist.mesh [pipe = 2]
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!table = !model.tensor<32 x 8 x f32>
!w = !model.tensor<8 x 8 x f32>
model.program @mlp max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !table
  %e = model.embedding %tokens, %wte : (!rows, !table) -> !x
  %y = model.stack %e repeat 6 {first_layer = 1 : i64} : (!x) -> !x {
  ^bb1(%a: !x):
    %up = model.parameter ["up.{layer}"] : !w
    %b = model.linear %a, %up : (!x, !w) -> !x
    %c = model.activate %b {activation = #model.activation<gelu>} : (!x) -> !x
    %down = model.parameter ["down.{layer}"] : !w
    %d = model.linear %c, %down : (!x, !w) -> !x
    %r = model.add %a, %d : (!x, !x) -> !x
    model.yield %r : !x
  } loc("layers")
  %loss, %dx, %dw = model.cross_entropy %y, %wte, %targets, %weights : (!x, !table, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !table)
  model.return %loss : !model.tensor<rows x f32>
}
