// One case for every line under **Constraints:** in TrainingOps.td, in its order
// of ops; "..." continues the line above.
//
// RUN: baton-opt %s --allow-unregistered-dialect -verify-diagnostics -split-input-file

// -----

// sequence_attention: q is rows x H x D
%v0 = "test.value"() : () -> !model.tensor<4 x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{expected [rows, heads, dim]}}
%r:2 = "model.sequence_attention"(%v0, %v1, %v2, %v3) {scale = 1.0 : f32} : (!model.tensor<4 x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 2 x f32>)

// -----

// ... k is rows x G x D
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<kv x 2 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{k has shape [kv, 2, 8], expected [rows, 2, 8]}}
%r:2 = "model.sequence_attention"(%v0, %v1, %v2, %v3) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<kv x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 2 x f32>)

// -----

// ... v is rows x G x E
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 3 x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{v has shape [rows, 3, 6], expected [rows, 2, 6]}}
%r:2 = "model.sequence_attention"(%v0, %v1, %v2, %v3) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 3 x 6 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 2 x f32>)

// -----

// ... the result is rows x H x E
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{the result has shape [rows, 4, 8], expected [rows, 4, 6]}}
%r:2 = "model.sequence_attention"(%v0, %v1, %v2, %v3) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 4 x 2 x f32>)

// -----

// ... the statistics rows x H x 2
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{the statistics has shape [rows, 4, 3], expected [rows, 4, 2]}}
%r:2 = "model.sequence_attention"(%v0, %v1, %v2, %v3) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 3 x f32>)

// -----

// ... all f32
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f16>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{q has 'f16' elements, expected f32}}
%r:2 = "model.sequence_attention"(%v0, %v1, %v2, %v3) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f16>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 2 x f32>)

// -----

// sequence_attention: G divides H
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 3 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 3 x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{4 query heads are no multiple of 3 key/value heads}}
%r:2 = "model.sequence_attention"(%v0, %v1, %v2, %v3) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 3 x 8 x f32>, !model.tensor<rows x 3 x 6 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 2 x f32>)

// -----

// sequence_attention: positions are rows x i32
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{positions are not i32}}
%r:2 = "model.sequence_attention"(%v0, %v1, %v2, %v3) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 2 x f32>)

// -----

// sequence_attention: scale is finite
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{scale is not finite}}
%r:2 = "model.sequence_attention"(%v0, %v1, %v2, %v3) {scale = 0x7F800000 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 2 x f32>)

// -----

// ... softcap is not negative
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{softcap is negative or not finite}}
%r:2 = "model.sequence_attention"(%v0, %v1, %v2, %v3) {scale = 1.0 : f32, softcap = -1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 2 x f32>)

// -----

// ... window is 0 or at least 1
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{window is negative}}
%r:2 = "model.sequence_attention"(%v0, %v1, %v2, %v3) {scale = 1.0 : f32, window = -1 : i64} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 2 x f32>)

// -----

// cross_entropy: x is rows x K
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{x has shape [rows, 9], expected [rows, 8]}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (!model.tensor<rows x 9 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// ... the weight is static
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{the weight has a dimension that only a step knows}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// cross_entropy: targets are rows x i32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{targets are not i32}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x f32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// ... weights rows x f32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{weights has shape [8], expected [rows]}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// cross_entropy: the loss is rows x f32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{the loss has shape [rows, 2], expected [rows]}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x 2 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// ... dx has x's type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{dx has type}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// ... dweight is [vocabulary, K]
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{dweight has shape [8, 16], expected [16, 8]}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<8 x 16 x f32>)

// -----

// cross_entropy: a teacher is two values
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 4 x i32>
// expected-error @below {{a teacher is 1 values, expected its tokens and its numbers}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3, %v4) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>, !model.tensor<rows x 4 x i32>) -> (!model.tensor<rows x 3 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// ... rows x N x i32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%v5 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
// expected-error @below {{the teacher's tokens are '!model.tensor<rows x 4 x f32>', expected [rows, N] in i32 with N from 1 to 16}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3, %v4, %v5) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 2, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>, !model.tensor<rows x 4 x f32>, !model.tensor<rows x 9 x f32>) -> (!model.tensor<rows x 3 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// ... N at most the vocabulary
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 17 x i32>
%v5 = "test.value"() : () -> !model.tensor<rows x 22 x f32>
// expected-error @below {{the teacher's tokens are '!model.tensor<rows x 17 x i32>', expected [rows, N] in i32 with N from 1 to 16}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3, %v4, %v5) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 2, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>, !model.tensor<rows x 17 x i32>, !model.tensor<rows x 22 x f32>) -> (!model.tensor<rows x 3 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// ... and rows x (N + 5) x f32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 4 x i32>
%v5 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the teacher's numbers has shape [rows, 8], expected [rows, 9]}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3, %v4, %v5) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 2, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>, !model.tensor<rows x 4 x i32>, !model.tensor<rows x 8 x f32>) -> (!model.tensor<rows x 3 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// ... with a teacher the loss is rows x 3 x f32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 4 x i32>
%v5 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
// expected-error @below {{the loss has shape [rows], expected [rows, 3]}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3, %v4, %v5) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 2, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>, !model.tensor<rows x 4 x i32>, !model.tensor<rows x 9 x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// cross_entropy: scale is finite
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{scale is not finite}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, scale = 0x7F800000 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// ... softcap is not negative
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{softcap is negative or not finite}}
%r:3 = "model.cross_entropy"(%v0, %v1, %v2, %v3) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, softcap = -1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// cross_entropy: a bias is [vocabulary]
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
%v4 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{the bias has shape [8], expected [16]}}
%r:4 = model.cross_entropy %v0, %v1, %v2, %v3 bias %v4 : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<16 x f32>)

// -----

// ... with a bias there is a dbias
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
%v4 = "test.value"() : () -> !model.tensor<16 x f32>
// expected-error @below {{has a bias without a dbias, or the other way round, expected both or neither}}
%r:3 = model.cross_entropy %v0, %v1, %v2, %v3 bias %v4 : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>, !model.tensor<16 x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)

// -----

// ... and without one there is none
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
%v4 = "test.value"() : () -> !model.tensor<16 x f32>
// expected-error @below {{has a bias without a dbias, or the other way round, expected both or neither}}
%r:4 = model.cross_entropy %v0, %v1, %v2, %v3 : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<16 x f32>)

// -----

// ... dbias is [vocabulary] in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x i32>
%v3 = "test.value"() : () -> !model.tensor<rows x f32>
%v4 = "test.value"() : () -> !model.tensor<16 x bf16>
// expected-error @below {{dbias has 'bf16' elements, expected f32}}
%r:4 = model.cross_entropy %v0, %v1, %v2, %v3 bias %v4 : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>, !model.tensor<16 x bf16>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<16 x bf16>)

// -----

// gradient: the parameter is a model.parameter
%v0 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
// expected-error @below {{is not of a parameter}}
"model.gradient"(%v0, %v1) {} : (!model.tensor<16 x 8 x f32>, !model.tensor<16 x 8 x f32>) -> ()

// -----

// gradient: has the parameter's shape
%v0 = "test.value"() : () -> !model.tensor<8 x 16 x f32>
%v1 = model.parameter ["p"] : !model.tensor<16 x 8 x f32>
// expected-error @below {{the gradient has shape [8, 16], expected [16, 8]}}
"model.gradient"(%v0, %v1) {} : (!model.tensor<8 x 16 x f32>, !model.tensor<16 x 8 x f32>) -> ()

// -----

// ... with f32 elements
%v0 = "test.value"() : () -> !model.tensor<16 x 8 x bf16>
%v1 = model.parameter ["p"] : !model.tensor<16 x 8 x f32>
// expected-error @below {{the gradient has 'bf16' elements, expected f32}}
"model.gradient"(%v0, %v1) {} : (!model.tensor<16 x 8 x bf16>, !model.tensor<16 x 8 x f32>) -> ()

// -----

// linear_input_gradient: dy is [R, N]
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
// expected-error @below {{dy has width 9, but the weight makes 16}}
%r = "model.linear_input_gradient"(%v0, %v1) {} : (!model.tensor<rows x 9 x f32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... the weight is static
%v0 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the weight has a dimension that only a step knows}}
%r = "model.linear_input_gradient"(%v0, %v1) {} : (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... the result is [R, K]
%v0 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<16 x 8 x f32>
// expected-error @below {{the result has shape [rows, 16], expected [rows, 8]}}
%r = "model.linear_input_gradient"(%v0, %v1) {} : (!model.tensor<rows x 16 x f32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 16 x f32>

// -----

// linear_weight_gradient: R of both
%v0 = "test.value"() : () -> !model.tensor<outputs x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{dy has outputs, x has rows}}
%r = "model.linear_weight_gradient"(%v0, %v1) {} : (!model.tensor<outputs x 16 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<16 x 8 x f32>

// -----

// ... the result is [N, K]
%v0 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the result has shape [8, 16], expected [16, 8]}}
%r = "model.linear_weight_gradient"(%v0, %v1) {} : (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<8 x 16 x f32>

// -----

// bias_gradient: dy is [R, N]
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{x has 3 dimensions, expected 2}}
%r = "model.bias_gradient"(%v0) {} : (!model.tensor<rows x 2 x 8 x f32>) -> !model.tensor<8 x f32>

// -----

// ... the result is [N]
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the result has shape [9], expected [8]}}
%r = "model.bias_gradient"(%v0) {} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<9 x f32>

// -----

// embedding_gradient: dy is rows x K
%v0 = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{expected rows}}
%r = "model.embedding_gradient"(%v0, %v1) {} : (!model.tensor<outputs x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<16 x 8 x f32>

// -----

// ... indices are rows x i32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{indices are not i32}}
%r = "model.embedding_gradient"(%v0, %v1) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x f32>) -> !model.tensor<16 x 8 x f32>

// -----

// ... the result is static [N, K]
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{the result has shape [16, 9], expected [16, 8]}}
%r = "model.embedding_gradient"(%v0, %v1) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<16 x 9 x f32>

// -----

// embedding_gradient: the multiplier is finite
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{the multiplier is not finite}}
%r = "model.embedding_gradient"(%v0, %v1) {multiplier = 0x7F800000 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<16 x 8 x f32>

// -----

// norm_statistics: x is [R, K] or [R, H, K]
%v0 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{expected [R, K] or [R, H, K]}}
%r = "model.norm_statistics"(%v0) {norm = #model.norm<rms>, epsilon = 1.0e-5 : f32} : (!model.tensor<8 x f32>) -> !model.tensor<2 x f32>

// -----

// ... the result has 2 in the place of K
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the result has shape [rows, 8], expected [rows, 2]}}
%r = "model.norm_statistics"(%v0) {norm = #model.norm<rms>, epsilon = 1.0e-5 : f32} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// norm_statistics: the norm is rms or layer
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the norm is 'identity'}}
%r = "model.norm_statistics"(%v0) {norm = #model.norm<identity>, epsilon = 1.0e-5 : f32} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x f32>

// -----

// norm_statistics: epsilon is not negative
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{epsilon is negative or not finite}}
%r = "model.norm_statistics"(%v0) {norm = #model.norm<rms>, epsilon = -1.0 : f32} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x f32>

// -----

// norm_input_gradient: x, dy and the result have one type
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{dy has type}}
%r = "model.norm_input_gradient"(%v0, %v1, %v2, %v3) {norm = #model.norm<rms>} : (!model.tensor<rows x 9 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... the statistics are those of x
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the statistics has shape [rows, 8], expected [rows, 2]}}
%r = "model.norm_input_gradient"(%v0, %v1, %v2, %v3) {norm = #model.norm<rms>} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... the weight is [K]
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the weight has shape [9], expected [8]}}
%r = "model.norm_input_gradient"(%v0, %v1, %v2, %v3) {norm = #model.norm<rms>} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<9 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// norm_input_gradient: the norm is rms or layer
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the norm is 'identity'}}
%r = "model.norm_input_gradient"(%v0, %v1, %v2, %v3) {norm = #model.norm<identity>} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// norm_weight_gradient: dy and x have one type
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{dy has type}}
%r = "model.norm_weight_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 9 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<8 x f32>

// -----

// ... the result is [K]
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the result has shape [9], expected [8]}}
%r = "model.norm_weight_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<9 x f32>

// -----

// adapted_squares: the weight is static [N, K]
%v0 = "test.value"() : () -> !model.tensor<8 x bf16>
%v1 = "test.value"() : () -> !model.tensor<3 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x 3 x f32>
// expected-error @below {{the weight has 1 dimensions, expected 2}}
%r = "model.adapted_squares"(%v0, %v1, %v2) {factor = 1.0 : f32} : (!model.tensor<8 x bf16>, !model.tensor<3 x 8 x f32>, !model.tensor<9 x 3 x f32>) -> !model.tensor<9 x f32>

// -----

// ... and static
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x bf16>
%v1 = "test.value"() : () -> !model.tensor<3 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x 3 x f32>
// expected-error @below {{the weight has a dimension that only a step knows}}
%r = "model.adapted_squares"(%v0, %v1, %v2) {factor = 1.0 : f32} : (!model.tensor<rows x 8 x bf16>, !model.tensor<3 x 8 x f32>, !model.tensor<9 x 3 x f32>) -> !model.tensor<9 x f32>

// -----

// ... its elements are a linear's
%v0 = "test.value"() : () -> !model.tensor<9 x 8 x i32>
%v1 = "test.value"() : () -> !model.tensor<3 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x 3 x f32>
// expected-error @below {{the weight has 'i32' elements, expected floating-point or quantised}}
%r = "model.adapted_squares"(%v0, %v1, %v2) {factor = 1.0 : f32} : (!model.tensor<9 x 8 x i32>, !model.tensor<3 x 8 x f32>, !model.tensor<9 x 3 x f32>) -> !model.tensor<9 x f32>

// -----

// ... down is [R, K]
%v0 = "test.value"() : () -> !model.tensor<9 x 8 x bf16>
%v1 = "test.value"() : () -> !model.tensor<3 x 7 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x 3 x f32>
// expected-error @below {{down has shape [3, 7], expected [3, 8]}}
%r = "model.adapted_squares"(%v0, %v1, %v2) {factor = 1.0 : f32} : (!model.tensor<9 x 8 x bf16>, !model.tensor<3 x 7 x f32>, !model.tensor<9 x 3 x f32>) -> !model.tensor<9 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<9 x 8 x bf16>
%v1 = "test.value"() : () -> !model.tensor<3 x 8 x bf16>
%v2 = "test.value"() : () -> !model.tensor<9 x 3 x f32>
// expected-error @below {{down has 'bf16' elements, expected f32}}
%r = "model.adapted_squares"(%v0, %v1, %v2) {factor = 1.0 : f32} : (!model.tensor<9 x 8 x bf16>, !model.tensor<3 x 8 x bf16>, !model.tensor<9 x 3 x f32>) -> !model.tensor<9 x f32>

// -----

// ... up is [N, R]
%v0 = "test.value"() : () -> !model.tensor<9 x 8 x bf16>
%v1 = "test.value"() : () -> !model.tensor<3 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x 4 x f32>
// expected-error @below {{up has shape [9, 4], expected [9, 3]}}
%r = "model.adapted_squares"(%v0, %v1, %v2) {factor = 1.0 : f32} : (!model.tensor<9 x 8 x bf16>, !model.tensor<3 x 8 x f32>, !model.tensor<9 x 4 x f32>) -> !model.tensor<9 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<9 x 8 x bf16>
%v1 = "test.value"() : () -> !model.tensor<3 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x 3 x bf16>
// expected-error @below {{up has 'bf16' elements, expected f32}}
%r = "model.adapted_squares"(%v0, %v1, %v2) {factor = 1.0 : f32} : (!model.tensor<9 x 8 x bf16>, !model.tensor<3 x 8 x f32>, !model.tensor<9 x 3 x bf16>) -> !model.tensor<9 x f32>

// -----

// ... the result is [N]
%v0 = "test.value"() : () -> !model.tensor<9 x 8 x bf16>
%v1 = "test.value"() : () -> !model.tensor<3 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x 3 x f32>
// expected-error @below {{the result has shape [8], expected [9]}}
%r = "model.adapted_squares"(%v0, %v1, %v2) {factor = 1.0 : f32} : (!model.tensor<9 x 8 x bf16>, !model.tensor<3 x 8 x f32>, !model.tensor<9 x 3 x f32>) -> !model.tensor<8 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<9 x 8 x bf16>
%v1 = "test.value"() : () -> !model.tensor<3 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x 3 x f32>
// expected-error @below {{the result has 'f64' elements, expected f32}}
%r = "model.adapted_squares"(%v0, %v1, %v2) {factor = 1.0 : f32} : (!model.tensor<9 x 8 x bf16>, !model.tensor<3 x 8 x f32>, !model.tensor<9 x 3 x f32>) -> !model.tensor<9 x f64>

// -----

// ... the factor is finite
%v0 = "test.value"() : () -> !model.tensor<9 x 8 x bf16>
%v1 = "test.value"() : () -> !model.tensor<3 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x 3 x f32>
// expected-error @below {{factor is not finite}}
%r = "model.adapted_squares"(%v0, %v1, %v2) {factor = 0x7F800000 : f32} : (!model.tensor<9 x 8 x bf16>, !model.tensor<3 x 8 x f32>, !model.tensor<9 x 3 x f32>) -> !model.tensor<9 x f32>

// -----

// magnitude: x is R x N
%v0 = "test.value"() : () -> !model.tensor<4 x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<9 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x f32>
// expected-error @below {{x has shape [4, 9], expected a symbol and a number}}
%r = "model.magnitude"(%v0, %v1, %v2) {} : (!model.tensor<4 x 9 x f32>, !model.tensor<9 x f32>, !model.tensor<9 x f32>) -> !model.tensor<4 x 9 x f32>

// -----

// ... the result has its type
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<9 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x f32>
// expected-error @below {{types differ}}
%r = "model.magnitude"(%v0, %v1, %v2) {} : (!model.tensor<rows x 9 x f32>, !model.tensor<9 x f32>, !model.tensor<9 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... magnitude is [N]
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x f32>
// expected-error @below {{magnitude has shape [8], expected [9]}}
%r = "model.magnitude"(%v0, %v1, %v2) {} : (!model.tensor<rows x 9 x f32>, !model.tensor<8 x f32>, !model.tensor<9 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// ... and so are squares
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<9 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{squares has shape [8], expected [9]}}
%r = "model.magnitude"(%v0, %v1, %v2) {} : (!model.tensor<rows x 9 x f32>, !model.tensor<9 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<9 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x bf16>
// expected-error @below {{squares has 'bf16' elements, expected f32}}
%r = "model.magnitude"(%v0, %v1, %v2) {} : (!model.tensor<rows x 9 x f32>, !model.tensor<9 x f32>, !model.tensor<9 x bf16>) -> !model.tensor<rows x 9 x f32>

// -----

// ... and a bias
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<9 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{the bias has shape [8], expected [9]}}
%r = "model.magnitude"(%v0, %v1, %v2, %v3) {} : (!model.tensor<rows x 9 x f32>, !model.tensor<9 x f32>, !model.tensor<9 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// magnitude_gradient: x is R x N
%v0 = "test.value"() : () -> !model.tensor<4 x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<4 x 9 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x f32>
// expected-error @below {{x has shape [4, 9], expected a symbol and a number}}
%r = "model.magnitude_gradient"(%v0, %v1, %v2) {} : (!model.tensor<4 x 9 x f32>, !model.tensor<4 x 9 x f32>, !model.tensor<9 x f32>) -> !model.tensor<9 x f32>

// -----

// ... dy has its type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x f32>
// expected-error @below {{dy has type}}
%r = "model.magnitude_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<9 x f32>) -> !model.tensor<9 x f32>

// -----

// ... squares are [N]
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{squares has shape [8], expected [9]}}
%r = "model.magnitude_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 9 x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<8 x f32>) -> !model.tensor<9 x f32>

// -----

// ... the result is [N]
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v2 = "test.value"() : () -> !model.tensor<9 x f32>
// expected-error @below {{the result has shape [8], expected [9]}}
%r = "model.magnitude_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 9 x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<9 x f32>) -> !model.tensor<8 x f32>

// -----

// norm_begin_gradient: there is a gradient
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{has no gradient}}
%r = "model.norm_begin_gradient"(%v0, %v1) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// norm_begin_gradient: x is R x K
%v0 = "test.value"() : () -> !model.tensor<4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x f32>
%v2 = "test.value"() : () -> !model.tensor<4 x 8 x f32>
// expected-error @below {{x has shape [4, 8], expected a symbol and a number}}
%r = "model.norm_begin_gradient"(%v0, %v1, %v2) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!model.tensor<4 x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<4 x 8 x f32>) -> !model.tensor<4 x 8 x f32>

// -----

// ... the result has its type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the result has type}}
%r = "model.norm_begin_gradient"(%v0, %v1, %v2) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// ... the gradient of scaled has its type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
// expected-error @below {{the gradient of scaled has type}}
%r = "model.norm_begin_gradient"(%v0, %v1, %v2) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<rows x 9 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... the weight is [K]
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<9 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the weight has shape [9], expected [8]}}
%r = "model.norm_begin_gradient"(%v0, %v1, %v2) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!model.tensor<rows x 8 x f32>, !model.tensor<9 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// norm_begin_gradient: the gradient of the squares is R x 1
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the gradient of the squares has shape [rows, 2], expected [rows, 1]}}
%r = "model.norm_begin_gradient"(%v0, %v1, %v2) {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// norm_end_gradient: dy and x have one type
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 1 x f32>
// expected-error @below {{dy has type}}
%r = "model.norm_end_gradient"(%v0, %v1, %v2) {width = 8 : i64, epsilon = 1.0 : f32} : (!model.tensor<rows x 9 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 1 x f32>

// -----

// ... x is R x N
%v0 = "test.value"() : () -> !model.tensor<4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<4 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 1 x f32>
// expected-error @below {{x has shape [4, 8], expected a symbol and a number}}
%r = "model.norm_end_gradient"(%v0, %v1, %v2) {width = 8 : i64, epsilon = 1.0 : f32} : (!model.tensor<4 x 8 x f32>, !model.tensor<4 x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 1 x f32>

// -----

// norm_end_gradient: squares are R x 1
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the squares has shape [rows, 8], expected [rows, 1]}}
%r = "model.norm_end_gradient"(%v0, %v1, %v2) {width = 8 : i64, epsilon = 1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 1 x f32>

// -----

// ... the result is R x 1
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 1 x f32>
// expected-error @below {{the result has shape [rows, 8], expected [rows, 1]}}
%r = "model.norm_end_gradient"(%v0, %v1, %v2) {width = 8 : i64, epsilon = 1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// norm_end_gradient: width is at least 1
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 1 x f32>
// expected-error @below {{width is -1, expected at least 1}}
%r = "model.norm_end_gradient"(%v0, %v1, %v2) {width = -1 : i64, epsilon = 1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 1 x f32>

// -----

// norm_end_gradient: epsilon is not negative
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 1 x f32>
// expected-error @below {{epsilon is negative or not finite}}
%r = "model.norm_end_gradient"(%v0, %v1, %v2) {width = 8 : i64, epsilon = -1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 1 x f32>

// -----

// rope_gradient: as model.rope
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 10 x f32>
// expected-error @below {{the table rotates 10 dimensions of heads that have 8}}
%r = "model.rope_gradient"(%v0, %v1) {} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 10 x f32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// ... the result has dy's type
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{types differ}}
%r = "model.rope_gradient"(%v0, %v1) {} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 8 x f32>

// -----

// attention_delta: dy and y are rows x H x E
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 6 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
// expected-error @below {{y has type}}
%r = "model.attention_delta"(%v0, %v1) {} : (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 8 x f32>) -> !model.tensor<rows x 4 x f32>

// -----

// ... the result is rows x H
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 6 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x 6 x f32>
// expected-error @below {{the result has shape [rows, 6], expected [rows, 4]}}
%r = "model.attention_delta"(%v0, %v1) {} : (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 6 x f32>) -> !model.tensor<rows x 6 x f32>

// -----

// attention_query_gradient: as for model.sequence_attention
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 6 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 9 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%v5 = "test.value"() : () -> !model.tensor<rows x 4 x 2 x f32>
%v6 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{k has shape [rows, 2, 9], expected [rows, 2, 8]}}
%r = "model.attention_query_gradient"(%v0, %v1, %v2, %v3, %v4, %v5, %v6) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 9 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x 4 x f32>, !model.tensor<rows x 4 x 2 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// ... dy has its result's type
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%v5 = "test.value"() : () -> !model.tensor<rows x 4 x 2 x f32>
%v6 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{dy has shape [rows, 4, 8], expected [rows, 4, 6]}}
%r = "model.attention_query_gradient"(%v0, %v1, %v2, %v3, %v4, %v5, %v6) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x 4 x f32>, !model.tensor<rows x 4 x 2 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// ... delta is rows x H
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 6 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
%v5 = "test.value"() : () -> !model.tensor<rows x 4 x 2 x f32>
%v6 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{delta has shape [rows, 2], expected [rows, 4]}}
%r = "model.attention_query_gradient"(%v0, %v1, %v2, %v3, %v4, %v5, %v6) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x 2 x f32>, !model.tensor<rows x 4 x 2 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// attention_query_gradient: the result has q's type
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 6 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%v5 = "test.value"() : () -> !model.tensor<rows x 4 x 2 x f32>
%v6 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{the result has type}}
%r = "model.attention_query_gradient"(%v0, %v1, %v2, %v3, %v4, %v5, %v6) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x 4 x f32>, !model.tensor<rows x 4 x 2 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 4 x 6 x f32>

// -----

// attention_key_value_gradient: the results have the types of k and v
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 6 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%v5 = "test.value"() : () -> !model.tensor<rows x 4 x 2 x f32>
%v6 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{the second result has type}}
%r:2 = "model.attention_key_value_gradient"(%v0, %v1, %v2, %v3, %v4, %v5, %v6) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x 4 x f32>, !model.tensor<rows x 4 x 2 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>)

// -----

// ...
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 6 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 2 x 6 x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%v5 = "test.value"() : () -> !model.tensor<rows x 4 x 2 x f32>
%v6 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{the first result has type}}
%r:2 = "model.attention_key_value_gradient"(%v0, %v1, %v2, %v3, %v4, %v5, %v6) {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x 4 x f32>, !model.tensor<rows x 4 x 2 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x 2 x 6 x f32>)

// -----

// mask_gradient: dy is H x rows x kv
%v0 = "test.value"() : () -> !model.tensor<4 x kv x rows x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{dy has shape [4, kv, rows], expected [heads, rows, kv]}}
%r = model.mask_gradient %v0, %v1 : (!model.tensor<4 x kv x rows x f32>, !model.tensor<rows x i32>) -> !model.tensor<4 x kv x rows x f32>

// -----

// ... and the result has its type
%v0 = "test.value"() : () -> !model.tensor<4 x rows x kv x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{types differ}}
%r = model.mask_gradient %v0, %v1 : (!model.tensor<4 x rows x kv x f32>, !model.tensor<rows x i32>) -> !model.tensor<3 x rows x kv x f32>

// -----

// ... positions are rows x i32
%v0 = "test.value"() : () -> !model.tensor<4 x rows x kv x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{positions are not i32}}
%r = model.mask_gradient %v0, %v1 : (!model.tensor<4 x rows x kv x f32>, !model.tensor<rows x f32>) -> !model.tensor<4 x rows x kv x f32>

// -----

// ... window is 0 or at least 1
%v0 = "test.value"() : () -> !model.tensor<4 x rows x kv x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{window is negative}}
%r = model.mask_gradient %v0, %v1 {window = -1 : i64} : (!model.tensor<4 x rows x kv x f32>, !model.tensor<rows x i32>) -> !model.tensor<4 x rows x kv x f32>

// -----

// gate_gradient: dy and x have one type
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 6 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{dy has type}}
%r = "model.gate_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32>

// -----

// ... the gate as for model.gate
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the gate has shape [rows, 8], expected [rows, 4] or [rows, 4, 8]}}
%r = "model.gate_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... the result has the gate's type
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{the result has type}}
%r = "model.gate_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// activate_gradient: both operands have the same type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{x has type}}
%r = "model.activate_gradient"(%v0, %v1) {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... and the result
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{types differ}}
%r = "model.activate_gradient"(%v0, %v1) {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x f32>

// -----

// ... elements are floating-point
%v0 = "test.value"() : () -> !model.tensor<rows x i32>
%v1 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{operand has 'i32' elements, expected floating-point}}
%r = "model.activate_gradient"(%v0, %v1) {activation = #model.activation<silu>} : (!model.tensor<rows x i32>, !model.tensor<rows x i32>) -> !model.tensor<rows x i32>

// -----

// tanh_gradient: both operands have the same type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{y has type}}
%r = "model.tanh_gradient"(%v0, %v1) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// softmax_gradient: both operands have the same type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{y has type}}
%r = "model.softmax_gradient"(%v0, %v1) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// join: there are at least two parts
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{joins fewer than two parts}}
%r = "model.join"(%v0) {axis = 1 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// join: axis names a dimension that is a number
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{axis 0 of [rows, 16] is no dimension with a number}}
%r = "model.join"(%v0, %v1) {axis = 0 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 16 x f32>

// -----

// ... parts and result agree in everything else
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
// expected-error @below {{joins '!model.tensor<outputs x 8 x f32>' into '!model.tensor<rows x 16 x f32>'}}
%r = "model.join"(%v0, %v1) {axis = 1 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<outputs x 8 x f32>) -> !model.tensor<rows x 16 x f32>

// -----

// ... and there the parts add up
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the parts add up to 16, not 17}}
%r = "model.join"(%v0, %v1) {axis = 1 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 17 x f32>

// -----

// preference_loss: losses are rows x f32
%v0 = "test.value"() : () -> !model.tensor<rows x 1 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{losses has shape [rows, 1], expected [rows]}}
%r:2 = "model.preference_loss"(%v0, %v1, %v2) {} : (!model.tensor<rows x 1 x f32>, !model.tensor<rows x f32>, !model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 7 x f32>, !model.tensor<rows x f32>)

// -----

// ... and so are weights
%v0 = "test.value"() : () -> !model.tensor<rows x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x i32>
%v2 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{weights has 'i32' elements, expected f32}}
%r:2 = "model.preference_loss"(%v0, %v1, %v2) {} : (!model.tensor<rows x f32>, !model.tensor<rows x i32>, !model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 7 x f32>, !model.tensor<rows x f32>)

// -----

// ... and the gradient
%v0 = "test.value"() : () -> !model.tensor<rows x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{the gradient has shape [rows, 1], expected [rows]}}
%r:2 = "model.preference_loss"(%v0, %v1, %v2) {} : (!model.tensor<rows x f32>, !model.tensor<rows x f32>, !model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 7 x f32>, !model.tensor<rows x 1 x f32>)

// -----

// ... preferences are rows x 4 x f32
%v0 = "test.value"() : () -> !model.tensor<rows x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 3 x f32>
// expected-error @below {{preferences has shape [rows, 3], expected [rows, 4]}}
%r:2 = "model.preference_loss"(%v0, %v1, %v2) {} : (!model.tensor<rows x f32>, !model.tensor<rows x f32>, !model.tensor<rows x 3 x f32>) -> (!model.tensor<rows x 7 x f32>, !model.tensor<rows x f32>)

// -----

// ... results are rows x 7 x f32
%v0 = "test.value"() : () -> !model.tensor<rows x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{results has shape [rows, 4], expected [rows, 7]}}
%r:2 = "model.preference_loss"(%v0, %v1, %v2) {} : (!model.tensor<rows x f32>, !model.tensor<rows x f32>, !model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 4 x f32>, !model.tensor<rows x f32>)

// -----

// weigh_rows: x is rows x f32 or rows x K x f32
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{x has shape [rows, 2, 4], expected [rows] or [rows, width]}}
%r = "model.weigh_rows"(%v0, %v1) {} : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x f32>) -> !model.tensor<rows x 2 x 4 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f16>
%v1 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{f32}}
%r = "model.weigh_rows"(%v0, %v1) {} : (!model.tensor<rows x 8 x f16>, !model.tensor<rows x f32>) -> !model.tensor<rows x 8 x f16>

// -----

// ... the result has its type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{the result}}
%r = "model.weigh_rows"(%v0, %v1) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x f32>) -> !model.tensor<rows x f32>

// -----

// ... factors are rows x f32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{factors has shape [rows, 4], expected [rows]}}
%r = "model.weigh_rows"(%v0, %v1) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// reindex: stands in a training program
model.program @p max_seq 8 {
^bb0(%t: !model.tensor<rows x i32>):
  %x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
  // expected-error @below {{stands outside training, where positions are other things than rows}}
  %r = model.reindex %x : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %y = "test.value"() : () -> !model.tensor<outputs x 8 x f32>
  model.return %y : !model.tensor<outputs x 8 x f32>
}

// -----

// ... the result has x's type, but kv where x has rows
%x = "test.value"() : () -> !model.tensor<rows x 2 x 4 x f32>
// expected-error @below {{expected 'kv' where x has 'rows', or the other way round}}
%r = model.reindex %x : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>

// -----

// ... or the other way round
%x = "test.value"() : () -> !model.tensor<2 x rows x kv x f32>
// expected-error @below {{expected 'kv' where x has 'rows', or the other way round}}
%r = model.reindex %x : (!model.tensor<2 x rows x kv x f32>) -> !model.tensor<2 x kv x rows x f32>

// -----

// save: the name is not empty
model.program @p max_seq 8 training {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %g: !model.tensor<rows x i32>, %w: !model.tensor<rows x f32>):
  %x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  %y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    // expected-error @below {{has an empty name}}
    model.save %a to "" : !model.tensor<rows x 8 x f32>
    model.yield %a : !model.tensor<rows x 8 x f32>
  }
  model.return %w : !model.tensor<rows x f32>
}

// -----

// ... and no other op of the program saves to it
model.program @p max_seq 8 training {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %g: !model.tensor<rows x i32>, %w: !model.tensor<rows x f32>):
  %x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  %y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    // expected-error @below {{saves to 'a', which another op saves to already}}
    model.save %a to "a" : !model.tensor<rows x 8 x f32>
    model.save %a to "a" : !model.tensor<rows x 8 x f32>
    model.yield %a : !model.tensor<rows x 8 x f32>
  }
  model.return %w : !model.tensor<rows x f32>
}

// -----

// save: stands in a stack
model.program @p max_seq 8 training {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %g: !model.tensor<rows x i32>, %w: !model.tensor<rows x f32>):
  %x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  // expected-error @below {{stands outside a stack}}
  model.save %x to "a" : !model.tensor<rows x 8 x f32>
  model.return %w : !model.tensor<rows x f32>
}

// -----

// save: rows or kv is a dimension of x, or x is a vector of a fixed size
model.program @p max_seq 8 training {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %g: !model.tensor<rows x i32>, %w: !model.tensor<rows x f32>):
  %x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  %y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    %b = "test.value"() : () -> !model.tensor<8 x 2 x f32>
    // expected-error @below {{saves '!model.tensor<8 x 2 x f32>', of which no dimension is 'rows' or 'kv', and which is no vector of a fixed size}}
    model.save %b to "a" : !model.tensor<8 x 2 x f32>
    model.yield %a : !model.tensor<rows x 8 x f32>
  }
  model.return %w : !model.tensor<rows x f32>
}

// -----

// saved: an earlier model.save to this name
model.program @p max_seq 8 training {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %g: !model.tensor<rows x i32>, %w: !model.tensor<rows x f32>):
  %x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  %y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    model.save %a to "b" : !model.tensor<rows x 8 x f32>
    model.yield %a : !model.tensor<rows x 8 x f32>
  }
  %z = model.stack %y repeat 2 reverse : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    // expected-error @below {{no earlier stack saves 'a'}}
    %b = model.saved "a" : !model.tensor<rows x 8 x f32>
    model.yield %a : !model.tensor<rows x 8 x f32>
  }
  model.return %w : !model.tensor<rows x f32>
}

// -----

// ... has a value of this type
model.program @p max_seq 8 training {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %g: !model.tensor<rows x i32>, %w: !model.tensor<rows x f32>):
  %x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  %y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    model.save %a to "a" : !model.tensor<rows x 8 x f32>
    model.yield %a : !model.tensor<rows x 8 x f32>
  }
  %z = model.stack %y repeat 2 reverse : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    // expected-error @below {{'a' has type '!model.tensor<rows x 8 x f32>'}}
    %b = model.saved "a" : !model.tensor<rows x 9 x f32>
    model.yield %a : !model.tensor<rows x 8 x f32>
  }
  model.return %w : !model.tensor<rows x f32>
}

// -----

// ... in a stack of as many iterations
model.program @p max_seq 8 training {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %g: !model.tensor<rows x i32>, %w: !model.tensor<rows x f32>):
  %x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
  %y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    model.save %a to "a" : !model.tensor<rows x 8 x f32>
    model.yield %a : !model.tensor<rows x 8 x f32>
  }
  %z = model.stack %y repeat 3 reverse : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    // expected-error @below {{'a' is saved 2 times, for 3 iterations}}
    %b = model.saved "a" : !model.tensor<rows x 8 x f32>
    model.yield %a : !model.tensor<rows x 8 x f32>
  }
  model.return %w : !model.tensor<rows x f32>
}

// -----

// sequence_attention: sinks are H x f32
%q = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%k = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%p = "test.value"() : () -> !model.tensor<rows x i32>
%s = "test.value"() : () -> !model.tensor<2 x f32>
// expected-error @below {{sinks has shape [2], expected [4]}}
%r:2 = model.sequence_attention %q, %k, %k, %p, %s {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<2 x f32>) -> (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 4 x 2 x f32>)

// -----

// attention_sink_gradient: delta is rows x H x f32
%d = "test.value"() : () -> !model.tensor<4 x rows x f32>
%t = "test.value"() : () -> !model.tensor<rows x 4 x 2 x f32>
%s = "test.value"() : () -> !model.tensor<4 x f32>
// expected-error @below {{delta has shape [4, rows], expected [rows, heads]}}
%r = model.attention_sink_gradient %d, %t, %s : (!model.tensor<4 x rows x f32>, !model.tensor<rows x 4 x 2 x f32>, !model.tensor<4 x f32>) -> !model.tensor<4 x rows x f32>

// -----

// ... statistics are rows x H x 2 x f32
%d = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%t = "test.value"() : () -> !model.tensor<rows x 4 x 3 x f32>
%s = "test.value"() : () -> !model.tensor<4 x f32>
// expected-error @below {{the statistics has shape [rows, 4, 3], expected [rows, 4, 2]}}
%r = model.attention_sink_gradient %d, %t, %s : (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 4 x 3 x f32>, !model.tensor<4 x f32>) -> !model.tensor<rows x 4 x f32>

// -----

// ... the result has delta's type
%d = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%t = "test.value"() : () -> !model.tensor<rows x 4 x 2 x f32>
%s = "test.value"() : () -> !model.tensor<4 x f32>
// expected-error @below {{the result has type}}
%r = model.attention_sink_gradient %d, %t, %s : (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 4 x 2 x f32>, !model.tensor<4 x f32>) -> !model.tensor<rows x 3 x f32>
