// Which ops of hyper-connections become one, and which do not.
//
// RUN: baton-opt %examples/hyper-connections.mlir --hyper-fusion | FileCheck %s --check-prefix=EXAMPLE
// RUN: baton-opt %s --allow-unregistered-dialect --hyper-fusion | FileCheck %s
// RUN: baton-opt %s --allow-unregistered-dialect --hyper-fusion=explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

!x = !model.tensor<rows x 2 x 16 x f32>
!y = !model.tensor<rows x 16 x f32>
!w = !model.tensor<rows x 2 x f32>
!m = !model.tensor<rows x 8 x f32>
!phi = !model.tensor<8 x 32 x f32>
!s = !model.tensor<3 x f32>
!b = !model.tensor<8 x f32>

// The first sublayer of a pattern enters what the iteration before has left; the
// next one's beginning is the first one's end. Parameters move to where they are
// needed.
// EXAMPLE: model.stack
// EXAMPLE-NOT: model.hyper_p
// EXAMPLE: %[[H0:.+]], %[[M0:.+]] = model.hyper_enter %[[X0:.+]], %{{.+}}, %{{.+}}, %{{.+}} {{{.*}}mixing = #model.mixing<sinkhorn>, norm_epsilon = 9.99999997E-7 : f32}
// EXAMPLE-NEXT: model.parameter ["layers.{layer}.first.up"]
// EXAMPLE-NEXT: model.linear %[[H0]]
// EXAMPLE: %[[Y0:.+]] = model.linear
// EXAMPLE: %[[W0:.+]] = model.slice %[[M0]] {axis = 1 : i64, offset = 2 : i64}
// EXAMPLE: model.parameter ["layers.{layer}.second_hc.fn"]
// EXAMPLE: %[[X1:.+]], %[[H1:.+]], %[[M1:.+]] = model.hyper_turn %[[X0]], %[[Y0]], %[[W0]],
// EXAMPLE: model.linear %[[H1]]
// EXAMPLE: %[[W1:.+]] = model.slice %[[M1]] {axis = 1 : i64, offset = 2 : i64}
// EXAMPLE: model.hyper_post %[[X1]], %{{.+}}, %[[W1]]
// EXAMPLE-NEXT: model.yield
// At the end all of the maps are weights of what is read.
// EXAMPLE: model.hyper_enter {{.*}}mixing = #model.mixing<none>
// EXAMPLE-NOT: model.hyper_p

// CHECK-LABEL: "test.logits_are_kept"
// CHECK: model.hyper_project
// CHECK: model.hyper_maps
// CHECK: model.hyper_pre
// WHY: the maps' logits are kept
"test.logits_are_kept"() ({
^bb0(%x: !x, %phi: !phi, %s: !s, %b: !b):
  %l = model.hyper_project %x, %phi {epsilon = 0.0 : f32} : (!x, !phi) -> !m
  %m = model.hyper_maps %l, %s, %b {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, epsilon = 0.0 : f32} : (!m, !s, !b) -> !m
  %w = model.slice %m {axis = 1 : i64, offset = 0 : i64} : (!m) -> !w
  %h = model.hyper_pre %x, %w : (!x, !w) -> !y
  "test.use"(%h, %l) : (!y, !m) -> ()
}) : () -> ()

// CHECK-LABEL: "test.other_streams"
// CHECK: model.hyper_pre
// WHY: its weights are no function of the streams that it reads
"test.other_streams"() ({
^bb0(%x: !x, %z: !x, %phi: !phi, %s: !s, %b: !b):
  %l = model.hyper_project %x, %phi {epsilon = 0.0 : f32} : (!x, !phi) -> !m
  %m = model.hyper_maps %l, %s, %b {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, epsilon = 0.0 : f32} : (!m, !s, !b) -> !m
  %w = model.slice %m {axis = 1 : i64, offset = 0 : i64} : (!m) -> !w
  %h = model.hyper_pre %z, %w : (!x, !w) -> !y
  "test.use"(%h) : (!y) -> ()
}) : () -> ()

// CHECK-LABEL: "test.later_columns"
// CHECK: model.hyper_pre
// WHY: makes its weights as the first of its numbers
"test.later_columns"() ({
^bb0(%x: !x, %phi: !phi, %s: !s, %b: !b):
  %l = model.hyper_project %x, %phi {epsilon = 0.0 : f32} : (!x, !phi) -> !m
  %m = model.hyper_maps %l, %s, %b {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, epsilon = 0.0 : f32} : (!m, !s, !b) -> !m
  %w = model.slice %m {axis = 1 : i64, offset = 2 : i64} : (!m) -> !w
  %h = model.hyper_pre %x, %w : (!x, !w) -> !y
  "test.use"(%h) : (!y) -> ()
}) : () -> ()

// What else reads the streams or the maps reads them from the fused op; a
// parameter that something else makes after hyper_post keeps it apart.
// CHECK-LABEL: "test.late_parameter"
// CHECK: %[[X:.+]] = model.hyper_post
// CHECK: %[[PHI:.+]] = "test.make"
// CHECK: %[[H:.+]], %[[M:.+]] = model.hyper_enter %[[X]], %[[PHI]]
// CHECK: "test.use"(%[[H]], %[[M]], %[[X]])
"test.late_parameter"() ({
^bb0(%z: !x, %y: !y, %v: !model.tensor<rows x 6 x f32>, %s: !s, %b: !b):
  %x = model.hyper_post %z, %y, %v : (!x, !y, !model.tensor<rows x 6 x f32>) -> !x
  %phi = "test.make"(%x) : (!x) -> !phi
  %l = model.hyper_project %x, %phi {epsilon = 0.0 : f32} : (!x, !phi) -> !m
  %m = model.hyper_maps %l, %s, %b {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, epsilon = 0.0 : f32} : (!m, !s, !b) -> !m
  %w = model.slice %m {axis = 1 : i64, offset = 0 : i64} : (!m) -> !w
  %h = model.hyper_pre %x, %w : (!x, !w) -> !y
  "test.use"(%h, %m, %x) : (!y, !m, !x) -> ()
}) : () -> ()
