// What a schedule does to a plan: this file is one.
//
// RUN: batonc %golden/llama-gqa --schedule=%s --emit=event | FileCheck %s
// RUN: batonc %golden/llama-gqa --max-batch=4 --max-rows=24 --schedule=%s --emit=event | FileCheck %s --check-prefix=BATCH

// One word for each row of tiles; one phase where two were; one word for all
// tiles of a phase.
// CHECK: event.tensor @"layers.self_attn.q_proj+k_proj+v_proj.done" {{.*}} capacity [6] count
// CHECK: event.tensor @layers.self_attn.q_rope.done {{.*}} capacity [16] count
// CHECK-NOT: event.tensor @layers.self_attn.k_rope.done
// CHECK: event.tensor @layers.mlp.gate_up.done {{.*}} capacity [] count

// It reads and writes what both did.
// CHECK: event.phase "layers.self_attn.q_rope" grid {{.*}} accesses [#event.access<read @"layers.self_attn.q_proj+k_proj+v_proj", {{.*}} #event.access<write @layers.self_attn.q_rope, {{.*}} #event.access<write @layers.self_attn.k_rope
// CHECK: event.call "rope"
// CHECK: event.call "rope"
// CHECK-NOT: event.phase "layers.self_attn.k_rope"
// CHECK: event.phase "layers.mlp.gate_up" {{.*}}distribution = {{.*}}cyclic{{.*}}prefetch = 65536

// The front part has one tile; the other one keeps the name, and its maps count from there on.
// CHECK: event.phase "lm_head.part" grid {{.*}} capacity [1, 1]
// CHECK: event.call "linear_f32" [#event.address<@lm_head, (d0, d1)[s0, s1, s2] -> (d0 * 48, d1 * 64)>
// CHECK: event.phase "lm_head" grid {{.*}} capacity [1, 2]
// CHECK-SAME: write @lm_head, (d0, d1)[s0, s1, s2] -> (d0 * 48, d1 * 64 + 64) to (d0, d1)[s0, s1, s2] -> (d0 * 48 + 48, d1 * 64 + 128)
// CHECK: event.call "linear_f32" [#event.address<@lm_head, (d0, d1)[s0, s1, s2] -> (d0 * 48, d1 * 64 + 64)>

// Both parts look at the panels of their own columns.
// BATCH: event.phase "lm_head.part" grid {{.*}} when <@wanted_panels, (d0, d1)[s0, s1, s2] -> (d1 * 4) below (d0, d1)[s0, s1, s2] -> (d1 * 4 + 4, 9) by 16>
// BATCH: event.phase "lm_head" grid {{.*}} when <@wanted_panels, (d0, d1)[s0, s1, s2] -> (d1 * 4 + 4) below (d0, d1)[s0, s1, s2] -> (d1 * 4 + 8, 9) by 16>

module attributes {transform.with_named_sequence} {
  transform.named_sequence @plan(%plan: !transform.any_op {transform.readonly}) {
    %ropes = transform.baton.match named "layers.self_attn.{q,k}_rope" in %plan
    transform.baton.merge %ropes
    %up = transform.baton.match named "layers.mlp.gate_up" in %plan
    transform.baton.events %up "per_phase"
    transform.baton.distribute %up "cyclic"
    transform.baton.prefetch %up 65536
    %qkv = transform.baton.match named "layers.self_attn.q_proj*" in %plan
    transform.baton.events %qkv coordinates [0]
    %head = transform.baton.match named "lm_head" in %plan
    %front, %back = transform.baton.split %head dimension 1 at 1
    transform.yield
  }
}
