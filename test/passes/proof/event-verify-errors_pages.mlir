// RUN: baton-opt %s --derive-events --event-verify --split-input-file --verify-diagnostics

// States in pages: what a step has of them is its own rows.

// Fine, and what the others are changes of.

event.program @fine max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.storage @l_memory bytes 256
  event.storage @slots_memory bytes 64
  event.storage @k_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 8)> capacity [8, 8] strides [8, 1] in @l_memory
  event.buffer @slots persistent : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @slots_memory {description = {role = "input"}}
  event.table @slots holds ()[r, p, o] -> (0) to ()[r, p, o] -> (1024) distinct
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @k_memory {slots = @slots, page = 64 : i64, page_stride = 1024 : i64, layers = 2 : i64, layer_stride = 512 : i64}
  event.segment "begin" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
  }
  event.segment "layers" repeat 2 {
    event.phase "append" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>,
                #event.access<read @slots, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>,
                #event.access<write @k, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    event.phase "attend" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<read @k, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>,
                #event.access<write @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    event.phase "carry" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<read @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>,
                #event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
  }
  event.segment "end" repeat 1 {
    event.phase "head" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[r, p, o] -> (r - o, 0) to (m)[r, p, o] -> (r, 8)>,
                #event.access<write @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 8)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 8)>, #event.access<write @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {
      event.advance @l
    }
  }
}

// -----

// Rows that nobody has written are in no page of the step's.

event.program @unwritten max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.storage @l_memory bytes 256
  event.storage @slots_memory bytes 64
  event.storage @k_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 8)> capacity [8, 8] strides [8, 1] in @l_memory
  event.buffer @slots persistent : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @slots_memory {description = {role = "input"}}
  event.table @slots holds ()[r, p, o] -> (0) to ()[r, p, o] -> (1024) distinct
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @k_memory {slots = @slots, page = 64 : i64, page_stride = 1024 : i64, layers = 2 : i64, layer_stride = 512 : i64}
  event.segment "begin" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
  }
  event.segment "layers" repeat 2 {
    event.phase "append" grid affine_map<()[r, p, o] -> (1)> capacity [8]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>,
                #event.access<read @slots, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>,
                #event.access<write @k, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    // expected-error @below {{phase 'attend' reads @k(1, 0), which no task before it writes}}
    event.phase "attend" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<read @k, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>,
                #event.access<write @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    event.phase "carry" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<read @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>,
                #event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
  }
  event.segment "end" repeat 1 {
    event.phase "head" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[r, p, o] -> (r - o, 0) to (m)[r, p, o] -> (r, 8)>,
                #event.access<write @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 8)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 8)>, #event.access<write @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {
      event.advance @l
    }
  }
}

// -----

// Two tasks write a row.

event.program @twice max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.storage @l_memory bytes 256
  event.storage @slots_memory bytes 64
  event.storage @k_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 8)> capacity [8, 8] strides [8, 1] in @l_memory
  event.buffer @slots persistent : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @slots_memory {description = {role = "input"}}
  event.table @slots holds ()[r, p, o] -> (0) to ()[r, p, o] -> (1024) distinct
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @k_memory {slots = @slots, page = 64 : i64, page_stride = 1024 : i64, layers = 2 : i64, layer_stride = 512 : i64}
  event.segment "begin" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
  }
  event.segment "layers" repeat 2 {
    // expected-error @below {{tasks of phase 'append' have no order, but conflict: write after write of @k}}
    event.phase "append" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>,
                #event.access<read @slots, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>,
                #event.access<write @k, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 2, 8)>] {}
    event.phase "attend" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<read @k, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>,
                #event.access<write @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    event.phase "carry" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<read @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>,
                #event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
  }
  event.segment "end" repeat 1 {
    event.phase "head" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[r, p, o] -> (r - o, 0) to (m)[r, p, o] -> (r, 8)>,
                #event.access<write @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 8)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 8)>, #event.access<write @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {
      event.advance @l
    }
  }
}

// -----

// Where rows go, the runtime says, and the plan that it does.

event.program @slots max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @y_memory bytes 256
  event.storage @l_memory bytes 256
  event.storage @slots_memory bytes 64
  event.storage @k_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @y_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 8)> capacity [8, 8] strides [8, 1] in @l_memory
  event.buffer @slots persistent : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @slots_memory {description = {role = "input"}}
  event.table @slots holds ()[r, p, o] -> (0) to ()[r, p, o] -> (1024) distinct
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @k_memory {slots = @slots, page = 64 : i64, page_stride = 1024 : i64, layers = 2 : i64, layer_stride = 512 : i64}
  event.segment "begin" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
  }
  event.segment "layers" repeat 2 {
    // expected-error @below {{reads @slots}}
    event.phase "append" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>,
                #event.access<read @slots, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>,
                #event.access<write @k, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    event.phase "attend" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<read @k, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>,
                #event.access<write @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    event.phase "carry" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<read @y, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>,
                #event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
  }
  event.segment "end" repeat 1 {
    event.phase "head" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[r, p, o] -> (r - o, 0) to (m)[r, p, o] -> (r, 8)>,
                #event.access<write @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 8)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 8)>] {
      event.advance @l
    }
  }
}

// -----

// Bodies find rows by the slots of the state. Fine, and what those behind are changes of.

event.program @calls max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 512
  event.storage @slots_memory bytes 64
  event.storage @other_memory bytes 64
  event.storage @k_memory bytes 4096
  event.storage @dense_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @x_memory
  event.buffer @slots transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @slots_memory
  event.buffer @other transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @other_memory
  event.table @slots holds ()[r, p, o] -> (0) to ()[r, p, o] -> (1024) distinct
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r, 1, 16)> capacity [8, 1, 16] strides [16, 1024, 16] in @k_memory {slots = @slots, page = 64 : i64, page_stride = 1024 : i64, interleave = 16 : i64}
  event.buffer @dense transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @dense_memory
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 16)>,
                #event.access<write @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {}
    event.phase "append" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 16)>,
                #event.access<read @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<read @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @k, (m)[r, p, o] -> (m * 4, 0, 0) to (m)[r, p, o] -> (m * 4 + 4, 1, 16)>] {
      event.call "append_key_pages" [#event.address<@k, (m)[r, p, o] -> (m * 4, 0, 0)>, 1024, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.address<@slots, (m)[r, p, o] -> (m * 4)>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 16, 16]
    }
  }
}

// -----

// Pages lie elsewhere.

event.program @other_pages max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 512
  event.storage @slots_memory bytes 64
  event.storage @other_memory bytes 64
  event.storage @k_memory bytes 4096
  event.storage @dense_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @x_memory
  event.buffer @slots transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @slots_memory
  event.buffer @other transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @other_memory
  event.table @slots holds ()[r, p, o] -> (0) to ()[r, p, o] -> (1024) distinct
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r, 1, 16)> capacity [8, 1, 16] strides [16, 1024, 16] in @k_memory {slots = @slots, page = 64 : i64, page_stride = 1024 : i64, interleave = 16 : i64}
  event.buffer @dense transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @dense_memory
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 16)>,
                #event.access<write @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {}
    event.phase "append" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 16)>,
                #event.access<read @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<read @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @k, (m)[r, p, o] -> (m * 4, 0, 0) to (m)[r, p, o] -> (m * 4 + 4, 1, 16)>] {
      // expected-error @below {{'append_key_pages' is given @k with other pages than it has: of 64 indices, in panels of 16, 1024 elements apart}}
      event.call "append_key_pages" [#event.address<@k, (m)[r, p, o] -> (m * 4, 0, 0)>, 2048, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.address<@slots, (m)[r, p, o] -> (m * 4)>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 16, 16]
    }
  }
}

// -----

// Rows are of another form.

event.program @other_form max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 512
  event.storage @slots_memory bytes 64
  event.storage @other_memory bytes 64
  event.storage @k_memory bytes 4096
  event.storage @dense_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @x_memory
  event.buffer @slots transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @slots_memory
  event.buffer @other transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @other_memory
  event.table @slots holds ()[r, p, o] -> (0) to ()[r, p, o] -> (1024) distinct
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r, 1, 16)> capacity [8, 1, 16] strides [16, 1024, 16] in @k_memory {slots = @slots, page = 64 : i64, page_stride = 1024 : i64, interleave = 16 : i64}
  event.buffer @dense transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @dense_memory
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 16)>,
                #event.access<write @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {}
    event.phase "append" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 16)>,
                #event.access<read @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<read @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @k, (m)[r, p, o] -> (m * 4, 0, 0) to (m)[r, p, o] -> (m * 4 + 4, 1, 16)>] {
      // expected-error @below {{'append_key_pages_int8': operand 'state' is}}
      event.call "append_key_pages_int8" [#event.address<@k, (m)[r, p, o] -> (m * 4, 0, 0)>, 1024, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.address<@slots, (m)[r, p, o] -> (m * 4)>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 16, 16]
    }
  }
}

// -----

// Rows go where another table says.

event.program @other_slots max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 512
  event.storage @slots_memory bytes 64
  event.storage @other_memory bytes 64
  event.storage @k_memory bytes 4096
  event.storage @dense_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @x_memory
  event.buffer @slots transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @slots_memory
  event.buffer @other transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @other_memory
  event.table @slots holds ()[r, p, o] -> (0) to ()[r, p, o] -> (1024) distinct
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r, 1, 16)> capacity [8, 1, 16] strides [16, 1024, 16] in @k_memory {slots = @slots, page = 64 : i64, page_stride = 1024 : i64, interleave = 16 : i64}
  event.buffer @dense transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @dense_memory
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 16)>,
                #event.access<write @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {}
    event.phase "append" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 16)>,
                #event.access<read @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<read @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @k, (m)[r, p, o] -> (m * 4, 0, 0) to (m)[r, p, o] -> (m * 4 + 4, 1, 16)>] {
      // expected-error @below {{'append_key_pages' is given @k with slots that are not those of its rows, @slots}}
      event.call "append_key_pages" [#event.address<@k, (m)[r, p, o] -> (m * 4, 0, 0)>, 1024, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.address<@other, (m)[r, p, o] -> (m * 4)>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 16, 16]
    }
  }
}

// -----

// Rows go where those of another tile do.

event.program @other_rows max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 512
  event.storage @slots_memory bytes 64
  event.storage @other_memory bytes 64
  event.storage @k_memory bytes 4096
  event.storage @dense_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @x_memory
  event.buffer @slots transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @slots_memory
  event.buffer @other transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @other_memory
  event.table @slots holds ()[r, p, o] -> (0) to ()[r, p, o] -> (1024) distinct
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r, 1, 16)> capacity [8, 1, 16] strides [16, 1024, 16] in @k_memory {slots = @slots, page = 64 : i64, page_stride = 1024 : i64, interleave = 16 : i64}
  event.buffer @dense transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @dense_memory
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 16)>,
                #event.access<write @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {}
    event.phase "append" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 16)>,
                #event.access<read @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<read @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @k, (m)[r, p, o] -> (m * 4, 0, 0) to (m)[r, p, o] -> (m * 4 + 4, 1, 16)>] {
      // expected-error @below {{'append_key_pages' is given @k with slots that are not those of its rows, @slots}}
      event.call "append_key_pages" [#event.address<@k, (m)[r, p, o] -> (m * 4, 0, 0)>, 1024, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.address<@slots, (m)[r, p, o] -> (0)>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 16, 16]
    }
  }
}

// -----

// What has no pages.

event.program @dense max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 512
  event.storage @slots_memory bytes 64
  event.storage @other_memory bytes 64
  event.storage @k_memory bytes 4096
  event.storage @dense_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @x_memory
  event.buffer @slots transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @slots_memory
  event.buffer @other transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @other_memory
  event.table @slots holds ()[r, p, o] -> (0) to ()[r, p, o] -> (1024) distinct
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r, 1, 16)> capacity [8, 1, 16] strides [16, 1024, 16] in @k_memory {slots = @slots, page = 64 : i64, page_stride = 1024 : i64, interleave = 16 : i64}
  event.buffer @dense transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @dense_memory
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 16)>,
                #event.access<write @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {}
    event.phase "append" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 16)>,
                #event.access<read @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<read @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @dense, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 16)>] {
      // expected-error @below {{'append_key_pages' is given @dense as 'state', which is no state in pages}}
      event.call "append_key_pages" [#event.address<@dense, (m)[r, p, o] -> (m * 4, 0)>, 1024, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.address<@slots, (m)[r, p, o] -> (m * 4)>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 16, 16]
    }
  }
}

// -----

// A body that knows of no pages.

event.program @no_pages max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 512
  event.storage @slots_memory bytes 64
  event.storage @other_memory bytes 64
  event.storage @k_memory bytes 4096
  event.storage @dense_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @x_memory
  event.buffer @slots transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @slots_memory
  event.buffer @other transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [8] strides [1] in @other_memory
  event.table @slots holds ()[r, p, o] -> (0) to ()[r, p, o] -> (1024) distinct
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r, 1, 16)> capacity [8, 1, 16] strides [16, 1024, 16] in @k_memory {slots = @slots, page = 64 : i64, page_stride = 1024 : i64, interleave = 16 : i64}
  event.buffer @dense transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [8, 16] strides [16, 1] in @dense_memory
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 16)>,
                #event.access<write @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {}
    event.phase "append" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 16)>,
                #event.access<read @slots, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<read @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @k, (m)[r, p, o] -> (m * 4, 0, 0) to (m)[r, p, o] -> (m * 4 + 4, 1, 16)>] {
      // expected-error @below {{'append_keys' is given @k as 'panels', a state in pages, of which it does not know where rows are}}
      event.call "append_keys" [#event.address<@k, (m)[r, p, o] -> (m * 4, 0, 0)>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, 0, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 16]
    }
  }
}
