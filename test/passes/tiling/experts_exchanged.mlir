// A mixture that trains on ranks that have rows of their own and two of four experts each: counts go
// first, and a table says where the rows of each expert begin. Rows go in one task, which writes what
// comes and no more; experts' products have segments of that. What a layer saves of them is cleared
// before, as the backward step's counts are another table.
//
// RUN: sed 's/^model.program/dist.mesh [ep = 2] batch [ep]\n&/' %S/experts_gradient.mlir > %t.mlir
// RUN: baton-opt %t.mlir --training-form --differentiate --cse --sharding-propagation=tactics=data:ep --insert-reshards --verify-sharding --lower-reshards --localize --exchange-experts --tile-tasks="max-rows=8 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s

// Of 8 rows with two experts each, on two ranks, 32 may come.
// CHECK-DAG: event.buffer @gate_up.saved transient : f32 {{.*}}capacity [33, 32] {{.*}}layers = 2
// CHECK-DAG: event.buffer @down.saved transient : f32 {{.*}}capacity [17, 16] {{.*}}layers = 2
// CHECK-DAG: event.buffer @gate.weights persistent : f32 {{.*}}capacity [2, 32, 16]{{.*}}experts.3.gate{{.*}}shards = [#event.shard<dimension = 0, extent = 4, axes = ["ep"]>]
// CHECK-DAG: event.table @dispatch.exchange.bounds holds {{.*}} to {{.*}}(s0 * 4 + 1) partition {segments = 4
// CHECK: event.segment "layers" repeat 2
// CHECK: event.call "dispatch_rows"
// CHECK: event.call "count_places"
// CHECK: event.phase "dispatch.exchange" grid
// CHECK: event.exchange all_to_all over ["ep"] for "exchange_counts" [#event.transfer<@dispatch.exchange.sent to @dispatch.exchange.counts, 32 by 16>]
// CHECK: event.call "bound_places"
// CHECK: event.phase "gather" grid
// CHECK: event.phase "gather.dispatch" grid {{.*}}entries [#event.address<@dispatch.exchange.bounds, (d0)[s0, s1, s2] -> (2)>]
// CHECK-SAME: #event.access<write @gather.dispatch, (d0, d1)[s0, s1, s2] -> (0, 0) to (d0, d1)[s0, s1, s2] -> (d1, 16)>
// CHECK: event.exchange dispatch over ["ep"] for "dispatch_rows" [#event.transfer<@gather to @gather.dispatch, ()[s0, s1, s2] -> (s0 * 32) by 16>] by [@dispatch.bounds, @dispatch.exchange.counts, @dispatch.exchange.bounds]
// CHECK: event.phase "gate_up.gate.clear"
// CHECK: event.phase "gate_up.gate" grid {{.*}}capacity [2, 1] entries [#event.address<@dispatch.exchange.bounds
// CHECK: event.phase "down" grid {{.*}}capacity [2, 1] entries [#event.address<@dispatch.exchange.bounds
// CHECK: event.phase "down.combine" grid
// CHECK: event.exchange combine over ["ep"] for "combine_rows" {{.*}} by [@dispatch.bounds, @dispatch.exchange.counts, @dispatch.exchange.bounds]
// CHECK: event.call "combine_rows"

// CHECK: event.segment "layers.backward{{.*}}" repeat 2 reverse
// CHECK: event.exchange all_to_all over ["ep"] for "exchange_counts"
// CHECK: event.phase "combine.input_gradient" grid
// CHECK: event.phase "combine.weight_gradient" grid
// CHECK-SAME: #event.access<read @down.saved
// CHECK: event.exchange dispatch over ["ep"]
// CHECK: event.call "product_gradient"
// Gathered again, and sent again.
// CHECK: event.exchange dispatch over ["ep"]
// CHECK: event.exchange combine over ["ep"]
// CHECK: event.phase "gather.gradient"
// Gradients of experts are no sums over ranks, others are.
// CHECK: event.exchange all_to_all over ["ep"] for "all_reduce"
// CHECK-SAME: @router.gradient
// CHECK-NOT: @gate.gradient to
