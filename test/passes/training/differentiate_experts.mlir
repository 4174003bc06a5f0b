// A mixture's adjoint goes the ways of its rows back. Who went where is saved as the experts of
// each row: places are made again, and so are the rows that stand there.
//
// RUN: baton-opt %s --training-form --differentiate --cse | FileCheck %s
// RUN: baton-opt %s --training-form --differentiate --recompute=mode=full --cse | FileCheck %s --check-prefix=FULL

// Gates and ups are products of their own, in the forward step.
// CHECK: %[[X:.+]] = model.rms_norm
// CHECK: %[[L:.+]] = model.linear %[[X]]
// CHECK: %[[E:.+]], %[[W:.+]] = model.route %[[L]] {factor = 2.500000e+00 : f32, normalize}
// CHECK: model.save %[[E]] to "route"
// CHECK: %[[B:.+]], %[[C:.+]], %[[P:.+]] = model.dispatch %[[E]]
// CHECK-NOT: model.save
// CHECK: %[[G:.+]] = model.gather %[[X]], %[[C]]
// CHECK-NOT: model.save
// CHECK: %[[GATE:.+]] = model.grouped_linear %[[G]], %[[B]], %{{.+}}
// CHECK-NEXT: model.save %[[GATE]] to "gate_up.gate"
// CHECK: %[[UP:.+]] = model.grouped_linear %[[G]], %[[B]], %{{.+}}
// CHECK: %[[ACT:.+]] = model.activate %[[GATE]] {activation = #model.activation<silu>}
// CHECK: %[[H:.+]] = model.mul %[[ACT]], %[[UP]]
// CHECK: %[[D:.+]] = model.grouped_linear %[[H]], %[[B]], %{{.+}}
// CHECK: model.combine %[[D]], %[[P]], %[[W]]

// CHECK: model.stack %{{.+}} repeat 2 reverse
// CHECK: ^bb0(%[[DY:.+]]: {{.+}}):
// CHECK-DAG: %[[E2:.+]] = model.saved "route" :
// CHECK-DAG: %[[W2:.+]] = model.saved "route.1"
// CHECK-DAG: %[[X2:.+]] = model.saved "norm"
// CHECK-DAG: %[[D2:.+]] = model.saved "down"
// CHECK-DAG: %[[H2:.+]] = model.saved "gate_up"
// CHECK-DAG: %[[GATE2:.+]] = model.saved "gate_up.gate"
// CHECK-DAG: %[[L2:.+]] = model.saved "logits"
// CHECK: %[[B2:.+]], %[[C2:.+]], %[[P2:.+]] = model.dispatch %[[E2]]
// CHECK: %[[DD:.+]] = model.combine_input_gradient %[[DY]], %[[C2]], %[[W2]]
// CHECK: %[[DW:.+]] = model.combine_weight_gradient %[[DY]], %[[D2]], %[[P2]]
// CHECK: %[[DH:.+]] = model.grouped_linear_input_gradient %[[DD]], %[[B2]], %[[DOWN:.+]] :
// CHECK: %[[DDOWN:.+]] = model.grouped_linear_weight_gradient %[[DD]], %[[H2]], %[[B2]]
// CHECK-NEXT: model.gradient %[[DDOWN]] of %[[DOWN]]
// CHECK: %[[DACT:.+]] = model.mul %[[DH]]
// CHECK: %[[DUP:.+]] = model.mul %[[DH]]
// CHECK: %[[DGATE:.+]] = model.activate_gradient %[[DACT]], %[[GATE2]]
// CHECK: %[[DG1:.+]] = model.grouped_linear_input_gradient %[[DUP]], %[[B2]]
// CHECK: %[[G2:.+]] = model.gather %[[X2]], %[[C2]]
// CHECK: model.grouped_linear_weight_gradient %[[DUP]], %[[G2]], %[[B2]]
// CHECK: %[[DG2:.+]] = model.grouped_linear_input_gradient %[[DGATE]], %[[B2]]
// CHECK: %[[DG:.+]] = model.add %[[DG1]], %[[DG2]]
// CHECK: model.grouped_linear_weight_gradient %[[DGATE]], %[[G2]], %[[B2]]
// CHECK: model.gather_gradient %[[DG]], %[[P2]]
// CHECK: model.route_gradient %[[DW]], %[[L2]], %[[E2]] {factor = 2.500000e+00 : f32, normalize}

// Of a layer that is computed again nothing but its input is there.
// FULL: model.stack
// FULL: model.save %{{.+}} to "stack.input"
// FULL-NOT: model.save
// FULL: reverse
// FULL: %[[E:.+]], %[[W:.+]] = model.route
// FULL: model.dispatch %[[E]]
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 16 x f32>
model.program @mixture max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32>
  %x0 = model.embedding %tokens, %wte : (!rows, !model.tensor<19 x 16 x f32>) -> !x
  %y0 = model.stack %x0 repeat 2 : (!x) -> !x {
  ^bb1(%x: !x):
    %norm = model.parameter ["norm.{layer}"] : !model.tensor<16 x f32>
    %router = model.parameter ["router.{layer}"] : !model.tensor<4 x 16 x f32>
    %gate = model.parameter ["layers.{layer}.experts.{expert}.gate"] : !model.tensor<4 x 32 x 16 x f32>
    %up = model.parameter ["layers.{layer}.experts.{expert}.up"] : !model.tensor<4 x 32 x 16 x f32>
    %down = model.parameter ["layers.{layer}.experts.{expert}.down"] : !model.tensor<4 x 16 x 32 x f32>
    %n = model.rms_norm %x, %norm {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<16 x f32>) -> !x loc("norm")
    %l = model.linear %n, %router : (!x, !model.tensor<4 x 16 x f32>) -> !model.tensor<rows x 4 x f32> loc("logits")
    %e, %w = model.route %l {normalize, factor = 2.5 : f32} : (!model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) loc("route")
    %b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<5 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>) loc("dispatch")
    %g = model.gather %n, %c : (!x, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 2 x 16 x f32> loc("gather")
    %h = model.grouped_gated_linear %g, %b, %gate, %up {activation = #model.activation<silu>} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<5 x i32>, !model.tensor<4 x 32 x 16 x f32>, !model.tensor<4 x 32 x 16 x f32>) -> !model.tensor<rows x 2 x 32 x f32> loc("gate_up")
    %d = model.grouped_linear %h, %b, %down : (!model.tensor<rows x 2 x 32 x f32>, !model.tensor<5 x i32>, !model.tensor<4 x 16 x 32 x f32>) -> !model.tensor<rows x 2 x 16 x f32> loc("down")
    %s = model.combine %d, %p, %w : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) -> !x loc("combine")
    %r = model.add %x, %s : (!x, !x) -> !x
    model.yield %r : !x
  }
  %last = model.last_rows %y0 : (!x) -> !model.tensor<outputs x 16 x f32>
  %o = model.linear %last, %wte : (!model.tensor<outputs x 16 x f32>, !model.tensor<19 x 16 x f32>) -> !model.tensor<outputs x 19 x f32>
  model.return %o : !model.tensor<outputs x 19 x f32>
}
