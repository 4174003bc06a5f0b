// RUN: baton-opt %s --event-verify -split-input-file -verify-diagnostics

// More of what event-verify rejects: values that outlive a step or an
// iteration, reused bytes, chains that lead nowhere, and lists.

// A step that leaves a row of its own unwritten, which the next one reads.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ks bytes 128
  // expected-error @+1 {{a step leaves @k(7, 3) unwritten, which later steps may read; for example with rows 4, past 4, outputs 0}}
  event.buffer @k state : f32 extents affine_map<()[rows, past, outputs] -> (past + rows, 4)> capacity [8, 4] strides [4, 1] in @ks
  event.segment "s" repeat 1 {
    event.phase "append" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @k, (m)[rows, past, outputs] -> (past + m, 0) to (m)[rows, past, outputs] -> (past + m + 1, 3)>] {
    }
    event.phase "attend" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @k, (m)[rows, past, outputs] -> (0, 0) to (m)[rows, past, outputs] -> (past, 4)>] {
    }
  }
}

// -----

// A state's rows of this step are read by tasks of lower rank than those that write them.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ks bytes 128
  event.buffer @k state : f32 extents affine_map<()[rows, past, outputs] -> (past + rows, 4)> capacity [8, 4] strides [4, 1] in @ks
  event.tensor @read shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{phase 'attend' reads @k(0, 0), which no task before it writes; for example attend(3) with rows 4, past 0, outputs 0}}
    event.phase "attend" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @k, (m)[rows, past, outputs] -> (0, 0) to (m)[rows, past, outputs] -> (past + 1, 4)>]
      notifies <@read, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "append" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @k, (m)[rows, past, outputs] -> (past + m, 0) to (m)[rows, past, outputs] -> (past + m + 1, 4)>]
      waits [#event.wait<@read, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (rows)>] {
    }
  }
}

// -----

// Bytes of a state are reused within the step.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ks bytes 128
  event.buffer @k state : f32 extents affine_map<()[rows, past, outputs] -> (past + rows, 4)> capacity [8, 4] strides [4, 1] in @ks
  // expected-error @+1 {{shares bytes of @ks with @k, whose values outlive the step}}
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ks
  event.segment "s" repeat 1 {
    event.phase "append" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @k, (m)[rows, past, outputs] -> (past + m, 0) to (m)[rows, past, outputs] -> (past + m + 1, 4)>] {
    }
  }
}

// -----

// More iterations than copies of a state.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ks bytes 256
  event.buffer @k state : f32 extents affine_map<()[rows, past, outputs] -> (past + rows, 4)> capacity [8, 4] strides [4, 1] in @ks {layers = 2 : i64, layer_stride = 32 : i64}
  event.segment "s" repeat 3 {
    // expected-error @+1 {{repeats 3 times, but @k has 2 layers}}
    event.phase "append" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @k, (m)[rows, past, outputs] -> (past + m, 0) to (m)[rows, past, outputs] -> (past + m + 1, 4)>] {
    }
  }
}

// -----

// Copies of a state that overlap.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ks bytes 256
  // expected-error @+1 {{the strides let two elements of @k share bytes}}
  event.buffer @k state : f32 extents affine_map<()[rows, past, outputs] -> (past + rows, 4)> capacity [8, 4] strides [4, 1] in @ks {layers = 2 : i64, layer_stride = 31 : i64}
  event.segment "s" repeat 2 {
    event.phase "append" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @k, (m)[rows, past, outputs] -> (past + m, 0) to (m)[rows, past, outputs] -> (past + m + 1, 4)>] {
    }
  }
}

// -----

// More iterations than copies of a weight.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.parameter @w : f32 layers 2
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 3 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e distance 1, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
      // expected-error @+1 {{repeats 3 times, but @w has 2 layers}}
      event.call "fill" [#event.address<@x, (m)[rows, past, outputs] -> (m, 0)>, #event.weight<@w, (m)[rows, past, outputs] -> (0)>]
    }
  }
}

// -----

// All tasks are in order, but x is gone when c reads it.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @zs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @z transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @zs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.tensor @f shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>]
      notifies <@f, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{phase 'c' reads @x(3, 0), whose bytes phase 'b' has reused for @y; for example c(3) with rows 4, past 0, outputs 0}}
    event.phase "c" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @z, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@f, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// The same from one iteration to the next: x is carried over what y reuses.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @start shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.tensor @f shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "start" repeat 1 {
    event.phase "first" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@start, (m)[rows, past, outputs] -> (m)> {
    }
  }
  event.segment "s" repeat 2 {
    // expected-error @+1 {{phase 'a' reads @x(3, 0), whose bytes phase 'b' has reused for @y; for example a(3)}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@start, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>,
             #event.wait<@f distance 1, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>]
      notifies <@f, (m)[rows, past, outputs] -> (m)> {
    }
  }
}

// -----

// One task that reads and writes the same bytes through two buffers.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{tasks of phase 'b' have no order, but conflict: write after read of @x and @y, which share @xs; for example b(3) and b(3)}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// -----

// A later segment that waits for nobody.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>] {
    }
  }
  event.segment "t" repeat 1 {
    // expected-error @+1 {{phase 'b' does not wait for phase 'a': read after write of @x in a later segment; for example b(3) before a(3) with rows 4, past 0, outputs 0}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>] {
    }
  }
}

// -----

// A wait for the iteration before says nothing of the segment before.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.tensor @f shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
  }
  event.segment "t" repeat 2 {
    // expected-error @+1 {{phase 'b' does not wait for phase 'a': read after write of @x in a later segment}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@f distance 1, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>]
      notifies <@f, (m)[rows, past, outputs] -> (m)> {
    }
  }
}

// -----

// A chain through a grid that is empty in steps without outputs.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.tensor @f shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (outputs)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [2]
      accesses []
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (rows)>]
      notifies <@f, (m)[rows, past, outputs] -> ()> {
    }
    // expected-error @+1 {{phase 'c' does not wait for phase 'a': read after write of @x in the same iteration; for example c(3) before a(3) with rows 4, past 0, outputs 0}}
    event.phase "c" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@f, (m)[rows, past, outputs] -> () to (m)[rows, past, outputs] -> ()>] {
    }
  }
}

// -----

// A count that is a product of two extents that depend on the step.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.tensor @e shape affine_map<()[rows, past, outputs] -> ()> capacity [] count affine_map<()[rows, past, outputs] -> (rows)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{the number of tasks that notify a word of @e, s0 * s2, is not quasi-affine; notify a word for each coordinate that depends on the step}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows, outputs)> capacity [4, 2] accesses []
      notifies <@e, (m, n)[rows, past, outputs] -> ()> {
    }
  }
}

// -----

// More words than anybody notifies: waiting for the last would never end.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows + 1)> capacity [5] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    // expected-error @+1 {{dimension 0 of the shape of @e, which 'a' notifies, is 5 with rows 4, past 0, outputs 0, expected 4}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses []
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
  }
}

// -----

// A grid that shrinks below nothing.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 1 {
    // expected-error @+1 {{the grid is -1 in dimension 0 with rows 1, past 0, outputs 0, expected 0 to 4}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows - 2)> capacity [4] accesses [] {
    }
  }
}

// -----

// More tasks than an event word can tell apart.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.segment "s" repeat 2 {
    // expected-error @+1 {{has 2^31 tasks or more in a step, beyond what an event word can count}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [1073741824] accesses [] {
    }
  }
}

// -----

// A step that is handed over once for each output: several times, or never.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ys bytes 32
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (outputs, 4)> capacity [2, 4] strides [4, 1] in @ys
  event.segment "s" repeat 1 {
    // expected-error @+1 {{the grid of the phase that hands over the step is 2 with rows 4, past 0, outputs 2, expected 1}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (outputs)> capacity [2]
      accesses [#event.access<read @y, (m)[rows, past, outputs] -> (0, 0) to (m)[rows, past, outputs] -> (outputs, 4)>] {
      event.advance @y
    }
  }
}

// -----

// A step that is handed over in every iteration.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @ys bytes 64
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.segment "s" repeat 2 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>] {
      // expected-error @+1 {{hands the step over more than once}}
      event.advance @y
    }
  }
}

// -----

// A listed task that reads and writes the same bytes through two buffers.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    // expected-error @+1 {{b(0) writes bytes that it accesses as @x and as @y}}
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
  event.schedule rows 1 past 0 outputs 0 workers [[#event.task<"a", 0, [0]>, #event.task<"b", 0, [0]>]]
}

// -----

// Lists that let the next iteration notify a word early.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 2 {
    // expected-error @+1 {{a(0) of iteration 1 may notify a word of @e before a(0) of iteration 0 has}}
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses []
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4] accesses []
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
  event.schedule rows 1 past 0 outputs 0 workers [[#event.task<"a", 0, [0]>, #event.task<"b", 0, [0]>], [#event.task<"a", 1, [0]>, #event.task<"b", 1, [0]>]]
}

// -----

// Lists that run a reuse of bytes before the last read, which no wait prevents.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @zs bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @z transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @zs
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.tensor @f shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @z, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
    // expected-error @+1 {{c(0) on worker 1 does not wait for b(0) on worker 0: write after read of @y and @x, which share @xs}}
    event.phase "c" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@e, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>]
      notifies <@f, (m)[rows, past, outputs] -> (m)> {
    }
  }
  event.schedule rows 1 past 0 outputs 0 workers [[#event.task<"a", 0, [0]>, #event.task<"b", 0, [0]>], [#event.task<"c", 0, [0]>]]
}

// -----

// A message of more than its phase states.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.mesh ["pp"] sizes [2] batch []
  event.storage @xs bytes 64
  event.buffer @x persistent : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.segment "s" repeat 1 {
    event.phase "send" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (0, 0) to (m)[rows, past, outputs] -> (rows, 3)>] {
      // expected-error @+1 {{sends @x, but phase 'send' states no read of @x(3, 3); for example with rows 4, past 0, outputs 0}}
      event.message send [@x] to next over "pp" for "activations"
    }
  }
}

// -----

// The same, of one that is received.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.mesh ["pp"] sizes [2] batch []
  event.storage @xs bytes 64
  event.buffer @x persistent : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.segment "s" repeat 1 {
    event.phase "receive" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (0, 0) to (m)[rows, past, outputs] -> (rows, 4)>] {
      // expected-error @+1 {{receives @x, but phase 'receive' states no write of @x(3, 0); for example with rows 4, past 0, outputs 0}}
      event.message receive [@x] to next over "pp" for "activations"
    }
  }
}

// -----

// Rows whose elements lie apart.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.mesh ["pp"] sizes [2] batch []
  event.storage @xs bytes 256
  event.buffer @x persistent : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [16, 2] in @xs
  event.segment "s" repeat 1 {
    event.phase "send" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (0, 0) to (m)[rows, past, outputs] -> (rows, 4)>] {
      // expected-error @+1 {{moves @x, whose rows' elements do not lie behind one another}}
      event.message send [@x] to next over "pp" for "activations"
    }
  }
}
