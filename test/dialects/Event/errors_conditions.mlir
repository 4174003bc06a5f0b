// RUN: baton-opt %s -split-input-file -verify-diagnostics

// Phases of which only some tasks have work, as a table of the step says.

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t persistent : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] {description = {role = "input"}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (5) any
  event.segment "s" repeat 1 {
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      when <@t, (i)[r, p, o] -> (i) below (i)[r, p, o] -> (i + 1, 4) by 2>
      accesses [#event.access<read @t, (i)[r, p, o] -> (i) to (i)[r, p, o] -> (i + 2)>, #event.access<may write @x, (i)[r, p, o] -> (i * 2) to (i)[r, p, o] -> (i * 2 + 2)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t persistent : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] {description = {role = "input"}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (5) any
  event.segment "s" repeat 1 {
    // expected-error @below {{has a condition of @x, of which no event.table says what it holds}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      when <@x, (i)[r, p, o] -> (i) below (i)[r, p, o] -> (i + 1) by 2>
      accesses [#event.access<read @t, (i)[r, p, o] -> (i) to (i)[r, p, o] -> (i + 2)>, #event.access<may write @x, (i)[r, p, o] -> (i * 2) to (i)[r, p, o] -> (i * 2 + 2)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t persistent : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] {description = {role = "input"}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (5) any
  event.segment "s" repeat 1 {
    // expected-error @below {{has a condition of @t, but states no read of it}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      when <@t, (i)[r, p, o] -> (i) below (i)[r, p, o] -> (i + 1, 4) by 2>
      accesses [#event.access<may write @x, (i)[r, p, o] -> (i * 2) to (i)[r, p, o] -> (i * 2 + 2)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t persistent : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] {description = {role = "input"}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (5) any
  event.segment "s" repeat 1 {
    // expected-error @below {{has a condition, so that it only may write @x}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      when <@t, (i)[r, p, o] -> (i) below (i)[r, p, o] -> (i + 1, 4) by 2>
      accesses [#event.access<read @t, (i)[r, p, o] -> (i) to (i)[r, p, o] -> (i + 2)>, #event.access<write @x, (i)[r, p, o] -> (i * 2) to (i)[r, p, o] -> (i * 2 + 2)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t persistent : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] {description = {role = "input"}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (5) any
  event.segment "s" repeat 1 {
    // expected-error @below {{a condition takes 2 coordinates, expected 1}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      when <@t, (i, k)[r, p, o] -> (i) below (i)[r, p, o] -> (i + 1) by 2>
      accesses [#event.access<read @t, (i)[r, p, o] -> (i) to (i)[r, p, o] -> (i + 2)>, #event.access<may write @x, (i)[r, p, o] -> (i * 2) to (i)[r, p, o] -> (i * 2 + 2)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t persistent : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] {description = {role = "input"}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (5) any
  event.segment "s" repeat 1 {
    // expected-error @below {{has a condition without an end}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      when <@t, (i)[r, p, o] -> (i) below (i)[r, p, o] -> () by 2>
      accesses [#event.access<read @t, (i)[r, p, o] -> (i) to (i)[r, p, o] -> (i + 2)>, #event.access<may write @x, (i)[r, p, o] -> (i * 2) to (i)[r, p, o] -> (i * 2 + 2)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t persistent : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] {description = {role = "input"}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (5) any
  event.segment "s" repeat 1 {
    // expected-error @below {{has a condition and entries of tables}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      entries [#event.address<@t, (i)[r, p, o] -> (i)>] when <@t, (i)[r, p, o] -> (i) below (i)[r, p, o] -> (i + 1, 4) by 2>
      accesses [#event.access<read @t, (i, v)[r, p, o] -> (i) to (i, v)[r, p, o] -> (i + 2)>, #event.access<may write @x, (i, v)[r, p, o] -> (i * 2) to (i, v)[r, p, o] -> (i * 2 + 2)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t persistent : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] {description = {role = "input"}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (5) any
  event.segment "s" repeat 1 {
    event.phase "count" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @t, (i)[r, p, o] -> (0) to (i)[r, p, o] -> (5)>] {}
    // expected-error @below {{has a condition of @t, which phase 'count' writes; what says which tasks have work is there before the step}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      when <@t, (i)[r, p, o] -> (i) below (i)[r, p, o] -> (i + 1, 4) by 2>
      accesses [#event.access<read @t, (i)[r, p, o] -> (i) to (i)[r, p, o] -> (i + 2)>, #event.access<may write @x, (i)[r, p, o] -> (i * 2) to (i)[r, p, o] -> (i * 2 + 2)>] {}
  }
}

// -----

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t persistent : i32 extents affine_map<()[r, p, o] -> (5)> capacity [5] strides [1] {description = {role = "input"}}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (8)> capacity [8] strides [1]
  event.table @t holds ()[r, p, o] -> (0) to ()[r, p, o] -> (5) any
  event.segment "s" repeat 1 {
    // expected-error @below {{has a condition by 0, expected at least 1}}
    event.phase "f" grid affine_map<()[r, p, o] -> (4)> capacity [4]
      when <@t, (i)[r, p, o] -> (i) below (i)[r, p, o] -> (i + 1, 4) by 0>
      accesses [#event.access<read @t, (i)[r, p, o] -> (i) to (i)[r, p, o] -> (i + 2)>, #event.access<may write @x, (i)[r, p, o] -> (i * 2) to (i)[r, p, o] -> (i * 2 + 2)>] {}
  }
}
