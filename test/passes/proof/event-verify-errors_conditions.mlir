// RUN: baton-opt %s --derive-events --event-verify --split-input-file --verify-diagnostics

// Tasks that have work only where a table of the step says so: what they leave out nobody may rely on.

// Fine, and what the others are changes of.

event.program @fine max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @l_memory bytes 608
  event.storage @draws_memory bytes 32
  event.storage @wanted_memory bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 19)> capacity [8, 19] strides [19, 1] in @l_memory
  event.buffer @draws transient : i32 extents affine_map<()[r, p, o] -> (o)> capacity [8] strides [1] in @draws_memory
  event.buffer @wanted_panels persistent : i32 extents affine_map<()[r, p, o] -> (6)> capacity [6] strides [1] in @wanted_memory {description = {role = "input"}}
  event.table @wanted_panels holds ()[r, p, o] -> (0) to ()[r, p, o] -> (6) any
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    event.phase "head" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      when <@wanted_panels, (c)[r, p, o] -> (c * 2) below (c)[r, p, o] -> (c * 2 + 2, 5) by 4>
      accesses [#event.access<read @x, (c)[r, p, o] -> (r - o, 0) to (c)[r, p, o] -> (r, 8)>,
                #event.access<read @wanted_panels, (c)[r, p, o] -> (c * 2) to (c)[r, p, o] -> (c * 2 + 3)>,
                #event.access<may write @l, (c)[r, p, o] -> (0, c * 8) to (c)[r, p, o] -> (o, c * 8 + 8)>] {}
    event.phase "sample" grid affine_map<()[r, p, o] -> (o)> capacity [8]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 19)>,
                #event.access<write @draws, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 19)>,
                #event.access<read @draws, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (o)>,
                #event.access<write @wanted_panels, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (6)>] {
      event.advance @l
    }
  }
}

// -----

// Who reads all of it relies on what may have been left out.

event.program @sampled max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @l_memory bytes 608
  event.storage @draws_memory bytes 32
  event.storage @wanted_memory bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 19)> capacity [8, 19] strides [19, 1] in @l_memory
  event.buffer @draws transient : i32 extents affine_map<()[r, p, o] -> (o)> capacity [8] strides [1] in @draws_memory
  event.buffer @wanted_panels persistent : i32 extents affine_map<()[r, p, o] -> (6)> capacity [6] strides [1] in @wanted_memory {description = {role = "input"}}
  event.table @wanted_panels holds ()[r, p, o] -> (0) to ()[r, p, o] -> (6) any
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    event.phase "head" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      when <@wanted_panels, (c)[r, p, o] -> (c * 2) below (c)[r, p, o] -> (c * 2 + 2, 5) by 4>
      accesses [#event.access<read @x, (c)[r, p, o] -> (r - o, 0) to (c)[r, p, o] -> (r, 8)>,
                #event.access<read @wanted_panels, (c)[r, p, o] -> (c * 2) to (c)[r, p, o] -> (c * 2 + 3)>,
                #event.access<may write @l, (c)[r, p, o] -> (0, c * 8) to (c)[r, p, o] -> (o, c * 8 + 8)>] {}
    // expected-error @below {{phase 'sample' reads @l(7, 0), which no task before it writes}}
    event.phase "sample" grid affine_map<()[r, p, o] -> (o)> capacity [8]
      accesses [#event.access<read @l, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 19)>,
                #event.access<write @draws, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 19)>,
                #event.access<read @draws, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (o)>,
                #event.access<write @wanted_panels, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (6)>] {
      event.advance @l
    }
  }
}

// -----

// The end of a task's panels is read, too.

event.program @unstated max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @l_memory bytes 608
  event.storage @draws_memory bytes 32
  event.storage @wanted_memory bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 19)> capacity [8, 19] strides [19, 1] in @l_memory
  event.buffer @draws transient : i32 extents affine_map<()[r, p, o] -> (o)> capacity [8] strides [1] in @draws_memory
  event.buffer @wanted_panels persistent : i32 extents affine_map<()[r, p, o] -> (6)> capacity [6] strides [1] in @wanted_memory {description = {role = "input"}}
  event.table @wanted_panels holds ()[r, p, o] -> (0) to ()[r, p, o] -> (6) any
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    // expected-error @below {{phase 'head' has a condition of @wanted_panels(4), of which it states no read}}
    event.phase "head" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      when <@wanted_panels, (c)[r, p, o] -> (c * 2) below (c)[r, p, o] -> (c * 2 + 2, 5) by 4>
      accesses [#event.access<read @x, (c)[r, p, o] -> (r - o, 0) to (c)[r, p, o] -> (r, 8)>,
                #event.access<read @wanted_panels, (c)[r, p, o] -> (c * 2) to (c)[r, p, o] -> (c * 2 + 2)>,
                #event.access<may write @l, (c)[r, p, o] -> (0, c * 8) to (c)[r, p, o] -> (o, c * 8 + 8)>] {}
    event.phase "sample" grid affine_map<()[r, p, o] -> (o)> capacity [8]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 19)>,
                #event.access<write @draws, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 19)>,
                #event.access<read @draws, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (o)>,
                #event.access<write @wanted_panels, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (6)>] {
      event.advance @l
    }
  }
}

// -----

// The last task has fewer panels than others: its end lies behind the table's.

event.program @behind max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @l_memory bytes 608
  event.storage @draws_memory bytes 32
  event.storage @wanted_memory bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 19)> capacity [8, 19] strides [19, 1] in @l_memory
  event.buffer @draws transient : i32 extents affine_map<()[r, p, o] -> (o)> capacity [8] strides [1] in @draws_memory
  event.buffer @wanted_panels persistent : i32 extents affine_map<()[r, p, o] -> (6)> capacity [6] strides [1] in @wanted_memory {description = {role = "input"}}
  event.table @wanted_panels holds ()[r, p, o] -> (0) to ()[r, p, o] -> (6) any
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    // expected-error @below {{phase 'head' has a condition of @wanted_panels(6), of which it states no read}}
    event.phase "head" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      when <@wanted_panels, (c)[r, p, o] -> (c * 2) below (c)[r, p, o] -> (c * 2 + 2) by 4>
      accesses [#event.access<read @x, (c)[r, p, o] -> (r - o, 0) to (c)[r, p, o] -> (r, 8)>,
                #event.access<read @wanted_panels, (c)[r, p, o] -> (c * 2) to (c)[r, p, o] -> (c * 2 + 3)>,
                #event.access<may write @l, (c)[r, p, o] -> (0, c * 8) to (c)[r, p, o] -> (o, c * 8 + 8)>] {}
    event.phase "sample" grid affine_map<()[r, p, o] -> (o)> capacity [8]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 19)>,
                #event.access<write @draws, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 19)>,
                #event.access<read @draws, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (o)>,
                #event.access<write @wanted_panels, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (6)>] {
      event.advance @l
    }
  }
}

// -----

// Tasks look at the table before their waits, so that no task may write it.

event.program @renamed max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @l_memory bytes 608
  event.storage @draws_memory bytes 32
  event.storage @wanted_memory bytes 64
  event.buffer @other persistent : i32 extents affine_map<()[r, p, o] -> (6)> capacity [6] strides [1] in @wanted_memory {description = {role = "input"}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 19)> capacity [8, 19] strides [19, 1] in @l_memory
  event.buffer @draws transient : i32 extents affine_map<()[r, p, o] -> (o)> capacity [8] strides [1] in @draws_memory
  event.buffer @wanted_panels persistent : i32 extents affine_map<()[r, p, o] -> (6)> capacity [6] strides [1] in @wanted_memory {description = {role = "input"}}
  event.table @wanted_panels holds ()[r, p, o] -> (0) to ()[r, p, o] -> (6) any
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    event.phase "count" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @other, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (6)>] {}
    // expected-error @below {{phase 'head' has a condition of @wanted_panels, whose storage phase 'count' writes as @other}}
    event.phase "head" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      when <@wanted_panels, (c)[r, p, o] -> (c * 2) below (c)[r, p, o] -> (c * 2 + 2, 5) by 4>
      accesses [#event.access<read @x, (c)[r, p, o] -> (r - o, 0) to (c)[r, p, o] -> (r, 8)>,
                #event.access<read @wanted_panels, (c)[r, p, o] -> (c * 2) to (c)[r, p, o] -> (c * 2 + 3)>,
                #event.access<may write @l, (c)[r, p, o] -> (0, c * 8) to (c)[r, p, o] -> (o, c * 8 + 8)>] {}
    event.phase "sample" grid affine_map<()[r, p, o] -> (o)> capacity [8]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 19)>,
                #event.access<write @draws, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 19)>,
                #event.access<read @draws, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (o)>,
                #event.access<write @wanted_panels, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (6)>] {
      event.advance @l
    }
  }
}

// -----

// A unit that a task writes some of, and does not look at.

event.program @early max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @l_memory bytes 608
  event.storage @draws_memory bytes 32
  event.storage @wanted_memory bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 19)> capacity [8, 19] strides [19, 1] in @l_memory
  event.buffer @draws transient : i32 extents affine_map<()[r, p, o] -> (o)> capacity [8] strides [1] in @draws_memory
  event.buffer @wanted_panels persistent : i32 extents affine_map<()[r, p, o] -> (6)> capacity [6] strides [1] in @wanted_memory {description = {role = "input"}}
  event.table @wanted_panels holds ()[r, p, o] -> (0) to ()[r, p, o] -> (6) any
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    // expected-error @below {{phase 'head' writes index 7 in the last dimension of @l, of whose unit its condition says nothing; for example head(0)}}
    event.phase "head" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      when <@wanted_panels, (c)[r, p, o] -> (c * 2) below (c)[r, p, o] -> (c * 2 + 1, 5) by 4>
      accesses [#event.access<read @x, (c)[r, p, o] -> (r - o, 0) to (c)[r, p, o] -> (r, 8)>,
                #event.access<read @wanted_panels, (c)[r, p, o] -> (c * 2) to (c)[r, p, o] -> (c * 2 + 3)>,
                #event.access<may write @l, (c)[r, p, o] -> (0, c * 8) to (c)[r, p, o] -> (o, c * 8 + 8)>] {}
    event.phase "sample" grid affine_map<()[r, p, o] -> (o)> capacity [8]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 19)>,
                #event.access<write @draws, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 19)>,
                #event.access<read @draws, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (o)>,
                #event.access<write @wanted_panels, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (6)>] {
      event.advance @l
    }
  }
}

// -----

// Nor may it begin to look behind its first one.

event.program @late max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @l_memory bytes 608
  event.storage @draws_memory bytes 32
  event.storage @wanted_memory bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 19)> capacity [8, 19] strides [19, 1] in @l_memory
  event.buffer @draws transient : i32 extents affine_map<()[r, p, o] -> (o)> capacity [8] strides [1] in @draws_memory
  event.buffer @wanted_panels persistent : i32 extents affine_map<()[r, p, o] -> (6)> capacity [6] strides [1] in @wanted_memory {description = {role = "input"}}
  event.table @wanted_panels holds ()[r, p, o] -> (0) to ()[r, p, o] -> (6) any
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    // expected-error @below {{phase 'head' writes index 16 in the last dimension of @l, of whose unit its condition says nothing; for example head(2)}}
    event.phase "head" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      when <@wanted_panels, (c)[r, p, o] -> (c * 2 + 1) below (c)[r, p, o] -> (c * 2 + 2, 5) by 4>
      accesses [#event.access<read @x, (c)[r, p, o] -> (r - o, 0) to (c)[r, p, o] -> (r, 8)>,
                #event.access<read @wanted_panels, (c)[r, p, o] -> (c * 2) to (c)[r, p, o] -> (c * 2 + 3)>,
                #event.access<may write @l, (c)[r, p, o] -> (0, c * 8) to (c)[r, p, o] -> (o, c * 8 + 8)>] {}
    event.phase "sample" grid affine_map<()[r, p, o] -> (o)> capacity [8]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 19)>,
                #event.access<write @draws, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 19)>,
                #event.access<read @draws, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (o)>,
                #event.access<write @wanted_panels, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (6)>] {
      event.advance @l
    }
  }
}

// -----

// Units are as wide as is said.

event.program @wide max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @l_memory bytes 608
  event.storage @draws_memory bytes 32
  event.storage @wanted_memory bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 19)> capacity [8, 19] strides [19, 1] in @l_memory
  event.buffer @draws transient : i32 extents affine_map<()[r, p, o] -> (o)> capacity [8] strides [1] in @draws_memory
  event.buffer @wanted_panels persistent : i32 extents affine_map<()[r, p, o] -> (6)> capacity [6] strides [1] in @wanted_memory {description = {role = "input"}}
  event.table @wanted_panels holds ()[r, p, o] -> (0) to ()[r, p, o] -> (6) any
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    // expected-error @below {{phase 'head' writes index 18 in the last dimension of @l, of whose unit its condition says nothing}}
    event.phase "head" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      when <@wanted_panels, (c)[r, p, o] -> (c * 2) below (c)[r, p, o] -> (c * 2 + 2, 5) by 3>
      accesses [#event.access<read @x, (c)[r, p, o] -> (r - o, 0) to (c)[r, p, o] -> (r, 8)>,
                #event.access<read @wanted_panels, (c)[r, p, o] -> (c * 2) to (c)[r, p, o] -> (c * 2 + 3)>,
                #event.access<may write @l, (c)[r, p, o] -> (0, c * 8) to (c)[r, p, o] -> (o, c * 8 + 8)>] {}
    event.phase "sample" grid affine_map<()[r, p, o] -> (o)> capacity [8]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 19)>,
                #event.access<write @draws, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 19)>,
                #event.access<read @draws, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (o)>,
                #event.access<write @wanted_panels, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (6)>] {
      event.advance @l
    }
  }
}

// -----

// The table is the next step's once the step has advanced.

event.program @behind max_rows 8 max_seq 8 max_outputs 8 attributes {event.batch = {longest_sequence = 64 : i64, sequences = 2 : i64}} {
  event.storage @x_memory bytes 256
  event.storage @l_memory bytes 608
  event.storage @wanted_memory bytes 64
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @x_memory
  event.buffer @l transient : f32 extents affine_map<()[r, p, o] -> (o, 19)> capacity [8, 19] strides [19, 1] in @l_memory
  event.buffer @wanted_panels persistent : i32 extents affine_map<()[r, p, o] -> (6)> capacity [6] strides [1] in @wanted_memory {description = {role = "input"}}
  event.table @wanted_panels holds ()[r, p, o] -> (0) to ()[r, p, o] -> (6) any
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r)> capacity [8]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m, 0) to (m)[r, p, o] -> (m + 1, 8)>] {}
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<may read @l, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 19)>,
                #event.access<write @wanted_panels, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (6)>] {
      event.advance @l
    }
    // expected-error @below {{phase 'head' has a condition of @wanted_panels behind phase 'advance', which advances: it is the next step's by then}}
    event.phase "head" grid affine_map<()[r, p, o] -> (3)> capacity [3]
      when <@wanted_panels, (c)[r, p, o] -> (c * 2) below (c)[r, p, o] -> (c * 2 + 2, 5) by 4>
      accesses [#event.access<read @x, (c)[r, p, o] -> (r - o, 0) to (c)[r, p, o] -> (r, 8)>,
                #event.access<read @wanted_panels, (c)[r, p, o] -> (c * 2) to (c)[r, p, o] -> (c * 2 + 3)>,
                #event.access<may write @l, (c)[r, p, o] -> (0, c * 8) to (c)[r, p, o] -> (o, c * 8 + 8)>] {}
  }
}
