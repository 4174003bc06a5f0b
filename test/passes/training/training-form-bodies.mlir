// A body of the user's may make weights of attention of masked scores: what it makes of
// minus infinity is the user's to know. Of scores that are not masked it may not.
//
// RUN: baton-opt %s --split-input-file --training-form -verify-diagnostics | FileCheck %s

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
!scores = !model.tensor<2 x rows x kv x f32>

// CHECK-LABEL: model.program @masked max_seq 64 training
// CHECK-NEXT: ^bb0(%{{.+}}: !model.tensor<rows x i32>, %[[POSITIONS:.+]]: !model.tensor<rows x i32>, %{{.+}}: !model.tensor<rows x i32>, %{{.+}}: !model.tensor<rows x f32>):
// CHECK: %[[SCORES:.+]] = model.mask %{{.+}}, %[[POSITIONS]] :
// CHECK: %[[WEIGHTS:.+]] = model.custom @own(%[[SCORES]])
// CHECK: model.matmul %[[WEIGHTS]]
model.program @masked max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !w
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %h = model.reshape %e : (!x) -> !model.tensor<rows x 2 x 4 x f32>
  %k = model.kv_append %h to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %t = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x 4 x kv x f32>
  %v = model.transpose %k {permutation = array<i64: 1, 0, 2>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x kv x 4 x f32>
  %q = model.transpose %h {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>
  %s = model.matmul %q, %t : (!model.tensor<2 x rows x 4 x f32>, !model.tensor<2 x 4 x kv x f32>) -> !scores
  %m = model.mask %s : (!scores) -> !scores
  %p = model.custom @own(%m) : (!scores) -> !scores
  %o = model.matmul %p, %v : (!scores, !model.tensor<2 x kv x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>
  %r = model.transpose %o {permutation = array<i64: 1, 0, 2>} : (!model.tensor<2 x rows x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  %y = model.reshape %r : (!model.tensor<rows x 2 x 4 x f32>) -> !x
  %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %wte : (!model.tensor<outputs x 8 x f32>, !w) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
!scores = !model.tensor<2 x rows x kv x f32>
model.program @unmasked max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !w
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %h = model.reshape %e : (!x) -> !model.tensor<rows x 2 x 4 x f32>
  %k = model.kv_append %h to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %t = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x 4 x kv x f32>
  %v = model.transpose %k {permutation = array<i64: 1, 0, 2>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x kv x 4 x f32>
  %q = model.transpose %h {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>
  %s = model.matmul %q, %t : (!model.tensor<2 x rows x 4 x f32>, !model.tensor<2 x 4 x kv x f32>) -> !scores
  %p = model.custom @own(%s) : (!scores) -> !scores
  // expected-error @+1 {{its left-hand side is no softmax or body of a model.mask}}
  %o = model.matmul %p, %v : (!scores, !model.tensor<2 x kv x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>
  %last = model.last_rows %e : (!x) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %wte : (!model.tensor<outputs x 8 x f32>, !w) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}
