// Of an axis that a plan has decided, parameters have what is stated and no more: no
// tactic adds to it, and values follow.
// RUN: baton-opt %s --sharding-propagation=tactics=tensor:tp --insert-reshards --verify-sharding --lower-reshards | FileCheck %s
// RUN: sed 's/attributes {dist.planned = \["tp"\]} //' %s | baton-opt --sharding-propagation=tactics=tensor:tp | FileCheck %s --check-prefix=FREE
// RUN: sed 's/planned = \["tp"\]/planned = ["pp"]/' %s | not baton-opt 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: 'dist.planned': there is no axis "pp"

dist.mesh [tp = 2]
// CHECK: ["one.up"] {dist.placements = [#dist.placement<[shard(tp), replicate]>]}
// CHECK: ["one.down"] {dist.placements = [#dist.placement<[replicate, shard(tp)]>]}
// CHECK: dist.all_reduce
// CHECK: ["two.up"] : <12 x 8 x f32>
// CHECK: ["two.down"] : <8 x 12 x f32>
// CHECK-NOT: dist.all_reduce
// FREE: ["two.up"] {dist.placements
// FREE: ["two.down"] {dist.placements
model.program @planned max_seq 16 attributes {dist.planned = ["tp"]} {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["table"] : <32 x 8 x f32>
  %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<32 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %up = model.parameter ["one.up"] {dist.placements = [#dist.placement<[shard(tp), replicate]>]} : <12 x 8 x f32>
  %a = model.linear %x, %up : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>
  %b = model.activate %a {activation = #model.activation<silu>} : (!model.tensor<rows x 12 x f32>) -> !model.tensor<rows x 12 x f32>
  %down = model.parameter ["one.down"] {dist.placements = [#dist.placement<[replicate, shard(tp)]>]} : <8 x 12 x f32>
  %c = model.linear %b, %down : (!model.tensor<rows x 12 x f32>, !model.tensor<8 x 12 x f32>) -> !model.tensor<rows x 8 x f32>
  %up2 = model.parameter ["two.up"] : <12 x 8 x f32>
  %d = model.linear %c, %up2 : (!model.tensor<rows x 8 x f32>, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>
  %e = model.activate %d {activation = #model.activation<silu>} : (!model.tensor<rows x 12 x f32>) -> !model.tensor<rows x 12 x f32>
  %down2 = model.parameter ["two.down"] : <8 x 12 x f32>
  %f = model.linear %e, %down2 : (!model.tensor<rows x 12 x f32>, !model.tensor<8 x 12 x f32>) -> !model.tensor<rows x 8 x f32>
  %last = model.last_rows %f : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %g = model.linear %last, %table : (!model.tensor<outputs x 8 x f32>, !model.tensor<32 x 8 x f32>) -> !model.tensor<outputs x 32 x f32>
  model.return %g : !model.tensor<outputs x 32 x f32>
}
