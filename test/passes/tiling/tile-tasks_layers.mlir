// A learned optimizer: a map goes through its tile in pieces, and only a worker's scratch holds
// what its layers take and make.
//
// RUN: baton-opt %s --tile-tasks=max-rows=64 | FileCheck %s
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=EVENTS

!t = tensor<?x?xf32>
update.rule @learned states ["mean"] {
^bb0(%parameter: !t, %gradient: !t, %mean: !t):
  %rate = update.number "learning_rate"
  %keep = update.number "keep" default 0.5
  %first = update.weights "first" : tensor<6x3xf32>
  %first_bias = update.weights "first_bias" : tensor<6xf32>
  %second = update.weights "second" : tensor<1x6xf32>
  %second_bias = update.weights "second_bias" default [0.25] : tensor<1xf32>
  %p, %m = update.map (%w = %parameter, %g = %gradient, %old = %mean) {
    %kept = arith.mulf %old, %keep : f32
    %new = arith.addf %kept, %g : f32
    %hidden:6 = update.dense %first, %first_bias (%g, %new, %w) relu : tensor<6x3xf32>
    %way = update.dense %second, %second_bias (%hidden#0, %hidden#1, %hidden#2, %hidden#3, %hidden#4, %hidden#5) : tensor<1x6xf32>
    %change = arith.mulf %way, %rate : f32
    %next = arith.subf %w, %change : f32
    update.yield %next, %new
  }
  update.return %p, %m
}
update.group @learned

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 20 x f32>
!table = !model.tensor<40 x 20 x f32>
model.program @step max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["table"] : !table
  %e = model.embedding %tokens, %table : (!rows, !table) -> !x
  %loss, %dx, %dtable = model.cross_entropy %e, %table, %targets, %weights : (!x, !table, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !table)
  model.gradient %dtable of %table : !table, !table
  model.return %loss : !model.tensor<rows x f32>
}

// CHECK: event.body @learned.40x20
// CHECK-DAG: %[[IN:.*]] = memref.alloca() : memref<3x128xf32>
// CHECK-DAG: %[[HIDDEN:.*]] = memref.alloca() : memref<6x128xf32>
// CHECK-DAG: %[[OUT:.*]] = memref.alloca() : memref<1x128xf32>
// CHECK: scf.if
// CHECK: scf.for
// What the first layer takes.
// CHECK: scf.parallel
// CHECK-COUNT-3: vector.store %{{.*}}, %[[IN]]
// Four of six results, then the other two; their weights stand behind the numbers.
// CHECK: scf.parallel
// CHECK: scf.for
// CHECK: vector.load %[[IN]]
// CHECK-COUNT-4: math.fma
// CHECK-NOT: math.fma
// CHECK: arith.maximumf
// CHECK: vector.store %{{.*}}, %[[HIDDEN]]
// CHECK: scf.parallel
// CHECK-COUNT-2: math.fma
// CHECK-NOT: math.fma
// The second layer reads these where they lie.
// CHECK: scf.parallel
// CHECK: vector.load %[[HIDDEN]]
// CHECK: math.fma
// CHECK-NOT: arith.maximumf
// CHECK: vector.store %{{.*}}, %[[OUT]]
// CHECK: scf.parallel
// CHECK: vector.load %[[OUT]]
// CHECK: vector.maskedstore
// CHECK: vector.maskedstore
// CHECK-NOT: event.body

// The trainer's four, one of the rule, and 18 + 6 + 6 + 1 weights.
// CHECK: event.buffer @numbers {{.*}} capacity [36] {{.*}}numbers = [{name = "step"}, {name = "learning_rate"}, {name = "clip"}, {name = "loss_scale"}, {default = 5.000000e-01 : f32, name = "learned.keep"}, {name = "first", shape = [6, 3]}, {name = "first_bias", shape = [6]}, {name = "second", shape = [1, 6]}, {default = [2.500000e-01 : f32], name = "second_bias", shape = [1]}]
// Scratch of 10 rows of 128.
// CHECK: event.call "learned.40x20" [{{.*}}#event.scratch<0>, #event.scratch<0>, 0, 5120, 1]
// EVENTS: proof {{.*}}status = "proved"
