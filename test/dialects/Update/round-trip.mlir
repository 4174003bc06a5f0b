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

// CHECK: update.format @bytes codes ui8 blocks [1, 64] scale (%[[L:.*]]) {
// CHECK-NEXT: update.yield %[[L]]
// CHECK-NEXT: } encode (%[[V:.*]], %[[S:.*]]) {
// CHECK-NEXT: %[[Q:.*]] = arith.divf %[[V]], %[[S]] : f32
// CHECK-NEXT: update.yield %[[Q]]
// CHECK-NEXT: } decode (%[[C:.*]], %[[S:.*]]) {
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[C]], %[[S]] : f32
// CHECK-NEXT: update.yield %[[D]]
update.format @bytes codes ui8 blocks [1, 64] scale (%largest) {
  update.yield %largest
} encode (%value, %scale) {
  %0 = arith.divf %value, %scale : f32
  update.yield %0
} decode (%code, %scale) {
  %0 = arith.mulf %code, %scale : f32
  update.yield %0
}

// CHECK: update.rule @kept states ["m", "n"] formats {n = @bytes} unscaled {
update.rule @kept states ["m", "n"] formats {n = @bytes} unscaled {
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>, %m: tensor<?x?xf32>, %n: tensor<?x?xf32>):
  %x, %y, %z = update.map (%w = %p, %a = %m, %b = %n) {
    update.yield %w, %a, %b
  }
  update.return %x, %y, %z
}

// What is not whole says so.
// CHECK: update.rule @vectors states ["r", "c"] {
update.rule @vectors states ["r", "c"] {
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>, %r: tensor<?x1xf32>, %c: tensor<1x?xf32>):
  // CHECK: %[[ROWS:.*]] = update.sum (%[[A:.*]] = %{{.*}}) dimension 1 {
  %rows = update.sum (%a = %g) dimension 1 {
    update.yield %a
  }
  // CHECK: update.sum (%[[A:.*]] = %{{.*}}) dimension 0 {
  %columns = update.sum (%a = %g) dimension 0 {
    update.yield %a
  }
  // CHECK: %[[R:.*]] = update.map (%{{.*}} = %{{.*}} : tensor<?x1xf32>, %{{.*}} = %[[ROWS]] : tensor<?x1xf32>) {
  %r1 = update.map (%a = %r : tensor<?x1xf32>, %b = %rows : tensor<?x1xf32>) {
    update.yield %b
  }
  %c1 = update.map (%a = %c : tensor<1x?xf32>, %b = %columns : tensor<1x?xf32>) {
    update.yield %b
  }
  // Rows and columns make a matrix.
  %outer = update.map (%a = %r1 : tensor<?x1xf32>, %b = %c1 : tensor<1x?xf32>) {
    update.yield %b
  }
  %n = update.map (%w = %p, %o = %outer) {
    update.yield %o
  }
  // CHECK: update.return %{{.*}}, %[[R]], %{{.*}} : tensor<?x?xf32>, tensor<?x1xf32>, tensor<1x?xf32>
  update.return %n, %r1, %c1 : tensor<?x?xf32>, tensor<?x1xf32>, tensor<1x?xf32>
}

// Weights of the run's, and layers that a map applies.
// CHECK: update.rule @learned {
update.rule @learned {
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>):
  // CHECK: %[[W:.*]] = update.weights "network.weight" : tensor<2x3xf32>
  %w = update.weights "network.weight" : tensor<2x3xf32>
  // CHECK: %[[B:.*]] = update.weights "network.bias" default [5.000000e-01, -1.000000e+00] : tensor<2xf32>
  %b = update.weights "network.bias" default [0.5, -1.0] : tensor<2xf32>
  // CHECK: %[[E:.*]] = update.element %[[W]][1, 2] : tensor<2x3xf32>
  %e = update.element %w[1, 2] : tensor<2x3xf32>
  %n = update.map (%x = %p, %y = %g) {
    // CHECK: %[[H:.*]]:2 = update.dense %[[W]], %[[B]](%{{.*}}, %{{.*}}, %[[E]]) relu : tensor<2x3xf32>
    %h:2 = update.dense %w, %b (%x, %y, %e) relu : tensor<2x3xf32>
    // CHECK: update.dense %[[W]], %[[B]](%[[H]]#0, %[[H]]#1, %{{.*}}) : tensor<2x3xf32>
    %o:2 = update.dense %w, %b (%h#0, %h#1, %y) : tensor<2x3xf32>
    update.yield %o#1
  }
  update.return %n
}
