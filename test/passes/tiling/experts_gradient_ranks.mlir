// A mixture that trains on ranks that have two of four experts each: tasks between products have the
// segment of one of these, too, and what a layer saves is cleared before, as the backward step's
// bounds are another table.
//
// RUN: sed 's/^model.program/dist.mesh [ep = 2]\n&/' %S/experts_gradient.mlir > %t.mlir
// RUN: baton-opt %t.mlir --training-form --differentiate --cse --sharding-propagation=tactics=experts:ep --insert-reshards --verify-sharding --lower-reshards --localize --tile-tasks="max-rows=8 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s

// CHECK-DAG: event.buffer @gate.weights persistent : f32 {{.*}}capacity [2, 32, 16]{{.*}}experts.3.gate{{.*}}shards = [#event.shard<dimension = 0, extent = 4, axes = ["ep"]>]
// CHECK-DAG: event.table @dispatch.bounds holds {{.*}}segments
// CHECK: event.segment "layers" repeat 2
// CHECK: event.call "dispatch_rows_part"
// CHECK: event.phase "gate_up.gate.clear" grid {{.*}}capacity [1]
// CHECK-NOT: entries
// CHECK: event.call "clear" [#event.address<@gate_up.gate.saved
// CHECK: event.phase "gate_up.gate" grid {{.*}}capacity [2, 1] entries [#event.address<@dispatch.bounds
// CHECK: event.phase "gate_up.activation" grid {{.*}}capacity [2] entries [#event.address<@dispatch.bounds
// CHECK: event.call "silu"
// CHECK: event.phase "all_reduce.exchange"

// CHECK: event.segment "layers.backward{{.*}}" repeat 2 reverse
// CHECK: event.phase "combine.input_gradient" grid {{.*}}capacity [2] entries [#event.address<@dispatch.2.bounds
// Nobody clears what is not saved.
// CHECK-NOT: event.call "clear"
// CHECK: event.phase "combine.weight_gradient" grid {{.*}}entries [#event.address<@dispatch.2.bounds, (d0)[s0, s1, s2] -> (2)>
// CHECK: event.phase "gather.gradient" grid {{.*}}entries [#event.address<@dispatch.2.bounds
