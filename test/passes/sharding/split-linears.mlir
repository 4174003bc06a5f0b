// RUN: baton-opt %s --split-linears | FileCheck %s
// RUN: baton-opt %s --split-linears --sharding-propagation=tactics=tensor:tp | FileCheck %s --check-prefix=CUT

dist.mesh [tp = 2]
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!wide = !model.tensor<rows x 24 x f32>
!heads = !model.tensor<rows x 2 x 4 x f32>
!kv = !model.tensor<kv x 2 x 4 x f32>

// CHECK-LABEL: @joined
model.program @joined max_seq 16 {
^bb0(%tokens: !rows):
  %table = model.parameter ["table"] : <9 x 8 x f32>
  %x = model.embedding %tokens, %table : (!rows, !model.tensor<9 x 8 x f32>) -> !x
  %w = model.parameter ["c_attn.weight"] transposed : <24 x 8 x f32>
  %b = model.parameter ["c_attn.bias"] : <24 x f32>
  %qkv = model.linear %x, %w bias %b : (!x, !model.tensor<24 x 8 x f32>, !model.tensor<24 x f32>) -> !wide
  // CHECK-NOT: model.slice
  // CHECK: %[[QW:.*]] = model.parameter ["c_attn.weight"] transposed {blocks = array<i64: 8, 24, 0>} : <8 x 8 x f32>
  // CHECK-NEXT: %[[QB:.*]] = model.parameter ["c_attn.bias"] {blocks = array<i64: 8, 24, 0>} : <8 x f32>
  // CHECK-NEXT: model.linear %{{.*}}, %[[QW]] bias %[[QB]]
  // CHECK: model.parameter ["c_attn.weight"] transposed {blocks = array<i64: 8, 24, 8>}
  // CHECK: model.parameter ["c_attn.weight"] transposed {blocks = array<i64: 8, 24, 16>}
  // CUT: model.parameter ["c_attn.weight"] transposed {blocks = array<i64: 8, 24, 0>, dist.placements = [#dist.placement<[shard(tp), replicate]>]}
  // CUT: model.parameter ["c_attn.bias"] {blocks = array<i64: 8, 24, 8>, dist.placements = [#dist.placement<[shard(tp)]>]}
  %q0 = model.slice %qkv {axis = 1, offset = 0} : (!wide) -> !x
  %q = model.reshape %q0 : (!x) -> !heads
  %k0 = model.slice %qkv {axis = 1, offset = 8} : (!wide) -> !x
  %k = model.reshape %k0 : (!x) -> !heads
  %v0 = model.slice %qkv {axis = 1, offset = 16} : (!wide) -> !x
  %v = model.reshape %v0 : (!x) -> !heads
  %ks = model.kv_append %k to "k" : (!heads) -> !kv
  %vs = model.kv_append %v to "v" : (!heads) -> !kv
  %a = model.attention %q, %ks, %vs {scale = 0.5 : f32} : (!heads, !kv, !kv) -> !heads
  %flat = model.reshape %a : (!heads) -> !x
  %last = model.last_rows %flat : (!x) -> !model.tensor<outputs x 8 x f32>
  %logits = model.linear %last, %table : (!model.tensor<outputs x 8 x f32>, !model.tensor<9 x 8 x f32>) -> !model.tensor<outputs x 9 x f32>
  model.return %logits : !model.tensor<outputs x 9 x f32>
}

// Read as a whole, too.
// CHECK-LABEL: @whole
model.program @whole max_seq 16 {
^bb0(%tokens: !rows):
  %table = model.parameter ["table"] : <9 x 8 x f32>
  %x = model.embedding %tokens, %table : (!rows, !model.tensor<9 x 8 x f32>) -> !x
  // CHECK: model.parameter ["w"] : <16 x 8 x f32>
  // CHECK: model.slice
  %w = model.parameter ["w"] : <16 x 8 x f32>
  %y = model.linear %x, %w : (!x, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 16 x f32>
  %half = model.slice %y {axis = 1, offset = 0} : (!model.tensor<rows x 16 x f32>) -> !x
  %back = model.parameter ["back"] : <8 x 16 x f32>
  %z = model.linear %y, %back residual %half : (!model.tensor<rows x 16 x f32>, !model.tensor<8 x 16 x f32>, !x) -> !x
  %last = model.last_rows %z : (!x) -> !model.tensor<outputs x 8 x f32>
  %logits = model.linear %last, %table : (!model.tensor<outputs x 8 x f32>, !model.tensor<9 x 8 x f32>) -> !model.tensor<outputs x 9 x f32>
  model.return %logits : !model.tensor<outputs x 9 x f32>
}
