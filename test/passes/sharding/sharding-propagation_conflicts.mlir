// Two tactics that want one axis: the earlier one has it, and both are named.
//
// RUN: baton-opt %s --sharding-propagation="tactics=tensor:tensor,sequence:tensor explain" -verify-diagnostics | FileCheck %s

!index = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!up = !model.tensor<12 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>
!o = !model.tensor<outputs x 8 x f32>
!logits = !model.tensor<outputs x 16 x f32>

dist.mesh [tensor = 4]

// CHECK: model.parameter ["up.{layer}"] {dist.placements = [#dist.placement<[shard(tensor), replicate]>]}
// CHECK: model.linear {{.*}} {dist.operands = [#dist.placement<[replicate, replicate]>, #dist.placement<[shard(tensor), replicate]>], dist.placements = [#dist.placement<[replicate, shard(tensor)]>]}
// CHECK: model.linear {{.*}} {dist.computed = [#dist.placement<[replicate, replicate], partial sum(tensor)>], dist.placements = [#dist.placement<[shard(tensor), replicate]>]}
model.program @mlp max_seq 64 {
^bb0(%tokens: !index):
  %table = model.parameter ["table"] : !table
  // expected-remark @+1 {{axis "tensor" shards dimension 0 of 'table' (tactic 'tensor', from dimension 0 of 'table'), not dimension 0 of the result of 'model.embedding' (tactic 'sequence', from dimension 0 of 'layers')}}
  %e = model.embedding %tokens, %table : (!index, !table) -> !x
  %y = model.stack %e repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    %up = model.parameter ["up.{layer}"] : !up
    // expected-remark @+1 {{axis "tensor" shards dimension 0 of 'up.{layer}' (tactic 'tensor', from dimension 1 of 'down.{layer}'), not dimension 0 of 'layers' (tactic 'sequence', from dimension 0 of 'layers')}}
    %b = model.linear %a, %up : (!x, !up) -> !h
    %c = model.activate %b {activation = #model.activation<gelu>} : (!h) -> !h loc("layers.act")
    %down = model.parameter ["down.{layer}"] : !down
    // expected-remark @+1 {{axis "tensor" shards dimension 1 of 'layers.act' (tactic 'tensor', from dimension 1 of 'down.{layer}'), not dimension 0 of the result of 'model.linear' (tactic 'sequence', from dimension 0 of 'layers')}}
    %d = model.linear %c, %down : (!h, !down) -> !x
    %r = model.add %a, %d : (!x, !x) -> !x
    model.yield %r : !x
  } loc("layers")
  %last = model.last_rows %y : (!x) -> !o
  %l = model.linear %last, %table : (!o, !table) -> !logits
  model.return %l : !logits
}
