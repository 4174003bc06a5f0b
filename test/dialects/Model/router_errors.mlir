// What losses of routers promise, and what is said where it is not so.
//
// RUN: baton-opt %s -allow-unregistered-dialect -verify-diagnostics -split-input-file

// router_begin: weights are rows x f32
%w = "test.value"() : () -> !model.tensor<rows x 1 x f32>
// expected-error @below {{weights has shape [rows, 1], expected [rows]}}
%s = model.router_begin %w : (!model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// ... sums are rows x 2 E + 1 x f32
%w = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{sums have shape [rows, 8], expected [rows, 2 experts + 1], of at most 4096}}
%s = model.router_begin %w : (!model.tensor<rows x f32>) -> !model.tensor<rows x 8 x f32>

// -----

// ... of an expert at least
%w = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{sums have shape [rows, 1], expected [rows, 2 experts + 1]}}
%s = model.router_begin %w : (!model.tensor<rows x f32>) -> !model.tensor<rows x 1 x f32>

// -----

// ... and of 4096 at most
%w = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{sums have shape [rows, 8195]}}
%s = model.router_begin %w : (!model.tensor<rows x f32>) -> !model.tensor<rows x 8195 x f32>

// -----

// router_sums: logits are rows x E x f32
%s = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%l = "test.value"() : () -> !model.tensor<outputs x 4 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
// expected-error @below {{logits have shape [outputs, 4], expected [rows, experts]}}
%r = model.router_sums %s, %l, %e : (!model.tensor<rows x 9 x f32>, !model.tensor<outputs x 4 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 9 x f32>

// -----

// ... sums are rows x 2 E + 1 x f32
%s = "test.value"() : () -> !model.tensor<rows x 11 x f32>
%l = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
// expected-error @below {{sums has shape [rows, 11], expected [rows, 9]}}
%r = model.router_sums %s, %l, %e : (!model.tensor<rows x 11 x f32>, !model.tensor<rows x 4 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 11 x f32>

// -----

// ... k is 1 to E
%s = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%l = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 5 x i32>
// expected-error @below {{experts have shape [rows, 5], expected [rows, 1 to 4]}}
%r = model.router_sums %s, %l, %e : (!model.tensor<rows x 9 x f32>, !model.tensor<rows x 4 x f32>, !model.tensor<rows x 5 x i32>) -> !model.tensor<rows x 9 x f32>

// -----

// ... experts are i32
%s = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%l = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{experts are not i32}}
%r = model.router_sums %s, %l, %e : (!model.tensor<rows x 9 x f32>, !model.tensor<rows x 4 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 9 x f32>

// -----

// ... the result has the sums' type
%s = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%l = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
// expected-error @below {{the result has type '!model.tensor<rows x 5 x f32>'}}
%r = model.router_sums %s, %l, %e : (!model.tensor<rows x 9 x f32>, !model.tensor<rows x 4 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 5 x f32>

// -----

// router_sums_gradient: dy is rows x E + 1 x f32
%d = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%l = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{dy has shape [rows, 9], expected [rows, 5]}}
%r = model.router_sums_gradient %d, %l : (!model.tensor<rows x 9 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32>

// -----

// ... the result has the logits' type
%d = "test.value"() : () -> !model.tensor<rows x 5 x f32>
%l = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{the result has type '!model.tensor<rows x 5 x f32>'}}
%r = model.router_sums_gradient %d, %l : (!model.tensor<rows x 5 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 5 x f32>

// -----

// router_loss: the loss and weights are rows x f32
%o = "test.value"() : () -> !model.tensor<rows x f32>
%s = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%w = "test.value"() : () -> !model.tensor<rows x 4 x f32>
// expected-error @below {{weights has shape [rows, 4], expected [rows]}}
%r, %d = model.router_loss %o, %s, %w {balance = 1.0 : f32, z = 0.0 : f32, layers = 1 : i64} : (!model.tensor<rows x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 5 x f32>)

// -----

%o = "test.value"() : () -> !model.tensor<rows x 4 x f32>
%s = "test.value"() : () -> !model.tensor<rows x 9 x f32>
%w = "test.value"() : () -> !model.tensor<rows x f32>
// expected-error @below {{the loss has shape [rows, 4], expected [rows]}}
%r, %d = model.router_loss %o, %s, %w {balance = 1.0 : f32, z = 0.0 : f32, layers = 1 : i64} : (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 5 x f32>)

// -----

// ... losses are rows x 4 x f32, dsums rows x E + 1 x f32
%o = "test.value"() : () -> !model.tensor<rows x f32>
%s = "test.value"() : () -> !model.tensor<rows x 9 x f32>
// expected-error @below {{losses has shape [rows], expected [rows, 4]}}
%r, %d = model.router_loss %o, %s, %o {balance = 1.0 : f32, z = 0.0 : f32, layers = 1 : i64} : (!model.tensor<rows x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 5 x f32>)

// -----

%o = "test.value"() : () -> !model.tensor<rows x f32>
%s = "test.value"() : () -> !model.tensor<rows x 9 x f32>
// expected-error @below {{dsums has shape [rows, 9], expected [rows, 5]}}
%r, %d = model.router_loss %o, %s, %o {balance = 1.0 : f32, z = 0.0 : f32, layers = 1 : i64} : (!model.tensor<rows x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 9 x f32>)

// -----

// ... balance and z are finite and not negative; there is a layer
%o = "test.value"() : () -> !model.tensor<rows x f32>
%s = "test.value"() : () -> !model.tensor<rows x 9 x f32>
// expected-error @below {{balance is negative or not finite}}
%r, %d = model.router_loss %o, %s, %o {balance = -1.0 : f32, z = 0.0 : f32, layers = 1 : i64} : (!model.tensor<rows x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 5 x f32>)

// -----

%o = "test.value"() : () -> !model.tensor<rows x f32>
%s = "test.value"() : () -> !model.tensor<rows x 9 x f32>
// expected-error @below {{z is negative or not finite}}
%r, %d = model.router_loss %o, %s, %o {balance = 0.0 : f32, z = 0x7F800000 : f32, layers = 1 : i64} : (!model.tensor<rows x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 5 x f32>)

// -----

%o = "test.value"() : () -> !model.tensor<rows x f32>
%s = "test.value"() : () -> !model.tensor<rows x 9 x f32>
// expected-error @below {{layers is 0, expected at least 1}}
%r, %d = model.router_loss %o, %s, %o {balance = 0.0 : f32, z = 0.0 : f32, layers = 0 : i64} : (!model.tensor<rows x f32>, !model.tensor<rows x 9 x f32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 5 x f32>)

// -----

// router_loads: experts are rows x k x i32
%e = "test.value"() : () -> !model.tensor<rows x 2 x f32>
// expected-error @below {{experts are not i32}}
%r = model.router_loads %e : (!model.tensor<rows x 2 x f32>) -> !model.tensor<4 x f32>

// -----

%e = "test.value"() : () -> !model.tensor<rows x 5 x i32>
// expected-error @below {{experts have shape [rows, 5], expected [rows, 1 to 4]}}
%r = model.router_loads %e : (!model.tensor<rows x 5 x i32>) -> !model.tensor<4 x f32>

// -----

// ... the result is E x f32
%e = "test.value"() : () -> !model.tensor<rows x 2 x i32>
// expected-error @below {{the result has shape [rows, 4], expected [experts], of at most 4096}}
%r = model.router_loads %e : (!model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 4 x f32>
