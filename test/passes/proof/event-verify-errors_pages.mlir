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
