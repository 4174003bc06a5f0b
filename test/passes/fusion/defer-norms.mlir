// Which norms are divided behind what reads them, and which are not.
//
// RUN: baton-opt %s --allow-unregistered-dialect --defer-norms=explain -verify-diagnostics | FileCheck %s

!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<4 x 8 x f32>
!n = !model.tensor<rows x 4 x f32>
!g = !model.tensor<8 x f32>
!b = !model.tensor<4 x f32>

// CHECK-LABEL: "test.two"
// CHECK-NEXT: ^bb0(%[[X:.+]]: {{.*}}, %[[W:.+]]: {{.*}}, %[[G:.+]]: {{.*}}):
// CHECK-NEXT: %[[S:.+]], %[[Q:.+]] = model.norm_begin %[[X]], %[[G]] : {{.*}} -> (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>)
// CHECK-NEXT: %[[A:.+]] = model.linear %[[S]], %[[W]] :
// CHECK-NEXT: %[[C:.+]] = model.norm_end %[[A]], %[[Q]] {epsilon = 2.500000e-01 : f32, width = 8 : i64}
// CHECK-NEXT: %[[B:.+]] = model.linear %[[S]], %[[W]] :
// CHECK-NEXT: %[[D:.+]] = model.norm_end %[[B]], %[[Q]] {epsilon = 2.500000e-01 : f32, width = 8 : i64}
// CHECK-NEXT: "test.use"(%[[C]], %[[D]])
"test.two"() ({
^bb0(%x: !x, %w: !w, %g: !g):
  // expected-remark @+1 {{divides behind the products}}
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!x, !g) -> !x
  %a = model.linear %n, %w : (!x, !w) -> !n
  %b = model.linear %n, %w : (!x, !w) -> !n
  "test.use"(%a, %b) : (!n, !n) -> ()
}) : () -> ()

// CHECK-NOT: model.norm_
"test.biased"() ({
^bb0(%x: !x, %w: !w, %g: !g, %b: !b):
  // expected-remark @+1 {{the norm stays: a linear that reads it does more than multiply}}
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!x, !g) -> !x
  %a = model.linear %n, %w bias %b : (!x, !w, !b) -> !n
  "test.use"(%a) : (!n) -> ()
}) : () -> ()

"test.wide"() ({
^bb0(%x: !x, %w: !model.tensor<8 x 8 x f32>, %g: !g):
  // expected-remark @+1 {{the norm stays: a linear that reads it makes no fewer numbers than it reads}}
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!x, !g) -> !x
  %a = model.linear %n, %w : (!x, !model.tensor<8 x 8 x f32>) -> !x
  "test.use"(%a) : (!x) -> ()
}) : () -> ()

"test.others"() ({
^bb0(%x: !x, %w: !w, %g: !g):
  // expected-remark @+1 {{the norm stays: test.use reads it, not only linears}}
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!x, !g) -> !x
  %a = model.linear %n, %w : (!x, !w) -> !n
  "test.use"(%a, %n) : (!n, !x) -> ()
}) : () -> ()

"test.heads"() ({
^bb0(%x: !model.tensor<rows x 2 x 8 x f32>, %g: !g):
  // expected-remark @+1 {{the norm stays: it is of every head by itself}}
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!model.tensor<rows x 2 x 8 x f32>, !g) -> !model.tensor<rows x 2 x 8 x f32>
  "test.use"(%n) : (!model.tensor<rows x 2 x 8 x f32>) -> ()
}) : () -> ()

"test.unread"() ({
^bb0(%x: !x, %g: !g):
  // expected-remark @+1 {{the norm stays: nothing reads it}}
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!x, !g) -> !x
  "test.use"() : () -> ()
}) : () -> ()
