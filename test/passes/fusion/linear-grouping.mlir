// Linears that become one, and linears that stay.
//
// RUN: baton-opt %s --allow-unregistered-dialect --linear-grouping | FileCheck %s
// RUN: baton-opt %s --allow-unregistered-dialect --linear-grouping --mlir-print-debuginfo | FileCheck %s --check-prefix=NAMES

!x = !model.tensor<rows x 8 x f32>
!y = !model.tensor<rows x 16 x f32>
!narrow = !model.tensor<rows x 4 x f32>
!w = !model.tensor<16 x 8 x f32>
!wn = !model.tensor<4 x 8 x f32>
!wh = !model.tensor<16 x 8 x bf16>
!b = !model.tensor<16 x f32>
!bn = !model.tensor<4 x f32>
!bh = !model.tensor<16 x bf16>

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

// Parameters that stand between the linears move before the first.
// CHECK-LABEL: "test.queries_keys_values"
// CHECK-NEXT: ^bb0(%[[X:.+]]: !model.tensor<rows x 8 x f32>):
// CHECK-NEXT: %[[Q:.+]] = model.parameter ["q"]
// CHECK-NEXT: %[[K:.+]] = model.parameter ["k"]
// CHECK-NEXT: %[[V:.+]] = model.parameter ["v"]
// CHECK-NEXT: %[[W:.+]] = model.concat %[[Q]], %[[K]], %[[V]] : {{.*}} -> !model.tensor<24 x 8 x f32>
// CHECK-NEXT: %[[Y:.+]] = model.linear %[[X]], %[[W]] : {{.*}} -> !model.tensor<rows x 24 x f32>
// CHECK-NEXT: %[[YQ:.+]] = model.slice %[[Y]] {axis = 1 : i64, offset = 0 : i64} : {{.*}} -> !model.tensor<rows x 16 x f32>
// CHECK-NEXT: %[[YK:.+]] = model.slice %[[Y]] {axis = 1 : i64, offset = 16 : i64} : {{.*}} -> !model.tensor<rows x 4 x f32>
// CHECK-NEXT: %[[YV:.+]] = model.slice %[[Y]] {axis = 1 : i64, offset = 20 : i64} : {{.*}} -> !model.tensor<rows x 4 x f32>
// CHECK-NEXT: "test.use"(%[[YQ]])
// CHECK-NEXT: "test.use"(%[[YK]], %[[YV]])
//
// NAMES: "test.queries_keys_values"
// NAMES: model.linear {{.*}} loc(#[[QKV:.+]])
// NAMES: model.slice {{.*}}offset = 0{{.*}} loc(#[[Q:.+]])
// NAMES-DAG: #[[QKV]] = loc("layers.self_attn.q_proj+k_proj+v_proj")
// NAMES-DAG: #[[Q]] = loc("layers.self_attn.q_proj")
"test.queries_keys_values"() ({
^bb0(%x: !x):
  %wq = model.parameter ["q"] : !w
  %q = model.linear %x, %wq : (!x, !w) -> !y loc("layers.self_attn.q_proj")
  "test.use"(%q) : (!y) -> ()
  %wk = model.parameter ["k"] : !wn
  %k = model.linear %x, %wk : (!x, !wn) -> !narrow loc("layers.self_attn.k_proj")
  %wv = model.parameter ["v"] : !wn
  %v = model.linear %x, %wv : (!x, !wn) -> !narrow loc("layers.self_attn.v_proj")
  "test.use"(%k, %v) : (!narrow, !narrow) -> ()
}) : () -> ()

// CHECK-LABEL: "test.biases"
// CHECK: %[[WA:.+]] = model.parameter ["a"] transposed
// CHECK: %[[WB:.+]] = model.parameter ["b"] transposed
// CHECK: %[[W:.+]] = model.concat %[[WA]], %[[WB]]
// CHECK: %[[BA:.+]] = model.parameter ["a.bias"]
// CHECK: %[[BB:.+]] = model.parameter ["b.bias"]
// CHECK: %[[B:.+]] = model.concat %[[BA]], %[[BB]] : {{.*}} -> !model.tensor<20 x f32>
// CHECK: model.linear %{{.+}}, %[[W]] bias %[[B]]
// CHECK-NOT: model.linear
"test.biases"() ({
^bb0(%x: !x):
  %wa = model.parameter ["a"] transposed : !w
  %ba = model.parameter ["a.bias"] : !b
  %a = model.linear %x, %wa bias %ba : (!x, !w, !b) -> !y
  %wb = model.parameter ["b"] transposed : !wn
  %bb = model.parameter ["b.bias"] : !bn
  %b = model.linear %x, %wb bias %bb : (!x, !wn, !bn) -> !narrow
  "test.use"(%a, %b) : (!y, !narrow) -> ()
}) : () -> ()

// Of three, the two that can be stored side by side.
// CHECK-LABEL: "test.two_of_three"
// CHECK-DAG: %[[A:.+]] = model.parameter ["a"]
// CHECK-DAG: %[[C:.+]] = model.parameter ["c"]
// CHECK: model.concat %[[A]], %[[C]]
// CHECK: model.parameter ["b"]
// CHECK: model.linear {{.*}}!model.tensor<16 x 8 x bf16>
"test.two_of_three"() ({
^bb0(%x: !x):
  %wa = model.parameter ["a"] : !w
  %a = model.linear %x, %wa : (!x, !w) -> !y
  %wb = model.parameter ["b"] : !wh
  %b = model.linear %x, %wb : (!x, !wh) -> !y
  %wc = model.parameter ["c"] : !w
  %c = model.linear %x, %wc : (!x, !w) -> !y
  "test.use"(%a, %b, %c) : (!y, !y, !y) -> ()
}) : () -> ()

// Parameters outside the block stay where they are.
// CHECK-LABEL: "test.outer_parameters"
// CHECK: %[[A:.+]] = model.parameter ["a"]
// CHECK: %[[B:.+]] = model.parameter ["b"]
// CHECK: "test.inner"
// CHECK: model.concat %[[A]], %[[B]]
"test.outer_parameters"() ({
^bb0(%x: !x):
  %wa = model.parameter ["a"] : !w
  %wb = model.parameter ["b"] : !w
  "test.inner"() ({
    %a = model.linear %x, %wa : (!x, !w) -> !y
    %b = model.linear %x, %wb : (!x, !w) -> !y
    "test.use"(%a, %b) : (!y, !y) -> ()
  }) : () -> ()
}) : () -> ()

//===----------------------------------------------------------------------===//
// Gated linears
//===----------------------------------------------------------------------===//

// CHECK-LABEL: "test.gated"
// CHECK-NEXT: ^bb0(%[[X:.+]]: !model.tensor<rows x 8 x f32>):
// CHECK-NEXT: %[[G:.+]] = model.parameter ["gate"]
// CHECK-NEXT: %[[U:.+]] = model.parameter ["up"]
// CHECK-NEXT: %[[Y:.+]] = model.gated_linear %[[X]], %[[G]], %[[U]] {activation = #model.activation<silu>}
// CHECK-NEXT: "test.use"(%[[Y]])
"test.gated"() ({
^bb0(%x: !x):
  %wg = model.parameter ["gate"] : !w
  %g = model.linear %x, %wg : (!x, !w) -> !y
  %wu = model.parameter ["up"] : !w
  %u = model.linear %x, %wu : (!x, !w) -> !y
  %a = model.activate %g {activation = #model.activation<silu>} : (!y) -> !y
  %y = model.mul %a, %u : (!y, !y) -> !y
  "test.use"(%y) : (!y) -> ()
}) : () -> ()

// CHECK-LABEL: "test.gated_with_the_activation_right"
// CHECK: %[[U:.+]] = model.parameter ["up"]
// CHECK: %[[UB:.+]] = model.parameter ["up.bias"]
// CHECK: %[[G:.+]] = model.parameter ["gate"]
// CHECK: %[[GB:.+]] = model.parameter ["gate.bias"]
// CHECK: model.gated_linear %{{.+}}, %[[G]], %[[U]] gate_bias %[[GB]] up_bias %[[UB]] {activation = #model.activation<gelu>}
"test.gated_with_the_activation_right"() ({
^bb0(%x: !x):
  %wu = model.parameter ["up"] : !w
  %bu = model.parameter ["up.bias"] : !b
  %u = model.linear %x, %wu bias %bu : (!x, !w, !b) -> !y
  %wg = model.parameter ["gate"] : !w
  %bg = model.parameter ["gate.bias"] : !b
  %g = model.linear %x, %wg bias %bg : (!x, !w, !b) -> !y
  %a = model.activate %g {activation = #model.activation<gelu>} : (!y) -> !y
  %y = model.mul %u, %a : (!y, !y) -> !y
  "test.use"(%y) : (!y) -> ()
}) : () -> ()

// Not gated, yet still two linears of the same rows.
// CHECK-LABEL: "test.gate_used_twice"
// CHECK-NOT: model.gated_linear
// CHECK: model.concat
// CHECK: model.linear
// CHECK-NOT: model.linear
"test.gate_used_twice"() ({
^bb0(%x: !x):
  %wg = model.parameter ["gate"] : !w
  %g = model.linear %x, %wg : (!x, !w) -> !y
  %wu = model.parameter ["up"] : !w
  %u = model.linear %x, %wu : (!x, !w) -> !y
  %a = model.activate %g {activation = #model.activation<silu>} : (!y) -> !y
  %y = model.mul %a, %u : (!y, !y) -> !y
  "test.use"(%y, %g) : (!y, !y) -> ()
}) : () -> ()

// CHECK-LABEL: "test.up_used_twice"
// CHECK-NOT: model.gated_linear
"test.up_used_twice"() ({
^bb0(%x: !x):
  %wg = model.parameter ["gate"] : !w
  %g = model.linear %x, %wg : (!x, !w) -> !y
  %wu = model.parameter ["up"] : !w
  %u = model.linear %x, %wu : (!x, !w) -> !y
  %a = model.activate %g {activation = #model.activation<silu>} : (!y) -> !y
  %y = model.mul %a, %u : (!y, !y) -> !y
  "test.use"(%y, %u) : (!y, !y) -> ()
}) : () -> ()

// CHECK-LABEL: "test.activated_gate_used_twice"
// CHECK-NOT: model.gated_linear
"test.activated_gate_used_twice"() ({
^bb0(%x: !x):
  %wg = model.parameter ["gate"] : !w
  %g = model.linear %x, %wg : (!x, !w) -> !y
  %wu = model.parameter ["up"] : !w
  %u = model.linear %x, %wu : (!x, !w) -> !y
  %a = model.activate %g {activation = #model.activation<silu>} : (!y) -> !y
  %y = model.mul %a, %u : (!y, !y) -> !y
  "test.use"(%y, %a) : (!y, !y) -> ()
}) : () -> ()

// CHECK-LABEL: "test.gate_and_up_of_other_rows"
// CHECK-NOT: model.gated_linear
// CHECK-NOT: model.concat
"test.gate_and_up_of_other_rows"() ({
^bb0(%x: !x, %z: !x):
  %wg = model.parameter ["gate"] : !w
  %g = model.linear %x, %wg : (!x, !w) -> !y
  %wu = model.parameter ["up"] : !w
  %u = model.linear %z, %wu : (!x, !w) -> !y
  %a = model.activate %g {activation = #model.activation<silu>} : (!y) -> !y
  %y = model.mul %a, %u : (!y, !y) -> !y
  "test.use"(%y) : (!y) -> ()
}) : () -> ()

// CHECK-LABEL: "test.gate_alone_has_a_bias"
// CHECK-NOT: model.gated_linear
// CHECK-NOT: model.concat
"test.gate_alone_has_a_bias"() ({
^bb0(%x: !x):
  %wg = model.parameter ["gate"] : !w
  %bg = model.parameter ["gate.bias"] : !b
  %g = model.linear %x, %wg bias %bg : (!x, !w, !b) -> !y
  %wu = model.parameter ["up"] : !w
  %u = model.linear %x, %wu : (!x, !w) -> !y
  %a = model.activate %g {activation = #model.activation<silu>} : (!y) -> !y
  %y = model.mul %a, %u : (!y, !y) -> !y
  "test.use"(%y) : (!y) -> ()
}) : () -> ()

//===----------------------------------------------------------------------===//
// What is not grouped
//===----------------------------------------------------------------------===//

// CHECK-LABEL: "test.other_input"
// CHECK-NOT: model.concat
"test.other_input"() ({
^bb0(%x: !x, %z: !x):
  %wa = model.parameter ["a"] : !w
  %a = model.linear %x, %wa : (!x, !w) -> !y
  %wb = model.parameter ["b"] : !w
  %b = model.linear %z, %wb : (!x, !w) -> !y
  "test.use"(%a, %b) : (!y, !y) -> ()
}) : () -> ()

// CHECK-LABEL: "test.one_bias"
// CHECK-NOT: model.concat
"test.one_bias"() ({
^bb0(%x: !x):
  %wa = model.parameter ["a"] : !w
  %a = model.linear %x, %wa : (!x, !w) -> !y
  %wb = model.parameter ["b"] : !w
  %bb = model.parameter ["b.bias"] : !b
  %b = model.linear %x, %wb bias %bb : (!x, !w, !b) -> !y
  "test.use"(%a, %b) : (!y, !y) -> ()
}) : () -> ()

// CHECK-LABEL: "test.biases_of_two_types"
// CHECK-NOT: model.concat
"test.biases_of_two_types"() ({
^bb0(%x: !x):
  %wa = model.parameter ["a"] : !w
  %ba = model.parameter ["a.bias"] : !bh
  %a = model.linear %x, %wa bias %ba : (!x, !w, !bh) -> !y
  %wb = model.parameter ["b"] : !w
  %bb = model.parameter ["b.bias"] : !b
  %b = model.linear %x, %wb bias %bb : (!x, !w, !b) -> !y
  "test.use"(%a, %b) : (!y, !y) -> ()
}) : () -> ()

// CHECK-LABEL: "test.weights_of_two_types"
// CHECK-NOT: model.concat
"test.weights_of_two_types"() ({
^bb0(%x: !x):
  %wa = model.parameter ["a"] : !w
  %a = model.linear %x, %wa : (!x, !w) -> !y
  %wb = model.parameter ["b"] : !wh
  %b = model.linear %x, %wb : (!x, !wh) -> !y
  "test.use"(%a, %b) : (!y, !y) -> ()
}) : () -> ()

// CHECK-LABEL: "test.one_stored_transposed"
// CHECK-NOT: model.concat
"test.one_stored_transposed"() ({
^bb0(%x: !x):
  %wa = model.parameter ["a"] : !w
  %a = model.linear %x, %wa : (!x, !w) -> !y
  %wb = model.parameter ["b"] transposed : !w
  %b = model.linear %x, %wb : (!x, !w) -> !y
  "test.use"(%a, %b) : (!y, !y) -> ()
}) : () -> ()

// A tied weight cannot be stored inside another.
// CHECK-LABEL: "test.shared_weight"
// CHECK-NOT: model.concat
"test.shared_weight"() ({
^bb0(%x: !x, %tokens: !model.tensor<rows x i32>):
  %wa = model.parameter ["a"] : !w
  %a = model.linear %x, %wa : (!x, !w) -> !y
  %wb = model.parameter ["b"] : !w
  %b = model.linear %x, %wb : (!x, !w) -> !y
  %e = model.embedding %tokens, %wb : (!model.tensor<rows x i32>, !w) -> !x
  "test.use"(%a, %b, %e) : (!y, !y, !x) -> ()
}) : () -> ()

// CHECK-LABEL: "test.weight_is_no_parameter"
// CHECK-NOT: model.concat
"test.weight_is_no_parameter"() ({
^bb0(%x: !x, %wa: !w):
  %a = model.linear %x, %wa : (!x, !w) -> !y
  %wb = model.parameter ["b"] : !w
  %b = model.linear %x, %wb : (!x, !w) -> !y
  "test.use"(%a, %b) : (!y, !y) -> ()
}) : () -> ()

// CHECK-LABEL: "test.not_plain"
// CHECK-NOT: model.concat
"test.not_plain"() ({
^bb0(%x: !x, %r: !y):
  %wa = model.parameter ["a"] : !w
  %a = model.linear %x, %wa residual %r : (!x, !w, !y) -> !y
  %wb = model.parameter ["b"] : !w
  %b = model.linear %x, %wb {activation = #model.activation<relu>} : (!x, !w) -> !y
  %wc = model.parameter ["c"] : !w
  %nc = model.parameter ["c.norm"] : !model.tensor<8 x f32>
  %c = model.linear %x, %wc norm_weight %nc {norm = #model.norm<rms>} : (!x, !w, !model.tensor<8 x f32>) -> !y
  %wd = model.parameter ["d"] : !w
  %d = model.linear %x, %wd : (!x, !w) -> !y
  "test.use"(%a, %b, %c, %d) : (!y, !y, !y, !y) -> ()
}) : () -> ()

// Attention and feed-forward side by side: the wide one keeps its activation.
// CHECK-LABEL: "test.epilogue_first"
// CHECK: model.concat %{{[^,]+}}, %{{[^,]+}} : (!model.tensor<4 x 8 x f32>, !model.tensor<4 x 8 x f32>)
// CHECK: %[[UP:.+]] = model.linear {{.*}} -> !model.tensor<rows x 16 x f32>
// CHECK: model.activate %[[UP]]
"test.epilogue_first"() ({
^bb0(%x: !x):
  %wq = model.parameter ["q"] : !wn
  %q = model.linear %x, %wq : (!x, !wn) -> !narrow
  %wk = model.parameter ["k"] : !wn
  %k = model.linear %x, %wk : (!x, !wn) -> !narrow
  %wu = model.parameter ["up"] : !w
  %u = model.linear %x, %wu : (!x, !w) -> !y
  %a = model.activate %u {activation = #model.activation<gelu>} : (!y) -> !y
  "test.use"(%q, %k, %a) : (!narrow, !narrow, !y) -> ()
}) : () -> ()

// A stack would repeat the outer linear.
// CHECK-LABEL: "test.two_blocks"
// CHECK-NOT: model.concat
"test.two_blocks"() ({
^bb0(%x: !x):
  %wa = model.parameter ["a"] : !w
  %a = model.linear %x, %wa : (!x, !w) -> !y
  "test.inner"() ({
    %wb = model.parameter ["b"] : !w
    %b = model.linear %x, %wb : (!x, !w) -> !y
    "test.use"(%a, %b) : (!y, !y) -> ()
  }) : () -> ()
}) : () -> ()
