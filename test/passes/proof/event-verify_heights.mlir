// RUN: baton-opt %s --event-verify --split-input-file --verify-diagnostics

// Tiles of three rows, and of five between them. @z lies a row behind @x, so that
// a tile of "c" writes a row of the tile of "a" behind its own. A tile of five
// orders the two where it has the last row of the one and the first of the other.
// Up to 15 rows that is always so.
#one = affine_map<()[r, p, o] -> (1)>
#threes = affine_map<()[r, p, o] -> (r ceildiv 3)>
#fives = affine_map<()[r, p, o] -> (r ceildiv 5)>
event.program @heights max_rows 15 max_seq 15 max_outputs 1 {
  event.storage @memory bytes 256
  event.storage @y_memory bytes 240
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [15, 4] strides [4, 1] in @memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [15, 4] strides [4, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [15, 4] strides [4, 1] in @memory {offset = 4 : i64}
  event.tensor @a.done shape #threes capacity [6] count #one
  event.tensor @b.done shape #fives capacity [4] count #one
  event.segment "all" repeat 1 {
    event.phase "a" grid #threes capacity [6]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m * 3, 0) to (m)[r, p, o] -> (m * 3 + 3, 4)>]
      notifies <@a.done, (m)[r, p, o] -> (m)> {
    }
    event.phase "b" grid #fives capacity [4]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 5, 0) to (m)[r, p, o] -> (m * 5 + 5, 4)>,
                #event.access<write @y, (m)[r, p, o] -> (m * 5, 0) to (m)[r, p, o] -> (m * 5 + 5, 4)>]
      waits [#event.wait<@a.done, (m)[r, p, o] -> ((m * 5) floordiv 3) to (m)[r, p, o] -> ((m * 5 + 5) ceildiv 3)>]
      notifies <@b.done, (m)[r, p, o] -> (m)> {
    }
    event.phase "c" grid #threes capacity [6]
      accesses [#event.access<read @y, (m)[r, p, o] -> (m * 3, 0) to (m)[r, p, o] -> (m * 3 + 3, 4)>,
                #event.access<write @z, (m)[r, p, o] -> (m * 3, 0) to (m)[r, p, o] -> (m * 3 + 3, 4)>]
      waits [#event.wait<@b.done, (m)[r, p, o] -> ((m * 3) floordiv 5) to (m)[r, p, o] -> ((m * 3 + 3) ceildiv 5)>] {
    }
  }
}

// -----

// With a sixteenth row a tile of five ends between the two.
#one = affine_map<()[r, p, o] -> (1)>
#threes = affine_map<()[r, p, o] -> (r ceildiv 3)>
#fives = affine_map<()[r, p, o] -> (r ceildiv 5)>
event.program @heights max_rows 16 max_seq 16 max_outputs 1 {
  event.storage @memory bytes 272
  event.storage @y_memory bytes 256
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [16, 4] strides [4, 1] in @memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [16, 4] strides [4, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [16, 4] strides [4, 1] in @memory {offset = 4 : i64}
  event.tensor @a.done shape #threes capacity [6] count #one
  event.tensor @b.done shape #fives capacity [4] count #one
  event.segment "all" repeat 1 {
    event.phase "a" grid #threes capacity [6]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m * 3, 0) to (m)[r, p, o] -> (m * 3 + 3, 4)>]
      notifies <@a.done, (m)[r, p, o] -> (m)> {
    }
    event.phase "b" grid #fives capacity [4]
      accesses [#event.access<read @x, (m)[r, p, o] -> (m * 5, 0) to (m)[r, p, o] -> (m * 5 + 5, 4)>,
                #event.access<write @y, (m)[r, p, o] -> (m * 5, 0) to (m)[r, p, o] -> (m * 5 + 5, 4)>]
      waits [#event.wait<@a.done, (m)[r, p, o] -> ((m * 5) floordiv 3) to (m)[r, p, o] -> ((m * 5 + 5) ceildiv 3)>]
      notifies <@b.done, (m)[r, p, o] -> (m)> {
    }
    // expected-error @+1 {{phase 'c' does not wait for phase 'a': write after write of @z and @x, which share @memory in the same iteration; for example c(4) before a(5)}}
    event.phase "c" grid #threes capacity [6]
      accesses [#event.access<read @y, (m)[r, p, o] -> (m * 3, 0) to (m)[r, p, o] -> (m * 3 + 3, 4)>,
                #event.access<write @z, (m)[r, p, o] -> (m * 3, 0) to (m)[r, p, o] -> (m * 3 + 3, 4)>]
      waits [#event.wait<@b.done, (m)[r, p, o] -> ((m * 3) floordiv 5) to (m)[r, p, o] -> ((m * 3 + 3) ceildiv 5)>] {
    }
  }
}
