// Query heads over key/value heads: on one axis, on two, or with key/value heads
// on every rank.
//
// RUN: baton-opt %s --split-input-file --sharding-propagation=tactics=tensor:a,tensor:b --insert-reshards --verify-sharding | FileCheck %s

// The first axis shards key/value heads, the second one the queries of each.
//
// CHECK-LABEL: dist.mesh [a = 2, b = 2]
// CHECK: ["q"] {dist.placements = [#dist.placement<[shard(a, b), replicate]>]}
// CHECK: ["k"] {dist.placements = [#dist.placement<[shard(a), replicate]>]}
// CHECK: model.attention {{.*}} {dist.placements = [#dist.placement<[replicate, shard(a, b), replicate]>], scale
dist.mesh [a = 2, b = 2]

!x = !model.tensor<rows x 8 x f32>
!q = !model.tensor<rows x 4 x 6 x f32>
!k = !model.tensor<rows x 2 x 6 x f32>
!kv = !model.tensor<kv x 2 x 6 x f32>
!o = !model.tensor<outputs x 8 x f32>
!logits = !model.tensor<outputs x 16 x f32>
model.program @attention max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["table"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !x
  %wq = model.parameter ["q"] : !model.tensor<24 x 8 x f32>
  %wk = model.parameter ["k"] : !model.tensor<12 x 8 x f32>
  %q0 = model.linear %e, %wq : (!x, !model.tensor<24 x 8 x f32>) -> !model.tensor<rows x 24 x f32>
  %k0 = model.linear %e, %wk : (!x, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>
  %q = model.reshape %q0 : (!model.tensor<rows x 24 x f32>) -> !q
  %k = model.reshape %k0 : (!model.tensor<rows x 12 x f32>) -> !k
  %ks = model.kv_append %k to "k" : (!k) -> !kv
  %vs = model.kv_append %k to "v" : (!k) -> !kv
  %a = model.attention %q, %ks, %vs {scale = 1.0 : f32} : (!q, !kv, !kv) -> !q
  %last = model.last_rows %e : (!x) -> !o
  %l = model.linear %last, %table : (!o, !model.tensor<16 x 8 x f32>) -> !logits
  model.return %l : !logits
}

// -----

// Each of four ranks has a query head, and both key/value heads: no more ranks
// than these could share them.
//
// CHECK-LABEL: dist.mesh [a = 4, b = 1]
// CHECK: ["q"] {dist.placements = [#dist.placement<[shard(a, b), replicate]>]}
// CHECK: ["k"] :
// CHECK: model.attention {{.*}} {dist.placements = [#dist.placement<[replicate, shard(a, b), replicate]>], dist.shared_heads
dist.mesh [a = 4, b = 1]

!x = !model.tensor<rows x 8 x f32>
!q = !model.tensor<rows x 4 x 6 x f32>
!k = !model.tensor<rows x 2 x 6 x f32>
!kv = !model.tensor<kv x 2 x 6 x f32>
!o = !model.tensor<outputs x 8 x f32>
!logits = !model.tensor<outputs x 16 x f32>
model.program @attention max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["table"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !x
  %wq = model.parameter ["q"] : !model.tensor<24 x 8 x f32>
  %wk = model.parameter ["k"] : !model.tensor<12 x 8 x f32>
  %q0 = model.linear %e, %wq : (!x, !model.tensor<24 x 8 x f32>) -> !model.tensor<rows x 24 x f32>
  %k0 = model.linear %e, %wk : (!x, !model.tensor<12 x 8 x f32>) -> !model.tensor<rows x 12 x f32>
  %q = model.reshape %q0 : (!model.tensor<rows x 24 x f32>) -> !q
  %k = model.reshape %k0 : (!model.tensor<rows x 12 x f32>) -> !k
  %ks = model.kv_append %k to "k" : (!k) -> !kv
  %vs = model.kv_append %k to "v" : (!k) -> !kv
  %a = model.attention %q, %ks, %vs {scale = 1.0 : f32} : (!q, !kv, !kv) -> !q
  %last = model.last_rows %e : (!x) -> !o
  %l = model.linear %last, %table : (!o, !model.tensor<16 x 8 x f32>) -> !logits
  model.return %l : !logits
}
