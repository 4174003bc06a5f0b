// The adjoints of a norm's two halves.
//
// RUN: baton-opt %s --training-form --differentiate | FileCheck %s

!x = !model.tensor<rows x 8 x f32>
!r = !model.tensor<rows x 4 x f32>
!s = !model.tensor<rows x 1 x f32>
!w = !model.tensor<4 x 8 x f32>
!g = !model.tensor<8 x f32>
!t = !model.tensor<16 x 8 x f32>
!head = !model.tensor<16 x 4 x f32>
!o = !model.tensor<outputs x 4 x f32>

// CHECK: %[[SCALED:.+]], %[[SQUARES:.+]] = model.norm_begin %[[X:.+]], %[[G:.+]] :
// CHECK: %[[H:.+]] = model.linear %[[SCALED]]
// CHECK: model.norm_end %[[H]], %[[SQUARES]]
// CHECK: %{{.+}}, %[[DY:.+]], %{{.+}} = model.cross_entropy
// CHECK: %[[DH:.+]] = model.norm_end %[[DY]], %[[SQUARES]] {epsilon = 2.500000e-01 : f32, width = 8 : i64}
// CHECK-NEXT: %[[DSQUARES:.+]] = model.norm_end_gradient %[[DY]], %[[H]], %[[SQUARES]] {epsilon = 2.500000e-01 : f32, width = 8 : i64}
// CHECK: %[[DSCALED:.+]] = model.linear_input_gradient %[[DH]]
// CHECK: model.norm_begin_gradient %[[X]], %[[G]] scaled %[[DSCALED]] squares %[[DSQUARES]]
// CHECK: %[[PRODUCT:.+]] = model.mul %[[DSCALED]], %[[X]]
// CHECK-NEXT: %[[DG:.+]] = model.bias_gradient %[[PRODUCT]]
// CHECK-NEXT: model.gradient %[[DG]] of %[[G]]
model.program @p max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %t = model.parameter ["t"] : !t
  %x = model.embedding %tokens, %t : (!model.tensor<rows x i32>, !t) -> !x
  %g = model.parameter ["g"] : !g
  %w = model.parameter ["w"] : !w
  %scaled, %squares = model.norm_begin %x, %g : (!x, !g) -> (!x, !s)
  %h = model.linear %scaled, %w : (!x, !w) -> !r
  %y = model.norm_end %h, %squares {width = 8 : i64, epsilon = 0.25 : f32} : (!r, !s) -> !r
  %head = model.parameter ["head"] : !head
  %last = model.last_rows %y : (!r) -> !o
  %l = model.linear %last, %head : (!o, !head) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}
