// RUN: baton-opt %s --event-verify --split-input-file --verify-diagnostics

// Waits of tasks that read tables: for the table, for the segment, for the next
// iteration's.

// Fine: a segment waits for its own.

event.program @fine max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.tensor @routed shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.tensor @upped shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>]
      notifies <@routed, (m)[r, p, o] -> ()> {}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@routed, (s)[r, p, o] -> () to (s)[r, p, o] -> ()>]
      notifies <@upped, (s)[r, p, o] -> (s)> {}
    event.phase "down" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@routed, (s)[r, p, o] -> () to (s)[r, p, o] -> ()>, #event.wait<@upped, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>] {}
  }
}

// -----

// A task reads entries before they are there.

event.program @table max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.tensor @routed shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.tensor @upped shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>]
      notifies <@routed, (m)[r, p, o] -> ()> {}
    // expected-error @below {{phase 'up' does not wait for phase 'route': read after write of @bounds in the same iteration; for example up(0) before route(0) with rows 1, past 0, outputs 0}}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      notifies <@upped, (s)[r, p, o] -> (s)> {}
    event.phase "down" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@routed, (s)[r, p, o] -> () to (s)[r, p, o] -> ()>, #event.wait<@upped, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>] {}
  }
}

// -----

// For another segment.

event.program @other max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.tensor @routed shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.tensor @upped shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.segment "all" repeat 1 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>]
      notifies <@routed, (m)[r, p, o] -> ()> {}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@routed, (s)[r, p, o] -> () to (s)[r, p, o] -> ()>]
      notifies <@upped, (s)[r, p, o] -> (s)> {}
    // expected-error @below {{phase 'down' does not wait for phase 'up': read after write of @x in the same iteration; for example down(2) before up(2) with rows 1, past 0, outputs 0}}
    event.phase "down" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@routed, (s)[r, p, o] -> () to (s)[r, p, o] -> ()>, #event.wait<@upped, (s)[r, p, o] -> (0) to (s)[r, p, o] -> (1)>] {}
  }
}

// -----

// In the next iteration the table is another one, here in a copy of its own: its
// segments may lie anywhere.

event.program @next max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 32
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory {layers = 2 : i64, layer_stride = 4 : i64}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.tensor @routed shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.tensor @upped shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.tensor @downed shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.segment "all" repeat 2 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>]
      waits [#event.wait<@routed distance 1, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>]
      notifies <@routed, (m)[r, p, o] -> ()> {}
    // expected-error @below {{phase 'up' does not wait for phase 'up': write after write of @x in the next iteration}}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@routed, (s)[r, p, o] -> () to (s)[r, p, o] -> ()>, #event.wait<@downed distance 1, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>]
      notifies <@upped, (s)[r, p, o] -> (s)> {}
    event.phase "down" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@routed, (s)[r, p, o] -> () to (s)[r, p, o] -> ()>, #event.wait<@upped, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>]
      notifies <@downed, (s)[r, p, o] -> (s)> {}
  }
}

// -----

// Fine: the table's task waits for all who had the one before.

event.program @next_fine max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds transient : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.tensor @routed shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.tensor @upped shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.tensor @downed shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.segment "all" repeat 2 {
    event.phase "route" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @bounds, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (4)>]
      waits [#event.wait<@downed distance 1, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (3)>]
      notifies <@routed, (m)[r, p, o] -> ()> {}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@routed, (s)[r, p, o] -> () to (s)[r, p, o] -> ()>]
      notifies <@upped, (s)[r, p, o] -> (s)> {}
    event.phase "down" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@routed, (s)[r, p, o] -> () to (s)[r, p, o] -> ()>, #event.wait<@upped, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>]
      notifies <@downed, (s)[r, p, o] -> (s)> {}
  }
}

// -----

// Fine: what nobody writes is the same table in each iteration.

event.program @kept max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds persistent : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory {carry = #event<carry kept>}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.tensor @upped shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.tensor @downed shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.segment "all" repeat 2 {
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@downed distance 1, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>]
      notifies <@upped, (s)[r, p, o] -> (s)> {}
    event.phase "down" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@upped, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>]
      notifies <@downed, (s)[r, p, o] -> (s)> {}
  }
}

// -----

// But not for another segment.

event.program @kept_other max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 16
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds persistent : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory {carry = #event<carry kept>}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.tensor @upped shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.tensor @downed shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.segment "all" repeat 2 {
    // expected-error @below {{phase 'up' does not wait for phase 'down': write after read of @x in the next iteration}}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@downed distance 1, (s)[r, p, o] -> (0) to (s)[r, p, o] -> (1)>, #event.wait<@upped distance 1, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>]
      notifies <@upped, (s)[r, p, o] -> (s)> {}
    event.phase "down" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@upped, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>, #event.wait<@downed distance 1, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>]
      notifies <@downed, (s)[r, p, o] -> (s)> {}
  }
}

// -----

// But not of copies, of which each iteration has its own.

event.program @kept_copies max_rows 8 max_seq 16 max_outputs 1 {
  event.storage @bounds_memory bytes 32
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.buffer @bounds persistent : i32 extents affine_map<()[r, p, o] -> (4)> capacity [4] strides [1] in @bounds_memory {carry = #event<carry kept>, layers = 2 : i64, layer_stride = 4 : i64}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r + 1) partition
  event.tensor @upped shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.tensor @downed shape affine_map<()[r, p, o] -> (3)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.segment "all" repeat 2 {
    // expected-error @below {{phase 'up' does not wait for phase 'up': write after write of @x in the next iteration}}
    event.phase "up" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<write @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@downed distance 1, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>, #event.wait<@upped distance 1, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>]
      notifies <@upped, (s)[r, p, o] -> (s)> {}
    event.phase "down" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      entries [#event.address<@bounds, (s)[r, p, o] -> (s)>, #event.address<@bounds, (s)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, b, e)[r, p, o] -> (s) to (s, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @x, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>,
                #event.access<write @y, (s, b, e)[r, p, o] -> (b, 0) to (s, b, e)[r, p, o] -> (e, 8)>]
      waits [#event.wait<@upped, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>, #event.wait<@downed distance 1, (s)[r, p, o] -> (s) to (s)[r, p, o] -> (s + 1)>]
      notifies <@downed, (s)[r, p, o] -> (s)> {}
  }
}
