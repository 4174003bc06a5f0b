// Rules and groups print as they are read.
//
// RUN: baton-opt %s --verify-roundtrip | baton-opt | FileCheck %s

// CHECK-LABEL: update.rule @all states ["m"] wide {
update.rule @all states ["m"] wide {
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>, %m: tensor<?x?xf32>):
  // CHECK: %[[RATE:.*]] = update.number "learning_rate"
  %rate = update.number "learning_rate"
  // CHECK: update.number "beta" default 5.000000e-01
  %beta = update.number "beta" default 0.5
  // CHECK: update.extent %{{.*}}, 1
  %columns = update.extent %p, 1
  // CHECK: %[[MAP:.*]]:2 = update.map (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) {
  // CHECK-NEXT: %[[S:.*]] = arith.mulf %[[A]], %[[RATE]] : f32
  // CHECK-NEXT: update.yield %[[S]], %[[B]]
  %x, %m1 = update.map (%a = %m, %b = %g) {
    %s = arith.mulf %a, %rate : f32
    update.yield %s, %b
  }
  // CHECK: update.sum (%[[E:.*]] = %[[MAP]]#0) {
  // CHECK-NEXT: update.yield %[[E]]
  %norm = update.sum (%e = %x) {
    update.yield %e
  }
  // CHECK: update.product %[[MAP]]#0, %[[MAP]]#0 transposed
  %gram = update.product %x, %x transposed
  // CHECK: update.product %{{.*}} transposed, %{{.*}}
  %y = update.product %gram transposed, %x
  %n = update.map (%w = %p, %d = %y) {
    %0 = arith.subf %w, %d : f32
    %1 = arith.divf %0, %norm : f32
    update.yield %1
  }
  // CHECK: update.return %{{.*}}, %[[MAP]]#1
  update.return %n, %m1
}
// CHECK: update.group @all names ["*norm*", "w?e"] rank 1 numbers {beta = 0.000000e+00 : f32}
update.group @all names ["*norm*", "w?e"] rank 1 numbers {beta = 0.0 : f32}
// CHECK: update.group @all
update.group @all
