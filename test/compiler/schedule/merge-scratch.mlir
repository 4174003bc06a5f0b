// Phases that keep something in the scratch for tiles to come: merged, each tile
// computes it again.
//
// RUN: batonc %golden/llama-gqa --schedule=%s --emit=event | FileCheck %s
//
// CHECK: event.phase "layers.self_attn.q_proj"
// CHECK: event.call "rms_norm" {{.*}} invariant
// CHECK: event.phase "layers.self_attn.k_proj"
// CHECK-NEXT: event.call "rms_norm" {{.*}} 0.00999999977 : f32]{{$}}
// CHECK-NEXT: event.call "linear_f32"
// CHECK-NEXT: event.call "rms_norm" {{.*}} 0.00999999977 : f32]{{$}}
// CHECK-NEXT: event.call "linear_f32"
// CHECK-NEXT: }

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    %norms = transform.baton.match ["model.rms_norm"] in %program
    transform.baton.recompute %norms
    %softmaxes = transform.baton.match ["model.softmax"] in %program
    transform.baton.fuse %softmaxes
    transform.yield
  }
  transform.named_sequence @plan(%plan: !transform.any_op {transform.readonly}) {
    %both = transform.baton.match named "layers.self_attn.{k,v}_proj" in %plan
    transform.baton.merge %both
    transform.yield
  }
}
