// A mixture that trains, on ranks: a part of each expert along tp, some of them along ep. Rows are
// added up behind combine and, backward, behind the adjoint of gather. What the second product has
// made is a part of a sum that each rank saves for itself: ranks add up the k gradients of weights
// that it makes, not its numbers. Gradients of experts are sums over dp alone.
//
// RUN: baton-opt %s --training-form --differentiate --cse --sharding-propagation=tactics=tensor:tp --insert-reshards --verify-sharding --lower-reshards | FileCheck %s --check-prefix=TP
// RUN: baton-opt %s --training-form --differentiate --cse --sharding-propagation=tactics=data:dp,experts:ep --insert-reshards --verify-sharding --lower-reshards | FileCheck %s --check-prefix=EP
// RUN: baton-opt %s --training-form --differentiate --cse --sharding-propagation=tactics=data:dp,tensor:tp,experts:ep --insert-reshards --verify-sharding --lower-reshards --localize | FileCheck %s --check-prefix=BOTH
// RUN: baton-opt %s --training-form --differentiate --recompute=mode=full --cse --sharding-propagation=tactics=tensor:tp,experts:ep --insert-reshards --verify-sharding --lower-reshards --localize | FileCheck %s --check-prefix=FULL
// RUN: not baton-opt %s --training-form --differentiate --cse --sharding-propagation=tactics=experts:three 2>&1 | FileCheck %s --check-prefix=THREE
// RUN: not baton-opt %s --training-form --differentiate --cse --sharding-propagation=tactics=tensor:three 2>&1 | FileCheck %s --check-prefix=WIDTH

// TP: model.stack
// TP: model.parameter ["layers.{layer}.experts.{expert}.gate"] {dist.placements = [#dist.placement<[replicate, shard(tp), replicate]>]}
// TP: model.parameter ["layers.{layer}.experts.{expert}.down"] {dist.placements = [#dist.placement<[replicate, replicate, shard(tp)]>]}
// TP-NOT: dist.all_reduce
// TP: %[[D:.+]] = model.grouped_linear {{.*}} {dist.placements = [#dist.placement<[replicate, replicate, replicate], partial sum(tp)>]}
// TP-NEXT: model.save %[[D]] to "down"
// TP-NEXT: %[[S:.+]] = model.combine %[[D]], {{.*}}partial sum(tp)
// TP-NEXT: dist.all_reduce %[[S]] {{.*}} over ["tp"] {{.*}} payload "4 * rows * 16"
// TP-NOT: dist.all_reduce
// TP: dist.logit_maximum
// TP: reverse
// TP: %[[D2:.+]] = model.saved "down" {dist.placements = [#dist.placement<[replicate, replicate, replicate], partial sum(tp)>]}
// TP-NOT: dist.all_reduce
// TP: %[[W:.+]] = model.combine_weight_gradient %{{.+}}, %[[D2]], {{.*}}partial sum(tp)
// TP-NEXT: %[[DW:.+]] = dist.all_reduce %[[W]] {{.*}} payload "4 * rows * 2"
// TP-NOT: dist.all_reduce
// TP: %[[DX:.+]] = model.gather_gradient {{.*}}partial sum(tp)
// TP-NEXT: dist.all_reduce %[[DX]] {{.*}} over ["tp"] {{.*}} payload "4 * rows * 16"
// TP-NEXT: model.route_gradient %[[DW]]
// TP-NOT: dist.all_reduce

// EP: model.stack
// EP: model.parameter ["layers.{layer}.experts.{expert}.down"] {dist.placements = [#dist.placement<[shard(ep), replicate, replicate]>]}
// EP: model.gather {{.*}} {dist.placements = [#dist.placement<[shard(dp, ep), replicate, replicate]>]}
// EP: model.activate {{.*}}#dist.placement<[shard(dp, ep), replicate, replicate]>
// EP: %[[S:.+]] = model.combine {{.*}} {dist.placements = [#dist.placement<[shard(dp), replicate], partial sum(ep)>]}
// EP-NEXT: dist.all_reduce %[[S]] {{.*}} over ["ep"]
// EP: reverse
// EP: model.saved "down" {dist.placements = [#dist.placement<[shard(dp, ep), replicate, replicate]>]}
// EP: %[[W:.+]] = model.combine_weight_gradient {{.*}} {dist.placements = [#dist.placement<[shard(dp), replicate], partial sum(ep)>]}
// EP-NEXT: dist.all_reduce %[[W]] {{.*}} over ["ep"]
// EP: %[[DOWN:.+]] = model.grouped_linear_weight_gradient {{.*}} {dist.placements = [#dist.placement<[shard(ep), replicate, replicate], partial sum(dp)>]}
// EP-NEXT: dist.all_reduce %[[DOWN]] {{.*}} over ["dp"]

// BOTH: model.parameter ["layers.{layer}.experts.{expert}.gate"] {shards = [#model.shard<0 of 4 over ["ep"]>, #model.shard<1 of 32 over ["tp"]>]} : <2 x 16 x 16 x f32>
// BOTH: %[[B:.+]], %[[C:.+]], %[[P:.+]] = model.dispatch {{.*}} {axes = ["ep"]} : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<4 x i32>,
// BOTH: model.gather {{.*}} -> !model.tensor<rows x 2 x 16 x f32>
// BOTH: %[[S:.+]] = model.combine %{{.+}}, %[[P]], %{{.+}}, %[[B]] :
// BOTH-NEXT: dist.all_reduce %[[S]] {{.*}} over ["tp", "ep"]
// BOTH: reverse
// BOTH: %[[B2:.+]], %[[C2:.+]], %[[P2:.+]] = model.dispatch {{.*}} {axes = ["ep"]}
// BOTH: model.combine_weight_gradient %{{.+}}, %{{.+}}, %[[P2]], %[[B2]] :
// BOTH-NEXT: dist.all_reduce {{.*}} over ["tp", "ep"] {{.*}} payload "4 * rows * 2"
// BOTH: model.gradient %{{.+}} of %{{.+}} {dist.summed = ["dp"]} : <2 x 16 x 16 x f32>
// BOTH: model.gather_gradient %{{.+}}, %[[P2]], %[[B2]] :
// BOTH-NEXT: dist.all_reduce {{.*}} over ["tp", "ep"] {{.*}} payload "4 * rows * 16"

// FULL: reverse
// FULL: model.dispatch {{.*}} {axes = ["ep"]}
// FULL: model.combine_weight_gradient

// THREE: error: {{.*}}cannot be sharded by tactic 'experts': dimension 0 of 'layers.{layer}.experts.{expert}.gate', 4, is not divisible by axis "three" of size 3
// WIDTH: error: {{.*}}cannot be sharded by tactic 'tensor': experts are 32 wide inside, which 3 ranks along axis "three" cannot cut into multiples of 16
dist.mesh [dp = 2, tp = 2, ep = 2, three = 3] batch [dp]
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 16 x f32>
model.program @mixture max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32>
  %x0 = model.embedding %tokens, %wte : (!rows, !model.tensor<19 x 16 x f32>) -> !x
  %y0 = model.stack %x0 repeat 2 : (!x) -> !x {
  ^bb1(%x: !x):
    %norm = model.parameter ["norm.{layer}"] : !model.tensor<16 x f32>
    %router = model.parameter ["router.{layer}"] : !model.tensor<4 x 16 x f32>
    %gate = model.parameter ["layers.{layer}.experts.{expert}.gate"] : !model.tensor<4 x 32 x 16 x f32>
    %up = model.parameter ["layers.{layer}.experts.{expert}.up"] : !model.tensor<4 x 32 x 16 x f32>
    %down = model.parameter ["layers.{layer}.experts.{expert}.down"] : !model.tensor<4 x 16 x 32 x f32>
    %n = model.rms_norm %x, %norm {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<16 x f32>) -> !x loc("norm")
    %l = model.linear %n, %router : (!x, !model.tensor<4 x 16 x f32>) -> !model.tensor<rows x 4 x f32> loc("logits")
    %e, %w = model.route %l {normalize, factor = 2.5 : f32} : (!model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) loc("route")
    %b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<5 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>) loc("dispatch")
    %g = model.gather %n, %c : (!x, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 2 x 16 x f32> loc("gather")
    %h = model.grouped_gated_linear %g, %b, %gate, %up {activation = #model.activation<silu>} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<5 x i32>, !model.tensor<4 x 32 x 16 x f32>, !model.tensor<4 x 32 x 16 x f32>) -> !model.tensor<rows x 2 x 32 x f32> loc("gate_up")
    %d = model.grouped_linear %h, %b, %down : (!model.tensor<rows x 2 x 32 x f32>, !model.tensor<5 x i32>, !model.tensor<4 x 16 x 32 x f32>) -> !model.tensor<rows x 2 x 16 x f32> loc("down")
    %s = model.combine %d, %p, %w : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) -> !x loc("combine")
    %r = model.add %x, %s : (!x, !x) -> !x
    model.yield %r : !x
  }
  %last = model.last_rows %y0 : (!x) -> !model.tensor<outputs x 16 x f32>
  %o = model.linear %last, %wte : (!model.tensor<outputs x 16 x f32>, !model.tensor<19 x 16 x f32>) -> !model.tensor<outputs x 19 x f32>
  model.return %o : !model.tensor<outputs x 19 x f32>
}
