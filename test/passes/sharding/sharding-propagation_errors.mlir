// What cannot be sharded, and why.
//
// RUN: not baton-opt %s --sharding-propagation=tactics=tensor:tensor 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not baton-opt %s --sharding-propagation=tactics=tensor:model 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not baton-opt %s --sharding-propagation=tactics=expert:tensor 2>&1 | FileCheck %s --check-prefix=TACTIC
// RUN: not baton-opt %s --sharding-propagation=tactics=data:data 2>&1 | FileCheck %s --check-prefix=DECODES
// RUN: not baton-opt %s --sharding-propagation=tactics=sequence:data 2>&1 | FileCheck %s --check-prefix=SEQUENCE
// RUN: not baton-opt %s --training-form --sharding-propagation=tactics=data:tensor 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: sed "s/^dist.mesh.*//" %s | not baton-opt --sharding-propagation 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: sed "s/STATED/dist.placements = [#dist.placement<[replicate, replicate], partial sum(data)>]/" %s | not baton-opt --sharding-propagation 2>&1 | FileCheck %s --check-prefix=PARTIAL
// RUN: sed -e "s/TABLE/dist.placements = [#dist.placement<[shard(data), replicate]>]/" -e "s/AGAIN/dist.placements = [#dist.placement<[replicate, shard(data)]>]/" %s | not baton-opt --sharding-propagation 2>&1 | FileCheck %s --check-prefix=TWICE

// WIDTH: error: 'model.linear' op cannot be sharded by tactic 'tensor': dimension 1 of 'down', 6, is not divisible by axis "tensor" of size 4
// AXIS: error: 'dist.mesh' op has no axis 'model', which tactic 'tensor:model' names
// TACTIC: error: 'model.program' op cannot be sharded by 'expert': tactics are data, tensor, experts, bottleneck, sequence, zero, gradients
// DECODES: error: 'model.program' op cannot be sharded by tactic 'data': it decodes, and its rows are those of one sequence
// SEQUENCE: error: 'model.program' op cannot be sharded by tactic 'sequence': "data" is a batch axis of the mesh
// BATCH: error: 'model.program' op cannot be sharded by tactic 'data': "tensor" is no batch axis of the mesh
// MESH: error: has no mesh to shard a program over
// TWICE: error: 'model.parameter' op states #dist.placement<[replicate, shard(data)]> where 'table', of which there is one, is stated to lie in #dist.placement<[shard(data), replicate]>
// PARTIAL: error: 'model.linear' op states a partial placement, which only follows from others

!index = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 6 x f32>
!o = !model.tensor<outputs x 8 x f32>
!logits = !model.tensor<outputs x 16 x f32>

dist.mesh [data = 2, tensor = 4] batch [data]

model.program @mlp max_seq 64 {
^bb0(%tokens: !index):
  %table = model.parameter ["table"] {TABLE} : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %table : (!index, !model.tensor<16 x 8 x f32>) -> !x
  %up = model.parameter ["up"] : !model.tensor<6 x 8 x f32>
  %b = model.linear %e, %up : (!x, !model.tensor<6 x 8 x f32>) -> !h
  %down = model.parameter ["down"] : !model.tensor<8 x 6 x f32>
  %d = model.linear %b, %down {STATED} : (!h, !model.tensor<8 x 6 x f32>) -> !x
  %last = model.last_rows %d : (!x) -> !o
  %again = model.parameter ["table"] {AGAIN} : !model.tensor<16 x 8 x f32>
  %l = model.linear %last, %again : (!o, !model.tensor<16 x 8 x f32>) -> !logits
  model.return %l : !logits
}
