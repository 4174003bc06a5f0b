// Attention as importers write it, in products: training-form makes positions
// rows, and the adjoints are products of what is there.
//
// RUN: baton-opt %s --training-form | FileCheck %s --check-prefix=FORM
// RUN: baton-opt %s --training-form --differentiate --cse --canonicalize | FileCheck %s
// RUN: baton-opt %s --training-form --differentiate --cse --canonicalize --tile-tasks=max-outputs=1 --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=PLAN

// FORM: ^bb0(%{{.+}}: !model.tensor<rows x i32>, %[[POSITIONS:.+]]: !model.tensor<rows x i32>, %{{.+}}: !model.tensor<rows x i32>,
// FORM-NOT: model.kv_append
// FORM: model.reindex %{{.+}} : (!model.tensor<rows x 1 x 4 x f32>) -> !model.tensor<kv x 1 x 4 x f32>
// FORM: model.mask %{{.+}}, %[[POSITIONS]] {window = 3 : i64}

// CHECK: ^bb0(%{{.+}}: !model.tensor<rows x i32>, %[[POSITIONS:.+]]: !model.tensor<rows x i32>, %{{.+}}: !model.tensor<rows x i32>,
// Of the scores only what softmax made of them is kept.
// CHECK: %[[P:.+]] = model.softmax
// CHECK-NEXT: model.save %[[P]] to "softmax" : <2 x rows x kv x f32>
// CHECK: model.stack %{{.+}} repeat 2 reverse
// CHECK: %[[P:.+]] = model.saved "softmax" : <2 x rows x kv x f32>
// For weights and values: dy . vT, and pT . dy, which is as tall as a step.
// CHECK: %[[DP:.+]] = model.matmul %[[DY:.+]], %{{.+}} : (!model.tensor<2 x rows x 4 x f32>, !model.tensor<2 x 4 x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
// CHECK: %[[PT:.+]] = model.transpose %[[P]] {permutation = array<i64: 0, 2, 1>}
// CHECK: model.matmul %[[PT]], %[[DY]] : (!model.tensor<2 x kv x rows x f32>, !model.tensor<2 x rows x 4 x f32>) -> !model.tensor<2 x kv x 4 x f32>
// CHECK: %[[DM:.+]] = model.softmax_gradient %[[DP]], %[[P]]
// CHECK: %[[DS:.+]] = model.mask_gradient %[[DM]], %[[POSITIONS]] {window = 3 : i64}
// CHECK: %[[DQK:.+]] = model.scale %[[DS]] {factor = 5.000000e-01 : f32}
// CHECK: model.matmul %[[DQK]], %{{.+}} : (!model.tensor<2 x rows x kv x f32>, !model.tensor<2 x kv x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>
// CHECK: %[[DQKT:.+]] = model.transpose %[[DQK]] {permutation = array<i64: 0, 2, 1>}
// CHECK: model.matmul %[[DQKT]], %{{.+}} : (!model.tensor<2 x kv x rows x f32>, !model.tensor<2 x rows x 4 x f32>) -> !model.tensor<2 x kv x 4 x f32>
// Both query heads read the one key/value head.
// CHECK: model.add %{{.+}}, %{{.+}} : (!model.tensor<1 x kv x 4 x f32>,
// CHECK: model.add %{{.+}}, %{{.+}} : (!model.tensor<kv x 1 x 4 x f32>,
// CHECK: model.reindex %{{.+}} : (!model.tensor<kv x 1 x 4 x f32>) -> !model.tensor<rows x 1 x 4 x f32>

// PLAN: proof
// What is hidden is a finite number in a step, and 0 in its adjoint.
// PLAN: event.call "mask_sequences" [{{.*}}-3.40282347E+38
// PLAN: event.call "mask_sequences" [{{.*}} 0.000000e+00
!x = !model.tensor<rows x 8 x f32>
!kv = !model.tensor<kv x 1 x 4 x f32>
!s = !model.tensor<2 x rows x kv x f32>
update.rule @keep {
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>):
  %n = update.map (%w = %p) {
    update.yield %w
  }
  update.return %n
}
update.group @keep
model.program @primitive max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !x
  %y = model.stack %e repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    %wk = model.parameter ["k.{layer}"] : !model.tensor<4 x 8 x f32>
    %k = model.linear %a, %wk : (!x, !model.tensor<4 x 8 x f32>) -> !model.tensor<rows x 4 x f32> loc("k")
    %kh = model.reshape %k : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 1 x 4 x f32>
    %ks = model.kv_append %kh to "k" : (!model.tensor<rows x 1 x 4 x f32>) -> !kv
    %qh = model.reshape %a : (!x) -> !model.tensor<rows x 2 x 4 x f32>
    %q = model.transpose %qh {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32>
    %kt = model.transpose %ks {permutation = array<i64: 1, 2, 0>} : (!kv) -> !model.tensor<1 x 4 x kv x f32>
    %kb = model.broadcast %kt {axis = 0 : i64, times = 2 : i64} : (!model.tensor<1 x 4 x kv x f32>) -> !model.tensor<2 x 4 x kv x f32>
    %vt = model.transpose %ks {permutation = array<i64: 1, 0, 2>} : (!kv) -> !model.tensor<1 x kv x 4 x f32>
    %vb = model.broadcast %vt {axis = 0 : i64, times = 2 : i64} : (!model.tensor<1 x kv x 4 x f32>) -> !model.tensor<2 x kv x 4 x f32>
    %qk = model.matmul %q, %kb : (!model.tensor<2 x rows x 4 x f32>, !model.tensor<2 x 4 x kv x f32>) -> !s loc("scores")
    %s = model.scale %qk {factor = 0.5 : f32} : (!s) -> !s loc("scale")
    %m = model.mask %s {window = 3 : i64} : (!s) -> !s loc("mask")
    %p = model.softmax %m : (!s) -> !s loc("softmax")
    %o = model.matmul %p, %vb : (!s, !model.tensor<2 x kv x 4 x f32>) -> !model.tensor<2 x rows x 4 x f32> loc("values")
    %t = model.transpose %o {permutation = array<i64: 1, 0, 2>} : (!model.tensor<2 x rows x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
    %c = model.reshape %t : (!model.tensor<rows x 2 x 4 x f32>) -> !x
    %r = model.add %a, %c : (!x, !x) -> !x
    model.yield %r : !x
  }
  %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %wte : (!model.tensor<outputs x 8 x f32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}
