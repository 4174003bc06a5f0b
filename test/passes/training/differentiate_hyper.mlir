// The adjoint of hyper-connections: what is saved, and what is computed again.
//
// RUN: baton-opt %examples/hyper-connections.mlir --training-form --differentiate --cse | FileCheck %s
// RUN: baton-opt %examples/hyper-connections.mlir --training-form --differentiate=split --cse | FileCheck %s --check-prefix=SPLIT

// CHECK: model.stack %{{.+}} repeat 3 :
// CHECK-NEXT: ^bb0(%[[X0:.+]]: {{.+}}):
// CHECK-NEXT: model.save %[[X0]] to "stack.input"
// CHECK: %[[L0:.+]] = model.hyper_project %[[X0]]
// CHECK-NEXT: model.save %[[L0]]
// CHECK: %[[X1:.+]] = model.hyper_post %[[X0]]
// CHECK-NEXT: model.save %[[X1]] to "hyper_post"
// The last hyper_post's result is nobody's.
// CHECK: %[[X2:.+]] = model.hyper_post %[[X1]]
// CHECK-NEXT: model.yield %[[X2]]

// CHECK: %[[DOUT:.+]] = model.stack %{{.+}} repeat 3 reverse
// CHECK-NEXT: ^bb0(%[[DX2:.+]]: {{.+}}):
// CHECK: %[[DX:.+]], %[[DY:.+]], %[[DW:.+]] = model.hyper_post_gradient %[[DX2]]
// CHECK: model.linear_input_gradient %[[DY]]
// CHECK: %[[DXR:.+]], %[[DR:.+]] = model.hyper_pre_gradient
// CHECK: %[[SUM:.+]] = model.add %[[DX]], %[[DXR]]
// Both parts of the maps' gradient meet.
// CHECK: %[[DM:.+]] = model.join %[[DR]], %[[DW]] {axis = 1 : i64}
// CHECK: %[[DL:.+]], %[[DZ:.+]] = model.hyper_maps_gradient %[[DM]]
// CHECK: %[[DB:.+]] = model.bias_gradient %[[DZ]]
// CHECK-NEXT: model.gradient %[[DB]] of %{{.+}} : <8 x f32>
// CHECK: %[[DS:.+]] = model.hyper_scale_gradient %[[DZ]]
// CHECK-NEXT: model.gradient %[[DS]] of %{{.+}} : <3 x f32>
// CHECK: %[[FLAT:.+]] = model.reshape %{{.+}} : (!model.tensor<rows x 2 x 32 x f32>) -> !model.tensor<rows x 64 x f32>
// CHECK: %[[STATISTICS:.+]] = model.norm_statistics %[[FLAT]] {epsilon = 9.99999997E-7 : f32, norm = #model.norm<rms>}
// CHECK: %[[DXP:.+]] = model.hyper_project_gradient %[[DL]], %{{.+}}, %{{.+}}, %{{.+}}, %[[STATISTICS]]
// CHECK: model.add %[[SUM]], %[[DXP]]
// CHECK: %[[SCALED:.+]] = model.scale_rows %[[DL]], %[[STATISTICS]]
// CHECK: %[[DPHI:.+]] = model.linear_weight_gradient %[[SCALED]], %[[FLAT]]
// CHECK-NEXT: model.gradient %[[DPHI]] of %{{.+}} : <8 x 64 x f32>

// The adjoint of a repetition is the sum over what it repeats.
// CHECK: %[[A:.+]] = model.slice %[[DOUT]] {axis = 1 : i64, offset = 0 : i64}
// CHECK: %[[B:.+]] = model.slice %[[DOUT]] {axis = 1 : i64, offset = 1 : i64}
// CHECK: %[[BOTH:.+]] = model.add %[[A]], %[[B]]
// CHECK: model.reshape %[[BOTH]]
// CHECK: model.embedding_gradient

// SPLIT: repeat 3 reverse
// SPLIT: model.hyper_post_gradient
// SPLIT-NOT: model.gradient
// SPLIT: model.yield
// SPLIT: model.stack repeat 3 reverse
// SPLIT: model.hyper_scale_gradient
// SPLIT: model.linear_weight_gradient

// Of a repetition with several indices, each index by itself.
// RUN: baton-opt %s --differentiate --cse | FileCheck %s --check-prefix=REPEAT

// REPEAT-LABEL: model.program @repeat
// REPEAT: %[[D:.+]] = model.reshape %{{.+}} : (!model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 6 x 4 x f32>
// REPEAT: %[[S0:.+]] = model.slice %[[D]] {axis = 1 : i64, offset = 0 : i64}
// REPEAT: %[[S1:.+]] = model.slice %[[D]] {axis = 1 : i64, offset = 1 : i64}
// REPEAT: %[[S01:.+]] = model.add %[[S0]], %[[S1]]
// REPEAT: %[[S2:.+]] = model.slice %[[D]] {axis = 1 : i64, offset = 2 : i64}
// REPEAT: %[[FIRST:.+]] = model.add %[[S01]], %[[S2]]
// REPEAT: %[[S34:.+]] = model.add
// REPEAT: %[[SECOND:.+]] = model.add %[[S34]],
// REPEAT: model.join %[[FIRST]], %[[SECOND]] {axis = 1 : i64}
// REPEAT: model.embedding_gradient
model.program @repeat max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["table"] : !model.tensor<9 x 8 x f32>
  %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<9 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %heads = model.reshape %x : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  %all = model.broadcast %heads {axis = 1 : i64, times = 3 : i64} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 6 x 4 x f32>
  %flat = model.reshape %all : (!model.tensor<rows x 6 x 4 x f32>) -> !model.tensor<rows x 24 x f32>
  %head = model.parameter ["head"] : !model.tensor<9 x 24 x f32>
  %loss, %dx, %dw = model.cross_entropy %flat, %head, %targets, %weights : (!model.tensor<rows x 24 x f32>, !model.tensor<9 x 24 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 24 x f32>, !model.tensor<9 x 24 x f32>)
  model.return %loss : !model.tensor<rows x f32>
}
