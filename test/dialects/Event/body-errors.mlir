// What a task body of a user's may not be.
//
// RUN: baton-opt %s -split-input-file -verify-diagnostics

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

// expected-error @below {{expected results of the symbols rows, past, outputs alone}}
event.body @grid_of_dimensions grid (d)[r, p, o] -> (d) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

// expected-error @below {{states 1 accesses, expected what it reads and what it makes}}
event.body @nothing_read grid ()[r, p, o] -> (r) accesses [#write] {
^bb0(%y: !m):
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

// expected-error @below {{states no access that writes}}
event.body @no_write grid ()[r, p, o] -> (r) accesses [#read, #read] {
^bb0(%x: !m, %y: !m):
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

// expected-error @below {{access 0 takes 1 coordinates and 3 symbols, expected 2}}
event.body @other_rank grid ()[r, p, o] -> (r, 2) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

// expected-error @below {{has 1 arguments and states accesses to 2}}
event.body @too_few_arguments grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m):
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

// expected-error @below {{argument 0, @x, is 'memref<16xf32>', expected a memref of rank 1}}
event.body @fixed_size grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: memref<16xf32>, %y: !m):
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

// expected-error @below {{argument 1, @y, is 'memref<?x?xf32, strided<[?, ?]>>', expected a memref of rank 1}}
event.body @argument_of_other_rank grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: memref<?x?xf32, strided<[?, ?]>>):
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

event.body @writes_what_it_reads grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{writes to argument 0, @x, which the body states to read}}
  memref.copy %y, %x : !m to !m
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

event.body @writes_through_a_view grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  %zero = arith.constant 0 : index
  %value = arith.constant 0.0 : f32
  %part = memref.subview %x[0] [4] [1] : !m to memref<4xf32, strided<[?]>>
  // expected-error @below {{writes to argument 0, @x, which the body states to read}}
  memref.store %value, %part[%zero] : memref<4xf32, strided<[?]>>
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

event.body @heap grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{may not stand in a task body: it allocates on the heap}}
  %heap = memref.alloc() : memref<4xf32>
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

event.body @other_dialect grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{may not stand in a task body}}
  %cast = builtin.unrealized_conversion_cast %x : !m to i64
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

event.body @chosen_memref grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  %zero = arith.constant 0 : index
  %value = arith.constant 0.0 : f32
  %true = arith.constant true
  %chosen = arith.select %true, %x, %y : !m
  // expected-error @below {{writes to memory that cannot be traced to an argument}}
  memref.store %value, %chosen[%zero] : !m
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

event.body @atomic grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  %zero = arith.constant 0 : index
  %value = arith.constant 0.0 : f32
  // expected-error @below {{may not stand in a task body: tasks hand work on through events alone}}
  %old = memref.atomic_rmw addf %value, %y[%zero] : (f32, !m) -> f32
}

// -----

!m = memref<?xf32, strided<[?]>>
#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>

event.body @scalable grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{may not stand in a task body: its vectors have no fixed size}}
  %value = arith.constant dense<0.0> : vector<[4]xf32>
}

// -----

#read = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 8)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 8)>
!dense = memref<?x?xf32, strided<[?, 1]>>

// expected-error @below {{argument 1, @y, is 'memref<?x?xf32, strided<[1, ?]>>', expected a memref of rank 2 of f64, f32, f16 or bf16 with dynamic sizes and strides (the last stride may be 1)}}
event.body @other_stride grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !dense, %y: memref<?x?xf32, strided<[1, ?]>>):
}

// -----

// Accesses of one name are to one argument, which may be read and written.

#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#more = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
!m = memref<?xf32, strided<[1]>>

event.body @in_place grid ()[r, p, o] -> (r) accesses [#read, #write, #more] {
^bb0(%x: !m, %y: !m):
  %zero = arith.constant 0 : index
  %value = memref.load %x[%zero] : !m
  memref.store %value, %x[%zero] : !m
  memref.store %value, %y[%zero] : !m
}

// -----

!m = memref<?x?xf32, strided<[?, 1]>>
#x = #event.access<read @x, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>
#w = #event.access<read @w, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (9, 9)>
#y = #event.access<write @y, (t)[r, p, o] -> (t * 16, 0) to (t)[r, p, o] -> (t * 16 + 16, 9)>

// expected-error @below {{has event.panels = array<i64: 0>, expected numbers of arguments that only linears of the task library read, as weights}}
event.body @panels_of_rows grid ()[r, p, o] -> (r) accesses [#x, #w, #y] attributes {event.panels = array<i64: 0>} {
^bb0(%x: !m, %w: !m, %y: !m):
  event.library_call "linear" ins(%x, %w : !m, !m) outs(%y : !m)
}

// -----

// Temporaries have whole bytes.

#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
!m = memref<?xf32, strided<[1]>>

event.body @bits grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  // expected-error @below {{'memref.alloca' op makes a temporary of 'i1', expected index, i8, i16, i32, i64, f16, bf16, f32 or f64, or vectors of them}}
  %flags = memref.alloca() : memref<16xi1>
  memref.copy %x, %y : !m to !m
}

// -----

#read = #event.access<read @x, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
#write = #event.access<write @y, (t)[r, p, o] -> (t * 16) to (t)[r, p, o] -> (t * 16 + 16)>
!m = memref<?xf32, strided<[1]>>

event.body @words grid ()[r, p, o] -> (r) accesses [#read, #write] {
^bb0(%x: !m, %y: !m):
  %words = memref.alloca() : memref<16xindex>
  %vectors = memref.alloca() : memref<2xvector<8xbf16>>
  // expected-error @below {{makes a temporary of 'vector<8xi12>', expected}}
  %odd = memref.alloca() : memref<2xvector<8xi12>>
  memref.copy %x, %y : !m to !m
}
