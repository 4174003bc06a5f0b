// What attention to compressed states is made of promises, and what is said where
// it is not so.
//
// RUN: baton-opt %s -allow-unregistered-dialect -verify-diagnostics -split-input-file

// head_linear: x is rows x H x K x f32
%x = "test.value"() : () -> !model.tensor<rows x 6 x f32>
%w = model.parameter ["w"] {heads = array<i64: 24, 0>} : !model.tensor<2 x 16 x 6 x f32>
// expected-error @below {{x has 2 dimensions, expected 3}}
%y = model.head_linear %x, %w : (!model.tensor<rows x 6 x f32>, !model.tensor<2 x 16 x 6 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// ... the weight is static H x N x K
%x = "test.value"() : () -> !model.tensor<rows x 3 x 6 x f32>
%w = model.parameter ["w"] {heads = array<i64: 24, 0>} : !model.tensor<2 x 16 x 6 x f32>
// expected-error @below {{x has shape [rows, 3, 6] and the weight [2, 16, 6], expected [rows, H, K] and [H, N, K]}}
%y = model.head_linear %x, %w : (!model.tensor<rows x 3 x 6 x f32>, !model.tensor<2 x 16 x 6 x f32>) -> !model.tensor<rows x 3 x 16 x f32>

// -----

// ... N a multiple of 16
%x = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%w = model.parameter ["w"] {heads = array<i64: 24, 0>} : !model.tensor<2 x 20 x 6 x f32>
// expected-error @below {{a head has 20 outputs, expected a multiple of 16}}
%y = model.head_linear %x, %w : (!model.tensor<rows x 2 x 6 x f32>, !model.tensor<2 x 20 x 6 x f32>) -> !model.tensor<rows x 2 x 20 x f32>

// -----

// ... the result rows x H x N x f32
%x = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%w = model.parameter ["w"] {heads = array<i64: 24, 0>} : !model.tensor<2 x 16 x 6 x f32>
// expected-error @below {{the result has shape [rows, 2, 32], expected [rows, 2, 16]}}
%y = model.head_linear %x, %w : (!model.tensor<rows x 2 x 6 x f32>, !model.tensor<2 x 16 x 6 x f32>) -> !model.tensor<rows x 2 x 32 x f32>

// -----

// join_heads: front is rows x H x A, back rows x H x B
%a = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%b = "test.value"() : () -> !model.tensor<rows x 3 x 6 x f32>
// expected-error @below {{front has shape [rows, 2, 6] and back [rows, 3, 6], expected rows of as many heads}}
%y = model.join_heads %a, %b : (!model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x 3 x 6 x f32>) -> !model.tensor<rows x 2 x 12 x f32>

// -----

// ... the result rows x H x (A + B)
%a = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%b = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{the result has shape [rows, 2, 12], expected [rows, 2, 10]}}
%y = model.join_heads %a, %b : (!model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 2 x 12 x f32>

// -----

// parameter: heads needs three dimensions, and neither blocks nor experts
// expected-error @below {{heads are a stride and an offset, of three dimensions}}
%w = model.parameter ["w"] {heads = array<i64: 24, 0>} : !model.tensor<32 x 6 x f32>

// -----

// expected-error @below {{heads have neither blocks nor experts}}
%w = model.parameter ["w"] {heads = array<i64: 24, 0>, blocks = array<i64: 1, 1, 0>} : !model.tensor<2 x 16 x 6 x f32>

// -----

// ... a stride, and an offset that leaves room for a head
// expected-error @below {{a head of 16 rows at 10 does not fit into 24}}
%w = model.parameter ["w"] {heads = array<i64: 24, 10>} : !model.tensor<2 x 16 x 6 x f32>

// -----

// ... transposed, a head's rows are its inputs
// expected-error @below {{a head of 6 rows at 20 does not fit into 24}}
%w = model.parameter ["w"] transposed {heads = array<i64: 24, 20>} : !model.tensor<2 x 16 x 6 x f32>

// -----

// ... shards have whole heads
// expected-error @below {{ranks have whole heads, equally many each}}
%w = model.parameter ["w"] {heads = array<i64: 24, 0>, shards = [#model.shard<1 of 32 over ["tp"]>]} : !model.tensor<2 x 16 x 6 x f32>

// -----

// ... nor are they quantised head by head
// expected-error @below {{is quantised, and transposed head by head}}
%w = model.parameter ["w"] transposed {heads = array<i64: 64, 0>} : !model.tensor<2 x 16 x 32 x !model.quantized<"q8_0">>

// -----

// ... blocks may have an even fourth number, which divides the size
// expected-error @below {{pairs in runs of 4 rows do not make blocks of 6}}
%w = model.parameter ["w"] {blocks = array<i64: 6, 10, 4, 4>} : !model.tensor<12 x 6 x f32>

// -----

// paged_attention: v is made by model.paged_append, or a slice of k, its first E elements
model.program @wrong max_seq 64 batch 1 {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>,
     %sequences: !model.tensor<rows x i32>, %slots: !model.tensor<rows x i32>,
     %pages: !model.tensor<1 x i32>, %sampling: !model.tensor<outputs x 28 x i32>,
     %changes: !model.tensor<3264 x i32>):
  %q = "test.value"() : () -> !model.tensor<rows x 2 x 24 x f32>
  %x = "test.value"() : () -> !model.tensor<rows x 1 x 24 x f32>
  %k = model.paged_append %x at %slots to "latent" : (!model.tensor<rows x 1 x 24 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 1 x 24 x f32>
  %v = model.slice %k {axis = 2 : i64, offset = 8 : i64} : (!model.tensor<rows x 1 x 24 x f32>) -> !model.tensor<rows x 1 x 16 x f32>
  // expected-error @below {{v is made by no model.paged_append, nor the first part of k}}
  %y = model.paged_attention %q, %k, %v, %positions, %sequences, %pages {scale = 1.0 : f32} : (!model.tensor<rows x 2 x 24 x f32>, !model.tensor<rows x 1 x 24 x f32>, !model.tensor<rows x 1 x 16 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x i32>, !model.tensor<1 x i32>) -> !model.tensor<rows x 2 x 16 x f32>
  "test.end"() : () -> ()
}

// -----

// head_linear_input_gradient: dy is of the weight's outputs
%d = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%w = model.parameter ["w"] {heads = array<i64: 24, 0>} : !model.tensor<2 x 16 x 6 x f32>
// expected-error @below {{dy has shape [rows, 2, 6] and the weight [2, 16, 6], expected [rows, H, N] and [H, N, K]}}
%y = model.head_linear_input_gradient %d, %w : (!model.tensor<rows x 2 x 6 x f32>, !model.tensor<2 x 16 x 6 x f32>) -> !model.tensor<rows x 2 x 6 x f32>

// -----

// ... the result rows x H x K x f32
%d = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%w = model.parameter ["w"] {heads = array<i64: 24, 0>} : !model.tensor<2 x 16 x 6 x f32>
// expected-error @below {{the result has shape [rows, 2, 16], expected [rows, 2, 6]}}
%y = model.head_linear_input_gradient %d, %w : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<2 x 16 x 6 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// head_linear_weight_gradient: dy and x are of the same heads
%d = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 3 x 6 x f32>
// expected-error @below {{dy has shape [rows, 2, 16] and x [rows, 3, 6], expected rows of as many heads}}
%y = model.head_linear_weight_gradient %d, %x : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 3 x 6 x f32>) -> !model.tensor<2 x 16 x 6 x f32>

// -----

// ... the result H x N x K x f32
%d = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
// expected-error @below {{the result has shape [2, 6, 16], expected [2, 16, 6]}}
%y = model.head_linear_weight_gradient %d, %x : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x 6 x f32>) -> !model.tensor<2 x 6 x 16 x f32>
