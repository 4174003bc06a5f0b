// A layer's weights are gathered while the layer before computes: into a ring of
// two layers, one of which is read.
//
// RUN: baton-opt %s --derive-events --event-verify | FileCheck %s
// RUN: sed -e 's/, ring}/}/' %s | not baton-opt --derive-events --event-verify 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: sed -e 's/layers = 2/layers = 3/; s/bytes 512/bytes 768/' %s | baton-opt --derive-events --event-verify | FileCheck %s --check-prefix=THREE
// RUN: sed -e 's/ attributes {ahead}//' %s | baton-opt --derive-events | FileCheck %s --check-prefix=NOW
// RUN: baton-opt %s --derive-events | sed -e 's/ attributes {ahead}//' | not baton-opt --event-verify 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: baton-opt %s --derive-events | sed -e 's/{layer_stride = 64 : i64, layers = 2 : i64, ring}/{}/' | not baton-opt --event-verify 2>&1 | FileCheck %s --check-prefix=LATE

event.program @p max_rows 4 max_seq 8 max_outputs 1 {
  event.mesh ["dp"] sizes [2] batch ["dp"]
  event.storage @ps bytes 512
  event.storage @ws bytes 512
  event.storage @ys bytes 16
  event.buffer @part persistent : f32 extents affine_map<()[rows, past, outputs] -> (1, 32)> capacity [1, 32] strides [32, 1] in @ps {carry = #event<carry kept>, layers = 4, layer_stride = 32}
  event.buffer @part.layer persistent : f32 extents affine_map<()[rows, past, outputs] -> (1, 32)> capacity [1, 32] strides [32, 1] in @ps
  event.buffer @w persistent : f32 extents affine_map<()[rows, past, outputs] -> (64)> capacity [64] strides [1] in @ws {layers = 2, layer_stride = 64, ring}
  event.buffer @w.layer persistent : f32 extents affine_map<()[rows, past, outputs] -> (64)> capacity [64] strides [1] in @ws
  event.buffer @y persistent : f32 extents affine_map<()[rows, past, outputs] -> (4)> capacity [4] strides [1] in @ys
  event.segment "begin" repeat 1 {
    event.phase "first" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @part.layer, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (1, 32)>,
                #event.access<write @w.layer, (t)[rows, past, outputs] -> (0) to (t)[rows, past, outputs] -> (64)>] {
      event.exchange all_gather over ["dp"] for "all_gather" [#event.transfer<@part.layer to @w.layer, 64 by 32>]
    }
  }
  event.segment "layers" repeat 4 {
    event.phase "gather" grid affine_map<()[rows, past, outputs] -> (1)> capacity [1]
      accesses [#event.access<read @part, (t)[rows, past, outputs] -> (0, 0) to (t)[rows, past, outputs] -> (1, 32)>,
                #event.access<write @w, (t)[rows, past, outputs] -> (0) to (t)[rows, past, outputs] -> (64)>] attributes {ahead} {
      event.exchange all_gather over ["dp"] for "all_gather" [#event.transfer<@part to @w, 64 by 32>]
    }
    event.phase "use" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @w, (m)[rows, past, outputs] -> (0) to (m)[rows, past, outputs] -> (64)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m) to (m)[rows, past, outputs] -> (m + 1)>] {
    }
  }
}

// CHECK: event.program {{.*}} status = "proved"
// CHECK: event.buffer @w persistent {{.*}} {layer_stride = 64 : i64, layers = 2 : i64, ring}
// It waits for those who have read the layer before, which lies where it writes,
// and not for those who read this one.
// CHECK: event.phase "gather"
// CHECK-SAME: waits [
// CHECK-DAG: #event.wait<@use.done distance 1,
// CHECK-DAG: #event.wait<@first.done,
// CHECK-SAME: attributes {ahead
// What a layer reads was gathered in the iteration before, or before the first.
// CHECK: event.phase "use"
// CHECK-SAME: #event.wait<@gather.done distance 1,
// CHECK-NOT: @gather.done,

// A buffer that is no ring has a copy for every iteration.
// LAYERS: repeats 4 times, but @w has 2 layers

// More copies are no longer as many iterations apart, and in order as well.
// THREE: event.program {{.*}} status = "proved"

// Not ahead, it waits for nobody of the iteration before the last, but readers
// wait for it.
// NOW: event.phase "use"
// NOW-SAME: #event.wait<@gather.done,

// With the waits of the former, that is a race.
// LATE: phase 'use' does not wait for phase 'gather': read after write of @w in the same iteration
