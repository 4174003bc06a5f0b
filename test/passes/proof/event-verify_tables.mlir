// RUN: baton-opt %s --derive-events --event-verify | FileCheck %s

// Work that depends on data: one task counts and sorts, others work on segments
// of a partition, and gather what they read.

// Segment by segment: a product of a segment waits for its own segment, for all
// of its columns. Whoever gathers waits for all.

// CHECK: event.program @segments
// CHECK-SAME: the table @bounds holds 0 to rows * 2 + 1, partition
// CHECK-SAME: the table @place holds 0 to rows * 2, distinct
// CHECK-SAME: status = "proved"
// CHECK: event.tensor @up.done shape #{{map[0-9]*}} capacity [8]
// CHECK: event.phase "up"
// CHECK-SAME: waits [#event.wait<@route.done, (d0, d1)[s0, s1, s2] -> () to (d0, d1)[s0, s1, s2] -> ()>]
// CHECK: event.phase "down"
// CHECK-SAME: waits [#event.wait<@up.done, (d0, d1)[s0, s1, s2] -> (d0) to (d0, d1)[s0, s1, s2] -> (d0 + 1)>]
// CHECK: event.phase "combine"
// CHECK-SAME: waits [#event.wait<@down.done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>]
#one = affine_map<()[r, p, o] -> (1)>
#eight = affine_map<()[r, p, o] -> (9)>
#twice = affine_map<()[r, p, o] -> (r * 2)>
event.program @segments max_rows 16 max_seq 64 max_outputs 1 {
  event.storage @x_memory bytes 4096
  event.storage @bounds_memory bytes 64
  event.storage @place_memory bytes 128
  event.storage @hidden_memory bytes 8192
  event.storage @out_memory bytes 8192
  event.storage @y_memory bytes 4096
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 64)> capacity [16, 64] strides [64, 1] in @x_memory
  event.buffer @bounds transient : i32 extents #eight capacity [9] strides [1] in @bounds_memory
  event.buffer @place transient : i32 extents #twice capacity [32] strides [1] in @place_memory
  event.buffer @hidden transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 64)> capacity [32, 64] strides [64, 1] in @hidden_memory
  event.buffer @out transient : f32 extents affine_map<()[r, p, o] -> (r * 2, 64)> capacity [32, 64] strides [64, 1] in @out_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 64)> capacity [16, 64] strides [64, 1] in @y_memory
  event.table @bounds holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2 + 1) partition
  event.table @place holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2) distinct
  event.segment "all" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [4]
      accesses [#event.access<write @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 64)>] {
    }
    event.phase "route" grid affine_map<()[r, p, o] -> ()> capacity []
      accesses [#event.access<read @x, ()[r, p, o] -> (0, 0) to ()[r, p, o] -> (r, 64)>,
                #event.access<write @bounds, ()[r, p, o] -> (0) to ()[r, p, o] -> (9)>,
                #event.access<write @place, ()[r, p, o] -> (0) to ()[r, p, o] -> (r * 2)>] {
    }
    event.phase "up" grid affine_map<()[r, p, o] -> (8, 4)> capacity [8, 4]
      entries [#event.address<@bounds, (s, c)[r, p, o] -> (s)>, #event.address<@bounds, (s, c)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, c, b, e)[r, p, o] -> (s) to (s, c, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @place, (s, c, b, e)[r, p, o] -> (b) to (s, c, b, e)[r, p, o] -> (e)>,
                #event.access<read @x, (s, c, b, e)[r, p, o] -> (0, 0) to (s, c, b, e)[r, p, o] -> (r, 64)>,
                #event.access<write @hidden, (s, c, b, e)[r, p, o] -> (b, c * 16) to (s, c, b, e)[r, p, o] -> (e, c * 16 + 16)>] {
    }
    event.phase "down" grid affine_map<()[r, p, o] -> (8, 2)> capacity [8, 2]
      entries [#event.address<@bounds, (s, c)[r, p, o] -> (s)>, #event.address<@bounds, (s, c)[r, p, o] -> (s + 1)>]
      accesses [#event.access<read @bounds, (s, c, b, e)[r, p, o] -> (s) to (s, c, b, e)[r, p, o] -> (s + 2)>,
                #event.access<read @hidden, (s, c, b, e)[r, p, o] -> (b, 0) to (s, c, b, e)[r, p, o] -> (e, 64)>,
                #event.access<write @out, (s, c, b, e)[r, p, o] -> (b, c * 32) to (s, c, b, e)[r, p, o] -> (e, c * 32 + 32)>] {
    }
    event.phase "combine" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [4]
      accesses [#event.access<read @place, (m)[r, p, o] -> (m * 8) to (m)[r, p, o] -> (m * 8 + 8)>,
                #event.access<read @out, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r * 2, 64)>,
                #event.access<write @y, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 64)>] {
    }
  }
}

// Rows in the order of a permutation: who writes row v(i) and who reads it meet
// at equal places only, and together they are all rows.

// CHECK: event.program @permuted
// CHECK: event.phase "scatter"
// CHECK: event.phase "read"
// CHECK-SAME: waits [#event.wait<@scatter.done, (d0)[s0, s1, s2] -> (d0) to (d0)[s0, s1, s2] -> (d0 + 1)>]
// CHECK: event.phase "all"
event.program @permuted max_rows 16 max_seq 64 max_outputs 1 {
  event.storage @order_memory bytes 64
  event.storage @x_memory bytes 4096
  event.storage @y_memory bytes 4096
  event.storage @z_memory bytes 4096
  event.buffer @order persistent : i32 extents affine_map<()[r, p, o] -> (16)> capacity [16] strides [1] in @order_memory {carry = #event<carry kept>}
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (16, 64)> capacity [16, 64] strides [64, 1] in @x_memory
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (16, 64)> capacity [16, 64] strides [64, 1] in @y_memory
  event.buffer @z transient : f32 extents affine_map<()[r, p, o] -> (16, 64)> capacity [16, 64] strides [64, 1] in @z_memory
  event.table @order holds ()[r, p, o] -> (0) to ()[r, p, o] -> (16) distinct
  event.segment "layers" repeat 3 {
    event.phase "scatter" grid affine_map<()[r, p, o] -> (16)> capacity [16]
      entries [#event.address<@order, (i)[r, p, o] -> (i)>]
      accesses [#event.access<read @order, (i, v)[r, p, o] -> (i) to (i, v)[r, p, o] -> (i + 1)>,
                #event.access<write @x, (i, v)[r, p, o] -> (v, 0) to (i, v)[r, p, o] -> (v + 1, 64)>] {
    }
    event.phase "read" grid affine_map<()[r, p, o] -> (16)> capacity [16]
      entries [#event.address<@order, (i)[r, p, o] -> (i)>]
      accesses [#event.access<read @order, (i, v)[r, p, o] -> (i) to (i, v)[r, p, o] -> (i + 1)>,
                #event.access<read @x, (i, v)[r, p, o] -> (v, 0) to (i, v)[r, p, o] -> (v + 1, 64)>,
                #event.access<write @y, (i, v)[r, p, o] -> (v, 0) to (i, v)[r, p, o] -> (v + 1, 64)>] {
    }
  }
  event.segment "end" repeat 1 {
    event.phase "all" grid affine_map<()[r, p, o] -> ()> capacity []
      accesses [#event.access<read @y, ()[r, p, o] -> (0, 0) to ()[r, p, o] -> (16, 64)>,
                #event.access<write @z, ()[r, p, o] -> (0, 0) to ()[r, p, o] -> (16, 64)>] {
    }
  }
}
