// Parameters that all iterations of a stack share: their gradients begin before the
// stack, once, and each iteration adds.
//
// RUN: baton-opt %S/../../e2e/inputs/shared_layers.mlir --differentiate --cse \
// RUN:   "--tile-tasks=max-rows=16 max-outputs=1" --derive-events --plan-memory --event-verify | FileCheck %s

// CHECK: event.segment "end"
// CHECK: event.phase "parameter.2.begin"
// CHECK-SAME: read @parameter.2.gradient, {{[^>]+}}->{{[^>]+}}->{{[^>]+}} if @accumulate>
// CHECK-SAME: write @parameter.2.gradient,
// CHECK-NEXT: "sum_rows" [#event.address<@parameter.2.gradient, {{[^>]+}}-> (d0, 0)>, {{.*}}, 8, 0, 8, #event.address<@accumulate,
// CHECK: event.phase "parameter.3.begin"
// CHECK-NOT: .begin"
// CHECK: event.segment "layers.backward.2" repeat 3 reverse
// CHECK: event.phase "layers.down.weight_gradient"
// CHECK-SAME: if @accumulate>
// CHECK: event.phase "layers.up.weight_gradient"
// CHECK-NOT: @accumulate
// CHECK: event.phase "layers.up.bias_gradient"
// CHECK-NOT: @accumulate
// CHECK: event.segment "after.2"
