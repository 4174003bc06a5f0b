// Every op, type and attribute is printed as it was written.
//
// RUN: baton-opt %s --allow-unregistered-dialect | baton-opt --allow-unregistered-dialect | FileCheck %s
// RUN: baton-opt %s --allow-unregistered-dialect --mlir-print-op-generic | baton-opt --allow-unregistered-dialect | FileCheck %s

// CHECK-LABEL: model.program @plain max_seq 16 {
// CHECK-NEXT: ^bb0(%{{.+}}: !model.tensor<rows x i32>):
// CHECK: model.return %{{.+}} : !model.tensor<outputs x 5 x f32>
model.program @plain max_seq 16 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %logits = "test.value"() : () -> !model.tensor<outputs x 5 x f32>
  model.return %logits : !model.tensor<outputs x 5 x f32>
}

// CHECK-LABEL: model.program @with_family max_seq 16777216 family "llama" attributes {note = "kept"} {
model.program @with_family max_seq 16777216 family "llama" attributes {note = "kept"} {
^bb0(%tokens: !model.tensor<rows x i32>):
  %logits = "test.value"() : () -> !model.tensor<outputs x 5 x f32>
  model.return %logits : !model.tensor<outputs x 5 x f32>
}

// CHECK-LABEL: model.program @rounded max_seq 16 inputs bf16 {
model.program @rounded max_seq 16 inputs bf16 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %logits = "test.value"() : () -> !model.tensor<outputs x 5 x f32>
  model.return %logits : !model.tensor<outputs x 5 x f32>
}

// CHECK-LABEL: "test.stacks"
"test.stacks"() ({
^bb0(%x: !model.tensor<rows x 8 x f32>, %i: !model.tensor<rows x f64>):
  // CHECK: model.stack %{{.+}} repeat 3 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  // CHECK-NEXT: ^bb0(%[[X:.+]]: !model.tensor<rows x 8 x f32>):
  // CHECK-NEXT: model.parameter ["h.{layer}.a", "h.{layer+1}.b"] transposed : <4 x 8 x f16>
  // CHECK-NEXT: model.yield %[[X]] : !model.tensor<rows x 8 x f32>
  // CHECK-NEXT: }
  %one = model.stack %x repeat 3 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb0(%y: !model.tensor<rows x 8 x f32>):
    %w = model.parameter ["h.{layer}.a", "h.{layer+1}.b"] transposed : !model.tensor<4 x 8 x f16>
    model.yield %y : !model.tensor<rows x 8 x f32>
  }
  // CHECK: model.stack %{{.+}}, %{{.+}} repeat 1 {first_layer = 3 : i64, layers_per_iteration = 2 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x f64>) -> (!model.tensor<rows x 8 x f32>, !model.tensor<rows x f64>) {
  %two:2 = model.stack %x, %i repeat 1 {first_layer = 3 : i64, layers_per_iteration = 2 : i64}
      : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x f64>) -> (!model.tensor<rows x 8 x f32>, !model.tensor<rows x f64>) {
  ^bb0(%y: !model.tensor<rows x 8 x f32>, %j: !model.tensor<rows x f64>):
    model.yield %y, %j : !model.tensor<rows x 8 x f32>, !model.tensor<rows x f64>
  }
}) : () -> ()

// CHECK-LABEL: "test.concat"
"test.concat"() ({
  // CHECK: model.parameter ["a"] : <4 x 8 x bf16>
  %a = model.parameter ["a"] : !model.tensor<4 x 8 x bf16>
  // CHECK: model.parameter ["a"] {blocks = array<i64: 2, 6, 3>} : <4 x 8 x bf16>
  %blocks = model.parameter ["a"] {blocks = array<i64: 2, 6, 3>} : !model.tensor<4 x 8 x bf16>
  // CHECK: model.parameter ["n"] {plus = 1.000000e+00 : f32} : <8 x f32>
  %plus = model.parameter ["n"] {plus = 1.0 : f32} : !model.tensor<8 x f32>
  // CHECK: model.parameter ["s"] {shards = [#model.shard<0 of 15 over ["tp"] by 1 units [8, 7]>, #model.shard<1 of 16 over ["dp", "pp"]>]} : <8 x 4 x f32>
  %shards = model.parameter ["s"] {shards = [#model.shard<0 of 15 over ["tp"] by 1 units [8, 7]>, #model.shard<1 of 16 over ["dp", "pp"]>]} : !model.tensor<8 x 4 x f32>
  %b = model.parameter ["b"] : !model.tensor<5 x 8 x bf16>
  // CHECK: model.concat %{{.+}}, %{{.+}} : (!model.tensor<4 x 8 x bf16>, !model.tensor<5 x 8 x bf16>) -> !model.tensor<9 x 8 x bf16>
  %c = model.concat %a, %b : (!model.tensor<4 x 8 x bf16>, !model.tensor<5 x 8 x bf16>) -> !model.tensor<9 x 8 x bf16>
}) : () -> ()

// CHECK-LABEL: "test.ops"
"test.ops"() ({
^bb0(%tokens: !model.tensor<rows x i32>,
     %table: !model.tensor<50 x 8 x f16>,
     %x: !model.tensor<rows x 8 x f32>,
     %w: !model.tensor<8 x 8 x bf16>,
     %b: !model.tensor<8 x f32>,
     %h: !model.tensor<rows x 2 x 4 x f32>,
     %k: !model.tensor<kv x 1 x 4 x f32>,
     %a: !model.tensor<rows x 4 x f32>,
     %qh: !model.tensor<2 x rows x 4 x f32>,
     %kh: !model.tensor<2 x 4 x kv x f32>,
     %s: !model.tensor<2 x rows x kv x f32>):
  // CHECK: model.embedding %{{[0-9a-z]+}}, %{{[0-9a-z]+}} : (!model.tensor<rows x i32>, !model.tensor<50 x 8 x f16>) -> !model.tensor<rows x 8 x f32>
  %r1 = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<50 x 8 x f16>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.embedding %{{[0-9a-z]+}}, %{{[0-9a-z]+}} {multiplier = 2.000000e+00 : f32} : (!model.tensor<rows x i32>, !model.tensor<50 x 8 x f16>) -> !model.tensor<rows x 8 x f32>
  %r2 = model.embedding %tokens, %table {multiplier = 2.000000e+00 : f32} : (!model.tensor<rows x i32>, !model.tensor<50 x 8 x f16>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.position_embedding %{{[0-9a-z]+}} : (!model.tensor<50 x 8 x f16>) -> !model.tensor<rows x 8 x f32>
  %r3 = model.position_embedding %table : (!model.tensor<50 x 8 x f16>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.linear %{{[0-9a-z]+}}, %{{[0-9a-z]+}} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>) -> !model.tensor<rows x 8 x f32>
  %r4 = model.linear %x, %w : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.linear %{{[0-9a-z]+}}, %{{[0-9a-z]+}} bias %{{[0-9a-z]+}} norm_weight %{{[0-9a-z]+}} norm_bias %{{[0-9a-z]+}} residual %{{[0-9a-z]+}} {activation = #model.activation<gelu>, epsilon = 1.000000e-01 : f32, norm = #model.norm<layer>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>, !model.tensor<8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r5 = model.linear %x, %w bias %b norm_weight %b norm_bias %b residual %x {activation = #model.activation<gelu>, epsilon = 1.000000e-01 : f32, norm = #model.norm<layer>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>, !model.tensor<8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.linear %{{[0-9a-z]+}}, %{{[0-9a-z]+}} norm_weight %{{[0-9a-z]+}} {norm = #model.norm<rms>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r6 = model.linear %x, %w norm_weight %b {norm = #model.norm<rms>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.linear %{{[0-9a-z]+}}, %{{[0-9a-z]+}} residual %{{[0-9a-z]+}} {activation = #model.activation<relu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r7 = model.linear %x, %w residual %x {activation = #model.activation<relu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.gated_linear %{{[0-9a-z]+}}, %{{[0-9a-z]+}}, %{{[0-9a-z]+}} {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>, !model.tensor<8 x 8 x bf16>) -> !model.tensor<rows x 8 x f32>
  %r8 = model.gated_linear %x, %w, %w {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>, !model.tensor<8 x 8 x bf16>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.gated_linear %{{[0-9a-z]+}}, %{{[0-9a-z]+}}, %{{[0-9a-z]+}} gate_bias %{{[0-9a-z]+}} up_bias %{{[0-9a-z]+}} norm_weight %{{[0-9a-z]+}} {activation = #model.activation<gelu_tanh>, norm = #model.norm<rms>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>, !model.tensor<8 x 8 x bf16>, !model.tensor<8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r9 = model.gated_linear %x, %w, %w gate_bias %b up_bias %b norm_weight %b {activation = #model.activation<gelu_tanh>, norm = #model.norm<rms>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x bf16>, !model.tensor<8 x 8 x bf16>, !model.tensor<8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.rms_norm %{{[0-9a-z]+}}, %{{[0-9a-z]+}} {epsilon = 1.000000e+00 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r10 = model.rms_norm %x, %b {epsilon = 1.000000e+00 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: %[[SCALED:[0-9a-z_]+]], %[[SQUARES:[0-9a-z_]+]] = model.norm_begin %{{[0-9a-z_]+}}, %{{[0-9a-z_]+}} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>)
  %scaled, %squares = model.norm_begin %x, %b : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>)
  // CHECK: model.norm_end %[[SCALED]], %[[SQUARES]] {epsilon = 1.000000e+00 : f32, width = 8 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>
  %ended = model.norm_end %scaled, %squares {width = 8 : i64, epsilon = 1.000000e+00 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.norm_begin_gradient %{{[0-9a-z_]+}}, %{{[0-9a-z_]+}} scaled %[[SCALED]] squares %[[SQUARES]] : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>
  %began = model.norm_begin_gradient %x, %b scaled %scaled squares %squares : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.norm_end_gradient %{{[0-9a-z_]+}}, %[[SCALED]], %[[SQUARES]] {epsilon = 1.000000e+00 : f32, width = 8 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 1 x f32>
  %back = model.norm_end_gradient %x, %scaled, %squares {width = 8 : i64, epsilon = 1.000000e+00 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 1 x f32>
  %pair = "test.value"() : () -> !model.tensor<3 x 8 x f32>
  %reverse = "test.value"() : () -> !model.tensor<8 x 3 x f32>
  // CHECK: %[[SUMS:[0-9a-z_]+]] = model.adapted_squares %{{[0-9a-z_]+}}, %{{[0-9a-z_]+}}, %{{[0-9a-z_]+}} {factor = 2.000000e+00 : f32} : (!model.tensor<8 x 8 x bf16>, !model.tensor<3 x 8 x f32>, !model.tensor<8 x 3 x f32>) -> !model.tensor<8 x f32>
  %sums = model.adapted_squares %w, %pair, %reverse {factor = 2.0 : f32} : (!model.tensor<8 x 8 x bf16>, !model.tensor<3 x 8 x f32>, !model.tensor<8 x 3 x f32>) -> !model.tensor<8 x f32>
  // CHECK: model.magnitude %{{[0-9a-z_]+}}, %{{[0-9a-z_]+}}, %[[SUMS]] : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  %scaledrows = model.magnitude %x, %b, %sums : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.magnitude %{{[0-9a-z_]+}}, %{{[0-9a-z_]+}}, %[[SUMS]] bias %{{[0-9a-z_]+}} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  %biasedrows = model.magnitude %x, %b, %sums bias %b : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.magnitude_gradient %{{[0-9a-z_]+}}, %{{[0-9a-z_]+}}, %[[SUMS]] : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<8 x f32>
  %ofmagnitude = model.magnitude_gradient %x, %scaledrows, %sums : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<8 x f32>
  // CHECK: model.layer_norm %{{[0-9a-z]+}}, %{{[0-9a-z]+}} {epsilon = 1.000000e+00 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r11 = model.layer_norm %x, %b {epsilon = 1.000000e+00 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.layer_norm %{{[0-9a-z]+}}, %{{[0-9a-z]+}}, %{{[0-9a-z]+}} {epsilon = 0.000000e+00 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r12 = model.layer_norm %x, %b, %b {epsilon = 0.000000e+00 : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.rope_table {{ *}}{frequencies = array<f32: 1.000000e+00, 5.000000e-01>} : () -> !model.tensor<rows x 4 x f32>
  %r13 = model.rope_table {frequencies = array<f32: 1.000000e+00, 5.000000e-01>} : () -> !model.tensor<rows x 4 x f32>
  // CHECK: model.rope_table {{ *}}{frequencies = array<f32: 1.000000e+00>, scale = 2.000000e+00 : f32} : () -> !model.tensor<rows x 2 x f32>
  %r14 = model.rope_table {frequencies = array<f32: 1.000000e+00>, scale = 2.000000e+00 : f32} : () -> !model.tensor<rows x 2 x f32>
  // CHECK: model.rope %{{[0-9a-z]+}}, %{{[0-9a-z]+}} : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  %r15 = model.rope %h, %a : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  // CHECK: model.kv_append %{{[0-9a-z]+}} to "some state" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %r16 = model.kv_append %h to "some state" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  // CHECK: model.last_rows %{{[0-9a-z]+}} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %r17 = model.last_rows %x : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  // CHECK: model.attention %{{[0-9a-z]+}}, %{{[0-9a-z]+}}, %{{[0-9a-z]+}} {scale = 5.000000e-01 : f32} : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<kv x 1 x 4 x f32>, !model.tensor<kv x 1 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  %r18 = model.attention %h, %k, %k {scale = 5.000000e-01 : f32} : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<kv x 1 x 4 x f32>, !model.tensor<kv x 1 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  // CHECK: model.attention %{{[0-9a-z]+}}, %{{[0-9a-z]+}}, %{{[0-9a-z]+}} {scale = 5.000000e-01 : f32, softcap = 3.000000e+01 : f32, window = 16 : i64} : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<kv x 1 x 4 x f32>, !model.tensor<kv x 1 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  %r19 = model.attention %h, %k, %k {scale = 5.000000e-01 : f32, softcap = 3.000000e+01 : f32, window = 16 : i64} : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<kv x 1 x 4 x f32>, !model.tensor<kv x 1 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  // CHECK: model.matmul %{{[0-9a-z]+}}, %{{[0-9a-z]+}} : (!model.tensor<2 x rows x 4 x f32>, !model.tensor<2 x 4 x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  %r20 = model.matmul %qh, %kh : (!model.tensor<2 x rows x 4 x f32>, !model.tensor<2 x 4 x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  // CHECK: model.mask %{{[0-9a-z]+}} : (!model.tensor<2 x rows x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  %r21 = model.mask %s : (!model.tensor<2 x rows x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  // CHECK: model.mask %{{[0-9a-z]+}} {window = 4 : i64} : (!model.tensor<2 x rows x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  %r22 = model.mask %s {window = 4 : i64} : (!model.tensor<2 x rows x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  // CHECK: model.softmax %{{[0-9a-z]+}} : (!model.tensor<2 x rows x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  %r23 = model.softmax %s : (!model.tensor<2 x rows x kv x f32>) -> !model.tensor<2 x rows x kv x f32>
  // CHECK: model.add %{{[0-9a-z]+}}, %{{[0-9a-z]+}} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r24 = model.add %x, %x : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.mul %{{[0-9a-z]+}}, %{{[0-9a-z]+}} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r25 = model.mul %x, %x : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.tanh %{{[0-9a-z]+}} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r26 = model.tanh %x : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.activate %{{[0-9a-z]+}} {activation = #model.activation<identity>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r27 = model.activate %x {activation = #model.activation<identity>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.activate %{{[0-9a-z]+}} {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r28 = model.activate %x {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.activate %{{[0-9a-z]+}} {activation = #model.activation<gelu>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r29 = model.activate %x {activation = #model.activation<gelu>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.activate %{{[0-9a-z]+}} {activation = #model.activation<gelu_tanh>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r30 = model.activate %x {activation = #model.activation<gelu_tanh>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.activate %{{[0-9a-z]+}} {activation = #model.activation<relu>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r31 = model.activate %x {activation = #model.activation<relu>} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.scale %{{[0-9a-z]+}} {factor = 5.000000e-01 : f32} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %r32 = model.scale %x {factor = 5.000000e-01 : f32} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // CHECK: model.reshape %{{[0-9a-z]+}} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  %r33 = model.reshape %x : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  // CHECK: model.transpose %{{[0-9a-z]+}} {permutation = array<i64: 2, 0, 1>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<4 x rows x 2 x f32>
  %r34 = model.transpose %h {permutation = array<i64: 2, 0, 1>} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<4 x rows x 2 x f32>
  // CHECK: model.slice %{{[0-9a-z]+}} {axis = 1 : i64, offset = 5 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 3 x f32>
  %r35 = model.slice %x {axis = 1 : i64, offset = 5 : i64} : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 3 x f32>
  // CHECK: model.broadcast %{{[0-9a-z]+}} {axis = 1 : i64, times = 3 : i64} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 6 x 4 x f32>
  %r36 = model.broadcast %h {axis = 1 : i64, times = 3 : i64} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 6 x 4 x f32>
}) : () -> ()
