// RUN: baton-opt %s --event-verify --split-input-file --verify-diagnostics

// What shares bytes is told by addresses where rows do not tell enough: plans
// that are fine, each beside one in which a buffer begins an element earlier or
// later.

// @y lies on the right half of the rows of @x. Who writes it waits for those who
// wrote and read that half.
#one = affine_map<()[r, p, o] -> (1)>
#rows = affine_map<()[r, p, o] -> (r)>
#halves = affine_map<()[r, p, o] -> (r, 2)>
event.program @halves max_rows 4 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 128
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [4, 4] strides [8, 1] in @memory {offset = 4 : i64}
  event.tensor @x.done shape #halves capacity [4, 2] count #one
  event.tensor @right.done shape #rows capacity [4] count #one
  event.segment "all" repeat 1 {
    event.phase "x" grid #halves capacity [4, 2]
      accesses [#event.access<write @x, (m, n)[r, p, o] -> (m, n * 4) to (m, n)[r, p, o] -> (m + 1, n * 4 + 4)>]
      notifies <@x.done, (m, n)[r, p, o] -> (m, n)> {
    }
    event.phase "left" grid #rows capacity [4]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>]
      waits [#event.wait<@x.done, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 1)>] {
    }
    event.phase "right" grid #rows capacity [4]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m, 4) to (m)[r, p, o] -> (m + 1, 8)>]
      waits [#event.wait<@x.done, (m)[r, p, o] -> (m, 1) to (m)[r, p, o] -> (m + 1, 2)>]
      notifies <@right.done, (m)[r, p, o] -> (m)> {
    }
    event.phase "y" grid #rows capacity [4]
      accesses [#event.access<write @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>]
      waits [#event.wait<@right.done, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {
    }
  }
}

// -----

// The last element of the left half, too.
#one = affine_map<()[r, p, o] -> (1)>
#rows = affine_map<()[r, p, o] -> (r)>
#halves = affine_map<()[r, p, o] -> (r, 2)>
event.program @halves max_rows 4 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 128
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [4, 4] strides [8, 1] in @memory {offset = 3 : i64}
  event.tensor @x.done shape #halves capacity [4, 2] count #one
  event.tensor @right.done shape #rows capacity [4] count #one
  event.segment "all" repeat 1 {
    event.phase "x" grid #halves capacity [4, 2]
      accesses [#event.access<write @x, (m, n)[r, p, o] -> (m, n * 4) to (m, n)[r, p, o] -> (m + 1, n * 4 + 4)>]
      notifies <@x.done, (m, n)[r, p, o] -> (m, n)> {
    }
    event.phase "left" grid #rows capacity [4]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>]
      waits [#event.wait<@x.done, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 1)>] {
    }
    event.phase "right" grid #rows capacity [4]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m, 4) to (m)[r, p, o] -> (m + 1, 8)>]
      waits [#event.wait<@x.done, (m)[r, p, o] -> (m, 1) to (m)[r, p, o] -> (m + 1, 2)>]
      notifies <@right.done, (m)[r, p, o] -> (m)> {
    }
    // expected-error @+1 {{phase 'y' does not wait for phase 'x': write after write of @y and @x, which share @memory in the same iteration; for example y(3) before x(3, 0)}}
    event.phase "y" grid #rows capacity [4]
      accesses [#event.access<write @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>]
      waits [#event.wait<@right.done, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {
    }
  }
}

// -----

// Elements of two and of four bytes: @y lies on columns 2 and 3 of @x. What is
// in columns 0 and 1 is read behind it.
#one = affine_map<()[r, p, o] -> (1)>
#rows = affine_map<()[r, p, o] -> (r)>
event.program @sizes max_rows 4 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [4, 4] strides [4, 1] in @memory
  event.buffer @y transient : bf16 extents affine_map<()[r, p, o] -> (r, 4)> capacity [4, 4] strides [8, 1] in @memory {offset = 4 : i64}
  event.tensor @x.done shape #rows capacity [4] count #one
  event.tensor @y.done shape #rows capacity [4] count #one
  event.segment "all" repeat 1 {
    event.phase "x" grid #rows capacity [4]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>]
      notifies <@x.done, (m)[r, p, o] -> (m)> {
    }
    event.phase "y" grid #rows capacity [4]
      accesses [#event.access<write @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>]
      waits [#event.wait<@x.done, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>]
      notifies <@y.done, (m)[r, p, o] -> (m)> {
    }
    event.phase "read" grid #rows capacity [4]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 2)>]
      waits [#event.wait<@y.done, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {
    }
  }
}

// -----

// Two bytes earlier @y has half of column 1.
#one = affine_map<()[r, p, o] -> (1)>
#rows = affine_map<()[r, p, o] -> (r)>
event.program @sizes max_rows 4 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [4, 4] strides [4, 1] in @memory
  event.buffer @y transient : bf16 extents affine_map<()[r, p, o] -> (r, 4)> capacity [4, 4] strides [8, 1] in @memory {offset = 3 : i64}
  event.tensor @x.done shape #rows capacity [4] count #one
  event.tensor @y.done shape #rows capacity [4] count #one
  event.segment "all" repeat 1 {
    event.phase "x" grid #rows capacity [4]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>]
      notifies <@x.done, (m)[r, p, o] -> (m)> {
    }
    event.phase "y" grid #rows capacity [4]
      accesses [#event.access<write @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>]
      waits [#event.wait<@x.done, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>]
      notifies <@y.done, (m)[r, p, o] -> (m)> {
    }
    // expected-error @+1 {{phase 'read' reads @x(3, 1), whose bytes phase 'y' has reused for @y; for example read(3)}}
    event.phase "read" grid #rows capacity [4]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 2)>]
      waits [#event.wait<@y.done, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {
    }
  }
}

// -----

// Both layers of @w have gaps between their rows, and each has its rows in the
// other's gaps: @t lies in what is left.
event.program @gaps max_rows 4 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 256
  event.buffer @w persistent : f32 extents affine_map<()[r, p, o] -> (4, 4)> capacity [4, 4] strides [16, 1] in @memory {layers = 2 : i64, layer_stride = 8 : i64, carry = #event<carry kept>}
  event.buffer @t transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [4, 4] strides [16, 1] in @memory {offset = 4 : i64}
  event.segment "layers" repeat 2 {
    event.phase "read" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @w, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (4, 4)>] {
    }
  }
  event.segment "end" repeat 1 {
    event.phase "write" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<write @t, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>] {
    }
  }
}

// -----

// An element later @t has one of the second layer's.
event.program @gaps max_rows 4 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 256
  event.buffer @w persistent : f32 extents affine_map<()[r, p, o] -> (4, 4)> capacity [4, 4] strides [16, 1] in @memory {layers = 2 : i64, layer_stride = 8 : i64, carry = #event<carry kept>}
  // expected-error @+1 {{shares bytes of @memory with @w, whose values outlive the step}}
  event.buffer @t transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [4, 4] strides [16, 1] in @memory {offset = 5 : i64}
  event.segment "layers" repeat 2 {
    event.phase "read" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @w, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (4, 4)>] {
    }
  }
  event.segment "end" repeat 1 {
    event.phase "write" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<write @t, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 4)>] {
    }
  }
}

// -----

// Strides that are no multiples of one another: 3 i + 2 j takes nine values.
event.program @strides max_rows 3 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 44
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 3)> capacity [3, 3] strides [3, 2] in @memory
}

// -----

// With a fourth column two rows further is three columns further.
event.program @strides max_rows 3 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 52
  // expected-error @+1 {{the strides let two elements of @x share bytes}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [3, 4] strides [3, 2] in @memory
}

// -----

// Of one row, nobody sees where the next would lie.
event.program @one_row max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @gs bytes 160
  event.storage @rs bytes 256
  event.buffer @g persistent : f32 extents affine_map<()[r, p, o] -> (1, 40)> capacity [1, 40] strides [48, 1] in @gs {carry = #event<carry kept>}
  event.buffer @r transient : f32 extents affine_map<()[r, p, o] -> (2, 32)> capacity [2, 32] strides [32, 1] in @rs
  event.segment "s" repeat 1 {
    event.phase "exchange" grid affine_map<()[r, p, o] -> (o)> capacity [1]
      accesses [#event.access<read @g, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (1, 40)>,
                #event.access<write @r, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (2, 32)>] {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// The second layer's elements lie between those of the first.
event.program @layers max_rows 4 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 56
  event.buffer @w persistent : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [3] in @memory {layers = 2 : i64, layer_stride = 4 : i64, carry = #event<carry kept>}
}

// -----

// Its first one lies on the first layer's third.
event.program @layers max_rows 4 max_seq 8 max_outputs 1 {
  event.storage @memory bytes 64
  // expected-error @+1 {{the strides let two elements of @w share bytes}}
  event.buffer @w persistent : f32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [3] in @memory {layers = 2 : i64, layer_stride = 6 : i64, carry = #event<carry kept>}
}
