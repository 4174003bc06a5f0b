// What a schedule does to a model, and what it says about it.
//
// RUN: baton-opt %s --transform-interpreter="entry-point=model" 2>&1 | FileCheck %s

!x = !model.tensor<rows x 32 x f32>
!w = !model.tensor<32 x 32 x f32>
!v = !model.tensor<32 x f32>
!t = !model.tensor<rows x i32>

// CHECK: remark: loc(fused["first.up", "first.norm"]): recomputes the norm of its rows
// CHECK: remark: loc("third.norm"): the norm stays a phase: model.last_rows reads it
// CHECK: remark: loc(fused["second.sum", "second.up"]): adds the residual to its tile

module attributes {transform.with_named_sequence} {
  transform.named_sequence @model(%program: !transform.any_op {transform.readonly}) {
    // One of the norms, by name.
    %first = transform.baton.match ["model.rms_norm"] named "first.*" in %program
    transform.baton.tile %first [16] optional
    %reader = transform.baton.recompute %first
    transform.baton.tile %reader [8, 16]
    // One that cannot be: it stays.
    %third = transform.baton.match named "third.norm" in %program
    transform.baton.recompute %third optional
    // By the name of an op that another one has taken over.
    %sums = transform.baton.match ["model.add"] in %program
    transform.baton.fuse %sums optional
    %second = transform.baton.match named "second.{up,down}" in %program
    transform.baton.tile %second [4, 32]
    // Nothing, and nobody minds.
    %view = transform.baton.match ["model.last_rows"] in %program
    transform.baton.tile %view [16] optional
    %none = transform.baton.match ["model.softmax"] named "no such name" in %program optional
    transform.baton.fuse %none
    transform.yield
  }

  // CHECK-LABEL: model.program
  model.program @blocks max_seq 8 {
  ^bb0(%tokens: !t):
    %table = model.parameter ["table"] : !w
    // CHECK: %[[X:.+]] = model.embedding
    %x = model.embedding %tokens, %table : (!t, !w) -> !x loc("embed")
    %g = model.parameter ["g"] : !v
    %w = model.parameter ["w"] : !w
    %u = model.parameter ["u"] : !w
    // CHECK: %[[FIRST:.+]] = model.linear %[[X]], %{{.+}} norm_weight %{{.+}} {epsilon = {{.*}}, event.required_tile, event.tile = array<i64: 8, 16>, norm = #model.norm<rms>}
    %n = model.rms_norm %x, %g {epsilon = 1.0e-5 : f32} : (!x, !v) -> !x loc("first.norm")
    %a = model.linear %n, %w : (!x, !w) -> !x loc("first.up")
    // CHECK: %[[NORM:.+]] = model.rms_norm %[[FIRST]]
    %m = model.rms_norm %a, %g {epsilon = 1.0e-5 : f32} : (!x, !v) -> !x loc("second.norm")
    // CHECK: model.linear %[[NORM]], %{{.+}} residual %[[FIRST]] {event.required_tile, event.tile = array<i64: 4, 32>}
    %l = model.linear %m, %u : (!x, !w) -> !x loc("second.up")
    %y = model.add %a, %l : (!x, !x) -> !x loc("second.sum")
    // CHECK: model.rms_norm
    %z = model.rms_norm %y, %g {epsilon = 1.0e-5 : f32} : (!x, !v) -> !x loc("third.norm")
    %last = model.last_rows %z : (!x) -> !model.tensor<outputs x 32 x f32>
    model.return %last : !model.tensor<outputs x 32 x f32>
  }
}
