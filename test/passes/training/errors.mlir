// What cannot be trained, and why.
//
// RUN: baton-opt %s --split-input-file --training-form --differentiate -verify-diagnostics

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @unmasked max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !w
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %h = model.reshape %e : (!x) -> !model.tensor<rows x 2 x 4 x f32>
  %k = model.kv_append %h to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %t = model.transpose %k {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x 4 x kv x f32>
  %v = model.transpose %k {permutation = array<i64: 1, 0, 2>} : (!model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<2 x kv x 4 x f32>
  %q = model.transpose %h {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>
  %s = model.matmul %q, %t : (!model.tensor<2 x rows x 4 x f32>, !model.tensor<2 x 4 x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  %m = model.mask %s : (!model.tensor<2 x rows x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  %p = model.activate %m {activation = #model.activation<relu>} : (!model.tensor<2 x rows x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  // expected-error @+1 {{cannot be trained: it sums over positions, but its left-hand side is no softmax or body of a model.mask, which would hide those of other sequences}}
  %o = model.matmul %p, %v : (!model.tensor<2 x rows x kv x f32>, !model.tensor<2 x kv x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>
  %last = model.last_rows %e : (!x) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %wte : (!model.tensor<outputs x 8 x f32>, !w) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!w = !model.tensor<16 x 8 x f32>
model.program @fused max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !w
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !model.tensor<rows x 8 x f32>
  %last = model.last_rows %e : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  // expected-error @+1 {{cannot be trained: it has a norm, activation or sum already; training-form comes before norm-rewrites}}
  %l = model.linear %last, %wte {activation = #model.activation<relu>} : (!model.tensor<outputs x 8 x f32>, !w) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!w = !model.tensor<16 x 8 x f32>
model.program @residual max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !w
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !model.tensor<rows x 8 x f32>
  %last = model.last_rows %e : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %wte : (!model.tensor<outputs x 8 x f32>, !w) -> !model.tensor<outputs x 16 x f32>
  %r = model.add %l, %l : (!model.tensor<outputs x 16 x f32>, !model.tensor<outputs x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
  // expected-error @+1 {{cannot be trained: no linear makes the logits, or one with a residual, a norm or an activation}}
  model.return %r : !model.tensor<outputs x 16 x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
event.body @body grid ()[rows, past, outputs] -> (rows)
    accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t, 0) to (t)[rows, past, outputs] -> (t + 1, 8)>,
              #event.access<write @y, (t)[rows, past, outputs] -> (t, 0) to (t)[rows, past, outputs] -> (t + 1, 8)>] {
^bb0(%x: memref<?x?xf32, strided<[?, ?]>>, %y: memref<?x?xf32, strided<[?, ?]>>):
  memref.copy %x, %y : memref<?x?xf32, strided<[?, ?]>> to memref<?x?xf32, strided<[?, ?]>>
}
model.program @custom max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !w
  %b = model.parameter ["b"] : !model.tensor<8 x f32>
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  // expected-error @+1 {{'model.custom' op cannot be differentiated: the body @body reads values, and has no adjoint_inputs; name the body that makes their gradients}}
  %c = model.custom @body(%e) : (!x) -> !x
  %loss, %dx, %dw = model.cross_entropy %c, %wte, %targets, %weights : (!x, !w, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !w)
  model.return %loss : !model.tensor<rows x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
event.body @body grid ()[rows, past, outputs] -> (rows)
    accesses [#event.access<read @x, (t)[rows, past, outputs] -> (t, 0) to (t)[rows, past, outputs] -> (t + 1, 8)>,
              #event.access<write @y, (t)[rows, past, outputs] -> (t, 0) to (t)[rows, past, outputs] -> (t + 1, 8)>]
    attributes {adjoint_inputs = @other} {
^bb0(%x: memref<?x?xf32, strided<[?, ?]>>, %y: memref<?x?xf32, strided<[?, ?]>>):
  memref.copy %x, %y : memref<?x?xf32, strided<[?, ?]>> to memref<?x?xf32, strided<[?, ?]>>
}
model.program @custom max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !w
  %b = model.parameter ["b"] : !model.tensor<8 x f32>
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  // expected-error @+1 {{'model.custom' op cannot be differentiated: @body names @other as its adjoint_inputs, and there is no event.body of that name}}
  %c = model.custom @body(%e) : (!x) -> !x
  %loss, %dx, %dw = model.cross_entropy %c, %wte, %targets, %weights : (!x, !w, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !w)
  model.return %loss : !model.tensor<rows x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
event.body @body grid ()[rows, past, outputs] -> (rows)
    accesses [#event.access<read @b, (t)[rows, past, outputs] -> (0) to (t)[rows, past, outputs] -> (8)>, #event.access<read @x, (t)[rows, past, outputs] -> (t, 0) to (t)[rows, past, outputs] -> (t + 1, 8)>,
              #event.access<write @y, (t)[rows, past, outputs] -> (t, 0) to (t)[rows, past, outputs] -> (t + 1, 8)>]
    attributes {adjoint_inputs = @body} {
^bb0(%b: memref<?xf32, strided<[?]>>, %x: memref<?x?xf32, strided<[?, ?]>>, %y: memref<?x?xf32, strided<[?, ?]>>):
  memref.copy %x, %y : memref<?x?xf32, strided<[?, ?]>> to memref<?x?xf32, strided<[?, ?]>>
}
model.program @custom max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !w
  %b = model.parameter ["b"] : !model.tensor<8 x f32>
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  // expected-error @+1 {{'model.custom' op cannot be differentiated: the body @body reads parameters, and has no adjoint_weights; name the body that makes their gradients}}
  %c = model.custom @body(%b, %e) : (!model.tensor<8 x f32>, !x) -> !x
  %loss, %dx, %dw = model.cross_entropy %c, %wte, %targets, %weights : (!x, !w, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !w)
  model.return %loss : !model.tensor<rows x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @custom max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !w
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  // expected-error @+1 {{'model.custom' op names @body, and there is no event.body of that name}}
  %c = model.custom @body(%e) : (!x) -> !x
  %loss, %dx, %dw = model.cross_entropy %c, %wte, %targets, %weights : (!x, !w, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !w)
  model.return %loss : !model.tensor<rows x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 4 x f32>
model.program @slices max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["table"] : !model.tensor<16 x 8 x f32>
  %wte = model.parameter ["wte"] : !w
  // expected-error @+1 {{cannot be differentiated: its slices overlap or leave out a part}}
  %e = model.embedding %tokens, %table : (!rows, !model.tensor<16 x 8 x f32>) -> !x
  %c = model.slice %e {axis = 1 : i64, offset = 4 : i64} : (!x) -> !model.tensor<rows x 4 x f32>
  %loss, %dx, %dw = model.cross_entropy %c, %wte, %targets, %weights : (!model.tensor<rows x 4 x f32>, !w, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 4 x f32>, !w)
  model.return %loss : !model.tensor<rows x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @captured max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !w
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %y = model.stack %e repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    // expected-error @+1 {{cannot be differentiated: a pattern reads a value from around its stack that depends on parameters}}
    %b = model.add %a, %e : (!x, !x) -> !x
    model.yield %b : !x
  }
  %loss, %dx, %dw = model.cross_entropy %y, %wte, %targets, %weights : (!x, !w, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !w)
  model.return %loss : !model.tensor<rows x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @parameter max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !w
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %h = model.reshape %e : (!x) -> !model.tensor<rows x 2 x 4 x f32>
  %q = model.transpose %h {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>
  %p = model.parameter ["p"] : !model.tensor<2 x 4 x 4 x f32>
  // expected-error @+1 {{cannot be differentiated: it has no adjoint for a parameter, which it reads as a value}}
  %o = model.matmul %q, %p : (!model.tensor<2 x rows x 4 x f32>, !model.tensor<2 x 4 x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>
  %t = model.transpose %o {permutation = array<i64: 1, 0, 2>} : (!model.tensor<2 x rows x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  %c = model.reshape %t : (!model.tensor<rows x 2 x 4 x f32>) -> !x
  %loss, %dx, %dw = model.cross_entropy %c, %wte, %targets, %weights : (!x, !w, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !w)
  model.return %loss : !model.tensor<rows x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @activated max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !w
  %up = model.parameter ["up"] : !model.tensor<8 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  // expected-error @+1 {{cannot be differentiated: it has a norm or activation; differentiate comes before norm-rewrites}}
  %h = model.linear %e, %up {activation = #model.activation<relu>} : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %loss, %dx, %dw = model.cross_entropy %h, %wte, %targets, %weights : (!x, !w, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !w)
  model.return %loss : !model.tensor<rows x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @scaled max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !w
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %loss, %dx, %dw = model.cross_entropy %e, %wte, %targets, %weights : (!x, !w, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !w)
  %three = model.scale %loss {factor = 3.0 : f32} : (!model.tensor<rows x f32>) -> !model.tensor<rows x f32>
  // expected-error @+1 {{cannot be differentiated: it returns other losses than those of a model.cross_entropy}}
  model.return %three : !model.tensor<rows x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<16 x 8 x f32>
model.program @twice max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !w
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %loss, %dx, %dw = model.cross_entropy %e, %wte, %targets, %weights : (!x, !w, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !w)
  // expected-error @+1 {{cannot be differentiated: the program has another loss}}
  %other, %ox, %ow = model.cross_entropy %e, %wte, %targets, %weights : (!x, !w, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !w)
  model.return %loss : !model.tensor<rows x f32>
}

// -----

!rows = !model.tensor<rows x i32>
!w = !model.tensor<16 x 8 x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<2 x rows x 4 x f32>
model.program @sinks_without_a_gradient max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !w
  %sinks = model.parameter ["sinks"] : !model.tensor<2 x f32>
  %e = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %r = model.reshape %e : (!x) -> !model.tensor<rows x 2 x 4 x f32>
  %h = model.transpose %r {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !h
  // expected-error @+1 {{cannot be trained: it has sinks}}
  %s = model.softmax %h sinks %sinks : (!h, !model.tensor<2 x f32>) -> !h
  %t = model.transpose %s {permutation = array<i64: 1, 0, 2>} : (!h) -> !model.tensor<rows x 2 x 4 x f32>
  %f = model.reshape %t : (!model.tensor<rows x 2 x 4 x f32>) -> !x
  %last = model.last_rows %f : (!x) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %wte : (!model.tensor<outputs x 8 x f32>, !w) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}
