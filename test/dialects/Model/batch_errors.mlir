// One case for every line under **Constraints:** in BatchOps.td, in its order of
// ops, and for those of batches in ModelOps.td; "..." continues the line above.
//
// RUN: baton-opt %s --allow-unregistered-dialect -verify-diagnostics -split-input-file

// program: a batch is at least 1
// expected-error @below {{is a batch of 0 sequences, expected 1 to 65536}}
model.program @p max_seq 64 batch 0 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>):
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  model.return %x : !model.tensor<outputs x 3 x f32>
}

// -----

// ... and does not train
// expected-error @below {{trains, and is a batch that decodes}}
model.program @p max_seq 64 training batch 2 {
^bb0(%t: !model.tensor<rows x i32>):
  %x = "test.value"() : () -> !model.tensor<rows x f32>
  model.return %x : !model.tensor<rows x f32>
}

// -----

// ... the body takes four arguments, the pages, and what model.sample reads
// expected-error @below {{the body takes tokens, positions, sequences and slots of type '!model.tensor<rows x i32>', pages of type '!model.tensor<4 x i32>', sampling of type '!model.tensor<outputs x 28 x i32>', and changes of type '!model.tensor<6534 x i32>'; and of a batch with adapters two more of type '!model.tensor<rows x i32>'}}
model.program @p max_seq 65 batch 2 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<2 x i32>):
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  model.return %x : !model.tensor<outputs x 3 x f32>
}

// -----

// ... states are appended to by model.paged_append
model.program @p max_seq 64 batch 1 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<3264 x i32>):
  %m = model.token_mask %w : (!model.tensor<outputs x 28 x i32>) -> !model.tensor<outputs x 1 x i32>
  %v = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
  // expected-error @below {{appends behind a step's past, which a batch has none of}}
  %k = model.kv_append %v to "k" : (!model.tensor<rows x 2 x 8 x f32>) -> !model.tensor<kv x 2 x 8 x f32>
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  %d = model.sample %x, %w, %c, %m : (!model.tensor<outputs x 3 x f32>, !model.tensor<outputs x 28 x i32>, !model.tensor<3264 x i32>, !model.tensor<outputs x 1 x i32>) -> !model.tensor<outputs x 298 x i32>
  model.return %x, %d : !model.tensor<outputs x 3 x f32>, !model.tensor<outputs x 298 x i32>
}

// -----

// return: a batch has a second operand, made by model.sample
model.program @p max_seq 64 batch 1 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<3264 x i32>):
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  // expected-error @below {{returns the logits, what model.sample makes of them, and perhaps hidden states}}
  model.return %x : !model.tensor<outputs x 3 x f32>
}

// -----

// paged_append: x is rows x heads x dim x f32
%v0 = "test.value"() : () -> !model.tensor<3 x 2 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{x has shape [3, 2, 8], expected [rows, heads, dim]}}
%r = model.paged_append %v0 at %v1 to "k" : (!model.tensor<3 x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<3 x 2 x 8 x f32>

// -----

// ... the result has its type
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{the result has type}}
%r = model.paged_append %v0 at %v1 to "k" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<kv x 2 x 8 x f32>

// -----

// ... slots are rows x i32
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<kv x i32>
// expected-error @below {{slots has shape [kv], expected [rows]}}
%r = model.paged_append %v0 at %v1 to "k" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<kv x i32>) -> !model.tensor<rows x 2 x 8 x f32>

// -----

// ... the state's name is not empty
%v0 = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%v1 = "test.value"() : () -> !model.tensor<rows x i32>
// expected-error @below {{the state has no name}}
%r = model.paged_append %v0 at %v1 to "" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 2 x 8 x f32>

// -----

// ... the program is a batch
model.program @p max_seq 64 {
^bb0(%t: !model.tensor<rows x i32>):
  %v = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
  // expected-error @below {{stands outside a batch, which alone has pages}}
  %k = model.paged_append %v at %t to "k" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 2 x 8 x f32>
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  model.return %x : !model.tensor<outputs x 3 x f32>
}

// -----

// paged_attention: q is rows x H x D
%q = "test.value"() : () -> !model.tensor<4 x 4 x 8 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%i = "test.value"() : () -> !model.tensor<rows x i32>
%p = "test.value"() : () -> !model.tensor<6 x i32>
%k = model.paged_append %x at %i to "k" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{expected [rows, heads, dim]}}
%r = model.paged_attention %q, %k, %k, %i, %i, %p {scale = 1.0 : f32} : (!model.tensor<4 x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x i32>, !model.tensor<6 x i32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// ... k is rows x G x D
%q = "test.value"() : () -> !model.tensor<rows x 4 x 6 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%i = "test.value"() : () -> !model.tensor<rows x i32>
%p = "test.value"() : () -> !model.tensor<6 x i32>
%k = model.paged_append %x at %i to "k" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{k has shape [rows, 2, 8], expected [rows, 2, 6]}}
%r = model.paged_attention %q, %k, %k, %i, %i, %p {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x i32>, !model.tensor<6 x i32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// ... k and v are made by model.paged_append
%q = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%i = "test.value"() : () -> !model.tensor<rows x i32>
%p = "test.value"() : () -> !model.tensor<6 x i32>
%k = model.paged_append %x at %i to "k" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{v is made by no model.paged_append}}
%r = model.paged_attention %q, %k, %x, %i, %i, %p {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x i32>, !model.tensor<6 x i32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// ... and stored alike
%q = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%i = "test.value"() : () -> !model.tensor<rows x i32>
%p = "test.value"() : () -> !model.tensor<6 x i32>
%k = model.paged_append %x at %i to "k" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 2 x 8 x f32>
%v = model.paged_append %x at %i to "v" {stored = #model.stored<int8>} : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{k is stored as f32 and v as int8}}
%r = model.paged_attention %q, %k, %v, %i, %i, %p {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x i32>, !model.tensor<6 x i32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// ... G divides H
%q = "test.value"() : () -> !model.tensor<rows x 3 x 8 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%i = "test.value"() : () -> !model.tensor<rows x i32>
%p = "test.value"() : () -> !model.tensor<6 x i32>
%k = model.paged_append %x at %i to "k" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{3 query heads are no multiple of 2 key/value heads}}
%r = model.paged_attention %q, %k, %k, %i, %i, %p {scale = 1.0 : f32} : (!model.tensor<rows x 3 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x i32>, !model.tensor<6 x i32>) -> !model.tensor<rows x 3 x 8 x f32>

// -----

// ... the gate is rows x H or rows x H x E
%q = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%g = "test.value"() : () -> !model.tensor<rows x 2 x f32>
%i = "test.value"() : () -> !model.tensor<rows x i32>
%p = "test.value"() : () -> !model.tensor<6 x i32>
%k = model.paged_append %x at %i to "k" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{the gate has shape [rows, 2], expected [rows, 4] or [rows, 4, 8]}}
%r = model.paged_attention %q, %k, %k, %i, %i, %p gate %g {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x i32>, !model.tensor<6 x i32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// ... pages are a vector of i32
%q = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%i = "test.value"() : () -> !model.tensor<rows x i32>
%p = "test.value"() : () -> !model.tensor<6 x f32>
%k = model.paged_append %x at %i to "k" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{pages are not i32}}
%r = model.paged_attention %q, %k, %k, %i, %i, %p {scale = 1.0 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x i32>, !model.tensor<6 x f32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// ... window is 0 (none) or at least 1
%q = "test.value"() : () -> !model.tensor<rows x 4 x 8 x f32>
%x = "test.value"() : () -> !model.tensor<rows x 2 x 8 x f32>
%i = "test.value"() : () -> !model.tensor<rows x i32>
%p = "test.value"() : () -> !model.tensor<6 x i32>
%k = model.paged_append %x at %i to "k" : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 2 x 8 x f32>
// expected-error @below {{window is negative}}
%r = model.paged_attention %q, %k, %k, %i, %i, %p {scale = 1.0 : f32, window = -1 : i64} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x i32>, !model.tensor<6 x i32>) -> !model.tensor<rows x 4 x 8 x f32>

// -----

// token_mask: sampling is outputs x 28 x i32
model.program @p max_seq 64 batch 1 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<3264 x i32>):
  %v = "test.value"() : () -> !model.tensor<outputs x 22 x i32>
  // expected-error @below {{sampling has shape [outputs, 22], expected [outputs, 28]}}
  %m = model.token_mask %v : (!model.tensor<outputs x 22 x i32>) -> !model.tensor<outputs x 1 x i32>
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  model.return %x : !model.tensor<outputs x 3 x f32>
}

// -----

// ... of i32
model.program @p max_seq 64 batch 1 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<3264 x i32>):
  %v = "test.value"() : () -> !model.tensor<outputs x 28 x f32>
  // expected-error @below {{sampling is not i32}}
  %m = model.token_mask %v : (!model.tensor<outputs x 28 x f32>) -> !model.tensor<outputs x 1 x i32>
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  model.return %x : !model.tensor<outputs x 3 x f32>
}

// -----

// ... the result is outputs x W x i32
model.program @p max_seq 64 batch 1 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<3264 x i32>):
  // expected-error @below {{the result has shape [rows, 1], expected [outputs, words]}}
  %m = model.token_mask %w : (!model.tensor<outputs x 28 x i32>) -> !model.tensor<rows x 1 x i32>
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  model.return %x : !model.tensor<outputs x 3 x f32>
}

// -----

// ... of i32
model.program @p max_seq 64 batch 1 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<3264 x i32>):
  // expected-error @below {{the result is not i32}}
  %m = model.token_mask %w : (!model.tensor<outputs x 28 x i32>) -> !model.tensor<outputs x 1 x f32>
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  model.return %x : !model.tensor<outputs x 3 x f32>
}

// -----

// ... the program is a batch
model.program @p max_seq 64 {
^bb0(%t: !model.tensor<rows x i32>):
  %w = "test.value"() : () -> !model.tensor<outputs x 28 x i32>
  // expected-error @below {{stands outside a batch}}
  %m = model.token_mask %w : (!model.tensor<outputs x 28 x i32>) -> !model.tensor<outputs x 1 x i32>
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  model.return %x : !model.tensor<outputs x 3 x f32>
}

// -----

// sample: logits are outputs x V x f32
model.program @p max_seq 64 batch 1 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<3264 x i32>):
  %m = model.token_mask %w : (!model.tensor<outputs x 28 x i32>) -> !model.tensor<outputs x 1 x i32>
  %x = "test.value"() : () -> !model.tensor<rows x 3 x f32>
  %y = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  // expected-error @below {{logits have shape [rows, 3], expected [outputs, vocabulary]}}
  %d = model.sample %x, %w, %c, %m : (!model.tensor<rows x 3 x f32>, !model.tensor<outputs x 28 x i32>, !model.tensor<3264 x i32>, !model.tensor<outputs x 1 x i32>) -> !model.tensor<outputs x 298 x i32>
  model.return %y, %d : !model.tensor<outputs x 3 x f32>, !model.tensor<outputs x 298 x i32>
}

// -----

// ... sampling is outputs x 28 x i32
model.program @p max_seq 64 batch 1 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<3264 x i32>):
  %m = model.token_mask %w : (!model.tensor<outputs x 28 x i32>) -> !model.tensor<outputs x 1 x i32>
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  %v = "test.value"() : () -> !model.tensor<outputs x 21 x i32>
  // expected-error @below {{sampling has shape [outputs, 21], expected [outputs, 28]}}
  %d = model.sample %x, %v, %c, %m : (!model.tensor<outputs x 3 x f32>, !model.tensor<outputs x 21 x i32>, !model.tensor<3264 x i32>, !model.tensor<outputs x 1 x i32>) -> !model.tensor<outputs x 298 x i32>
  model.return %x, %d : !model.tensor<outputs x 3 x f32>, !model.tensor<outputs x 298 x i32>
}

// -----

// ... changes are a vector of i32
model.program @p max_seq 64 batch 1 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<3264 x i32>):
  %m = model.token_mask %w : (!model.tensor<outputs x 28 x i32>) -> !model.tensor<outputs x 1 x i32>
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  %v = "test.value"() : () -> !model.tensor<3264 x f32>
  // expected-error @below {{changes are not i32}}
  %d = model.sample %x, %w, %v, %m : (!model.tensor<outputs x 3 x f32>, !model.tensor<outputs x 28 x i32>, !model.tensor<3264 x f32>, !model.tensor<outputs x 1 x i32>) -> !model.tensor<outputs x 298 x i32>
  model.return %x, %d : !model.tensor<outputs x 3 x f32>, !model.tensor<outputs x 298 x i32>
}

// -----

// ... masks are made by model.token_mask
model.program @p max_seq 64 batch 1 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<3264 x i32>):
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  %v = "test.value"() : () -> !model.tensor<outputs x 1 x i32>
  // expected-error @below {{masks are made by no model.token_mask}}
  %d = model.sample %x, %w, %c, %v : (!model.tensor<outputs x 3 x f32>, !model.tensor<outputs x 28 x i32>, !model.tensor<3264 x i32>, !model.tensor<outputs x 1 x i32>) -> !model.tensor<outputs x 298 x i32>
  model.return %x, %d : !model.tensor<outputs x 3 x f32>, !model.tensor<outputs x 298 x i32>
}

// -----

// ... a 32nd of V, rounded up
model.program @p max_seq 64 batch 2 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<2 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<6528 x i32>):
  %m = model.token_mask %w : (!model.tensor<outputs x 28 x i32>) -> !model.tensor<outputs x 1 x i32>
  %x = "test.value"() : () -> !model.tensor<outputs x 33 x f32>
  // expected-error @below {{masks has shape [outputs, 1], expected [outputs, 2]}}
  %d = model.sample %x, %w, %c, %m : (!model.tensor<outputs x 33 x f32>, !model.tensor<outputs x 28 x i32>, !model.tensor<6528 x i32>, !model.tensor<outputs x 1 x i32>) -> !model.tensor<outputs x 298 x i32>
  model.return %x, %d : !model.tensor<outputs x 33 x f32>, !model.tensor<outputs x 298 x i32>
}

// -----

// ... the result is outputs x 298 x i32
model.program @p max_seq 64 batch 1 {
^bb0(%t: !model.tensor<rows x i32>, %p: !model.tensor<rows x i32>, %s: !model.tensor<rows x i32>, %l: !model.tensor<rows x i32>, %g: !model.tensor<1 x i32>, %w: !model.tensor<outputs x 28 x i32>, %c: !model.tensor<3264 x i32>):
  %m = model.token_mask %w : (!model.tensor<outputs x 28 x i32>) -> !model.tensor<outputs x 1 x i32>
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  // expected-error @below {{the result has shape [outputs], expected [outputs, 298]}}
  %d = model.sample %x, %w, %c, %m : (!model.tensor<outputs x 3 x f32>, !model.tensor<outputs x 28 x i32>, !model.tensor<3264 x i32>, !model.tensor<outputs x 1 x i32>) -> !model.tensor<outputs x i32>
  model.return %x, %d : !model.tensor<outputs x 3 x f32>, !model.tensor<outputs x i32>
}

// -----

// ... the program is a batch
model.program @p max_seq 64 {
^bb0(%t: !model.tensor<rows x i32>):
  %x = "test.value"() : () -> !model.tensor<outputs x 3 x f32>
  %w = "test.value"() : () -> !model.tensor<outputs x 28 x i32>
  %c = "test.value"() : () -> !model.tensor<3264 x i32>
  %m = "test.value"() : () -> !model.tensor<outputs x 1 x i32>
  // expected-error @below {{stands outside a batch}}
  %d = model.sample %x, %w, %c, %m : (!model.tensor<outputs x 3 x f32>, !model.tensor<outputs x 28 x i32>, !model.tensor<3264 x i32>, !model.tensor<outputs x 1 x i32>) -> !model.tensor<outputs x 298 x i32>
  model.return %x : !model.tensor<outputs x 3 x f32>
}

// -----

// Pairs that are not what rows' adapters have.
model.program @adapters max_seq 64 batch 1 attributes {model.adapters = {most = 16 : i64, ranks = 32 : i64, targets = ["q"]}} {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %sequences: !model.tensor<rows x i32>, %slots: !model.tensor<rows x i32>, %pages: !model.tensor<1 x i32>, %sampling: !model.tensor<outputs x 28 x i32>, %changes: !model.tensor<3264 x i32>, %places: !model.tensor<rows x i32>, %counts: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %a = model.parameter ["a"] : !model.tensor<8 x 8 x f32>
  // expected-error @below {{an adapter has up to 8 ranks, expected a multiple of 16}}
  %low = model.adapter_down %e, %a, %places, %counts {ranks = 32 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 8 x f32>
}
