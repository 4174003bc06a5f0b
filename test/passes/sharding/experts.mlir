// A mixture on ranks: some of the experts each, along ep; a part of each, along tp; both. What
// experts have made of a row is added up once, behind combine.
//
// RUN: baton-opt %s --sharding-propagation=tactics=experts:ep --insert-reshards --verify-sharding --lower-reshards | FileCheck %s --check-prefix=EP
// RUN: baton-opt %s --sharding-propagation=tactics=tensor:tp --insert-reshards --verify-sharding --lower-reshards | FileCheck %s --check-prefix=TP
// RUN: baton-opt %s --sharding-propagation=tactics=tensor:tp,experts:ep --insert-reshards --verify-sharding --lower-reshards --localize | FileCheck %s --check-prefix=BOTH
// RUN: baton-opt %s --sharding-propagation="tactics=experts:tp,tensor:tp" --insert-reshards --verify-sharding --lower-reshards --localize | FileCheck %s --check-prefix=SPREAD
// RUN: not baton-opt %s --sharding-propagation=tactics=experts:three 2>&1 | FileCheck %s --check-prefix=THREE
// RUN: not baton-opt %s --sharding-propagation=tactics=tensor:three 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not baton-opt %s --sharding-propagation=tactics=tensor:tp,tensor:ep 2>&1 | FileCheck %s --check-prefix=NARROW

// EP: model.parameter ["{expert}.gate"] {dist.placements = [#dist.placement<[shard(ep), replicate, replicate]>]}
// EP: model.parameter ["{expert}.down"] {dist.placements = [#dist.placement<[shard(ep), replicate, replicate]>]}
// EP: model.route
// EP-NOT: dist.placements
// EP: model.dispatch
// EP-NOT: dist.placements
// EP: model.gather {{.*}} {dist.placements = [#dist.placement<[shard(ep), replicate, replicate]>]}
// EP: model.grouped_gated_linear {{.*}}dist.placements = [#dist.placement<[shard(ep), replicate, replicate]>]}
// EP: model.grouped_linear {{.*}} {dist.placements = [#dist.placement<[shard(ep), replicate, replicate]>]}
// EP: %[[S:.+]] = model.combine {{.*}} {dist.placements = [#dist.placement<[replicate, replicate], partial sum(ep)>]}
// EP-NEXT: dist.all_reduce %[[S]] {{.*}} over ["ep"] {{.*}} payload "4 * rows * 16"
// EP-NOT: dist.all_reduce

// TP: model.parameter ["{expert}.gate"] {dist.placements = [#dist.placement<[replicate, shard(tp), replicate]>]}
// TP: model.parameter ["{expert}.up"] {dist.placements = [#dist.placement<[replicate, shard(tp), replicate]>]}
// TP: model.parameter ["{expert}.down"] {dist.placements = [#dist.placement<[replicate, replicate, shard(tp)]>]}
// TP: model.gather
// TP-NOT: dist.placements
// TP: model.grouped_gated_linear {{.*}}dist.placements = [#dist.placement<[replicate, replicate, shard(tp)]>]}
// TP: model.grouped_linear {{.*}} {dist.placements = [#dist.placement<[replicate, replicate, replicate], partial sum(tp)>]}
// TP-NEXT: %[[S:.+]] = model.combine {{.*}} {dist.placements = [#dist.placement<[replicate, replicate], partial sum(tp)>]}
// The expert that all rows go to is a sum over the same ranks, times a gate: both are added up together.
// TP: model.gate {{.*}}partial sum(tp)
// TP: %[[A:.+]] = model.add {{.*}}partial sum(tp)
// TP-NEXT: dist.all_reduce %[[A]] {{.*}} over ["tp"] {{.*}} payload "4 * rows * 16"
// TP-NOT: dist.all_reduce

// BOTH: model.parameter ["{expert}.gate"] {shards = [#model.shard<0 of 4 over ["ep"]>, #model.shard<1 of 32 over ["tp"]>]} : <2 x 16 x 16 x f32>
// BOTH: model.parameter ["{expert}.down"] {shards = [#model.shard<0 of 4 over ["ep"]>, #model.shard<2 of 32 over ["tp"]>]} : <2 x 16 x 16 x f32>
// BOTH: model.dispatch {{.*}} {axes = ["ep"]} : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<4 x i32>,
// BOTH: model.gather {{.*}} -> !model.tensor<rows x 2 x 16 x f32>
// BOTH: %[[S:.+]] = model.combine %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : {{.*}}!model.tensor<4 x i32>) -> !model.tensor<rows x 16 x f32>
// BOTH-NEXT: dist.all_reduce %[[S]] {{.*}} over ["tp", "ep"]

// SPREAD: model.parameter ["{expert}.gate"] {shards = [#model.shard<0 of 4 over ["tp"]>]} : <2 x 32 x 16 x f32>
// SPREAD: model.dispatch {{.*}} {axes = ["tp"]}
// SPREAD: model.parameter ["shared.up"] {shards = [#model.shard<0 of 32 over ["tp"]>]} : <16 x 16 x f32>
// SPREAD: %[[A:.+]] = model.add
// SPREAD-NEXT: dist.all_reduce %[[A]] {{.*}} over ["tp"]
// SPREAD-NOT: dist.all_reduce

// THREE: error: 'model.grouped_linear' op cannot be sharded by tactic 'experts': dimension 0 of '{expert}.down', 4, is not divisible by axis "three" of size 3
// WIDTH: error: 'model.grouped_linear' op cannot be sharded by tactic 'tensor': experts are 32 wide inside, which 3 ranks along axis "three" cannot cut into multiples of 16
// NARROW: error: 'model.grouped_linear' op cannot be sharded by tactic 'tensor': experts are 32 wide inside, which 4 ranks along axis "ep" cannot cut into multiples of 16
dist.mesh [tp = 2, ep = 2, three = 3]
model.program @mixture max_seq 24 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<24 x 16 x f32>
  %router = model.parameter ["router"] : !model.tensor<4 x 16 x f32>
  %gate = model.parameter ["{expert}.gate"] : !model.tensor<4 x 32 x 16 x f32>
  %up = model.parameter ["{expert}.up"] : !model.tensor<4 x 32 x 16 x f32>
  %down = model.parameter ["{expert}.down"] : !model.tensor<4 x 16 x 32 x f32>
  %positions = model.parameter ["positions"] : !model.tensor<24 x 16 x f32>
  %x = model.position_embedding %positions : (!model.tensor<24 x 16 x f32>) -> !model.tensor<rows x 16 x f32>
  %l = model.linear %x, %router : (!model.tensor<rows x 16 x f32>, !model.tensor<4 x 16 x f32>) -> !model.tensor<rows x 4 x f32>
  %e, %w = model.route %l : (!model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<5 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>)
  %g = model.gather %x, %c : (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 2 x 16 x f32>
  %h = model.grouped_gated_linear %g, %b, %gate, %up {activation = #model.activation<silu>} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<5 x i32>, !model.tensor<4 x 32 x 16 x f32>, !model.tensor<4 x 32 x 16 x f32>) -> !model.tensor<rows x 2 x 32 x f32>
  %d = model.grouped_linear %h, %b, %down : (!model.tensor<rows x 2 x 32 x f32>, !model.tensor<5 x i32>, !model.tensor<4 x 16 x 32 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
  %s = model.combine %d, %p, %w : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 16 x f32>
  %su = model.parameter ["shared.up"] : !model.tensor<32 x 16 x f32>
  %sd = model.parameter ["shared.down"] : !model.tensor<16 x 32 x f32>
  %sg = model.parameter ["shared.gate"] : !model.tensor<1 x 16 x f32>
  %u = model.linear %x, %su : (!model.tensor<rows x 16 x f32>, !model.tensor<32 x 16 x f32>) -> !model.tensor<rows x 32 x f32>
  %v = model.linear %u, %sd : (!model.tensor<rows x 32 x f32>, !model.tensor<16 x 32 x f32>) -> !model.tensor<rows x 16 x f32>
  %q = model.linear %x, %sg : (!model.tensor<rows x 16 x f32>, !model.tensor<1 x 16 x f32>) -> !model.tensor<rows x 1 x f32>
  %vr = model.reshape %v : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 1 x 16 x f32>
  %vg = model.gate %vr, %q : (!model.tensor<rows x 1 x 16 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 1 x 16 x f32>
  %vs = model.reshape %vg : (!model.tensor<rows x 1 x 16 x f32>) -> !model.tensor<rows x 16 x f32>
  %a = model.add %s, %vs : (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 16 x f32>
  %last = model.last_rows %a : (!model.tensor<rows x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
  %o = model.linear %last, %wte : (!model.tensor<outputs x 16 x f32>, !model.tensor<24 x 16 x f32>) -> !model.tensor<outputs x 24 x f32>
  model.return %o : !model.tensor<outputs x 24 x f32>
}
