// RUN: baton-opt %S/../tiling/inputs/block.mlir --tile-tasks="max-rows=16 linear-rows=8 linear-columns=16 attention-rows=4 plain-rows=4 max-outputs=2" --offload-layers --derive-events --plan-memory --event-verify | FileCheck %s
// RUN: baton-opt %s --offload-layers --verify-diagnostics -split-input-file

// A task in front of each layer waits for all who read the layer before, and all
// who read the layer wait for it.

// CHECK: event.buffer @layer_arrival persistent : i32
// CHECK-SAME: carry = #event<carry kept>
// CHECK: event.buffer @layer_arrived transient : i32
// CHECK: event.tensor @{{"?}}[[STACK:[a-z]+]].arrival.done shape {{.*}} capacity [] count
// CHECK: event.segment "[[STACK]]" repeat
// CHECK: event.phase "[[STACK]].arrival" grid {{.*}} accesses [#event.access<read @layer_arrival, {{.*}}>, #event.access<write @layer_arrived, {{.*}} waits [#event.wait<@linear.2.done distance 1,
// CHECK-NEXT: event.call "layer_arrival" [#event.address<@layer_arrived, {{.*}}>, #event.address<@layer_arrival, {{.*}}>]
// CHECK: event.phase "linear" {{.*}} #event.access<read @layer_arrived, {{.*}} waits [{{.*}}#event.wait<@{{"?}}[[STACK]].arrival.done,

// -----

// expected-error @+1 {{no layers repeat, of which some could be in a file while others run}}
event.program @flat max_rows 1 max_seq 1 max_outputs 1 {
  event.buffer @x persistent : f32 extents affine_map<()[s0, s1, s2] -> (1)> capacity [1] strides [1]
  event.segment "all" repeat 1 {
    event.phase "one" grid affine_map<()[s0, s1, s2] -> (1)> capacity [1]
        accesses [#event.access<write @x, (d0)[s0, s1, s2] -> (0) to (d0)[s0, s1, s2] -> (1)>] {
    }
  }
}
