// RUN: baton-opt %s --derive-events --event-verify --split-input-file --verify-diagnostics

// What is declared of tables is too little for what is done with them.

// Fine, and what the others are changes of.

event.program @fine max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    event.phase "down" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
  }
}

// -----

// Numbers of which nothing is known may overlap.

event.program @any max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) any
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    // expected-error @below {{tasks of phase 'up' have no order, but conflict: write after write of @x; for example up(1) and up(2) with rows 1, past 0, outputs 0}}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
  }
}

// -----

// Of distinct numbers nothing ascends.

event.program @distinct_segments max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r) distinct
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    // expected-error @below {{tasks of phase 'up' have no order, but conflict: write after write of @x}}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
  }
}

// -----

// Segments that have no end of their own.

event.program @overlap max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    // expected-error @below {{tasks of phase 'up' have no order, but conflict: write after write of @x}}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (r, 8)>] {}
  }
}

// -----

// Segments from one place on: not all that there are.

event.program @gap max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    // expected-error @below {{phase 'down' reads @x(0, 0), which no task before it writes; for example down(2) with rows 8, past 0, outputs 0}}
    event.phase "down" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
  }
}

// -----

// An entry where the table has none, or where no read is stated.

event.program @outside max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    // expected-error @below {{phase 'up' has an entry @bounds(4), of which it states no read; for example up(2) with rows 1, past 0, outputs 0}}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 2)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
  }
}

// -----

event.program @before max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    // expected-error @below {{phase 'up' has entries of @bounds before phase 'route' writes it}}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
  }
}

// -----

// One task writes all of a table.

event.program @parts max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    // expected-error @below {{phase 'route' writes a part of the table @bounds, expected one task that writes all of it, so that it can be checked}}
    event.phase "route" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {}
  }
}

// -----

event.program @twice max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    // expected-error @below {{phase 'again' writes the table @bounds, which phase 'route' writes, too}}
    event.phase "again" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
  }
}

// -----

// A range that is none.

event.program @range max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  // expected-error @below {{the values of @bounds end before they begin; for example with rows 8, past 0, outputs 0}}
  event.table @bounds holds ()[r, p, o] -> (r + 2) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
  }
}

// -----

// A number beyond the buffer: a range says too little.

event.program @reach max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 9) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    // expected-error @below {{phase 'up' writes @x up to 8 in dimension 0 of 8, further beyond the end than a tile reaches or the access states; for example up(2) with entries (0, 9) with rows 8}}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
  }
}

// -----

// Tasks for the first two of three segments, and readers that stay there: fine, and
// what the next ones are changes of.

event.program @own max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @others_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @others transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @others_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @others holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 2 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>,
                #event.access<write @others, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    event.phase "down" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    event.phase "combine" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      entries [#event.address<@bounds, (m)[r, p, o] -> (2)>]
      accesses [#event.access<read @bounds, (m, e)[r, p, o] -> (2) to (m, e)[r, p, o] -> (2 + 1)>,
                #event.access<read @y, (m, e)[r, p, o] -> (0, 0) to (m, e)[r, p, o] -> (e, 8)>,
                #event.access<write @z, (m, e)[r, p, o] -> (m, 0) to (m, e)[r, p, o] -> (m + 1, 8)>] {}
  }
}

// -----

// One that reads what the third segment has.

event.program @beyond max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @others_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @others transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @others_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @others holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>,
                #event.access<write @others, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    event.phase "down" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    // expected-error @below {{phase 'combine' reads @y(0, 0), which no task before it writes}}
    event.phase "combine" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      entries [#event.address<@bounds, (m)[r, p, o] -> (3)>]
      accesses [#event.access<read @bounds, (m, e)[r, p, o] -> (3) to (m, e)[r, p, o] -> (3 + 1)>,
                #event.access<read @y, (m, e)[r, p, o] -> (0, 0) to (m, e)[r, p, o] -> (e, 8)>,
                #event.access<write @z, (m, e)[r, p, o] -> (m, 0) to (m, e)[r, p, o] -> (m + 1, 8)>] {}
  }
}

// -----

// As far as another table says.

event.program @other_table max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @others_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @others transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @others_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @others holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>,
                #event.access<write @others, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    event.phase "down" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    // expected-error @below {{phase 'combine' reads @y(0, 0), which no task before it writes}}
    event.phase "combine" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      entries [#event.address<@others, (m)[r, p, o] -> (2)>]
      accesses [#event.access<read @others, (m, e)[r, p, o] -> (2) to (m, e)[r, p, o] -> (2 + 1)>,
                #event.access<read @y, (m, e)[r, p, o] -> (0, 0) to (m, e)[r, p, o] -> (e, 8)>,
                #event.access<write @z, (m, e)[r, p, o] -> (m, 0) to (m, e)[r, p, o] -> (m + 1, 8)>] {}
  }
}

// -----

// Segments of the iteration before are others.

event.program @iteration_before max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @others_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @others transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @others_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @others holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 2 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>,
                #event.access<write @others, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    // expected-error @below {{phase 'down' reads @x(0, 0), which no task before it writes}}
    event.phase "down" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
  }
}

// -----

// Each iteration has a copy of the table, and a later segment's begins with another copy than
// the one by which the last iteration wrote.

event.program @other_copies max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 32
  event.storage @others_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory {layers = 2 : i64, layer_stride = 4 : i64}
  event.buffer @others transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @others_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @others holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 2 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>,
                #event.access<write @others, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
  }
  event.segment "later" repeat 2 {
    // expected-error @below {{phase 'down' reads @x(0, 0), which no task before it writes}}
    event.phase "down" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
  }
}

// -----

// Segments that begin with the second one.

event.program @from_the_second max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @others_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @others transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @others_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @others holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>,
                #event.access<write @others, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s + 1)>, #event.address<@bounds, (s)[r, p, o] -> (s + 2)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s + 1) to (s, b, e)[r, p, o] -> (s + 3)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    // expected-error @below {{phase 'down' reads @x(0, 0), which no task before it writes}}
    event.phase "down" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
  }
}

// -----

// Where the second number is not the next one, segments have gaps between them, or are
// not as many as tasks.

event.program @far max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @others_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.storage @z_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @others transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @others_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @z_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.table @others holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>,
                #event.access<write @others, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>] {}
    event.phase "up" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s * 2 + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (0) to (s, b, e)[r, p, o] -> (4)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
    // expected-error @below {{phase 'down' reads @x(0, 0), which no task before it writes}}
    event.phase "down" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>] {}
  }
}
