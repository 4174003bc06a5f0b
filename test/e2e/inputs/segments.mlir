// Rows that go to segments by their token, as rows go to experts: one task
// counts and sorts, others add up along their segment, and each output row finds
// its sum again. Bodies of a user's write tables, and are called on tiles that
// depend on them. Events and memory are derived.

#task = affine_map<()[rows, past, outputs] -> (1)>
#row = affine_map<()[rows, past, outputs] -> (rows)>
#wide = affine_map<()[rows, past, outputs] -> (rows, 16)>

// @place[i]: where row i stands when rows are sorted by token modulo 4, in
// order; @bounds[c]: where tokens of residue c begin.
event.body @route grid ()[rows, past, outputs] -> (1)
    accesses [#event.access<read @tokens, (m)[rows, past, outputs] -> (past) to (m)[rows, past, outputs] -> (past + rows)>,
              #event.access<write @bounds, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (5)>,
              #event.access<write @place, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (rows)>] {
^bb0(%tokens: memref<?xi32, strided<[?]>>, %bounds: memref<?xi32, strided<[?]>>, %place: memref<?xi32, strided<[?]>>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %none = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %n = memref.dim %tokens, %c0 : memref<?xi32, strided<[?]>>
  %all = scf.for %c = %c0 to %c4 step %c1 iter_args(%next = %none) -> (i32) {
    memref.store %next, %bounds[%c] : memref<?xi32, strided<[?]>>
    %residue = arith.index_cast %c : index to i32
    %after = scf.for %i = %c0 to %n step %c1 iter_args(%at = %next) -> (i32) {
      %token = memref.load %tokens[%i] : memref<?xi32, strided<[?]>>
      %low = arith.andi %token, %three : i32
      %mine = arith.cmpi eq, %low, %residue : i32
      %following = scf.if %mine -> (i32) {
        memref.store %at, %place[%i] : memref<?xi32, strided<[?]>>
        %plus = arith.addi %at, %one : i32
        scf.yield %plus : i32
      } else {
        scf.yield %at : i32
      }
      scf.yield %following : i32
    }
    scf.yield %after : i32
  }
  memref.store %all, %bounds[%c4] : memref<?xi32, strided<[?]>>
}

event.body @put grid ()[rows, past, outputs] -> (rows)
    accesses [#event.access<read @tokens, (m)[rows, past, outputs] -> (past + m) to (m)[rows, past, outputs] -> (past + m + 1)>,
              #event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 16)>] {
^bb0(%tokens: memref<?xi32, strided<[?]>>, %x: memref<?x?xf32, strided<[?, ?]>>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %token = memref.load %tokens[%c0] : memref<?xi32, strided<[?]>>
  %value = arith.sitofp %token : i32 to f32
  scf.for %c = %c0 to %c16 step %c1 {
    %number = arith.index_cast %c : index to i32
    %factor = arith.sitofp %number : i32 to f32
    %part = arith.mulf %value, %factor : f32
    memref.store %part, %x[%c0, %c] : memref<?x?xf32, strided<[?, ?]>>
  }
}

// Sums along a segment, of one column.
event.body @add_up grid ()[rows, past, outputs] -> (4, 16)
    accesses [#event.access<read @x, (s, c)[rows, past, outputs] -> (0, c) to (s, c)[rows, past, outputs] -> (rows, c + 1)>,
              #event.access<write @y, (s, c)[rows, past, outputs] -> (0, c) to (s, c)[rows, past, outputs] -> (rows, c + 1)>] {
^bb0(%x: memref<?x?xf32, strided<[?, ?]>>, %y: memref<?x?xf32, strided<[?, ?]>>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32, strided<[?, ?]>>
  %all = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %none) -> (f32) {
    %value = memref.load %x[%i, %c0] : memref<?x?xf32, strided<[?, ?]>>
    %next = arith.addf %sum, %value : f32
    memref.store %next, %y[%i, %c0] : memref<?x?xf32, strided<[?, ?]>>
    scf.yield %next : f32
  }
}

event.body @find grid ()[rows, past, outputs] -> (outputs)
    accesses [#event.access<read @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 16)>,
              #event.access<write @out, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 16)>] {
^bb0(%y: memref<?x?xf32, strided<[?, ?]>>, %out: memref<?x?xf32, strided<[?, ?]>>):
  memref.copy %y, %out : memref<?x?xf32, strided<[?, ?]>> to memref<?x?xf32, strided<[?, ?]>>
}

event.program @segments max_rows 16 max_seq 64 max_outputs 16 {
  event.buffer @tokens input : i32 extents affine_map<()[rows, past, outputs] -> (rows + past)> capacity [64] strides [1]
  event.buffer @bounds transient : i32 extents affine_map<()[rows, past, outputs] -> (5)> capacity [5] strides [1]
  event.buffer @place transient : i32 extents #row capacity [16] strides [1]
  event.buffer @x transient : f32 extents #wide capacity [16, 16] strides [16, 1]
  event.buffer @y transient : f32 extents #wide capacity [16, 16] strides [16, 1]
  event.buffer @logits transient : f32 extents affine_map<()[rows, past, outputs] -> (outputs, 16)> capacity [16, 16] strides [16, 1]
  event.table @bounds holds ()[rows, past, outputs] -> (0) to ()[rows, past, outputs] -> (rows + 1) partition
  event.table @place holds ()[rows, past, outputs] -> (0) to ()[rows, past, outputs] -> (rows) distinct
  event.segment "step" repeat 1 {
    event.phase "route" grid #task capacity [1]
      accesses [#event.access<read @tokens, (m)[rows, past, outputs] -> (past) to (m)[rows, past, outputs] -> (past + rows)>,
                #event.access<write @bounds, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (5)>,
                #event.access<write @place, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (rows)>] {
      event.call "route" [
        #event.address<@tokens, (m)[rows, past, outputs] -> (past)>, #event.address<@tokens, (m)[rows, past, outputs] -> (past)>, 0 : i64,
        #event.count<(m)[rows, past, outputs] -> (rows)>, #event.stride<@tokens, [1]>,
        #event.address<@bounds, (m)[rows, past, outputs] -> (0)>, #event.address<@bounds, (m)[rows, past, outputs] -> (0)>, 0 : i64,
        #event.count<(m)[rows, past, outputs] -> (5)>, #event.stride<@bounds, [1]>,
        #event.address<@place, (m)[rows, past, outputs] -> (0)>, #event.address<@place, (m)[rows, past, outputs] -> (0)>, 0 : i64,
        #event.count<(m)[rows, past, outputs] -> (rows)>, #event.stride<@place, [1]>]
    }
    event.phase "put" grid #row capacity [16] entries [#event.address<@place, (m)[rows, past, outputs] -> (m)>]
      accesses [#event.access<read @place, (m, v)[rows, past, outputs] -> (m) to (m, v)[rows, past, outputs] -> (m + 1)>,
                #event.access<read @tokens, (m, v)[rows, past, outputs] -> (past + m) to (m, v)[rows, past, outputs] -> (past + m + 1)>,
                #event.access<write @x, (m, v)[rows, past, outputs] -> (v, 0) to (m, v)[rows, past, outputs] -> (v + 1, 16)>] {
      event.call "put" [
        #event.address<@tokens, (m, v)[rows, past, outputs] -> (past + m)>, #event.address<@tokens, (m, v)[rows, past, outputs] -> (past + m)>, 0 : i64,
        1 : i64, #event.stride<@tokens, [1]>,
        #event.address<@x, (m, v)[rows, past, outputs] -> (v, 0)>, #event.address<@x, (m, v)[rows, past, outputs] -> (v, 0)>, 0 : i64,
        1 : i64, 16 : i64, #event.stride<@x, [1, 0]>, #event.stride<@x, [0, 1]>]
    }
    event.phase "add_up" grid affine_map<()[rows, past, outputs] -> (4, 16)> capacity [4, 16]
      entries [#event.address<@bounds, (s, c)[rows, past, outputs] -> (s)>, #event.address<@bounds, (s, c)[rows, past, outputs] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, c, b, e)[rows, past, outputs] -> (s) to (s, c, b, e)[rows, past, outputs] -> (s + 2)>,
                #event.access<read @x, (s, c, b, e)[rows, past, outputs] -> (b, c) to (s, c, b, e)[rows, past, outputs] -> (e, c + 1)>,
                #event.access<write @y, (s, c, b, e)[rows, past, outputs] -> (b, c) to (s, c, b, e)[rows, past, outputs] -> (e, c + 1)>] {
      event.call "add_up" [
        #event.address<@x, (s, c, b, e)[rows, past, outputs] -> (b, c)>, #event.address<@x, (s, c, b, e)[rows, past, outputs] -> (b, c)>, 0 : i64,
        #event.count<(s, c, b, e)[rows, past, outputs] -> (e - b)>, 1 : i64, #event.stride<@x, [1, 0]>, #event.stride<@x, [0, 1]>,
        #event.address<@y, (s, c, b, e)[rows, past, outputs] -> (b, c)>, #event.address<@y, (s, c, b, e)[rows, past, outputs] -> (b, c)>, 0 : i64,
        #event.count<(s, c, b, e)[rows, past, outputs] -> (e - b)>, 1 : i64, #event.stride<@y, [1, 0]>, #event.stride<@y, [0, 1]>]
    }
    event.phase "find" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [16]
      entries [#event.address<@place, (m)[rows, past, outputs] -> (rows - outputs + m)>]
      accesses [#event.access<read @place, (m, v)[rows, past, outputs] -> (rows - outputs + m) to (m, v)[rows, past, outputs] -> (rows - outputs + m + 1)>,
                #event.access<read @y, (m, v)[rows, past, outputs] -> (v, 0) to (m, v)[rows, past, outputs] -> (v + 1, 16)>,
                #event.access<write @logits, (m, v)[rows, past, outputs] -> (m, 0) to (m, v)[rows, past, outputs] -> (m + 1, 16)>] {
      event.call "find" [
        #event.address<@y, (m, v)[rows, past, outputs] -> (v, 0)>, #event.address<@y, (m, v)[rows, past, outputs] -> (v, 0)>, 0 : i64,
        1 : i64, 16 : i64, #event.stride<@y, [1, 0]>, #event.stride<@y, [0, 1]>,
        #event.address<@logits, (m, v)[rows, past, outputs] -> (m, 0)>, #event.address<@logits, (m, v)[rows, past, outputs] -> (m, 0)>, 0 : i64,
        1 : i64, 16 : i64, #event.stride<@logits, [1, 0]>, #event.stride<@logits, [0, 1]>]
    }
    event.phase "hand" grid #task capacity [1]
      accesses [#event.access<read @logits, (m)[rows, past, outputs] -> (0, 0) to (m)[rows, past, outputs] -> (outputs, 16)>] {
      event.advance @logits
    }
  }
}
