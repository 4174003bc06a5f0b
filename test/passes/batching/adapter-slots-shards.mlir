// Of several ranks each has of a pair what it has of the linear's weight: of A the inputs, of B the
// outputs.
//
// RUN: baton-opt %s --batch-form=sequences=3 --adapter-slots="ranks=64 most=32 targets=all-linear" | FileCheck %s

// CHECK: model.parameter ["base_model.model.l.up_proj.lora_A.weight"] : <32 x 16 x f32>
// CHECK: model.parameter ["base_model.model.l.up_proj.lora_B.weight"] {shards = [#model.shard<0 of 48 over ["tp"]>]} : <24 x 32 x f32>
// CHECK: %[[UP:.+]] = model.adapter_up
// CHECK: %[[PART:.+]] = model.linear %[[UP]]
// CHECK: %[[A:.+]] = model.parameter ["base_model.model.l.down_proj.lora_A.weight"] {shards = [#model.shard<1 of 48 over ["tp"]>]} : <32 x 24 x f32>
// CHECK: %[[B:.+]] = model.parameter ["base_model.model.l.down_proj.lora_B.weight"] : <16 x 32 x f32>
// CHECK: %[[LOW:.+]] = model.adapter_down %[[UP]], %[[A]]
// CHECK: %[[SUM:.+]] = model.adapter_up %[[PART]], %[[LOW]], %[[B]]
// The pair's part of the sum is added up with the linear's.
// CHECK: dist.all_reduce %[[SUM]]
// CHECK-NOT: dist.all_reduce

!x = !model.tensor<rows x 16 x f32>
!wide = !model.tensor<rows x 24 x f32>

dist.mesh [tp = 2]
model.program @decoder max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32>
  %e = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<19 x 16 x f32>) -> !x
  %wu = model.parameter ["l.up_proj.weight"] {shards = [#model.shard<0 of 48 over ["tp"]>]} : !model.tensor<24 x 16 x f32>
  %wd = model.parameter ["l.down_proj.weight"] {shards = [#model.shard<1 of 48 over ["tp"]>]} : !model.tensor<16 x 24 x f32>
  %up = model.linear %e, %wu : (!x, !model.tensor<24 x 16 x f32>) -> !wide
  %part = model.linear %up, %wd : (!wide, !model.tensor<16 x 24 x f32>) -> !x
  %sum = dist.all_reduce %part : !x over ["tp"] from <[replicate, replicate], partial sum(tp)> to <[replicate, replicate]> payload "4 * rows * 16"
  %last = model.last_rows %sum : (!x) -> !model.tensor<outputs x 16 x f32>
  %head = model.parameter ["head.weight"] : !model.tensor<19 x 16 x f32>
  %l = model.linear %last, %head : (!model.tensor<outputs x 16 x f32>, !model.tensor<19 x 16 x f32>) -> !model.tensor<outputs x 19 x f32>
  model.return %l : !model.tensor<outputs x 19 x f32>
}
