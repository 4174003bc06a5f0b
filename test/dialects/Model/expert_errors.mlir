// What ops of experts promise, and what is said where it is not so.
//
// RUN: baton-opt %s -allow-unregistered-dialect -verify-diagnostics -split-input-file

// route: logits are rows x E x f32
%l = "test.value"() : () -> !model.tensor<outputs x 5 x f32>
// expected-error @below {{logits have shape [outputs, 5], expected [rows, experts]}}
%e, %w = model.route %l : (!model.tensor<outputs x 5 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)

// -----

// ... bias is E x f32
%l = "test.value"() : () -> !model.tensor<rows x 5 x f32>
%b = "test.value"() : () -> !model.tensor<4 x f32>
// expected-error @below {{the bias has shape [4], expected [5]}}
%e, %w = model.route %l, %b : (!model.tensor<rows x 5 x f32>, !model.tensor<4 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)

// -----

// ... k is 1 to E
%l = "test.value"() : () -> !model.tensor<rows x 5 x f32>
// expected-error @below {{6 experts of a row, expected 1 to 5}}
%e, %w = model.route %l : (!model.tensor<rows x 5 x f32>) -> (!model.tensor<rows x 6 x i32>, !model.tensor<rows x 6 x f32>)

// -----

// ... experts are i32, weights as many
%l = "test.value"() : () -> !model.tensor<rows x 5 x f32>
// expected-error @below {{experts are not i32}}
%e, %w = model.route %l : (!model.tensor<rows x 5 x f32>) -> (!model.tensor<rows x 2 x f32>, !model.tensor<rows x 2 x f32>)

// -----

%l = "test.value"() : () -> !model.tensor<rows x 5 x f32>
// expected-error @below {{weights has shape [rows, 3], expected [rows, 2]}}
%e, %w = model.route %l : (!model.tensor<rows x 5 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 3 x f32>)

// -----

// ... the factor is finite
%l = "test.value"() : () -> !model.tensor<rows x 5 x f32>
// expected-error @below {{the factor is not finite}}
%e, %w = model.route %l {factor = 0x7F800000 : f32} : (!model.tensor<rows x 5 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)

// -----

// ... groups divide E
%l = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{4 groups do not divide 6 experts}}
%e, %w = model.route %l {groups = 4 : i64} : (!model.tensor<rows x 6 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)

// -----

%l = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{65 groups, expected 1 to 64}}
%e, %w = model.route %l {groups = 65 : i64} : (!model.tensor<rows x 6 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)

// -----

// ... of a row's groups, 1 to groups, there are k experts
%l = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{1 groups of a row, of 2 experts each, expected 1 to 3 with 3 experts}}
%e, %w = model.route %l {groups = 3 : i64} : (!model.tensor<rows x 6 x f32>) -> (!model.tensor<rows x 3 x i32>, !model.tensor<rows x 3 x f32>)

// -----

// ... with best_two a group has at least 2
%l = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{a group of one expert has no best two}}
%e, %w = model.route %l {groups = 6 : i64, groups_of_row = 2 : i64, best_two} : (!model.tensor<rows x 6 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)

// -----

// dispatch: choices and places have the shape of experts
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
// expected-error @below {{choices has shape [rows, 3], expected [rows, 2]}}
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 3 x i32>, !model.tensor<rows x 2 x i32>)

// -----

// ... bounds are E + 1 x i32
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
// expected-error @below {{bounds have shape [rows], expected [experts + 1]}}
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<rows x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)

// -----

// ... of the router's experts
%l = "test.value"() : () -> !model.tensor<rows x 5 x f32>
%e, %w = model.route %l : (!model.tensor<rows x 5 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)
// expected-error @below {{bounds are of 6 experts, expected 5}}
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<7 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)

// -----

// ... with axes E + 2, of which E divide the router's
%l = "test.value"() : () -> !model.tensor<rows x 6 x f32>
%e, %w = model.route %l : (!model.tensor<rows x 6 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)
// expected-error @below {{bounds are of 4 experts, expected a divisor of 6}}
%b, %c, %p = model.dispatch %e {axes = ["ep"]} : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)

// -----

%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
// expected-error @below {{bounds have shape [2], expected [experts + 2]}}
%b, %c, %p = model.dispatch %e {axes = ["ep"]} : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<2 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)

// -----

%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
// expected-error @below {{ranks have experts along no axis}}
%b, %c, %p = model.dispatch %e {axes = []} : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)

// -----

// gather: choices are made by model.dispatch
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%c = "test.value"() : () -> !model.tensor<rows x 2 x i32>
// expected-error @below {{choices are not made by model.dispatch}}
%g = model.gather %x, %c : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 2 x 8 x f32>

// -----

// ... the result is rows x k x K
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
// expected-error @below {{the result has shape [rows, 3, 8], expected [rows, 2, 8]}}
%g = model.gather %x, %c : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 3 x 8 x f32>

// -----

// grouped_linear: x is by places
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%m = "test.value"() : () -> !model.tensor<5 x 16 x 8 x f32>
// expected-error @below {{x has shape [rows, 8], expected [rows, k, width]}}
%y = model.grouped_linear %x, %b, %m : (!model.tensor<rows x 8 x f32>, !model.tensor<6 x i32>, !model.tensor<5 x 16 x 8 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// ... the weight is E x N x K, N a multiple of 16
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%m = "test.value"() : () -> !model.tensor<5 x 24 x 8 x f32>
// expected-error @below {{the weight has 24 outputs for each expert, expected a multiple of 16}}
%y = model.grouped_linear %x, %b, %m : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<6 x i32>, !model.tensor<5 x 24 x 8 x f32>) -> !model.tensor<rows x 2 x 24 x f32>

// -----

%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%m = "test.value"() : () -> !model.tensor<4 x 16 x 8 x f32>
// expected-error @below {{the weight has shape [4, 16, 8], expected [5, 16, 8]}}
%y = model.grouped_linear %x, %b, %m : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<6 x i32>, !model.tensor<4 x 16 x 8 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// ... the bias is E x N x f32
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%m = "test.value"() : () -> !model.tensor<5 x 16 x 8 x f32>
%v = "test.value"() : () -> !model.tensor<5 x 8 x f32>
// expected-error @below {{the bias has shape [5, 8], expected [5, 16]}}
%y = model.grouped_linear %x, %b, %m, %v : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<6 x i32>, !model.tensor<5 x 16 x 8 x f32>, !model.tensor<5 x 8 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// grouped_gated_linear: both weights have one type, and there is an activation
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%m = "test.value"() : () -> !model.tensor<5 x 16 x 8 x f32>
%n = "test.value"() : () -> !model.tensor<5 x 16 x 8 x bf16>
// expected-error @below {{the gate has type '!model.tensor<5 x 16 x 8 x f32>', expected that of up}}
%y = model.grouped_gated_linear %x, %b, %m, %n {activation = #model.activation<silu>} : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<6 x i32>, !model.tensor<5 x 16 x 8 x f32>, !model.tensor<5 x 16 x 8 x bf16>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%m = "test.value"() : () -> !model.tensor<5 x 16 x 8 x f32>
// expected-error @below {{the activation is identity}}
%y = model.grouped_gated_linear %x, %b, %m, %m {activation = #model.activation<identity>} : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<6 x i32>, !model.tensor<5 x 16 x 8 x f32>, !model.tensor<5 x 16 x 8 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// ... both biases are there, or neither
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%m = "test.value"() : () -> !model.tensor<5 x 16 x 8 x f32>
%v = "test.value"() : () -> !model.tensor<5 x 16 x f32>
// expected-error @below {{has one bias, expected two or none}}
%y = model.grouped_gated_linear %x, %b, %m, %m gate_bias %v {activation = #model.activation<silu>} : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<6 x i32>, !model.tensor<5 x 16 x 8 x f32>, !model.tensor<5 x 16 x 8 x f32>, !model.tensor<5 x 16 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%m = "test.value"() : () -> !model.tensor<5 x 16 x 8 x f32>
%v = "test.value"() : () -> !model.tensor<5 x 16 x f32>
%w = "test.value"() : () -> !model.tensor<16 x f32>
// expected-error @below {{up's bias has shape [16], expected [5, 16]}}
%y = model.grouped_gated_linear %x, %b, %m, %m gate_bias %v up_bias %w {activation = #model.activation<clamped_swiglu>} : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<6 x i32>, !model.tensor<5 x 16 x 8 x f32>, !model.tensor<5 x 16 x 8 x f32>, !model.tensor<5 x 16 x f32>, !model.tensor<16 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// Activations of gated products are no others'
%x = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{the activation clamped_swiglu is one of gated products}}
%y = model.activate %x {activation = #model.activation<clamped_swiglu>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// combine: places are made by model.dispatch, weights and result fit
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%w = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{places are not made by model.dispatch}}
%y = model.combine %x, %c, %w : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 8 x f32>

// -----

%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%w = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the result has shape [rows, 9], expected [rows, 8]}}
%y = model.combine %x, %p, %w : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// parameter: names of experts are all of experts
// expected-error @below {{'b' names no expert, as others do}}
%m = model.parameter ["a.{expert}", "b"] : !model.tensor<5 x 16 x 8 x f32>

// -----

// ... and their tensors are vectors or matrices
// expected-error @below {{tensors of experts are vectors or matrices}}
%m = model.parameter ["a.{expert}"] : !model.tensor<16 x f32>

// -----

// combine: bounds are there if ranks have some of the experts each
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%w = "test.value"() : () -> !model.tensor<rows x 2 x f32>
%b, %c, %p = model.dispatch %e {axes = ["ep"]} : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<4 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
// expected-error @below {{expected bounds if ranks have some of the experts each, made by the model.dispatch of its places}}
%y = model.combine %x, %p, %w : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 16 x f32>

// -----

%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%w = "test.value"() : () -> !model.tensor<rows x 2 x f32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<4 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
// expected-error @below {{expected bounds if ranks have some of the experts each, made by the model.dispatch of its places}}
%y = model.combine %x, %p, %w, %b : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>, !model.tensor<4 x i32>) -> !model.tensor<rows x 16 x f32>

// -----

// route_gradient: dy is rows x k x f32
%l = "test.value"() : () -> !model.tensor<rows x 5 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%d = "test.value"() : () -> !model.tensor<rows x 3 x f32>
// expected-error @below {{dy has shape [rows, 3], expected [rows, 2]}}
%r = model.route_gradient %d, %l, %e : (!model.tensor<rows x 3 x f32>, !model.tensor<rows x 5 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 5 x f32>

// -----

// ... the result has the logits' type
%l = "test.value"() : () -> !model.tensor<rows x 5 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%d = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{the result has type '!model.tensor<rows x 6 x f32>', expected that of the logits}}
%r = model.route_gradient %d, %l, %e : (!model.tensor<rows x 2 x f32>, !model.tensor<rows x 5 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 6 x f32>

// -----

// ... k is 1 to E, at most 64
%l = "test.value"() : () -> !model.tensor<rows x 5 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 6 x i32>
%d = "test.value"() : () -> !model.tensor<rows x 6 x f32>
// expected-error @below {{6 experts of a row, expected 1 to 5}}
%r = model.route_gradient %d, %l, %e : (!model.tensor<rows x 6 x f32>, !model.tensor<rows x 5 x f32>, !model.tensor<rows x 6 x i32>) -> !model.tensor<rows x 5 x f32>

// -----

// gather_gradient: places are made by model.dispatch
%d = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%p = "test.value"() : () -> !model.tensor<rows x 2 x i32>
// expected-error @below {{places are not made by model.dispatch}}
%r = model.gather_gradient %d, %p : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... dy is of places, the result of rows
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%d = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{dy has shape [rows, 8], expected [rows, k, width]}}
%r = model.gather_gradient %d, %p : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... bounds are there where ranks have some of the experts each
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e {axes = ["ep"]} : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<4 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%d = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{expected bounds if ranks have some of the experts each, made by the model.dispatch of its places}}
%r = model.gather_gradient %d, %p : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 8 x f32>

// -----

// combine_input_gradient: choices are made by model.dispatch, weights are rows x k
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%d = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%w = "test.value"() : () -> !model.tensor<rows x 3 x f32>
// expected-error @below {{weights has shape [rows, 3], expected [rows, 2]}}
%r = model.combine_input_gradient %d, %c, %w : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 3 x f32>) -> !model.tensor<rows x 2 x 8 x f32>

// -----

// combine_weight_gradient: dy is rows x K, the result rows x k
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%d = "test.value"() : () -> !model.tensor<rows x 7 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{dy has shape [rows, 7], expected [rows, 8]}}
%r = model.combine_weight_gradient %d, %x, %p : (!model.tensor<rows x 7 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 2 x f32>

// -----

// ... bounds are there where ranks have some of the experts each, and nowhere else
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%d = "test.value"() : () -> !model.tensor<rows x 8 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{expected bounds if ranks have some of the experts each, made by the model.dispatch of its places}}
%r = model.combine_weight_gradient %d, %x, %p, %b : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<6 x i32>) -> !model.tensor<rows x 2 x f32>

// -----

// grouped_linear_input_gradient: the weight is of dy's width
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%d = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%w = "test.value"() : () -> !model.tensor<5 x 16 x 8 x f32>
// expected-error @below {{the weight has shape [5, 16, 8], expected [5, 8, 8]}}
%r = model.grouped_linear_input_gradient %d, %b, %w : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<6 x i32>, !model.tensor<5 x 16 x 8 x f32>) -> !model.tensor<rows x 2 x 8 x f32>

// -----

// grouped_linear_weight_gradient: dy and x are of the same places, the result of all experts
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%d = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 3 x 8 x f32>
// expected-error @below {{x has 3 places of a row, dy 2}}
%r = model.grouped_linear_weight_gradient %d, %x, %b : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 3 x 8 x f32>, !model.tensor<6 x i32>) -> !model.tensor<5 x 16 x 8 x f32>

// -----

%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%d = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{the result has shape [4, 16, 8], expected [5, 16, 8]}}
%r = model.grouped_linear_weight_gradient %d, %x, %b : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<6 x i32>) -> !model.tensor<4 x 16 x 8 x f32>

// -----

// route: counts_loads needs a bias
%l = "test.value"() : () -> !model.tensor<rows x 5 x f32>
// expected-error @below {{counts loads for a bias, and has none}}
%e, %w = model.route %l {counts_loads} : (!model.tensor<rows x 5 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)

// -----

// clamped_swiglu: both operands and the result have the same type
%g = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
%u = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{types differ}}
%r = model.clamped_swiglu %g, %u : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x 8 x f32>) -> !model.tensor<rows x 2 x 16 x f32>

// -----

// its adjoints: all operands and the result have the same type
%g = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%d = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{dy has type}}
%r = model.clamped_swiglu_gate_gradient %d, %g, %g : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 16 x f32>

// -----

%g = "test.value"() : () -> !model.tensor<rows x 16 x f32>
%d = "test.value"() : () -> !model.tensor<rows x 8 x f32>
// expected-error @below {{dy has type}}
%r = model.clamped_swiglu_up_gradient %d, %g, %g : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 16 x f32>

// -----

// grouped_bias_gradient: the result is of all experts
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
%b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<6 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
%d = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
// expected-error @below {{the result has shape [4, 16], expected [5, 16]}}
%r = model.grouped_bias_gradient %d, %b : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<6 x i32>) -> !model.tensor<4 x 16 x f32>

// -----

// ... bounds are made by model.dispatch
%b = "test.value"() : () -> !model.tensor<6 x i32>
%d = "test.value"() : () -> !model.tensor<rows x 2 x 16 x f32>
// expected-error @below {{bounds are not made by model.dispatch}}
%r = model.grouped_bias_gradient %d, %b : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<6 x i32>) -> !model.tensor<5 x 16 x f32>
