// Results do not depend on how a prompt is cut into steps.
//
// RUN: baton-opt %s -split-input-file -verify-diagnostics

!x = !model.tensor<rows x 8 x f32>
!heads = !model.tensor<2 x rows x 4 x f32>
!scores = !model.tensor<2 x rows x kv x f32>

// Weights from a masked softmax, scaled; from relu of masked scores.
model.program @masked max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !x
  %r = model.reshape %e : (!x) -> !model.tensor<rows x 2 x 4 x f32>
  %q = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !heads
  %s = model.kv_append %r to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %k = model.transpose %s {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x 4 x kv x f32>
  %v = model.transpose %s {permutation = array<i64: 1, 0, 2>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x kv x 4 x f32>
  %a = model.matmul %q, %k : (!heads, !model.tensor<2 x 4 x kv x f32>) -> !scores
  %m = model.mask %a : (!scores) -> !scores
  %b = model.scale %m {factor = 0.5 : f32} : (!scores) -> !scores
  %p = model.softmax %b : (!scores) -> !scores
  %c = model.scale %p {factor = -2.0 : f32} : (!scores) -> !scores
  %one = model.matmul %c, %v : (!scores, !model.tensor<2 x kv x 4 x f32>) -> !heads
  %positive = model.activate %m {activation = #model.activation<relu>} : (!scores) -> !scores
  %other = model.matmul %positive, %v : (!scores, !model.tensor<2 x kv x 4 x f32>) -> !heads
  %sum = model.add %one, %other : (!heads, !heads) -> !heads
  %t = model.transpose %sum {permutation = array<i64: 1, 0, 2>} : (!heads) -> !model.tensor<rows x 2 x 4 x f32>
  %o = model.reshape %t : (!model.tensor<rows x 2 x 4 x f32>) -> !x
  %l = model.last_rows %o : (!x) -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// No mask.
!x = !model.tensor<rows x 8 x f32>
!heads = !model.tensor<2 x rows x 4 x f32>
!scores = !model.tensor<2 x rows x kv x f32>
model.program @unmasked max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !x
  %r = model.reshape %e : (!x) -> !model.tensor<rows x 2 x 4 x f32>
  %q = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !heads
  %s = model.kv_append %r to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %k = model.transpose %s {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x 4 x kv x f32>
  %a = model.matmul %q, %k : (!heads, !model.tensor<2 x 4 x kv x f32>) -> !scores
  // expected-error @below {{'model.softmax' op reads positions behind a row's own, so that its result depends on how a prompt is cut into steps: mask the scores (model.mask) before}}
  %p = model.softmax %a : (!scores) -> !scores
  %l = model.last_rows %e : (!x) -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// A mask whose minus infinity is made finite again.
!x = !model.tensor<rows x 8 x f32>
!heads = !model.tensor<2 x rows x 4 x f32>
!scores = !model.tensor<2 x rows x kv x f32>
model.program @capped_after max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !x
  %r = model.reshape %e : (!x) -> !model.tensor<rows x 2 x 4 x f32>
  %q = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !heads
  %s = model.kv_append %r to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %k = model.transpose %s {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x 4 x kv x f32>
  %v = model.transpose %s {permutation = array<i64: 1, 0, 2>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x kv x 4 x f32>
  %a = model.matmul %q, %k : (!heads, !model.tensor<2 x 4 x kv x f32>) -> !scores
  %m = model.mask %a : (!scores) -> !scores
  %h = model.tanh %m : (!scores) -> !scores
  // expected-error @below {{'model.matmul' op reads positions behind a row's own}}
  %o = model.matmul %h, %v : (!scores, !model.tensor<2 x kv x 4 x f32>) -> !heads
  %l = model.last_rows %e : (!x) -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

// A sum over the rows of a step.
!x = !model.tensor<rows x 8 x f32>
!heads = !model.tensor<2 x rows x 4 x f32>
model.program @rows max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !x
  %r = model.reshape %e : (!x) -> !model.tensor<rows x 2 x 4 x f32>
  %q = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !heads
  %s = model.kv_append %r to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %k = model.transpose %s {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x 4 x kv x f32>
  %a = model.matmul %q, %k : (!heads, !model.tensor<2 x 4 x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  %t = model.transpose %a {permutation = array<i64: 0, 2, 1>} : (!model.tensor<2 x rows x kv x f32>) -> !model.tensor<2 x kv x rows x f32>
  // expected-error @below {{'model.matmul' op goes over the rows of a step, so that its result depends on how a prompt is cut into steps: rows see others through a state (model.kv_append)}}
  %o = model.matmul %t, %q : (!model.tensor<2 x kv x rows x f32>, !heads) -> !model.tensor<2 x kv x 4 x f32>
  %l = model.last_rows %e : (!x) -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}
