// What a call of the task library in a body may not be.
//
// RUN: baton-opt %s -split-input-file -verify-diagnostics

!m = memref<?x?xf32, strided<[?, 1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @unknown grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{names 'rmsnorm', which task bodies cannot call; the nearest name is 'rms_norm', and there are rms_norm, layer_norm, softmax, linear, attention}}
  event.library_call "rmsnorm" ins(%x : !m) outs(%y : !m)
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @inputs grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{has 1 inputs, 'layer_norm' reads x [rows, width], weight [width], bias [width], of which the last may be left out}}
  event.library_call "layer_norm" ins(%x : !m) outs(%y : !m) {epsilon = 1.0 : f32}
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @outputs grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{has 0 outputs, 'softmax' writes one: out [rows, width]}}
  event.library_call "softmax" ins(%x : !m) outs()
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @rank grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{operand 'weight' of 'rms_norm' is 'memref<?x?xf32, strided<[?, 1]>>', expected a memref [width]}}
  event.library_call "rms_norm" ins(%x, %x : !m, !m) outs(%y : !m) {epsilon = 1.0 : f32}
}

// -----

!m = memref<?x?xf32, strided<[?, ?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @stride grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{operand 'out' of 'softmax' is 'memref<?x?xf32, strided<[?, ?]>>', expected a last stride of 1 in its type, as in strided<[?, 1]>}}
  event.library_call "softmax" ins(%x : !m) outs(%y : !m)
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
!h = memref<?x?xbf16, strided<[?, 1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @element grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !h, %y: !m):
  // expected-error @below {{operand 'x' of 'softmax' is 'memref<?x?xbf16, strided<[?, 1]>>', expected elements of f32}}
  event.library_call "softmax" ins(%x : !h) outs(%y : !m)
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @sizes grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  %part = memref.subview %x[0, 0] [4, 8] [1, 1] : !m to memref<4x8xf32, strided<[?, 1]>>
  %other = memref.subview %y[0, 0] [4, 9] [1, 1] : !m to memref<4x9xf32, strided<[?, 1]>>
  // expected-error @below {{operand 'x' of 'softmax' has 8 width, 'out' has 9}}
  event.library_call "softmax" ins(%part : memref<4x8xf32, strided<[?, 1]>>) outs(%other : memref<4x9xf32, strided<[?, 1]>>)
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
!v = memref<?xf32, strided<[1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#weight = #event.access<read @w, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @no_epsilon grid ()[r, p, o] -> (r) accesses [#read, #weight, #write] {
^bb0(%x: !m, %w: !v, %y: !m):
  // expected-error @below {{has no epsilon, 'rms_norm' takes a finite f32 of at least 0}}
  event.library_call "rms_norm" ins(%x, %w : !m, !v) outs(%y : !m)
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
!v = memref<?xf32, strided<[1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#weight = #event.access<read @w, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @negative grid ()[r, p, o] -> (r) accesses [#read, #weight, #write] {
^bb0(%x: !m, %w: !v, %y: !m):
  // expected-error @below {{has epsilon = -1.000000e+00 : f32, 'rms_norm' takes a finite f32 of at least 0}}
  event.library_call "rms_norm" ins(%x, %w : !m, !v) outs(%y : !m) {epsilon = -1.0 : f32}
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @attribute grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{has the attribute 'scale', 'softmax' takes none}}
  event.library_call "softmax" ins(%x : !m) outs(%y : !m) {scale = 1.0 : f32}
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @what_it_reads grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{writes to argument 0, @x, which the body states to read}}
  event.library_call "softmax" ins(%y : !m) outs(%x : !m)
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @overlap grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // In place it may be.
  event.library_call "softmax" ins(%y : !m) outs(%y : !m)
  // expected-error @below {{writes memory that 'x' is part of}}
  event.library_call "linear" ins(%y, %x : !m, !m) outs(%y : !m)
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @parallel grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    // expected-error @below {{stands in 'scf.parallel', expected an event.body, or in it scf.for, scf.if, affine.for or affine.if without results}}
    event.library_call "softmax" ins(%x : !m) outs(%y : !m)
  }
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

event.body @memory grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    %own = memref.alloca() : memref<4x8xf32>
    // expected-error @below {{is given memory that is not allocated at the top of the body, so that threads do not share it; move the memref.alloca there}}
    event.library_call "softmax" ins(%x : !m) outs(%own : memref<4x8xf32>)
  }
}
