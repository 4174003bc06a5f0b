// Ops that do nothing vanish, chains of views become one.
//
// RUN: baton-opt %s --allow-unregistered-dialect --canonicalize | FileCheck %s

!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 2 x 4 x f32>
!t = !model.tensor<2 x rows x 4 x f32>

// CHECK-LABEL: "test.do_nothing"
// CHECK-NEXT: ^bb0(%[[X:.+]]: {{.*}}, %[[H:.+]]: {{.*}}):
// CHECK-NEXT: "test.use"(%[[X]], %[[X]], %[[X]], %[[X]], %[[H]], %[[H]])
"test.do_nothing"() ({
^bb0(%x: !x, %h: !h):
  %a = model.activate %x {activation = #model.activation<identity>} : (!x) -> !x
  %b = model.scale %x {factor = 1.0 : f32} : (!x) -> !x
  %c = model.reshape %x : (!x) -> !x
  %d = model.slice %x {axis = 1 : i64, offset = 0 : i64} : (!x) -> !x
  %e = model.transpose %h {permutation = array<i64: 0, 1, 2>} : (!h) -> !h
  %f = model.broadcast %h {axis = 1 : i64, times = 1 : i64} : (!h) -> !h
  "test.use"(%a, %b, %c, %d, %e, %f) : (!x, !x, !x, !x, !h, !h) -> ()
}) : () -> ()

// CHECK-LABEL: "test.do_something"
// CHECK: model.activate
// CHECK: model.scale
// CHECK: model.slice
// CHECK: model.transpose
// CHECK: model.broadcast
"test.do_something"() ({
^bb0(%x: !x, %h: !h):
  %a = model.activate %x {activation = #model.activation<relu>} : (!x) -> !x
  %b = model.scale %x {factor = 2.0 : f32} : (!x) -> !x
  %d = model.slice %x {axis = 1 : i64, offset = 0 : i64} : (!x) -> !model.tensor<rows x 7 x f32>
  %e = model.transpose %h {permutation = array<i64: 1, 0, 2>} : (!h) -> !t
  %f = model.broadcast %h {axis = 1 : i64, times = 2 : i64} : (!h) -> !model.tensor<rows x 4 x 4 x f32>
  "test.use"(%a, %b, %d, %e, %f) : (!x, !x, !model.tensor<rows x 7 x f32>, !t, !model.tensor<rows x 4 x 4 x f32>) -> ()
}) : () -> ()

// CHECK-LABEL: "test.reshapes"
// CHECK-NEXT: ^bb0(%[[X:.+]]: {{.*}}):
// CHECK-NEXT: %[[R:.+]] = model.reshape %[[X]] : {{.*}} -> !model.tensor<rows x 4 x 2 x f32>
// CHECK-NEXT: "test.use"(%[[R]], %[[X]])
"test.reshapes"() ({
^bb0(%x: !x):
  %a = model.reshape %x : (!x) -> !h
  %b = model.reshape %a : (!h) -> !model.tensor<rows x 4 x 2 x f32>
  %c = model.reshape %a : (!h) -> !x
  "test.use"(%b, %c) : (!model.tensor<rows x 4 x 2 x f32>, !x) -> ()
}) : () -> ()

// The result's dimension i is x's dimension inner[outer[i]].
// CHECK-LABEL: "test.transposes"
// CHECK-NEXT: ^bb0(%[[H:.+]]: {{.*}}):
// CHECK-NEXT: %[[A:.+]] = model.transpose %[[H]] {permutation = array<i64: 2, 1, 0>} : {{.*}} -> !model.tensor<4 x 2 x rows x f32>
// CHECK-NEXT: "test.use"(%[[A]], %[[H]])
"test.transposes"() ({
^bb0(%h: !h):
  %a = model.transpose %h {permutation = array<i64: 1, 2, 0>} : (!h) -> !model.tensor<2 x 4 x rows x f32>
  %b = model.transpose %a {permutation = array<i64: 1, 0, 2>} : (!model.tensor<2 x 4 x rows x f32>) -> !model.tensor<4 x 2 x rows x f32>
  %c = model.transpose %a {permutation = array<i64: 2, 0, 1>} : (!model.tensor<2 x 4 x rows x f32>) -> !h
  "test.use"(%b, %c) : (!model.tensor<4 x 2 x rows x f32>, !h) -> ()
}) : () -> ()

// Only slices of one axis join.
// CHECK-LABEL: "test.slices"
// CHECK-NEXT: ^bb0(%[[H:.+]]: {{.*}}):
// CHECK-NEXT: %[[A:.+]] = model.slice %[[H]] {axis = 2 : i64, offset = 1 : i64}
// CHECK-NEXT: %[[B:.+]] = model.slice %[[H]] {axis = 2 : i64, offset = 2 : i64} : {{.*}} -> !model.tensor<rows x 2 x 2 x f32>
// CHECK-NEXT: %[[C:.+]] = model.slice %[[A]] {axis = 1 : i64, offset = 1 : i64} : {{.*}} -> !model.tensor<rows x 1 x 3 x f32>
// CHECK-NEXT: "test.use"(%[[B]], %[[C]])
"test.slices"() ({
^bb0(%h: !h):
  %a = model.slice %h {axis = 2 : i64, offset = 1 : i64} : (!h) -> !model.tensor<rows x 2 x 3 x f32>
  %b = model.slice %a {axis = 2 : i64, offset = 1 : i64} : (!model.tensor<rows x 2 x 3 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
  %c = model.slice %a {axis = 1 : i64, offset = 1 : i64} : (!model.tensor<rows x 2 x 3 x f32>) -> !model.tensor<rows x 1 x 3 x f32>
  "test.use"(%b, %c) : (!model.tensor<rows x 2 x 2 x f32>, !model.tensor<rows x 1 x 3 x f32>) -> ()
}) : () -> ()

// Rounding once is not rounding twice.
// CHECK-LABEL: "test.scales"
// CHECK: model.scale
// CHECK: model.scale
"test.scales"() ({
^bb0(%x: !x):
  %a = model.scale %x {factor = 0.5 : f32} : (!x) -> !x
  %b = model.scale %a {factor = 4.0 : f32} : (!x) -> !x
  "test.use"(%b) : (!x) -> ()
}) : () -> ()

// A state is written even when nobody reads it.
// CHECK-LABEL: "test.append_is_kept"
// CHECK: model.kv_append
// CHECK-NOT: model.tanh
"test.append_is_kept"() ({
^bb0(%h: !h, %x: !x):
  %a = model.kv_append %h to "k" : (!h) -> !model.tensor<kv x 2 x 4 x f32>
  %b = model.tanh %x : (!x) -> !x
}) : () -> ()
