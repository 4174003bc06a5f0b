// RUN: baton-opt %S/../tiling/inputs/block.mlir --tile-tasks="max-rows=16 linear-rows=8 linear-columns=16 attention-rows=4 plain-rows=4 max-outputs=2" --derive-events --plan-memory --event-verify | FileCheck %s
// RUN: baton-opt %s -split-input-file --plan-memory --event-verify | FileCheck %s --check-prefix=SHARED

// In a block nothing may be shared: attention of one head may write while the
// linear's columns of another head are still read, and a planner that goes by
// the order of phases alone would put both into one storage.
// CHECK-DAG: event.buffer @linear transient {{.*}} in @linear_memory
// CHECK-DAG: event.buffer @attention transient {{.*}} in @attention_memory
// States have a storage of their own, all layers in it.
// CHECK-DAG: event.storage @k_memory bytes 12288

// A chain over rows: when z is written, row for row, all of x has been read.
// The narrower buffer takes the row stride of the wider.
// SHARED: event.program @chain
// SHARED: event.buffer @x transient {{.*}} strides [16, 1] in @[[FIRST:[a-z]+_memory]]
// SHARED: event.buffer @y transient {{.*}} in @[[SECOND:[a-z]+_memory]]
// SHARED: event.buffer @z transient {{.*}} strides [16, 1] in @[[FIRST]]
event.program @chain max_rows 8 max_seq 8 max_outputs 1 {
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [8, 4] strides [4, 1]
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [8, 4] strides [4, 1]
  event.buffer @z transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 12)> capacity [8, 12] strides [12, 1]
  event.tensor @written shape affine_map<()[rows, past, outputs] -> (rows)> capacity [8] count affine_map<()[rows, past, outputs] -> (1)>
  event.tensor @copied shape affine_map<()[rows, past, outputs] -> (rows)> capacity [8] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "write" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [8]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@written, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "copy" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [8]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      waits [#event.wait<@written, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>]
      notifies <@copied, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "widen" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [8]
      accesses [#event.access<read @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @z, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 12)>]
      waits [#event.wait<@copied, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}
