// A program that decodes becomes the forward step of training.
//
// RUN: baton-opt %s --training-form --split-input-file | FileCheck %s

// CHECK-LABEL: model.program @decoder max_seq 64 training {
// CHECK-NEXT: ^bb0(%[[TOKENS:.+]]: !model.tensor<rows x i32>, %[[POSITIONS:.+]]: !model.tensor<rows x i32>, %[[TARGETS:.+]]: !model.tensor<rows x i32>, %[[WEIGHTS:.+]]: !model.tensor<rows x f32>):
// CHECK: model.embedding %[[TOKENS]]
// CHECK: %[[TABLE:.+]] = model.parameter ["wpe"]
// CHECK: model.embedding %[[POSITIONS]], %[[TABLE]]
// CHECK: model.rope_table %[[POSITIONS]]
// CHECK: model.stack
// CHECK-NOT: kv_append
// CHECK: %[[Y:.+]], %{{.+}} = model.sequence_attention %[[Q:.+]], %[[K:.+]], %[[V:.+]], %[[POSITIONS]] {scale = 5.000000e-01 : f32, window = 7 : i64}
// A gate is an op of its own again: what it multiplies has to be kept.
// CHECK: model.gate %[[Y]]
// The last rows are all rows; 30 tanh(2 x / 30) is a scale and a cap.
// CHECK: %[[NORM:.+]] = model.rms_norm %{{.+}} : (!model.tensor<rows x 8 x f32>
// CHECK: %[[LOSS:.+]], %{{.+}}, %{{.+}} = model.cross_entropy %[[NORM]], %{{.+}}, %[[TARGETS]], %[[WEIGHTS]] {scale = 2.000000e+00 : f32, softcap = 3.000000e+01 : f32}
// CHECK-NOT: model.linear %[[NORM]]
// CHECK-NEXT: model.return %[[LOSS]] : !model.tensor<rows x f32>
model.program @decoder max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %wpe = model.parameter ["wpe"] : !model.tensor<64 x 8 x f32>
  %p = model.position_embedding %wpe : (!model.tensor<64 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %x = model.add %e, %p : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %angles = model.rope_table {frequencies = array<f32: 1.0, 0.1>} : () -> !model.tensor<rows x 4 x f32>
  %y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    %h = model.reshape %a : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
    %q = model.rope %h, %angles : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
    %k = model.kv_append %q to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
    %v = model.kv_append %h to "v" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
    %o = model.attention %q, %k, %v, %h {scale = 0.5 : f32, window = 7 : i64} : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
    %b = model.reshape %o : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 8 x f32>
    model.yield %b : !model.tensor<rows x 8 x f32>
  }
  %last = model.last_rows %y : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %g = model.parameter ["norm"] : !model.tensor<8 x f32>
  %n = model.rms_norm %last, %g {epsilon = 1.0e-5 : f32} : (!model.tensor<outputs x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %n, %wte : (!model.tensor<outputs x 8 x f32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<outputs x 16 x f32>
  %s = model.scale %l {factor = 0.0666666701 : f32} : (!model.tensor<outputs x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
  %t = model.tanh %s : (!model.tensor<outputs x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
  %c = model.scale %t {factor = 30.0 : f32} : (!model.tensor<outputs x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
  model.return %c : !model.tensor<outputs x 16 x f32>
}

// -----

// The bias of what makes the logits is added in the loss, under the cap.
//
// CHECK-LABEL: model.program @biased max_seq 64 training {
// CHECK: %[[X:.+]] = model.embedding
// CHECK: %[[BIAS:.+]] = model.parameter ["bias"]
// CHECK: %[[LOSS:.+]], %{{.+}}, %{{.+}}, %{{.+}} = model.cross_entropy %[[X]], %{{.+}}, %{{.+}}, %{{.+}} bias %[[BIAS]] {scale = 3.000000e+00 : f32} : ({{.+}}) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<16 x f32>)
// CHECK-NEXT: model.return %[[LOSS]] : !model.tensor<rows x f32>
model.program @biased max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %last = model.last_rows %e : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %bias = model.parameter ["bias"] : !model.tensor<16 x bf16>
  %l = model.linear %last, %wte bias %bias : (!model.tensor<outputs x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<16 x bf16>) -> !model.tensor<outputs x 16 x f32>
  %s = model.scale %l {factor = 3.0 : f32} : (!model.tensor<outputs x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
  model.return %s : !model.tensor<outputs x 16 x f32>
}
