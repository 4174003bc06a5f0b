// RUN: baton-opt %s --derive-events --plan-memory --event-verify | FileCheck %s

// Each iteration has copies of its own, so that no memory puts two of them in
// order. A word that both count up does: the phase waits for its own words of the
// iteration before.
// CHECK: event.program {{.*}} status = "proved"
// CHECK: event.phase "make"
// CHECK-SAME: waits [#event.wait<@make.done distance 1, (d0)[s0, s1, s2] -> (d0) to (d0)[s0, s1, s2] -> (d0 + 1)>] notifies <@make.done, (d0)[s0, s1, s2] -> (d0)>
// CHECK: event.phase "use"
// CHECK-SAME: waits [#event.wait<@make.done, (d0)[s0, s1, s2] -> (d0) to (d0)[s0, s1, s2] -> (d0 + 1)>] notifies <@use.done,

// Nobody waits for these words in the segment, and nobody tells iterations apart.
// CHECK: event.phase "last"
// CHECK-SAME: waits [#event.wait<@use.done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>]
event.program @copies max_rows 4 max_seq 8 max_outputs 1 {
  event.buffer @t transient : f32 extents affine_map<()[r, p, o] -> (r)> capacity [4] strides [1] {layers = 2 : i64}
  event.buffer @u transient : f32 extents affine_map<()[r, p, o] -> (r)> capacity [4] strides [1] {layers = 2 : i64}
  event.segment "layers" repeat 2 {
    event.phase "make" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<write @t, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {
    }
    event.phase "use" grid affine_map<()[r, p, o] -> (r)> capacity [4]
      accesses [#event.access<read @t, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>,
                #event.access<write @u, (m)[r, p, o] -> (m) to (m)[r, p, o] -> (m + 1)>] {
    }
  }
  event.segment "end" repeat 2 {
    event.phase "last" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @u, (m)[r, p, o] -> (0) to (m)[r, p, o] -> (r)>] {
    }
  }
}
