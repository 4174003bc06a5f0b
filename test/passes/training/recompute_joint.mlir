// Joint programs from files.
//
// RUN: baton-opt %s --split-input-file --recompute=mode=selective -verify-diagnostics | FileCheck %s

!rows = !model.tensor<rows x i32>
!scalars = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!heads = !model.tensor<rows x 2 x 4 x f32>

// Of a view that is saved the source stays instead.
// CHECK-LABEL: model.program @view
// CHECK-SAME: recomputed = 0 : i64, row_bytes = 64 : i64, row_flops = 0 : i64, saved = 1 : i64
// CHECK: %[[B:.+]] = model.add
// CHECK: model.save %[[B]] to "[[NAME:.+]]"
// CHECK-NOT: model.save
// CHECK: model.stack {{.*}} reverse
// CHECK: %[[AGAIN:.+]] = model.saved "[[NAME]]"
// CHECK: model.reshape %[[AGAIN]]
model.program @view max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !scalars):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!rows, !model.tensor<16 x 8 x f32>) -> !x
  %y = model.stack %e repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    %b = model.add %a, %a : (!x, !x) -> !x
    %c = model.reshape %b : (!x) -> !heads
    model.save %c to "view" : !heads
    model.yield %b : !x
  }
  %z = model.stack %y repeat 2 reverse : (!x) -> !x {
  ^bb2(%a: !x):
    %c = model.saved "view" : !heads
    %d = model.reshape %c : (!heads) -> !x
    %f = model.mul %a, %d : (!x, !x) -> !x
    model.yield %f : !x
  }
  %loss, %dx, %dw = model.cross_entropy %z, %wte, %targets, %weights : (!x, !model.tensor<16 x 8 x f32>, !rows, !scalars) -> (!scalars, !x, !model.tensor<16 x 8 x f32>)
  model.return %loss : !scalars
}

// -----

!rows = !model.tensor<rows x i32>
!scalars = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!heads = !model.tensor<rows x 2 x 4 x f32>
!apart = !model.tensor<2 x rows x 4 x f32>

// The source of this one, whose rows are no first dimension, is a product: it is
// kept, and not made again.
// CHECK-LABEL: model.program @apart
// CHECK-SAME: recomputed = 0 : i64, row_bytes = 64 : i64, row_flops = 0 : i64, saved = 1 : i64
// CHECK: model.save %{{.*}} to "matmul" : <2 x rows x 4 x f32>
// CHECK: model.saved "matmul"
model.program @apart max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !scalars):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!rows, !model.tensor<16 x 8 x f32>) -> !x
  %y = model.stack %e repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    %h = model.reshape %a : (!x) -> !heads
    %t = model.transpose %h {permutation = array<i64: 1, 0, 2>} : (!heads) -> !apart
    %w = model.parameter ["w"] : !model.tensor<2 x 4 x 4 x f32>
    %m = model.matmul %t, %w : (!apart, !model.tensor<2 x 4 x 4 x f32>) -> !apart
    %c = model.transpose %m {permutation = array<i64: 1, 0, 2>} : (!apart) -> !heads
    model.save %c to "view" : !heads
    %d = model.reshape %c : (!heads) -> !x
    model.yield %d : !x
  }
  %z = model.stack %y repeat 2 reverse : (!x) -> !x {
  ^bb2(%a: !x):
    %c = model.saved "view" : !heads
    %d = model.reshape %c : (!heads) -> !x
    %f = model.mul %a, %d : (!x, !x) -> !x
    model.yield %f : !x
  }
  %loss, %dx, %dw = model.cross_entropy %z, %wte, %targets, %weights : (!x, !model.tensor<16 x 8 x f32>, !rows, !scalars) -> (!scalars, !x, !model.tensor<16 x 8 x f32>)
  model.return %loss : !scalars
}

// -----

!x = !model.tensor<outputs x 16 x f32>
!rows = !model.tensor<rows x i32>
// expected-error @+1 {{is no training program; training-form makes one}}
model.program @decodes max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!rows, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %last = model.last_rows %e : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %wte : (!model.tensor<outputs x 8 x f32>, !model.tensor<16 x 8 x f32>) -> !x
  model.return %l : !x
}
