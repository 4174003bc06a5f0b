// Ops of hyper-connections are printed as they were written.
//
// RUN: baton-opt %s --allow-unregistered-dialect | baton-opt --allow-unregistered-dialect | FileCheck %s
// RUN: baton-opt %s --allow-unregistered-dialect --mlir-print-op-generic | baton-opt --allow-unregistered-dialect | FileCheck %s

!x = !model.tensor<rows x 2 x 16 x f32>
!y = !model.tensor<rows x 16 x f32>
!r = !model.tensor<rows x 2 x f32>
!w = !model.tensor<rows x 6 x f32>
!m = !model.tensor<rows x 8 x f32>
!phi = !model.tensor<8 x 32 x f32>
!s = !model.tensor<3 x f32>
!b = !model.tensor<8 x f32>

// CHECK-LABEL: "test.hyper"
// CHECK-NEXT: ^bb0(%[[X:.+]]: {{.+}}, %[[Y:.+]]: {{.+}}, %[[R:.+]]: {{.+}}, %[[W:.+]]: {{.+}}, %[[PHI:.+]]: {{.+}}, %[[S:.+]]: {{.+}}, %[[B:.+]]: !model.tensor<8 x f32>):
"test.hyper"() ({
^bb0(%x: !x, %y: !y, %r: !r, %w: !w, %phi: !phi, %s: !s, %b: !b):
  // CHECK-NEXT: %[[L:.+]] = model.hyper_project %[[X]], %[[PHI]] {epsilon = 2.500000e-01 : f32} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<8 x 32 x f32>) -> !model.tensor<rows x 8 x f32>
  %l = model.hyper_project %x, %phi {epsilon = 0.25 : f32} : (!x, !phi) -> !m
  // CHECK-NEXT: %[[M:.+]] = model.hyper_maps %[[L]], %[[S]], %[[B]] {epsilon = 5.000000e-01 : f32, iterations = 20 : i64, mixing = #model.mixing<free>, streams = 2 : i64}
  %m = model.hyper_maps %l, %s, %b {streams = 2 : i64, mixing = #model.mixing<free>, iterations = 20 : i64, epsilon = 0.5 : f32} : (!m, !s, !b) -> !m
  // CHECK-NEXT: model.hyper_pre %[[X]], %[[R]] : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 16 x f32>
  %h = model.hyper_pre %x, %r : (!x, !r) -> !y
  // CHECK-NEXT: model.hyper_post %[[X]], %[[Y]], %[[W]] : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>, !model.tensor<rows x 6 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
  %z = model.hyper_post %x, %y, %w : (!x, !y, !w) -> !x
  // Weights of what is written alone: streams stay what they are.
  // CHECK-NEXT: model.hyper_post %[[X]], %[[Y]], %[[R]]
  %i = model.hyper_post %x, %y, %r : (!x, !y, !r) -> !x
  // CHECK-NEXT: model.hyper_enter %[[X]], %[[PHI]], %[[S]], %[[B]] {epsilon = 5.000000e-01 : f32, mixing = #model.mixing<sinkhorn>, norm_epsilon = 2.500000e-01 : f32}
  %e:2 = model.hyper_enter %x, %phi, %s, %b {norm_epsilon = 0.25 : f32, mixing = #model.mixing<sinkhorn>, epsilon = 0.5 : f32} : (!x, !phi, !s, !b) -> (!y, !m)
  // CHECK-NEXT: model.hyper_turn %[[X]], %[[Y]], %[[W]], %[[PHI]], %[[S]], %[[B]] {epsilon = 5.000000e-01 : f32, mixing = #model.mixing<sinkhorn>, norm_epsilon = 2.500000e-01 : f32}
  %t:3 = model.hyper_turn %x, %y, %w, %phi, %s, %b {norm_epsilon = 0.25 : f32, mixing = #model.mixing<sinkhorn>, epsilon = 0.5 : f32} : (!x, !y, !w, !phi, !s, !b) -> (!x, !y, !m)
  // CHECK-NEXT: model.scale_rows %[[L]], %[[R]] : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 8 x f32>
  %c = model.scale_rows %l, %r : (!m, !r) -> !m
  // CHECK-NEXT: model.hyper_project_gradient %[[M]], %[[X]], %[[PHI]], %[[L]], %[[R]]
  %p = model.hyper_project_gradient %m, %x, %phi, %l, %r : (!m, !x, !phi, !m, !r) -> !x
  // CHECK-NEXT: model.hyper_maps_gradient %[[M]], %[[L]], %[[S]], %[[B]] {epsilon = 5.000000e-01 : f32, mixing = #model.mixing<sinkhorn>, streams = 2 : i64}
  %g:2 = model.hyper_maps_gradient %m, %l, %s, %b {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, epsilon = 0.5 : f32} : (!m, !m, !s, !b) -> (!m, !m)
  // CHECK-NEXT: model.hyper_scale_gradient %[[M]], %[[L]] {mixing = #model.mixing<sinkhorn>, streams = 2 : i64}
  %d = model.hyper_scale_gradient %m, %l {streams = 2 : i64, mixing = #model.mixing<sinkhorn>} : (!m, !m) -> !s
  // CHECK-NEXT: model.hyper_pre_gradient %[[Y]], %[[X]], %[[R]]
  %q:2 = model.hyper_pre_gradient %y, %x, %r : (!y, !x, !r) -> (!x, !r)
  // CHECK-NEXT: model.hyper_post_gradient %[[X]], %[[X]], %[[Y]], %[[W]]
  %o:3 = model.hyper_post_gradient %x, %x, %y, %w : (!x, !x, !y, !w) -> (!x, !y, !w)
  // CHECK-NEXT: "test.end"
  "test.end"() : () -> ()
}) : () -> ()
