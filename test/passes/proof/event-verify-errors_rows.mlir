// RUN: baton-opt %s --derive-events --event-verify --split-input-file --verify-diagnostics

// Rows that go to experts of other ranks: what the proof makes of how many come.

// Fine, and what the others are changes of.

event.program @rows max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.storage @bounds_memory bytes 20
  event.storage @counts_memory bytes 128
  event.storage @received_memory bytes 16
  event.storage @x_memory bytes 128
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.storage @w_memory bytes 128
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] in @bounds_memory
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @counts_memory
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @received_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.buffer @w transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @w_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (5)>,
                #event.access<write @counts, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (2, 16)>,
                #event.access<write @received, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (4)>,
                #event.access<write @x, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (r, 8)>] {}
    event.phase "dispatch" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @x, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>,
                #event.access<write @y, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>] {
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@received, (e)[r, p, o] -> (e)>, #event.address<@received, (e)[r, p, o] -> (e + 1)>]
      accesses [#event.access<read @received, (e, b, c)[r, p, o] -> (e) to (e, b, c)[r, p, o] -> (e + 2)>,
                #event.access<read @y, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>,
                #event.access<write @z, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>] {}
    event.phase "combine" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @z, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>,
                #event.access<write @w, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>] {
      event.exchange combine over ["ep"] for "combine_rows" [#event.transfer<@z to @w, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "sum" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<read @w, (t)[r, p, o] -> (t, 0) to (t)[r, p, o] -> (t + 1, 8)>] {}
  }
}

// -----

// Rows that nobody has sent are read: those behind the last expert of the rank.

event.program @rows max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.storage @bounds_memory bytes 20
  event.storage @counts_memory bytes 128
  event.storage @received_memory bytes 16
  event.storage @x_memory bytes 128
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.storage @w_memory bytes 128
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] in @bounds_memory
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @counts_memory
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @received_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.buffer @w transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @w_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (5)>,
                #event.access<write @counts, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (2, 16)>,
                #event.access<write @received, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (4)>,
                #event.access<write @x, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (r, 8)>] {}
    event.phase "dispatch" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @x, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>,
                #event.access<write @y, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>] {
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    // expected-error @below {{phase 'up' reads @y(0, 0), which no task before it writes}}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@received, (e)[r, p, o] -> (e)>, #event.address<@received, (e)[r, p, o] -> (e + 1)>]
      accesses [#event.access<read @received, (e, b, c)[r, p, o] -> (e) to (e, b, c)[r, p, o] -> (e + 2)>,
                #event.access<read @y, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>,
                #event.access<write @z, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>] {}
    event.phase "combine" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @z, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>,
                #event.access<write @w, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>] {
      event.exchange combine over ["ep"] for "combine_rows" [#event.transfer<@z to @w, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "sum" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<read @w, (t)[r, p, o] -> (t, 0) to (t)[r, p, o] -> (t + 1, 8)>] {}
  }
}

// -----

// What comes is stated to be less than experts read.

event.program @rows max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.storage @bounds_memory bytes 20
  event.storage @counts_memory bytes 128
  event.storage @received_memory bytes 16
  event.storage @x_memory bytes 128
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.storage @w_memory bytes 128
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] in @bounds_memory
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @counts_memory
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @received_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.buffer @w transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @w_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (5)>,
                #event.access<write @counts, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (2, 16)>,
                #event.access<write @received, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (4)>,
                #event.access<write @x, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (r, 8)>] {}
    event.phase "dispatch" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (1)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @x, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>,
                #event.access<write @y, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>] {
      // expected-error @below {{receives @y, but phase 'dispatch' states no write of its rows up to entry 2 of @received}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@received, (e)[r, p, o] -> (e)>, #event.address<@received, (e)[r, p, o] -> (e + 1)>]
      accesses [#event.access<read @received, (e, b, c)[r, p, o] -> (e) to (e, b, c)[r, p, o] -> (e + 2)>,
                #event.access<read @y, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>,
                #event.access<write @z, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>] {}
    event.phase "combine" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @z, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>,
                #event.access<write @w, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>] {
      event.exchange combine over ["ep"] for "combine_rows" [#event.transfer<@z to @w, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "sum" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<read @w, (t)[r, p, o] -> (t, 0) to (t)[r, p, o] -> (t + 1, 8)>] {}
  }
}

// -----

// Or all that there is room for, which no count says.

event.program @rows max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.storage @bounds_memory bytes 20
  event.storage @counts_memory bytes 128
  event.storage @received_memory bytes 16
  event.storage @x_memory bytes 128
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.storage @w_memory bytes 128
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] in @bounds_memory
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @counts_memory
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @received_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.buffer @w transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @w_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (5)>,
                #event.access<write @counts, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (2, 16)>,
                #event.access<write @received, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (4)>,
                #event.access<write @x, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (r, 8)>] {}
    event.phase "dispatch" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @x, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>,
                #event.access<write @y, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r * 2, 8)>] {
      // expected-error @below {{receives @y, but phase 'dispatch' states no write of its rows up to entry 2 of @received}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@received, (e)[r, p, o] -> (e)>, #event.address<@received, (e)[r, p, o] -> (e + 1)>]
      accesses [#event.access<read @received, (e, b, c)[r, p, o] -> (e) to (e, b, c)[r, p, o] -> (e + 2)>,
                #event.access<read @y, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>,
                #event.access<write @z, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>] {}
    event.phase "combine" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @z, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>,
                #event.access<write @w, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>] {
      event.exchange combine over ["ep"] for "combine_rows" [#event.transfer<@z to @w, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "sum" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<read @w, (t)[r, p, o] -> (t, 0) to (t)[r, p, o] -> (t + 1, 8)>] {}
  }
}

// -----

// Or need not come.

event.program @rows max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.storage @bounds_memory bytes 20
  event.storage @counts_memory bytes 128
  event.storage @received_memory bytes 16
  event.storage @x_memory bytes 128
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.storage @w_memory bytes 128
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] in @bounds_memory
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @counts_memory
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @received_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.buffer @w transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @w_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (5)>,
                #event.access<write @counts, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (2, 16)>,
                #event.access<write @received, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (4)>,
                #event.access<write @x, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (r, 8)>] {}
    event.phase "dispatch" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @x, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>,
                #event.access<may write @y, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>] {
      // expected-error @below {{receives @y, but phase 'dispatch' states no write of its rows up to entry 2 of @received}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@received, (e)[r, p, o] -> (e)>, #event.address<@received, (e)[r, p, o] -> (e + 1)>]
      accesses [#event.access<read @received, (e, b, c)[r, p, o] -> (e) to (e, b, c)[r, p, o] -> (e + 2)>,
                #event.access<read @y, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>,
                #event.access<write @z, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>] {}
    event.phase "combine" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @z, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>,
                #event.access<write @w, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>] {
      event.exchange combine over ["ep"] for "combine_rows" [#event.transfer<@z to @w, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "sum" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<read @w, (t)[r, p, o] -> (t, 0) to (t)[r, p, o] -> (t + 1, 8)>] {}
  }
}

// -----

// More goes back than experts have.

event.program @rows max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.storage @bounds_memory bytes 20
  event.storage @counts_memory bytes 128
  event.storage @received_memory bytes 16
  event.storage @x_memory bytes 128
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.storage @w_memory bytes 128
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] in @bounds_memory
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @counts_memory
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @received_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.buffer @w transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @w_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (5)>,
                #event.access<write @counts, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (2, 16)>,
                #event.access<write @received, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (4)>,
                #event.access<write @x, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (r, 8)>] {}
    event.phase "dispatch" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @x, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>,
                #event.access<write @y, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>] {
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@received, (e)[r, p, o] -> (e)>, #event.address<@received, (e)[r, p, o] -> (e + 1)>]
      accesses [#event.access<read @received, (e, b, c)[r, p, o] -> (e) to (e, b, c)[r, p, o] -> (e + 2)>,
                #event.access<read @y, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>,
                #event.access<write @z, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>] {}
    event.phase "combine" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (3)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @z, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>,
                #event.access<write @w, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>] {
      // expected-error @below {{sends @z, but phase 'combine' states no read of its rows up to entry 2 of @received}}
      event.exchange combine over ["ep"] for "combine_rows" [#event.transfer<@z to @w, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "sum" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<read @w, (t)[r, p, o] -> (t, 0) to (t)[r, p, o] -> (t + 1, 8)>] {}
  }
}

// -----

// Some own rows are not stated to go.

event.program @rows max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.storage @bounds_memory bytes 20
  event.storage @counts_memory bytes 128
  event.storage @received_memory bytes 16
  event.storage @x_memory bytes 128
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.storage @w_memory bytes 128
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] in @bounds_memory
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @counts_memory
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @received_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.buffer @w transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @w_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (5)>,
                #event.access<write @counts, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (2, 16)>,
                #event.access<write @received, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (4)>,
                #event.access<write @x, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (r, 8)>] {}
    event.phase "dispatch" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @x, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (1, 8)>,
                #event.access<write @y, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>] {
      // expected-error @below {{sends @x, but phase 'dispatch' states no read of @x(3, 0); for example with rows 4, past 0, outputs 0}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@received, (e)[r, p, o] -> (e)>, #event.address<@received, (e)[r, p, o] -> (e + 1)>]
      accesses [#event.access<read @received, (e, b, c)[r, p, o] -> (e) to (e, b, c)[r, p, o] -> (e + 2)>,
                #event.access<read @y, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>,
                #event.access<write @z, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>] {}
    event.phase "combine" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @z, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>,
                #event.access<write @w, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>] {
      event.exchange combine over ["ep"] for "combine_rows" [#event.transfer<@z to @w, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "sum" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<read @w, (t)[r, p, o] -> (t, 0) to (t)[r, p, o] -> (t + 1, 8)>] {}
  }
}

// -----

// Nor that bounds are read, nor counts.

event.program @rows max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.storage @bounds_memory bytes 20
  event.storage @counts_memory bytes 128
  event.storage @received_memory bytes 16
  event.storage @x_memory bytes 128
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.storage @w_memory bytes 128
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] in @bounds_memory
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @counts_memory
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @received_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.buffer @w transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @w_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (5)>,
                #event.access<write @counts, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (2, 16)>,
                #event.access<write @received, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (4)>,
                #event.access<write @x, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (r, 8)>] {}
    event.phase "dispatch" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @x, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>,
                #event.access<write @y, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>] {
      // expected-error @below {{sends @bounds, but phase 'dispatch' states no read of @bounds(4)}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@received, (e)[r, p, o] -> (e)>, #event.address<@received, (e)[r, p, o] -> (e + 1)>]
      accesses [#event.access<read @received, (e, b, c)[r, p, o] -> (e) to (e, b, c)[r, p, o] -> (e + 2)>,
                #event.access<read @y, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>,
                #event.access<write @z, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>] {}
    event.phase "combine" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @z, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>,
                #event.access<write @w, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>] {
      event.exchange combine over ["ep"] for "combine_rows" [#event.transfer<@z to @w, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "sum" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<read @w, (t)[r, p, o] -> (t, 0) to (t)[r, p, o] -> (t + 1, 8)>] {}
  }
}

// -----

event.program @rows max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["ep"] sizes [2] batch ["ep"]
  event.storage @bounds_memory bytes 20
  event.storage @counts_memory bytes 128
  event.storage @received_memory bytes 16
  event.storage @x_memory bytes 128
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.storage @w_memory bytes 128
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] in @bounds_memory
  event.buffer @counts transient : i32 extents affine_map<()[r, p, o] -> (2, 16)> capacity [2, 16] strides [16, 1] in @counts_memory
  event.buffer @received transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @received_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.buffer @w transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [4, 8] strides [8, 1] in @w_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @received holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (5)>,
                #event.access<write @counts, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (2, 16)>,
                #event.access<write @received, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (4)>,
                #event.access<write @x, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (r, 8)>] {}
    event.phase "dispatch" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (1, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @x, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>,
                #event.access<write @y, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>] {
      // expected-error @below {{sends @counts, but phase 'dispatch' states no read of @counts(1, 0)}}
      event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@x to @y, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@received, (e)[r, p, o] -> (e)>, #event.address<@received, (e)[r, p, o] -> (e + 1)>]
      accesses [#event.access<read @received, (e, b, c)[r, p, o] -> (e) to (e, b, c)[r, p, o] -> (e + 2)>,
                #event.access<read @y, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>,
                #event.access<write @z, (e, b, c)[r, p, o] -> (b, 0) to (e, b, c)[r, p, o] -> (c, 8)>] {}
    event.phase "combine" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      entries [#event.address<@received, (t)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (5)>,
                #event.access<read @counts, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (2, 16)>,
                #event.access<read @received, (t, v)[r, p, o] -> (0) to (t, v)[r, p, o] -> (4)>,
                #event.access<read @z, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (v, 8)>,
                #event.access<write @w, (t, v)[r, p, o] -> (0, 0) to (t, v)[r, p, o] -> (r, 8)>] {
      event.exchange combine over ["ep"] for "combine_rows" [#event.transfer<@z to @w, ()[r, p, o] -> (r * 8) by 8>] by [@bounds, @counts, @received]
    }
    event.phase "sum" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<read @w, (t)[r, p, o] -> (t, 0) to (t)[r, p, o] -> (t + 1, 8)>] {}
  }
}
