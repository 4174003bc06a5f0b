// Access maps and calls of hyper-connections: a task has rows with all their
// streams, and the plan is proved.
//
// RUN: baton-opt %examples/hyper-connections.mlir --hyper-fusion --tile-tasks="max-rows=16 plain-rows=4 max-outputs=2" | FileCheck %s
// RUN: baton-opt %examples/hyper-connections.mlir --tile-tasks="max-rows=16 plain-rows=4 max-outputs=2" | FileCheck %s --check-prefix=PARTS
// RUN: baton-opt %examples/hyper-connections.mlir --hyper-fusion --tile-tasks="max-rows=16 plain-rows=4 max-outputs=2" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=PROVED
// RUN: cat %optimizers/sgd.mlir %examples/hyper-connections.mlir | baton-opt --training-form --differentiate --cse --canonicalize --tile-tasks="max-rows=16 plain-rows=4 max-outputs=2" | FileCheck %s --check-prefix=TRAIN

// Matrices are stored as they are, in one piece for each layer.
// CHECK-DAG: event.parameter @hyper_enter.phi : f32 layers 3 as #event.table<8 by 64>
// CHECK-DAG: event.parameter @hyper_enter.scale : f32 layers 3 as #event.vector<

// The carried value has all streams of a row.
// CHECK-DAG: event.buffer @carried transient : f32 {{.*}} capacity [16, 64]

// CHECK: event.phase "hyper_enter"
// CHECK-SAME: #event.access<read @carried, (d0)[s0, s1, s2] -> (d0 * 4, 0) to (d0)[s0, s1, s2] -> (d0 * 4 + 4, 64)>
// CHECK-SAME: #event.access<write @hyper_enter, (d0)[s0, s1, s2] -> (d0 * 4, 0) to (d0)[s0, s1, s2] -> (d0 * 4 + 4, 32)>
// CHECK-SAME: #event.access<write @hyper_enter.maps, (d0)[s0, s1, s2] -> (d0 * 4, 0) to (d0)[s0, s1, s2] -> (d0 * 4 + 4, 8)>
// CHECK-NEXT: event.call "hyper_enter" [#event.address<@hyper_enter, {{.+}}, #event.address<@hyper_enter.maps, {{.+}}, #event.address<@carried, {{.+}}, #event.weight<@hyper_enter.phi, {{.+}}, #event.weight<@hyper_enter.scale, {{.+}}, #event.weight<@hyper_enter.base, {{.+}}, #event.count<{{.+}} -> (4, d0 * -4 + s0)>, 2, 32, 9.99999997E-7 : f32, 3 : i32, 10, 9.99999997E-7 : f32]

// What is written begins behind what is read: an offset into the maps.
// CHECK: event.phase "hyper_turn"
// CHECK-SAME: #event.access<read @carried,
// CHECK-SAME: #event.access<read @hyper_enter.maps, (d0)[s0, s1, s2] -> (d0 * 4, 2) to (d0)[s0, s1, s2] -> (d0 * 4 + 4, 8)>
// CHECK-SAME: #event.access<write @hyper_turn.streams, (d0)[s0, s1, s2] -> (d0 * 4, 0) to (d0)[s0, s1, s2] -> (d0 * 4 + 4, 64)>
// CHECK-NEXT: event.call "hyper_turn"

// The last sublayer writes where the next iteration reads.
// CHECK: event.phase "hyper_post"
// CHECK-SAME: #event.access<write @carried, (d0)[s0, s1, s2] -> (d0 * 4, 0) to (d0)[s0, s1, s2] -> (d0 * 4 + 4, 64)>
// CHECK-NEXT: event.call "hyper_post" {{.*}}, 2, 32, 1 : i32]

// Of the last rows only; all maps are weights of what is read.
// CHECK: event.segment "end"
// CHECK: event.phase "hyper_enter.2"
// CHECK-SAME: #event.access<read @carried, (d0)[s0, s1, s2] -> (d0 * 4 + s0 - s2, 0)

// PARTS: event.call "hyper_project" {{.*}}, 64, 8, 9.99999997E-7 : f32]
// PARTS: event.call "hyper_maps" {{.*}}, 2, 3 : i32, 10, 9.99999997E-7 : f32]
// PARTS: event.call "hyper_pre" {{.*}}, 2, 32]
// PARTS: event.call "hyper_post"

// PROVED: event.program @hyper_connections {{.*}} proof {

// A gradient that sums over everything is one task's.
// TRAIN: event.segment "layers.backward{{.*}}" repeat 3 reverse
// TRAIN: event.call "hyper_post_gradient"
// TRAIN: event.call "hyper_pre_gradient"
// TRAIN: event.call "hyper_maps_gradient"
// TRAIN: event.phase "{{.*}}scale_gradient{{.*}}" grid {{.*}} capacity [1]
// TRAIN-NEXT: event.call "hyper_scale_gradient"
// TRAIN: event.call "hyper_project_gradient"
// TRAIN: event.call "scale_rows"
