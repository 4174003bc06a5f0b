// RUN: baton-opt %s --event-verify --split-input-file --verify-diagnostics

// Programs of one step, and what they hand to one another.

// Storages are known by their names: what is free for one program's use holds
// another one's values.
module {
  event.program @keeps max_rows 8 max_seq 8 max_outputs 1 {
    event.storage @memory bytes 64
    event.buffer @w persistent : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @memory {carry = #event<carry kept>}
    event.segment "s" repeat 1 {
      event.phase "read" grid affine_map<()[r, p, o] -> (1)> capacity [1]
        accesses [#event.access<read @w, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>] {
      }
    }
  }
  event.program @overwrites max_rows 8 max_seq 8 max_outputs 1 {
    event.storage @memory bytes 64
    // expected-error @+1 {{@t of program @overwrites lies in @memory, where program @keeps has @w, whose values outlive the program}}
    event.buffer @t transient : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @memory
    event.segment "s" repeat 1 {
      event.phase "write" grid affine_map<()[r, p, o] -> (1)> capacity [1]
        accesses [#event.access<write @t, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>] {
      }
    }
  }
}

// -----

// Both may use memory of one name for what neither keeps.
module {
  event.program @one max_rows 8 max_seq 8 max_outputs 1 {
    event.storage @memory bytes 64
    event.buffer @t transient : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @memory
    event.segment "s" repeat 1 {
      event.phase "write" grid affine_map<()[r, p, o] -> (1)> capacity [1]
        accesses [#event.access<write @t, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>] {
      }
    }
  }
  event.program @other max_rows 8 max_seq 8 max_outputs 1 {
    event.storage @memory bytes 64
    event.buffer @t transient : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @memory
    event.segment "s" repeat 1 {
      event.phase "write" grid affine_map<()[r, p, o] -> (1)> capacity [1]
        accesses [#event.access<write @t, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>] {
      }
    }
  }
}

// -----

// An update that reads a gradient of which nobody has made the second half.
event.program @half_a_gradient max_rows 8 max_seq 8 max_outputs 1 {
  event.storage @wm bytes 64
  event.storage @gm bytes 64
  event.buffer @w persistent : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @wm {carry = #event<carry renewed>}
  event.buffer @g persistent : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @gm
  event.tensor @done shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "gradient" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @g, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (8)>] notifies <@done, (m)[r, p, o] -> ()> {
    }
    // expected-error @+1 {{phase 'update' reads @g(8), which no task of the step has written, nothing carries from the step before, and the runtime does not provide}}
    event.phase "update" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @g, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>,
                #event.access<read @w, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>,
                #event.access<write @w, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>]
      waits [#event.wait<@done, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
    }
  }
}

// -----

// The same memory in another shape: two rows of eight, a task each.
event.program @gradient_in_two_shapes max_rows 8 max_seq 8 max_outputs 1 {
  event.storage @wm bytes 64
  event.storage @gm bytes 64
  event.buffer @w persistent : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @wm {carry = #event<carry renewed>}
  event.buffer @g persistent : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @gm
  event.buffer @rows persistent : f32 extents affine_map<()[r, p, o] -> (2, 8)> capacity [2, 8] strides [8, 1] in @gm
  event.tensor @done shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (2)>
  event.segment "s" repeat 1 {
    event.phase "gradient" grid affine_map<()[r, p, o] -> (2)> capacity [2]
      accesses [#event.access<write @rows, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] notifies <@done, (m)[r, p, o] -> ()> {
    }
    event.phase "update" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @g, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>,
                #event.access<read @w, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>,
                #event.access<write @w, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>]
      waits [#event.wait<@done, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
    }
  }
}

// -----

// A step leaves a half of a parameter as it was.
event.program @half_an_update max_rows 8 max_seq 8 max_outputs 1 {
  event.storage @wm bytes 64
  // expected-error @+1 {{@w is carried to the next step, but no task of the step writes its element (8)}}
  event.buffer @w persistent : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @wm {carry = #event<carry renewed>}
  event.segment "s" repeat 1 {
    event.phase "update" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @w, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (8)>] {
    }
  }
}

// -----

// What is kept as it is, nobody writes.
event.program @kept_and_written max_rows 8 max_seq 8 max_outputs 1 {
  event.storage @wm bytes 64
  event.buffer @w persistent : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @wm {carry = #event<carry kept>}
  event.segment "s" repeat 1 {
    // expected-error @+1 {{phase 'update' writes @w, of which a buffer of the same storage is said to be kept from step to step}}
    event.phase "update" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @w, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (8)>] {
    }
  }
}

// -----

// What adds to what earlier microbatches left, if there are any.
event.program @accumulates max_rows 8 max_seq 8 max_outputs 1 {
  event.storage @wm bytes 64
  event.storage @gm bytes 64
  event.storage @fm bytes 64
  event.storage @sm bytes 64
  event.buffer @accumulate persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm
  event.buffer @w persistent : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @wm {carry = #event<carry renewed>}
  event.buffer @g persistent : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @gm
  event.buffer @summary transient : f32 extents affine_map<()[r, p, o] -> (1, 4)> capacity [1, 4] strides [4, 1] in @sm
  event.tensor @done shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.tensor @updated shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "gradient" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @accumulate, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (1)>,
                #event.access<read @g, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16) if @accumulate>,
                #event.access<write @g, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>,
                #event.access<write @summary, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (1, 4)>] notifies <@done, (m)[r, p, o] -> ()> {
    }
    event.phase "update" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @g, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>,
                #event.access<read @w, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>,
                #event.access<write @w, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>]
      waits [#event.wait<@done, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] notifies <@updated, (m)[r, p, o] -> ()> {
    }
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @summary, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (1, 4)>,
                #event.access<write @accumulate, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (1)>]
      waits [#event.wait<@updated, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.advance @summary
    }
  }
}

// -----

// A flag that nobody sets as conditional reads need it.
event.program @own_flag max_rows 8 max_seq 8 max_outputs 1 {
  event.storage @gm bytes 64
  event.storage @fm bytes 64
  event.buffer @flag persistent : i32 extents affine_map<()[r, p, o] -> (1)> capacity [1] strides [1] in @fm {carry = #event<carry kept>}
  event.buffer @g persistent : f32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @gm
  event.segment "s" repeat 1 {
    // expected-error @+1 {{phase 'gradient' reads @g if @flag, expected @accumulate, which the runtime alone writes}}
    event.phase "gradient" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @flag, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (1)>,
                #event.access<read @g, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16) if @flag>,
                #event.access<write @g, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (16)>] {
    }
  }
}

// -----

// A ring of two copies, of which nobody writes those of the third layer on: they
// hold what the first two left.
event.program @stale_ring max_rows 4 max_seq 8 max_outputs 1 {
  event.storage @ws bytes 512
  event.buffer @w persistent : f32 extents affine_map<()[r, p, o] -> (64)> capacity [64] strides [1] in @ws {layers = 2, layer_stride = 64, ring}
  event.buffer @both persistent : f32 extents affine_map<()[r, p, o] -> (2, 64)> capacity [2, 64] strides [64, 1] in @ws
  event.tensor @done shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "begin" repeat 1 {
    event.phase "first" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @both, (t)[r, p, o] -> (0, 0) to (t)[r, p, o] -> (2, 64)>] notifies <@done, (t)[r, p, o] -> ()> {
    }
  }
  event.segment "layers" repeat 4 {
    // expected-error @+1 {{phase 'use' reads @w(0), which no task of the step has written}}
    event.phase "use" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @w, (t)[r, p, o] -> (0) to (t)[r, p, o] -> (64)>]
      waits [#event.wait<@done, (t)[r, p, o] -> () to (t)[r, p, o] -> ()>] {
    }
  }
}
