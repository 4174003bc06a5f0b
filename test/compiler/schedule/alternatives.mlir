// Decisions with alternatives print as they are written; an interpreter by itself takes the
// first ones.
//
// RUN: baton-opt %s | FileCheck %s
// RUN: baton-opt %s | baton-opt | FileCheck %s
// RUN: not batonc %golden/llama-gqa --schedule=%s -o %t 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not batonc names %golden/llama-gqa --schedule=%s 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: error: {{.*}}alternatives.mlir:20:20: 'transform.baton.fuse' op has alternatives ('or'), among which only batonc tune chooses; keep one of them

// CHECK: fuse %{{.*}} or not optional
// CHECK: group %{{.*}} or not
// CHECK: recompute %{{.*}} or not optional
// CHECK: replace %{{.*}} with @copy or not
// CHECK: tile %{{.*}} [48, 64] or [24, 64] or [48, 128] optional
// CHECK: tile %{{.*}} [16]{{$}}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %sums = transform.baton.match ["model.add"] in %program
    %products    = transform.baton.fuse %sums or not optional
    %linears = transform.baton.match ["model.linear"] in %program
    %groups = transform.baton.group %linears or not
    %norms = transform.baton.match ["model.rms_norm"] in %program
    %readers = transform.baton.recompute %norms or not optional
    %other = transform.baton.match ["model.mul"] in %program
    %mine = transform.baton.replace %other with @copy or not
    %wide = transform.baton.match ["model.linear"] in %program
    transform.baton.tile %wide [48, 64] or [24, 64] or [48, 128] optional
    transform.baton.tile %mine [16]
    transform.yield
  }
  // CHECK: %[[MERGED:.*]] = transform.baton.merge %{{.*}} or not
  // CHECK: split %[[MERGED]] dimension 1 at 1 or 2
  // CHECK: distribute %{{.*}} "by_work" or "cyclic"
  // CHECK: events %{{.*}} "per_tile" or "per_phase"
  // CHECK: events %{{.*}} coordinates [0]
  // CHECK: prefetch %{{.*}} 4096 or 0 or 65536 optional
  transform.named_sequence @plan(%plan: !transform.any_op {transform.readonly}) {
    %ropes = transform.baton.match named "layers.self_attn.{q,k}_rope" in %plan
    %both = transform.baton.merge %ropes or not
    %front, %back = transform.baton.split %both dimension 1 at 1 or 2
    %phases = transform.baton.match in %plan
    transform.baton.distribute %phases "by_work" or "cyclic"
    transform.baton.events %phases "per_tile" or "per_phase"
    transform.baton.events %phases coordinates [0]
    transform.baton.prefetch %phases 4096 or 0 or 65536 optional
    transform.yield
  }
}
