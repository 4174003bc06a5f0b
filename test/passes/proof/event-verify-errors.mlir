// RUN: baton-opt %s --event-verify -split-input-file -verify-diagnostics

// One plan of two phases, broken in every way that the proof tells apart.

// A reader that waits for nobody.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{phase 'b' does not wait for phase 'a': read after write of @x in the same iteration}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
       {
    }
  }
}

// -----

// A reader that waits for one row less than it reads.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{phase 'b' does not wait for phase 'a': read after write of @x in the same iteration}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 2, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// A wait for the word beside the right one.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{phase 'b' does not wait for phase 'a': read after write of @x in the same iteration}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m + 1) to (m)[rows, past, outputs] -> (m + 2)>] {
    }
  }
}

// -----

// A wait for an empty box is none.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{phase 'b' does not wait for phase 'a': read after write of @x in the same iteration}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m)>] {
    }
  }
}

// -----

// Elements that nobody writes.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 3)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{phase 'b' reads @x(3, 3), which no task before it writes}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// A count above the number of notifications: its waiters would wait for ever.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (2)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{the count of @e, which 'a' notifies, is 2 with rows 4, past 0, outputs 0, expected 1}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// A count below it: some notifier would not be waited for.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (rows - 1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{the count of @e, which 'a' notifies, is 3 with rows 4, past 0, outputs 0, expected 4}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> ()> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> () to (m)[rows, past, outputs] -> ()>] {
    }
  }
}

// -----

// Tasks of one phase that write the same elements.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{tasks of phase 'b' have no order, but conflict: write after write of @y; for example b(2) and b(3)}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (0, 0) to (m)[rows, past, outputs] -> (rows, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// A task that reads what its neighbour writes.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{tasks of phase 'b' have no order, but conflict: read after write of @y}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>, #event.access<read @y, (m)[rows, past, outputs] -> (m + 1, 0) to (m)[rows, past, outputs] -> (m + 2, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// A buffer that overwrites one that is still read.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{conflict: write after read of @x and @y, which share @xs}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// No storage at all.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  // expected-error @+1 {{@y has no storage; run plan-memory first}}
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1]
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// Strides that let two elements of one buffer meet.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  // expected-error @+1 {{the strides let two elements of @x share bytes}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [3, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// An event tensor that outgrows its capacity.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  // expected-error @+1 {{the shape is 5 in dimension 0 with rows 4, past 0, outputs 0, expected 0 to 4}}
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows + 1)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// A grid that outgrows its capacity.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{the grid is 4 in dimension 0 with rows 4, past 0, outputs 0, expected 0 to 3}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [3]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// Nothing keeps an iteration from overtaking the one before: words would count up early.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 3 {
    // expected-error @+1 {{phase 'a' may notify a word of @e before the iteration before has finished with it; for example a(3) before a(3) of the iteration before}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// The next iteration writes what this one still reads.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 3 {
    // expected-error @+1 {{phase 'a' does not wait for phase 'b': write after read of @x in the next iteration}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e distance 1, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// A product of symbols is beyond the proof.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{is not quasi-affine, so that nothing can be proved of it}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m * rows, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// The counter-example of weaker checkers: each list and each wait is fine, all together never end.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
  // expected-error @+1 {{the schedule never ends: worker 0 runs b(1) before a(0), b(1) waits for a(1), worker 1 runs b(0) before a(1), b(0) waits for a(0)}}
  event.schedule rows 2 past 0 outputs 0 workers [[#event.task<"b", 0, [1]>, #event.task<"a", 0, [0]>], [#event.task<"b", 0, [0]>, #event.task<"a", 0, [1]>]]
}

// -----

// One worker that runs a reader before its writer.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
  // expected-error @+1 {{the schedule never ends}}
  event.schedule rows 1 past 0 outputs 0 workers [[#event.task<"b", 0, [0]>, #event.task<"a", 0, [0]>]]
}

// -----

// Lists that leave a race.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{b(0) on worker 0 does not wait for a(0) on worker 1: read after write of @x}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
       {
    }
  }
  event.schedule rows 1 past 0 outputs 0 workers [[#event.task<"b", 0, [0]>], [#event.task<"a", 0, [0]>]]
}

// -----

// A call that touches a buffer without saying so.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.storage @zs bytes 64
  event.buffer @z transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @zs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
      // expected-error @+1 {{passes @z, to which phase 'b' states no access}}
      event.call "copy" [#event.address<@z, (m)[rows, past, outputs] -> (m, 0)>]
    }
  }
}

// -----

// Logits of which the phase reads too little.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ys bytes 64
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (outputs, 4)> capacity [2, 4] strides [4, 1] in @ys
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @y, (m)[rows, past, outputs] -> (0, 0) to (m)[rows, past, outputs] -> (outputs, 3)>] {
      // expected-error @+1 {{hands over @y, but phase 'a' states no read of @y(}}
      event.advance @y
    }
  }
}

// -----

// Logits of other rows than the outputs.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ys bytes 64
  // expected-error @+1 {{the number of rows of @y, which the step hands over, is 4 with rows 4, past 0, outputs 0, expected 0}}
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @y, (m)[rows, past, outputs] -> (0, 0) to (m)[rows, past, outputs] -> (rows, 4)>] {
      event.advance @y
    }
  }
}

// -----

// A vocabulary that depends on the step.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ys bytes 64
  // expected-error @+1 {{the vocabulary is 's0', expected the same in every step}}
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (outputs, rows)> capacity [2, 4] strides [4, 1] in @ys
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @y, (m)[rows, past, outputs] -> (0, 0) to (m)[rows, past, outputs] -> (outputs, rows)>] {
      event.advance @y
    }
  }
}

// -----

// A state that forgets rows.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ks bytes 128
  // expected-error @+1 {{the first extent of the state @k is 0 with rows 4, past 0, outputs 0, expected 4}}
  event.buffer @k state : f32 extents affine_map<()[rows, past, outputs] -> (past, 4)> capacity [8, 4] strides [4, 1] in @ks
}

// -----

// A state whose width depends on the step.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ks bytes 128
  // expected-error @+1 {{an extent of the state @k is 's2', expected the same in every step}}
  event.buffer @k state : f32 extents affine_map<()[rows, past, outputs] -> (past + rows, outputs)> capacity [8, 2] strides [2, 1] in @ks
}

// -----

// A pointer behind its buffer.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>] {
      // expected-error @+1 {{#event.address<@x, (d0)[s0, s1, s2] -> (d0 + 1, 0)> starts at 4 of 4; for example a(3) with rows 4}}
      event.call "f" [#event.address<@x, (m)[rows, past, outputs] -> (m + 1, 0)>]
    }
  }
}

// -----

// A pointer before its parameter.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.parameter @w : f32 layers 1 as #event.vector<20> from [#event.source<["w"] : 20>]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses [] {
      // expected-error @+1 {{starts at -}}
      event.call "f" [#event.weight<@w, (m)[rows, past, outputs] -> (m * 4 - 16)>]
    }
  }
}

// -----

// An input of more tokens than there are.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  // expected-error @+1 {{expected at most rows + past}}
  event.buffer @t input : i32 extents affine_map<()[rows, past, outputs] -> (rows + past + 1)> capacity [9] strides [1]
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @t, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// An exchange that sends more than its phase states.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @gs bytes 160
  event.storage @rs bytes 256
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1] in @gs
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1] in @rs
  event.segment "s" repeat 1 {
    event.phase "exchange" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1]
      accesses [#event.access<read @g, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (4, 8)>,
                #event.access<write @r, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (2, 32)>] {
      // expected-error @+1 {{sends @g, but phase 'exchange' states no read of @g(4, 0); for example with rows}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// One that receives more.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @gs bytes 160
  event.storage @rs bytes 256
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1] in @gs
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1] in @rs
  event.segment "s" repeat 1 {
    event.phase "exchange" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1]
      accesses [#event.access<read @g, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (5, 8)>,
                #event.access<write @r, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (2, 31)>] {
      // expected-error @+1 {{receives @r, but phase 'exchange' states no write of @r(1, 31); for example with rows}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// Parts that do not lie behind one another.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @gs bytes 160
  event.storage @rs bytes 384
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1] in @gs
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [48, 1] in @rs
  event.segment "s" repeat 1 {
    event.phase "exchange" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1]
      accesses [#event.access<read @g, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (5, 8)>,
                #event.access<write @r, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (2, 32)>] {
      // expected-error @+1 {{moves @r, whose elements do not lie behind one another}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// Rows whose lengths are not the same in every step, so that there are gaps.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @gs bytes 160
  event.storage @rs bytes 256
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (5, rows)> capacity [5, 4] strides [4, 1] in @gs
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1] in @rs
  event.segment "s" repeat 1 {
    event.phase "exchange" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1]
      accesses [#event.access<read @g, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (5, 8)>,
                #event.access<write @r, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (2, 32)>] {
      // expected-error @+1 {{moves @g, of which an extent is 's0', expected the same in every step}}
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, ()[rows, past, outputs] -> (rows * 5) by 32>]
    }
  }
}

// -----

// Two exchanges whose order workers do not keep.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @gs bytes 160
  event.storage @rs bytes 256
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1] in @gs
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1] in @rs
  event.storage @os bytes 256
  event.buffer @o transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1] in @os
  event.segment "s" repeat 1 {
    event.phase "exchange" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1]
      accesses [#event.access<read @g, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (5, 8)>,
                #event.access<write @r, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (2, 32)>] {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
    // expected-error @+1 {{phase 'other' may be run by another worker than phase 'exchange' and does not wait for it, so that ranks may come to their exchanges in different orders}}
    event.phase "other" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1]
      accesses [#event.access<read @g, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (5, 8)>,
                #event.access<write @o, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (2, 32)>] attributes {distribution = #event<distribution cyclic>} {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @o, 40 by 32>]
    }
  }
}

// -----

// An exchange whose event does not reach the other ranks.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @gs bytes 160
  event.storage @rs bytes 256
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1] in @gs
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1] in @rs
  event.tensor @sum shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (1)> scope system
  event.tensor @received shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (outputs)>
  event.segment "s" repeat 1 {
    event.phase "sum" grid affine_map<()[rows, past, outputs] -> ()> capacity []
      accesses [#event.access<write @g, ()[rows, past, outputs] -> (0, 0) to ()[rows, past, outputs] -> (5, 8)>]
      notifies <@sum, ()[rows, past, outputs] -> ()> {
    }
    // expected-error @+1 {{phase 'exchange' exchanges with other ranks and notifies @received, whose scope is device, expected system}}
    event.phase "exchange" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1]
      accesses [#event.access<read @g, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (5, 8)>,
                #event.access<write @r, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (2, 32)>]
      waits [#event.wait<@sum, (t)[rows, past, outputs] -> () to (t)[rows, past, outputs] -> ()>]
      notifies <@received, (t)[rows, past, outputs] -> ()> {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// An exchange of rows whose parts are less than the whole in steps of many.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["tp"] sizes [2] batch []
  event.storage @ys bytes 384
  event.storage @ps bytes 256
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 24)> capacity [4, 24] strides [24, 1] in @ys
  event.buffer @p transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1] in @ps
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<write @y, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (rows, 24)>] {}
    event.phase "exchange" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @y, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (rows, 24)>,
                #event.access<write @p, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (2, 32)>] {
      // expected-error @+1 {{is of more elements than 2 parts have; for example with rows}}
      event.exchange all_to_all over ["tp"] for "all_reduce" [#event.transfer<@y to @p, ()[rows, past, outputs] -> (rows * 24) by 32>]
    }
  }
}

// -----

// One that is told of what it sends at a scope that they are not in.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @gs bytes 160
  event.storage @rs bytes 256
  event.buffer @g persistent : f32 extents affine_map<()[rows, past, outputs] -> (5, 8)> capacity [5, 8] strides [8, 1] in @gs
  event.buffer @r transient : f32 extents affine_map<()[rows, past, outputs] -> (2, 32)> capacity [2, 32] strides [32, 1] in @rs
  event.tensor @sum shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (1)>
  event.tensor @received shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (outputs)> scope system
  event.segment "s" repeat 1 {
    event.phase "sum" grid affine_map<()[rows, past, outputs] -> ()> capacity []
      accesses [#event.access<write @g, ()[rows, past, outputs] -> (0, 0) to ()[rows, past, outputs] -> (5, 8)>]
      notifies <@sum, ()[rows, past, outputs] -> ()> {
    }
    // expected-error @+1 {{phase 'exchange' exchanges with other ranks and waits for @sum, whose scope is device, expected system}}
    event.phase "exchange" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [1]
      accesses [#event.access<read @g, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (5, 8)>,
                #event.access<write @r, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (2, 32)>]
      waits [#event.wait<@sum, (t)[rows, past, outputs] -> () to (t)[rows, past, outputs] -> ()>]
      notifies <@received, (t)[rows, past, outputs] -> ()> {
      event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@g to @r, 40 by 32>]
    }
  }
}

// -----

// One that does not state all rows in use.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["tp"] sizes [2] batch []
  event.storage @ys bytes 384
  event.storage @ps bytes 384
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 24)> capacity [4, 24] strides [24, 1] in @ys
  event.buffer @p transient : f32 extents affine_map<()[rows, past, outputs] -> (2, (rows * 24) ceildiv 32 * 16)> capacity [2, 48] strides [48, 1] in @ps
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<write @y, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (rows, 24)>] {}
    event.phase "exchange" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @y, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (rows - 1, 24)>,
                #event.access<write @p, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (2, 48)>] {
      // expected-error @+1 {{sends @y, but phase 'exchange' states no read of @y(}}
      event.exchange all_to_all over ["tp"] for "all_reduce" [#event.transfer<@y to @p, ()[rows, past, outputs] -> (rows * 24) by ()[rows, past, outputs] -> ((rows * 24) ceildiv 32 * 16)>]
    }
  }
}

// -----

// An exchange that is ahead overwrites what the iteration before may still read.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @ps bytes 512
  event.storage @ws bytes 512
  event.buffer @part persistent : f32 extents affine_map<()[rows, past, outputs] -> (1, 32)> capacity [1, 32] strides [32, 1] in @ps {layers = 4, layer_stride = 32}
  event.buffer @w persistent : f32 extents affine_map<()[rows, past, outputs] -> (64)> capacity [64] strides [1] in @ws {layers = 2, layer_stride = 64, ring}
  event.tensor @gathered shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (1)> scope system
  event.tensor @used shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (rows)> scope system
  event.segment "layers" repeat 4 {
    // expected-error @+1 {{phase 'gather' does not wait for phase 'use': write after read of @w in the next iteration}}
    event.phase "gather" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @part, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (1, 32)>,
                #event.access<write @w, (t)[rows, past, outputs] -> (0) to (t)[rows, past, outputs] -> (64)>]
      waits [#event.wait<@gathered distance 1, (t)[rows, past, outputs] -> () to (t)[rows, past, outputs] -> ()>]
      notifies <@gathered, (t)[rows, past, outputs] -> ()> attributes {ahead} {
      event.exchange all_gather over ["dp"] for "all_gather" [#event.transfer<@part to @w, 64 by 32>]
    }
    event.phase "use" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @w, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (64)>]
      waits [#event.wait<@gathered distance 1, (m)[rows, past, outputs] -> () to (m)[rows, past, outputs] -> ()>, #event.wait<@used distance 1, (m)[rows, past, outputs] -> () to (m)[rows, past, outputs] -> ()>]
      notifies <@used, (m)[rows, past, outputs] -> ()> {
    }
  }
}

// -----

// What was gathered ahead is read in the next iteration.
event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @ps bytes 512
  event.storage @ws bytes 512
  event.buffer @part persistent : f32 extents affine_map<()[rows, past, outputs] -> (1, 32)> capacity [1, 32] strides [32, 1] in @ps {layers = 4, layer_stride = 32}
  event.buffer @w persistent : f32 extents affine_map<()[rows, past, outputs] -> (64)> capacity [64] strides [1] in @ws {layers = 2, layer_stride = 64, ring}
  event.tensor @gathered shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (1)> scope system
  event.tensor @used shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (rows)> scope system
  event.segment "layers" repeat 4 {
    event.phase "gather" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @part, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (1, 32)>,
                #event.access<write @w, (t)[rows, past, outputs] -> (0) to (t)[rows, past, outputs] -> (64)>]
      waits [#event.wait<@gathered distance 1, (t)[rows, past, outputs] -> () to (t)[rows, past, outputs] -> ()>, #event.wait<@used distance 1, (t)[rows, past, outputs] -> () to (t)[rows, past, outputs] -> ()>]
      notifies <@gathered, (t)[rows, past, outputs] -> ()> attributes {ahead} {
      event.exchange all_gather over ["dp"] for "all_gather" [#event.transfer<@part to @w, 64 by 32>]
    }
    // expected-error @+1 {{phase 'use' does not wait for phase 'gather': read after write of @w in the next iteration}}
    event.phase "use" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @w, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (64)>]
      waits [#event.wait<@used distance 1, (m)[rows, past, outputs] -> () to (m)[rows, past, outputs] -> ()>]
      notifies <@used, (m)[rows, past, outputs] -> ()> {
    }
  }
}
