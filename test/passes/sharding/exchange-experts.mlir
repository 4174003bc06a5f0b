// Rows of a mixture go to the ranks of their experts and come back. What the second product makes is
// saved as it has come back, where the router's gradient reads it; what lies between two products
// stays with the experts. Backward, gradients of places go and those of rows come back, and rows
// that were gathered again go once more. An expert's gradient is no sum over the axis.
//
// RUN: sed 's/^dist.mesh.*/dist.mesh [dp = 2, ep = 2, tp = 2] batch [dp, ep]/' %S/experts_training.mlir > %t.mlir
// RUN: baton-opt %t.mlir --training-form --differentiate --cse --sharding-propagation=tactics=data:dp,data:ep --insert-reshards --verify-sharding --lower-reshards --localize --exchange-experts | FileCheck %s
// RUN: baton-opt %t.mlir --training-form --differentiate --cse --sharding-propagation=tactics=data:dp,data:ep,tensor:tp --insert-reshards --verify-sharding --lower-reshards --localize --exchange-experts | FileCheck %s --check-prefix=TP
// RUN: baton-opt %t.mlir --training-form --differentiate --cse --sharding-propagation=tactics=data:dp,data:ep,zero:dp --insert-reshards --verify-sharding --lower-reshards --localize --exchange-experts | FileCheck %s --check-prefix=ZERO
// RUN: baton-opt %t.mlir --training-form --differentiate --recompute=mode=full --cse --sharding-propagation=tactics=data:dp,data:ep --insert-reshards --verify-sharding --lower-reshards --localize --exchange-experts | FileCheck %s --check-prefix=FULL

// CHECK: model.stack
// CHECK: model.parameter ["layers.{layer}.experts.{expert}.gate"] {shards = [#model.shard<0 of 4 over ["ep"]>]} : <2 x 32 x 16 x f32>
// CHECK: %[[B:.+]], %[[C:.+]], %[[P:.+]] = model.dispatch
// CHECK-NEXT: %[[R:.+]], %[[N:.+]] = dist.exchange_counts %[[B]] over ["ep"] payload "4 * 2 * 16" : (!model.tensor<5 x i32>) -> (!model.tensor<4 x i32>, !model.tensor<2 x 16 x i32>)
// CHECK: %[[X:.+]] = model.gather %{{.+}}, %[[C]] : {{.*}} -> !model.tensor<rows x 2 x 16 x f32>
// CHECK: %[[Y:.+]] = dist.dispatch_rows %[[X]], %[[B]], %[[R]], %[[N]] over ["ep"] payload "4 * rows * 2 * 16" : {{.*}} -> !model.tensor<rows x 4 x 16 x f32>
// CHECK: model.grouped_linear %[[Y]], %[[R]], %{{.+}} : (!model.tensor<rows x 4 x 16 x f32>, !model.tensor<4 x i32>, !model.tensor<2 x 32 x 16 x f32>) -> !model.tensor<rows x 4 x 32 x f32>
// CHECK: model.save {{.*}} : <rows x 4 x 32 x f32>
// CHECK: %[[D:.+]] = model.grouped_linear {{.*}} -> !model.tensor<rows x 4 x 16 x f32>
// CHECK: %[[H:.+]] = dist.combine_rows %[[D]], %[[B]], %[[R]], %[[N]] over ["ep"] payload "4 * rows * 2 * 16" : {{.*}} -> !model.tensor<rows x 2 x 16 x f32>
// CHECK: model.save %[[H]] to "down" : <rows x 2 x 16 x f32>
// CHECK: model.combine %[[H]], %[[P]], %{{.+}} :

// CHECK: reverse
// CHECK: %[[S:.+]] = model.saved "down" : <rows x 2 x 16 x f32>
// CHECK: dist.exchange_counts
// CHECK: %[[G:.+]] = model.combine_input_gradient
// CHECK: model.combine_weight_gradient %{{.+}}, %[[S]],
// CHECK: dist.dispatch_rows %[[G]],
// CHECK: model.grouped_linear_weight_gradient {{.*}} -> !model.tensor<2 x 16 x 32 x f32>
// CHECK: model.gradient %{{.+}} of %{{.+}} {dist.summed = ["dp"]} : <2 x 16 x 32 x f32>
// CHECK: dist.dispatch_rows
// CHECK: %[[DX:.+]] = dist.combine_rows
// CHECK: model.gather_gradient %[[DX]],
// CHECK: model.gradient %{{.+}} of %{{.+}} {dist.summed = ["dp", "ep"]}

// TP: model.parameter ["layers.{layer}.experts.{expert}.gate"] {shards = [#model.shard<0 of 4 over ["ep"]>, #model.shard<1 of 32 over ["tp"]>]} : <2 x 16 x 16 x f32>
// TP: dist.exchange_counts
// TP: dist.dispatch_rows
// TP: %[[H:.+]] = dist.combine_rows
// TP: %[[S:.+]] = model.combine %[[H]],
// TP-NEXT: dist.all_reduce %[[S]] {{.*}} over ["tp"]

// ZERO: model.gradient %{{.+}} of %{{.+}} {dist.scattered = "update", dist.summed = ["dp"]} : <2 x 16 x 32 x f32>
// ZERO: dist.scattered_over = ["dp"], dist.summed = ["dp", "ep"]

// FULL: reverse
// FULL: dist.combine_rows
// FULL: dist.combine_rows
