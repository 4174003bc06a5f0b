// RUN: baton-opt %s --derive-events --plan-memory --event-verify | FileCheck %s

// A table's numbers lie behind one another: it takes no row of a wider buffer,
// although nobody needs that any more.

// CHECK: event.program @table
// CHECK: event.buffer @x transient {{.*}} strides [16, 1] in @x_memory
// CHECK: event.buffer @late transient {{.*}} strides [16] in @x_memory
// CHECK: event.buffer @order transient {{.*}} strides [1] in @order_memory
event.program @table max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 16)> capacity [4, 16] strides [16, 1]
  event.buffer @y transient : f32 extents affine_map<()[r, p, o] -> (r, 4)> capacity [4, 4] strides [4, 1]
  event.buffer @late transient : f32 extents affine_map<()[r, p, o] -> (r)> capacity [4] strides [1]
  event.buffer @order transient : i32 extents affine_map<()[r, p, o] -> (r)> capacity [4] strides [1]
  event.table @order holds ()[r, p, o] -> (0) to ()[r, p, o] -> (r) distinct
  event.segment "s" repeat 1 {
    event.phase "make" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<write @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 16)>] {
    }
    event.phase "use" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @x, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 16)>,
                #event.access<write @y, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 4)>] {
    }
    event.phase "sort" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @y, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (r, 4)>,
                #event.access<write @order, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>,
                #event.access<write @late, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {
    }
    event.phase "find" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      entries [#event.address<@order, (m)[r, p, o] -> (m)>]
      accesses [#event.access<read @order, (m, v)[r, p, o] -> (m) to (m, v)[r, p, o] -> (m + 1)>,
                #event.access<read @late, (m, v)[r, p, o] -> (v) to (m, v)[r, p, o] -> (v + 1)>] {
    }
  }
}
