// Pipeline ops print what they parse.
//
// RUN: baton-opt %s | baton-opt | FileCheck %s
// RUN: baton-opt %s --mlir-print-op-generic | baton-opt | FileCheck %s

!i = !model.tensor<rows x i32>
!l = !model.tensor<rows x f32>

// CHECK: dist.schedule "1f1b" over "pipe" microbatches 2 in_flight [2, 1] tables ["F0 F1 B0 W0 B1 W1", "F0 B0 W0 F1 B1 W1"]
// CHECK-NEXT: dist.stage [0] offsets [0] {
// CHECK-NEXT: dist.phase forward
// CHECK-NEXT: dist.send %{{.+}} to next payload "4 * rows" : !model.tensor<rows x f32>
// CHECK-NEXT: dist.phase input
// CHECK-NEXT: %[[DX:.+]] = dist.receive from next payload "4 * rows" : !model.tensor<rows x f32>
// CHECK-NEXT: dist.phase weight
// CHECK-NEXT: dist.stage_end
// CHECK-NEXT: }
// CHECK-NEXT: %[[LOSS:.+]] = dist.stage [1] offsets [0] -> !model.tensor<rows x f32> {
// CHECK-NEXT: dist.phase forward
// CHECK-NEXT: %[[X:.+]] = dist.receive from previous payload "4 * rows" : !model.tensor<rows x f32>
// CHECK-NEXT: dist.phase input
// CHECK-NEXT: dist.send %[[X]] to previous payload "4 * rows" : !model.tensor<rows x f32>
// CHECK-NEXT: dist.phase weight
// CHECK-NEXT: dist.stage_end %[[X]] : !model.tensor<rows x f32>
// CHECK-NEXT: }
// CHECK-NEXT: %[[TABLE:.+]] = model.parameter ["table"] : {{(!model.tensor)?}}<4 x 8 x bf16>
// CHECK-NEXT: dist.sum_gradients %[[TABLE]] over [0, 1] payload "4 * 4 * 8" : {{(!model.tensor)?}}<4 x 8 x bf16>
dist.mesh [pipe = 2]
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  dist.schedule "1f1b" over "pipe" microbatches 2 in_flight [2, 1] tables ["F0 F1 B0 W0 B1 W1", "F0 B0 W0 F1 B1 W1"]
  dist.stage [0] offsets [0] {
    dist.phase forward
    dist.send %weights to next payload "4 * rows" : !l
    dist.phase input
    %dx = dist.receive from next payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end
  }
  %loss = dist.stage [1] offsets [0] -> !l {
    dist.phase forward
    %x = dist.receive from previous payload "4 * rows" : !l
    dist.phase input
    dist.send %x to previous payload "4 * rows" : !l
    dist.phase weight
    dist.stage_end %x : !l
  }
  %table = model.parameter ["table"] : !model.tensor<4 x 8 x bf16>
  dist.sum_gradients %table over [0, 1] payload "4 * 4 * 8" : !model.tensor<4 x 8 x bf16>
  model.return %loss : !l
}

// Two chunks a stage, and an offset for the layers of each position.
model.program @interleaved max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !l):
  // CHECK: dist.schedule "interleaved" over "pipe" microbatches 2 chunks 2 fused in_flight [4, 3] tables
  dist.schedule "interleaved" over "pipe" microbatches 2 chunks 2 fused in_flight [4, 3]
    tables ["F0 F1 F0.1 F1.1 B0.1 W0.1 B1.1 W1.1 B0 W0 B1 W1", "F0 F1 F0.1 B0.1 W0.1 F1.1 B1.1 W1.1 B0 W0 B1 W1"]
  // CHECK: dist.stage [0, 1, 2, 3] offsets [0, 2, 4, 6] {
  dist.stage [0, 1, 2, 3] offsets [0, 2, 4, 6] {
    dist.phase forward
    dist.phase input
    dist.phase weight
    dist.stage_end
  }
  model.return %weights : !l
}
