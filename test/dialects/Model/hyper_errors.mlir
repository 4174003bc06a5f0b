// One case for every line under **Constraints:** in HyperOps.td, in its order of
// ops; "..." continues the line above.
//
// RUN: baton-opt %s --allow-unregistered-dialect -verify-diagnostics -split-input-file

// -----

// hyper_project: x is R x n x C
%v0 = "test.value"() : () -> !model.tensor<rows x 32 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
// expected-error @below {{x has 2 dimensions, expected 3}}
%r = "model.hyper_project"(%v0, %v1) {epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 32 x f32>, !model.tensor<8 x 32 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f16>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
// expected-error @below {{x has 'f16' elements, expected f32}}
%r = "model.hyper_project"(%v0, %v1) {epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f16>, !model.tensor<8 x 32 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... R a symbol
%v0 = "test.value"() : () -> !model.tensor<3 x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
// expected-error @below {{expected [rows, streams, width]}}
%r = "model.hyper_project"(%v0, %v1) {epsilon = 1.0e-6 : f32} : (!model.tensor<3 x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... n 1 to 8
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 144 x f32>
// expected-error @below {{x has 9 streams, expected 1 to 8}}
%r = "model.hyper_project"(%v0, %v1) {epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 9 x 16 x f32>, !model.tensor<8 x 144 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// phi is M x n C
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 33 x f32>
// expected-error @below {{phi has shape [8, 33], expected [8, 32]}}
%r = "model.hyper_project"(%v0, %v1) {epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 33 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... static
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 32 x f32>
// expected-error @below {{phi has a dimension that only a step knows}}
%r = "model.hyper_project"(%v0, %v1) {epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 32 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x bf16>
// expected-error @below {{phi has 'bf16' elements, expected f32}}
%r = "model.hyper_project"(%v0, %v1) {epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x bf16>) -> !model.tensor<rows x 8 x f32>

// -----

// the result is R x M
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
// expected-error @below {{the maps has shape [rows, 7], expected [rows, 8]}}
%r = "model.hyper_project"(%v0, %v1) {epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>) -> !model.tensor<rows x 7 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
// expected-error @below {{the maps has 'f16' elements, expected f32}}
%r = "model.hyper_project"(%v0, %v1) {epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>) -> !model.tensor<rows x 8 x f16>

// -----

// M is at most n n + 2 n
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<9 x 32 x f32>
// expected-error @below {{phi has 9 rows, expected at most 8 for 2 streams}}
%r = "model.hyper_project"(%v0, %v1) {epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<9 x 32 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// epsilon is not negative
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
// expected-error @below {{epsilon is negative}}
%r = "model.hyper_project"(%v0, %v1) {epsilon = -1.0 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// hyper_maps: logits are R x M
%v0 = "test.value"() : () -> !model.tensor<rows x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{logits has 1 dimensions, expected 2}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f16>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{logits has 'f16' elements}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f16>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f16>

// -----

// ... R a symbol
%v0 = "test.value"() : () -> !model.tensor<4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{expected a symbol and a number}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<4 x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<4 x 8 x f32>

// -----

// ... and the result has their type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{types differ}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<outputs x 8 x f32>

// -----

// streams is 1 to 8
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{streams is 9, expected 1 to 8}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 9 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// M is n
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{logits has shape [rows, 8], expected [rows, 2]}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<none>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... and n more for what is written
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{logits has shape [rows, 8], expected [rows, 4]}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<identity>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... and n n more for free
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{logits has shape [rows, 4], expected [rows, 8]}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<free>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 4 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 4 x f32>

// -----

// ... and sinkhorn
%v0 = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{logits has shape [rows, 4], expected [rows, 8]}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 4 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 4 x f32>

// -----

// scale has a number for each part
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<2 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{scale has shape [2], expected [3]}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<2 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f16>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{scale has 'f16' elements}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<3 x f16>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// base is M
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<7 x f32>
// expected-error @below {{base has shape [7], expected [8]}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<7 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f16>
// expected-error @below {{base has 'f16' elements}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f16>) -> !model.tensor<rows x 8 x f32>

// -----

// iterations are at least 1
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{iterations is 0, expected 1 to 64}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 0 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... and at most 64
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{iterations is 65, expected 1 to 64}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 65 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// epsilon is not negative
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<3 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{epsilon is negative}}
%r = "model.hyper_maps"(%v0, %v1, %v2) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = -1.0 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// hyper_pre: x is R x n x C
%v0 = "test.value"() : () -> !model.tensor<rows x 32 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{x has 2 dimensions, expected 3}}
%r = "model.hyper_pre"(%v0, %v1) {} : (!model.tensor<rows x 32 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 16 x f32>

// -----

// ... n 1 to 8
%v0 = "test.value"() : () -> !model.tensor<rows x 9 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 9 x f32>
// expected-error @below {{x has 9 streams}}
%r = "model.hyper_pre"(%v0, %v1) {} : (!model.tensor<rows x 9 x 16 x f32>, !model.tensor<rows x 9 x f32>) -> !model.tensor<rows x 16 x f32>

// -----

// the weights are R x n
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the weights has shape [rows, 8], expected [rows, 2]}}
%r = "model.hyper_pre"(%v0, %v1) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 16 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x f16>
// expected-error @below {{the weights has 'f16' elements}}
%r = "model.hyper_pre"(%v0, %v1) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x f16>) -> !model.tensor<rows x 16 x f32>

// -----

// the result is R x C
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the result has shape [rows, 32], expected [rows, 16]}}
%r = "model.hyper_pre"(%v0, %v1) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 32 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the result has 'f16' elements}}
%r = "model.hyper_pre"(%v0, %v1) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 16 x f16>

// -----

// hyper_post: x is R x n x C
%v0 = "test.value"() : () -> !model.tensor<rows x 32 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{x has 2 dimensions, expected 3}}
%r = "model.hyper_post"(%v0, %v1, %v2) {} : (!model.tensor<rows x 32 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>) -> !model.tensor<rows x 32 x f32>

// -----

// ... and the result has its type
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{types differ}}
%r = "model.hyper_post"(%v0, %v1, %v2) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>) -> !model.tensor<outputs x 2 x 16 x f32>

// -----

// y is R x C
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{y has shape [rows, 8], expected [rows, 16]}}
%r = "model.hyper_post"(%v0, %v1, %v2) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 6 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 16 x f16>
%v2 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{y has 'f16' elements}}
%r = "model.hyper_post"(%v0, %v1, %v2) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f16>, !model.tensor<rows x 6 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// the weights are R x n or R x n + n n
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the weights has shape [rows, 8], expected [rows, 6]}}
%r = "model.hyper_post"(%v0, %v1, %v2) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// ... in f32
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x f16>
// expected-error @below {{the weights has 'f16' elements}}
%r = "model.hyper_post"(%v0, %v1, %v2) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 2 x f16>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// hyper_enter: x and phi are as for hyper_project
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 33 x f32>
%v2 = "test.value"() : () -> !model.tensor<3 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{phi has shape [8, 33], expected [8, 32]}}
%r:2 = "model.hyper_enter"(%v0, %v1, %v2, %v3) {norm_epsilon = 1.0e-6 : f32, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 33 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// ... norm_epsilon too
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v2 = "test.value"() : () -> !model.tensor<3 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{norm_epsilon is negative}}
%r:2 = "model.hyper_enter"(%v0, %v1, %v2, %v3) {norm_epsilon = -1.0 : f32, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// scale and base are as for hyper_maps
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v2 = "test.value"() : () -> !model.tensor<3 x f32>
%v3 = "test.value"() : () -> !model.tensor<7 x f32>
// expected-error @below {{base has shape [7], expected [8]}}
%r:2 = "model.hyper_enter"(%v0, %v1, %v2, %v3) {norm_epsilon = 1.0e-6 : f32, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<3 x f32>, !model.tensor<7 x f32>) -> (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// ... and the attributes
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v2 = "test.value"() : () -> !model.tensor<3 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{iterations is 65, expected 1 to 64}}
%r:2 = "model.hyper_enter"(%v0, %v1, %v2, %v3) {norm_epsilon = 1.0e-6 : f32, mixing = #model.mixing<sinkhorn>, iterations = 65 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// the result is R x C
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v2 = "test.value"() : () -> !model.tensor<3 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{the result has shape [rows, 32], expected [rows, 16]}}
%r:2 = "model.hyper_enter"(%v0, %v1, %v2, %v3) {norm_epsilon = 1.0e-6 : f32, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 32 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// the maps are R x M
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v2 = "test.value"() : () -> !model.tensor<3 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{the maps has shape [rows, 6], expected [rows, 8]}}
%r:2 = "model.hyper_enter"(%v0, %v1, %v2, %v3) {norm_epsilon = 1.0e-6 : f32, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>)

// -----

// hyper_turn: x, y and weights are as for hyper_post
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v4 = "test.value"() : () -> !model.tensor<3 x f32>
%v5 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{the weights has shape [rows, 8], expected [rows, 6]}}
%r:3 = "model.hyper_turn"(%v0, %v1, %v2, %v3, %v4, %v5) {norm_epsilon = 1.0e-6 : f32, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// ... and the first result has x's type
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v4 = "test.value"() : () -> !model.tensor<3 x f32>
%v5 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{types differ}}
%r:3 = "model.hyper_turn"(%v0, %v1, %v2, %v3, %v4, %v5) {norm_epsilon = 1.0e-6 : f32, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<outputs x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// phi, scale, base and the attributes are as for hyper_enter
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v4 = "test.value"() : () -> !model.tensor<2 x f32>
%v5 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{scale has shape [2], expected [3]}}
%r:3 = "model.hyper_turn"(%v0, %v1, %v2, %v3, %v4, %v5) {norm_epsilon = 1.0e-6 : f32, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<2 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// ... and so are the other results
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v4 = "test.value"() : () -> !model.tensor<3 x f32>
%v5 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{the result has shape [rows, 32], expected [rows, 16]}}
%r:3 = "model.hyper_turn"(%v0, %v1, %v2, %v3, %v4, %v5) {norm_epsilon = 1.0e-6 : f32, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 32 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// scale_rows: x is R x K
%v0 = "test.value"() : () -> !model.tensor<rows x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{x has 1 dimensions, expected 2}}
%r = "model.scale_rows"(%v0, %v1) {} : (!model.tensor<rows x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x f32>

// -----

// ... R a symbol
%v0 = "test.value"() : () -> !model.tensor<4 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{expected a symbol and a number}}
%r = "model.scale_rows"(%v0, %v1) {} : (!model.tensor<4 x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<4 x 8 x f32>

// -----

// ... and the result has its type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{types differ}}
%r = "model.scale_rows"(%v0, %v1) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 7 x f32>

// -----

// the statistics are R x 2
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 3 x f32>
// expected-error @below {{the statistics has shape [rows, 3], expected [rows, 2]}}
%r = "model.scale_rows"(%v0, %v1) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 3 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// hyper_project_gradient: x and phi are as for hyper_project
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x 33 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{phi has shape [8, 33], expected [8, 32]}}
%r = "model.hyper_project_gradient"(%v0, %v1, %v2, %v3, %v4) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 33 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// ... dy has its result's type
%v0 = "test.value"() : () -> !model.tensor<rows x 7 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{dy has type '!model.tensor<rows x 7 x f32>', expected that of y}}
%r = "model.hyper_project_gradient"(%v0, %v1, %v2, %v3, %v4) {} : (!model.tensor<rows x 7 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// ... and y
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 7 x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the maps has shape [rows, 7], expected [rows, 8]}}
%r = "model.hyper_project_gradient"(%v0, %v1, %v2, %v3, %v4) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<rows x 7 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// the statistics are R x 2
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 3 x f32>
// expected-error @below {{the statistics has shape [rows, 3], expected [rows, 2]}}
%r = "model.hyper_project_gradient"(%v0, %v1, %v2, %v3, %v4) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 3 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// the result has x's type
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<8 x 32 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v4 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the result has type '!model.tensor<outputs x 2 x 16 x f32>', expected that of x}}
%r = "model.hyper_project_gradient"(%v0, %v1, %v2, %v3, %v4) {} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<outputs x 2 x 16 x f32>

// -----

// hyper_maps_gradient: logits, scale, base and the attributes are as for hyper_maps
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<3 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{iterations is 65, expected 1 to 64}}
%r:2 = "model.hyper_maps_gradient"(%v0, %v1, %v2, %v3) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 65 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// dy has the logits' type
%v0 = "test.value"() : () -> !model.tensor<rows x 7 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<3 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{dy has type '!model.tensor<rows x 7 x f32>', expected that of the logits}}
%r:2 = "model.hyper_maps_gradient"(%v0, %v1, %v2, %v3) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 7 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// ... and the first result
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<3 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{the gradient of the logits has type}}
%r:2 = "model.hyper_maps_gradient"(%v0, %v1, %v2, %v3) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 7 x f32>, !model.tensor<rows x 8 x f32>)

// -----

// ... and the second
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v2 = "test.value"() : () -> !model.tensor<3 x f32>
%v3 = "test.value"() : () -> !model.tensor<8 x f32>
// expected-error @below {{the gradient of the sums has type}}
%r:2 = "model.hyper_maps_gradient"(%v0, %v1, %v2, %v3) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<3 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 7 x f32>)

// -----

// hyper_scale_gradient: streams, mixing and logits are as for hyper_maps
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{logits has shape [rows, 8], expected [rows, 15]}}
%r = "model.hyper_scale_gradient"(%v0, %v1) {streams = 3 : i64, mixing = #model.mixing<sinkhorn>} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<3 x f32>

// -----

// ... dz has the logits' type
%v0 = "test.value"() : () -> !model.tensor<rows x 7 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{dz has type '!model.tensor<rows x 7 x f32>'}}
%r = "model.hyper_scale_gradient"(%v0, %v1) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>} : (!model.tensor<rows x 7 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<3 x f32>

// -----

// the result has a number for each part
%v0 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the result has shape [2], expected [3]}}
%r = "model.hyper_scale_gradient"(%v0, %v1) {streams = 2 : i64, mixing = #model.mixing<sinkhorn>} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<2 x f32>

// -----

// hyper_pre_gradient: x and weights are as for hyper_pre
%v0 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the weights has shape [rows, 8], expected [rows, 2]}}
%r:2 = "model.hyper_pre_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 8 x f32>) -> (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x f32>)

// -----

// ... dy has its result's type
%v0 = "test.value"() : () -> !model.tensor<rows x 32 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{dy has shape [rows, 32], expected [rows, 16]}}
%r:2 = "model.hyper_pre_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 32 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x f32>) -> (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x f32>)

// -----

// the results have the types of x
%v0 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the gradient of x has type}}
%r:2 = "model.hyper_pre_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x f32>) -> (!model.tensor<rows x 2 x 15 x f32>, !model.tensor<rows x 2 x f32>)

// -----

// ... and of the weights
%v0 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the gradient of the weights has type}}
%r:2 = "model.hyper_pre_gradient"(%v0, %v1, %v2) {} : (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x f32>) -> (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 3 x f32>)

// -----

// hyper_post_gradient: x, y and weights are as for hyper_post
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{y has shape [rows, 8], expected [rows, 16]}}
%r:3 = "model.hyper_post_gradient"(%v0, %v1, %v2, %v3) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 6 x f32>) -> (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>)

// -----

// ... dx has its result's type
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 15 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{dx has type}}
%r:3 = "model.hyper_post_gradient"(%v0, %v1, %v2, %v3) {} : (!model.tensor<rows x 2 x 15 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>) -> (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>)

// -----

// the results have the types of x
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{the gradient of x has type}}
%r:3 = "model.hyper_post_gradient"(%v0, %v1, %v2, %v3) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>) -> (!model.tensor<rows x 2 x 15 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>)

// -----

// ... of y
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{the gradient of y has type}}
%r:3 = "model.hyper_post_gradient"(%v0, %v1, %v2, %v3) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>) -> (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 15 x f32>, !model.tensor<rows x 6 x f32>)

// -----

// ... and of the weights
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%v2 = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%v3 = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{the gradient of the weights has type}}
%r:3 = "model.hyper_post_gradient"(%v0, %v1, %v2, %v3) {} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>) -> (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 2 x f32>)
