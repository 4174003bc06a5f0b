// What becomes part of a linear, and what does not.
//
// RUN: baton-opt %s --allow-unregistered-dialect --norm-rewrites | FileCheck %s
// RUN: baton-opt %s --allow-unregistered-dialect --norm-rewrites --mlir-print-debuginfo | FileCheck %s --check-prefix=NAMES

!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<8 x 8 x f32>
!b = !model.tensor<8 x f32>

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

// CHECK-LABEL: "test.rms_norm"
// CHECK-NEXT: ^bb0(%[[X:.+]]: {{.*}}, %[[W:.+]]: {{.*}}, %[[G:.+]]: {{.*}}):
// CHECK-NEXT: %[[A:.+]] = model.linear %[[X]], %[[W]] norm_weight %[[G]] {epsilon = 2.500000e-01 : f32, norm = #model.norm<rms>}
// CHECK-NEXT: %[[B:.+]] = model.gated_linear %[[X]], %[[W]], %[[W]] norm_weight %[[G]] {activation = #model.activation<silu>, epsilon = 2.500000e-01 : f32, norm = #model.norm<rms>}
// CHECK-NEXT: "test.use"(%[[A]], %[[B]])
"test.rms_norm"() ({
^bb0(%x: !x, %w: !w, %g: !b):
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!x, !b) -> !x
  %a = model.linear %n, %w : (!x, !w) -> !x
  %b = model.gated_linear %n, %w, %w {activation = #model.activation<silu>} : (!x, !w, !w) -> !x
  "test.use"(%a, %b) : (!x, !x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.layer_norm"
// CHECK-NEXT: ^bb0(%[[X:.+]]: {{.*}}, %[[W:.+]]: {{.*}}, %[[G:.+]]: {{.*}}, %[[B:.+]]: {{.*}}):
// CHECK-NEXT: model.linear %[[X]], %[[W]] bias %[[B]] norm_weight %[[G]] norm_bias %[[B]] {epsilon = 2.500000e-01 : f32, norm = #model.norm<layer>}
// CHECK-NEXT: "test.use"
"test.layer_norm"() ({
^bb0(%x: !x, %w: !w, %g: !b, %b: !b):
  %n = model.layer_norm %x, %g, %b {epsilon = 0.25 : f32} : (!x, !b, !b) -> !x
  %a = model.linear %n, %w bias %b : (!x, !w, !b) -> !x
  "test.use"(%a) : (!x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.layer_norm_without_bias"
// CHECK-NEXT: ^bb0(%[[X:.+]]: {{.*}}, %[[W:.+]]: {{.*}}, %[[G:.+]]: {{.*}}):
// CHECK-NEXT: model.linear %[[X]], %[[W]] norm_weight %[[G]] {epsilon = 2.500000e-01 : f32, norm = #model.norm<layer>}
"test.layer_norm_without_bias"() ({
^bb0(%x: !x, %w: !w, %g: !b):
  %n = model.layer_norm %x, %g {epsilon = 0.25 : f32} : (!x, !b) -> !x
  %a = model.linear %n, %w : (!x, !w) -> !x
  "test.use"(%a) : (!x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.norm_read_by_others"
// CHECK: model.rms_norm
// CHECK-NOT: norm_weight
"test.norm_read_by_others"() ({
^bb0(%x: !x, %w: !w, %g: !b):
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!x, !b) -> !x
  %a = model.linear %n, %w : (!x, !w) -> !x
  "test.use"(%a, %n) : (!x, !x) -> ()
}) : () -> ()

// Post-norm models add the normed rows.
// CHECK-LABEL: "test.norm_is_also_the_residual"
// CHECK: %[[N:.+]] = model.rms_norm
// CHECK: model.linear %[[N]], %{{.+}} residual %[[N]] :
"test.norm_is_also_the_residual"() ({
^bb0(%x: !x, %w: !w, %g: !b):
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!x, !b) -> !x
  %a = model.linear %n, %w residual %n : (!x, !w, !x) -> !x
  "test.use"(%a) : (!x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.norm_of_a_norm"
// CHECK: %[[N:.+]] = model.rms_norm
// CHECK: model.linear %[[N]], %{{.+}} norm_weight
"test.norm_of_a_norm"() ({
^bb0(%x: !x, %w: !w, %g: !b):
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!x, !b) -> !x
  %m = model.rms_norm %n, %g {epsilon = 0.5 : f32} : (!x, !b) -> !x
  %a = model.linear %m, %w : (!x, !w) -> !x
  "test.use"(%a) : (!x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.norm_of_an_outer_block"
// CHECK: model.rms_norm
// CHECK-NOT: norm_weight
"test.norm_of_an_outer_block"() ({
^bb0(%x: !x, %w: !w, %g: !b):
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!x, !b) -> !x
  "test.inner"() ({
    %a = model.linear %n, %w : (!x, !w) -> !x
    "test.use"(%a) : (!x) -> ()
  }) : () -> ()
}) : () -> ()

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

// CHECK-LABEL: "test.activation"
// CHECK: %[[A:.+]] = model.linear %{{.+}}, %{{.+}} {activation = #model.activation<gelu_tanh>}
// CHECK-NEXT: "test.use"(%[[A]])
//
// NAMES: "test.activation"
// NAMES: model.linear {{.*}} loc(#[[ACT:.+]])
// NAMES-DAG: #[[FIRST:.+]] = loc("mlp.act"
// NAMES-DAG: #[[SECOND:.+]] = loc("mlp.c_fc"
// NAMES-DAG: #[[ACT]] = loc(fused[#[[FIRST]], #[[SECOND]]])
"test.activation"() ({
^bb0(%x: !x, %w: !w):
  %l = model.linear %x, %w : (!x, !w) -> !x loc("mlp.c_fc")
  %a = model.activate %l {activation = #model.activation<gelu_tanh>} : (!x) -> !x loc("mlp.act")
  "test.use"(%a) : (!x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.activated_linear_used_twice"
// CHECK: model.linear %{{.+}}, %{{.+}} :
// CHECK: model.activate
"test.activated_linear_used_twice"() ({
^bb0(%x: !x, %w: !w):
  %l = model.linear %x, %w : (!x, !w) -> !x
  %a = model.activate %l {activation = #model.activation<relu>} : (!x) -> !x
  "test.use"(%a, %l) : (!x, !x) -> ()
}) : () -> ()

// A linear applies one activation.
// CHECK-LABEL: "test.activated_twice"
// CHECK: %[[A:.+]] = model.linear {{.*}}#model.activation<relu>
// CHECK: model.activate %[[A]] {activation = #model.activation<silu>}
"test.activated_twice"() ({
^bb0(%x: !x, %w: !w):
  %l = model.linear %x, %w : (!x, !w) -> !x
  %a = model.activate %l {activation = #model.activation<relu>} : (!x) -> !x
  %b = model.activate %a {activation = #model.activation<silu>} : (!x) -> !x
  "test.use"(%b) : (!x) -> ()
}) : () -> ()

// The residual is added after the activation, so this one comes too late.
// CHECK-LABEL: "test.activated_sum"
// CHECK: %[[S:.+]] = model.linear %{{.+}}, %{{.+}} residual %{{.+}} :
// CHECK: model.activate %[[S]]
"test.activated_sum"() ({
^bb0(%x: !x, %w: !w):
  %l = model.linear %x, %w : (!x, !w) -> !x
  %s = model.add %x, %l : (!x, !x) -> !x
  %a = model.activate %s {activation = #model.activation<relu>} : (!x) -> !x
  "test.use"(%a) : (!x) -> ()
}) : () -> ()

//===----------------------------------------------------------------------===//
// Residual sums
//===----------------------------------------------------------------------===//

// CHECK-LABEL: "test.sum_with_the_linear_right"
// CHECK-NEXT: ^bb0(%[[X:.+]]: {{.*}}, %[[W:.+]]: {{.*}}):
// CHECK-NEXT: %[[S:.+]] = model.linear %[[X]], %[[W]] residual %[[X]] :
// CHECK-NEXT: "test.use"(%[[S]])
"test.sum_with_the_linear_right"() ({
^bb0(%x: !x, %w: !w):
  %l = model.linear %x, %w : (!x, !w) -> !x
  %s = model.add %x, %l : (!x, !x) -> !x
  "test.use"(%s) : (!x) -> ()
}) : () -> ()

// The linear moves behind a residual that is younger than it.
// CHECK-LABEL: "test.sum_with_the_linear_left"
// CHECK-NEXT: ^bb0(%[[X:.+]]: {{.*}}, %[[W:.+]]: {{.*}}):
// CHECK-NEXT: %[[R:.+]] = model.tanh %[[X]]
// CHECK-NEXT: %[[S:.+]] = model.linear %[[X]], %[[W]] residual %[[R]] :
// CHECK-NEXT: "test.use"(%[[S]])
"test.sum_with_the_linear_left"() ({
^bb0(%x: !x, %w: !w):
  %l = model.linear %x, %w : (!x, !w) -> !x
  %r = model.tanh %x : (!x) -> !x
  %s = model.add %l, %r : (!x, !x) -> !x
  "test.use"(%s) : (!x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.sum_of_an_activated_linear"
// CHECK: model.linear %{{.+}}, %{{.+}} norm_weight %{{.+}} residual %{{.+}} {activation = #model.activation<relu>, epsilon = 2.500000e-01 : f32, norm = #model.norm<rms>}
// CHECK-NEXT: "test.use"
"test.sum_of_an_activated_linear"() ({
^bb0(%x: !x, %w: !w, %g: !b):
  %n = model.rms_norm %x, %g {epsilon = 0.25 : f32} : (!x, !b) -> !x
  %l = model.linear %n, %w : (!x, !w) -> !x
  %a = model.activate %l {activation = #model.activation<relu>} : (!x) -> !x
  %s = model.add %x, %a : (!x, !x) -> !x
  "test.use"(%s) : (!x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.sum_of_two_linears"
// CHECK-NEXT: ^bb0(%[[X:.+]]: {{.*}}, %[[V:.+]]: {{.*}}, %[[W:.+]]: {{.*}}):
// CHECK-NEXT: %[[A:.+]] = model.linear %[[X]], %[[V]] :
// CHECK-NEXT: model.linear %[[X]], %[[W]] residual %[[A]] :
"test.sum_of_two_linears"() ({
^bb0(%x: !x, %v: !w, %w: !w):
  %a = model.linear %x, %v : (!x, !w) -> !x
  %b = model.linear %x, %w : (!x, !w) -> !x
  %s = model.add %a, %b : (!x, !x) -> !x
  "test.use"(%s) : (!x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.second_residual"
// CHECK: %[[S:.+]] = model.linear {{.*}} residual
// CHECK: model.add %{{.+}}, %[[S]]
"test.second_residual"() ({
^bb0(%x: !x, %r: !x, %w: !w):
  %l = model.linear %x, %w : (!x, !w) -> !x
  %s = model.add %x, %l : (!x, !x) -> !x
  %t = model.add %r, %s : (!x, !x) -> !x
  "test.use"(%t) : (!x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.summed_linear_used_twice"
// CHECK: model.linear %{{.+}}, %{{.+}} :
// CHECK: model.add
"test.summed_linear_used_twice"() ({
^bb0(%x: !x, %w: !w):
  %l = model.linear %x, %w : (!x, !w) -> !x
  %s = model.add %x, %l : (!x, !x) -> !x
  "test.use"(%s, %l) : (!x, !x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.doubled_linear"
// CHECK: %[[L:.+]] = model.linear %{{.+}}, %{{.+}} :
// CHECK: model.add %[[L]], %[[L]]
"test.doubled_linear"() ({
^bb0(%x: !x, %w: !w):
  %l = model.linear %x, %w : (!x, !w) -> !x
  %s = model.add %l, %l : (!x, !x) -> !x
  "test.use"(%s) : (!x) -> ()
}) : () -> ()

// What happens once before a stack does not move into it.
// CHECK-LABEL: "test.linear_of_an_outer_block"
// CHECK: model.linear %{{.+}}, %{{.+}} :
// CHECK: "test.inner"
// CHECK: model.add
"test.linear_of_an_outer_block"() ({
^bb0(%x: !x, %w: !w):
  %l = model.linear %x, %w : (!x, !w) -> !x
  "test.inner"() ({
    %s = model.add %x, %l : (!x, !x) -> !x
    "test.use"(%s) : (!x) -> ()
  }) : () -> ()
}) : () -> ()
