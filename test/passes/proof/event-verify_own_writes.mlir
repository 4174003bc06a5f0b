// A call reads what calls before it in its task have written: that is no read of what was there.
//
// RUN: baton-opt %s --event-verify --split-input-file --verify-diagnostics

// What a task's calls have written, the next ones may read without saying so.
event.program @sums max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
      event.call "add" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

// Of another task's rows nothing is said.
event.program @other_rows max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
      // expected-error @+1 {{'add' reads @y as 'a' where phase 'task' states no such read: @y}}
      event.call "add" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@y, (m)[r, p, o] -> (0, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

// The call that writes comes later.
event.program @too_early max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      // expected-error @+1 {{'add' reads @y as 'a' where phase 'task' states no such read: @y}}
      event.call "add" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}

// -----

// Half of each row is as it was.
event.program @half max_rows 8 max_seq 16 max_outputs 1 attributes {scratch_bytes = 256 : i64} {
  event.storage @xm bytes 4096
  event.storage @ym bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @xm
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [8, 8] strides [8, 1] in @ym
  event.tensor @made shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 8)>]
      notifies <@made, (m)[r, p, o] -> ()> {
    }
    event.phase "task" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [2]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>, #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      waits [#event.wait<@made, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.call "copy" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 4 : i64]
      // expected-error @+1 {{'add' reads @y as 'a' where phase 'task' states no such read: @y}}
      event.call "add" [#event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@y, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@y, [1, 0]>, #event.address<@x, (m)[r, p, o] -> (m * 4, 0)>, #event.stride<@x, [1, 0]>, #event.count<(m)[r, p, o] -> (4, r - m * 4)>, 8 : i64]
    }
  }
}
