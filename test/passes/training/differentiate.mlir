// A stack's backward is a reversed stack; what it reads is saved by name.
//
// RUN: baton-opt %s --differentiate --cse | FileCheck %s
// RUN: baton-opt %s --differentiate --cse --differentiate | FileCheck %s
// RUN: baton-opt %s --differentiate=split --cse | FileCheck %s --check-prefix=SPLIT

// CHECK-LABEL: model.program @mlp
// CHECK-NEXT: ^bb0(%[[TOKENS:.+]]: {{.*}}, %{{.+}}: {{.*}}, %[[TARGETS:.+]]: {{.*}}, %[[WEIGHTS:.+]]: {{.*}}):
// CHECK: %[[Y:.+]] = model.stack %{{.+}} repeat 3 {first_layer = 1 : i64}
// CHECK-NEXT: ^bb0(%[[A:.+]]: {{.+}}):
// CHECK-NEXT: model.save %[[A]] to "layers.input"
// CHECK: %[[B:.+]] = model.linear %[[A]]
// CHECK-NEXT: model.save %[[B]] to "layers.up"
// CHECK: %[[C:.+]] = model.activate %[[B]]
// CHECK-NEXT: model.save %[[C]] to "layers.act"
// CHECK: model.yield
// CHECK: %[[LOSS:.+]], %[[DY:.+]], %[[DTABLE:.+]] = model.cross_entropy %[[Y]], %[[TABLE:.+]], %[[TARGETS]], %[[WEIGHTS]]
// CHECK-NEXT: model.gradient %[[DTABLE]] of %[[TABLE]]
// CHECK-NEXT: %[[DX:.+]] = model.stack %[[DY]] repeat 3 reverse {first_layer = 1 : i64}
// CHECK-NEXT: ^bb0(%[[DOUT:.+]]: {{.+}}):
// CHECK-DAG: %[[A2:.+]] = model.saved "layers.input"
// CHECK-DAG: %[[B2:.+]] = model.saved "layers.up"
// CHECK-DAG: %[[C2:.+]] = model.saved "layers.act"
// Parameters are named again, of the same layer.
// CHECK: %[[DOWN:.+]] = model.parameter ["down.{layer}"]
// CHECK: %[[DC:.+]] = model.linear_input_gradient %[[DOUT]], %[[DOWN]]
// CHECK: %[[DDOWN:.+]] = model.linear_weight_gradient %[[DOUT]], %[[C2]]
// CHECK-NEXT: model.gradient %[[DDOWN]] of %[[DOWN]]
// CHECK: %[[DB:.+]] = model.activate_gradient %[[DC]], %[[B2]] {activation = #model.activation<gelu>}
// CHECK: %[[DA:.+]] = model.linear_input_gradient %[[DB]]
// The residual's gradient and that through the linears add up.
// CHECK: %[[SUM:.+]] = model.add %[[DOUT]], %[[DA]]
// CHECK: %[[DBIAS:.+]] = model.bias_gradient %[[DB]]
// CHECK: model.yield %[[SUM]]
// CHECK: %[[DE:.+]] = model.embedding_gradient %[[DX]], %[[TOKENS]]
// CHECK-NEXT: model.gradient %[[DE]] of %[[TABLE]]
// CHECK-NEXT: model.return %[[LOSS]]

// In split form the stack of adjoints for inputs holds none for parameters, and
// saves its gradients for a stack that does.
// SPLIT: %[[DTABLE:[^, ]+]] = model.cross_entropy
// SPLIT: repeat 3 reverse
// SPLIT-NOT: model.gradient
// SPLIT: model.save %{{.+}} to "layers.output_gradient"
// SPLIT-NOT: model.gradient
// SPLIT: model.yield
// SPLIT: model.gradient %[[DTABLE]] of
// SPLIT: model.embedding_gradient
// SPLIT: model.stack repeat 3 reverse
// SPLIT: model.saved "layers.output_gradient"
// SPLIT: model.linear_weight_gradient
// SPLIT: model.gradient
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
model.program @mlp max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!rows, !model.tensor<16 x 8 x f32>) -> !x
  %y = model.stack %e repeat 3 {first_layer = 1 : i64} : (!x) -> !x {
  ^bb1(%a: !x):
    %up = model.parameter ["up.{layer}"] : !model.tensor<12 x 8 x f32>
    %bias = model.parameter ["bias.{layer}"] : !model.tensor<12 x f32>
    %b = model.linear %a, %up bias %bias : (!x, !model.tensor<12 x 8 x f32>, !model.tensor<12 x f32>) -> !h loc("layers.up")
    %c = model.activate %b {activation = #model.activation<gelu>} : (!h) -> !h loc("layers.act")
    %down = model.parameter ["down.{layer}"] : !model.tensor<8 x 12 x f32>
    %d = model.linear %c, %down : (!h, !model.tensor<8 x 12 x f32>) -> !x loc("layers.down")
    %r = model.add %a, %d : (!x, !x) -> !x
    model.yield %r : !x
  } loc("layers")
  %loss, %dx, %dw = model.cross_entropy %y, %wte, %targets, %weights : (!x, !model.tensor<16 x 8 x f32>, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !model.tensor<16 x 8 x f32>)
  model.return %loss : !model.tensor<rows x f32>
}
