// What takes all positions to be of one sequence has no batch form.
//
// RUN: baton-opt %s --batch-form=sequences=2 -verify-diagnostics -split-input-file
// RUN: not baton-opt %s --batch-form=sequences=0 -split-input-file 2>&1 | FileCheck %s
// CHECK: batch-form: sequences is 0, expected 1 to 65536
// RUN: not baton-opt %s --batch-form=stored=int4 -split-input-file 2>&1 | FileCheck %s --check-prefix=STORED
// STORED: batch-form: stored is 'int4', expected f32, bf16, int8 or fp8

// Attention that is products.
model.program @products max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %h = model.reshape %e : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  %k = model.kv_append %h to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  // expected-error @below {{cannot be of several sequences: it takes all positions to be of one, and is no attention that attention-fusion has found}}
  %t = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x 4 x kv x f32>
  %q = model.transpose %h {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>
  %s = model.matmul %q, %t : (!model.tensor<2 x rows x 4 x f32>, !model.tensor<2 x 4 x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  %last = model.last_rows %e : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %wte : (!model.tensor<outputs x 8 x f32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}

// -----

// A state that a body of the user's keeps.
model.program @own max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %h = model.reshape %e : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  // expected-error @below {{cannot be of several sequences}}
  %k = model.custom @keep(%h) states ["k"] : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %last = model.last_rows %e : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %wte : (!model.tensor<outputs x 8 x f32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}
