// The phases that update rules become.
//
// RUN: baton-opt %s --tile-tasks=max-rows=64 | FileCheck %s

!t = tensor<?x?xf32>

// A map is one phase: all layers together, in place.
update.rule @signs states ["average"] {
^bb0(%parameter: !t, %gradient: !t, %average: !t):
  %rate = update.number "learning_rate"
  %keep = update.number "keep" default 0.5
  %p, %a = update.map (%w = %parameter, %g = %gradient, %old = %average) {
    %kept = arith.mulf %old, %keep : f32
    %new = arith.addf %kept, %g : f32
    %change = math.copysign %rate, %new : f32
    %next = arith.subf %w, %change : f32
    update.yield %next, %new
  }
  update.return %p, %a
}

// Sums and products go layer by layer.
update.rule @normal wide {
^bb0(%parameter: !t, %gradient: !t):
  %scaled = update.map (%g = %gradient) {
    update.yield %g
  }
  %squares = update.sum (%x = %scaled) {
    %x2 = arith.mulf %x, %x : f32
    update.yield %x2
  }
  %gram = update.product %scaled, %scaled transposed
  %turned = update.product %gram, %scaled
  %columns = update.extent %parameter, 1
  %p = update.map (%w = %parameter, %x = %turned) {
    %0 = arith.divf %x, %squares : f32
    %1 = arith.mulf %0, %columns : f32
    %2 = arith.subf %w, %1 : f32
    update.yield %2
  }
  update.return %p
}

update.group @signs rank 1 numbers {keep = 0.25 : f32}
update.group @signs names ["table*"]
update.group @normal

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!wide = !model.tensor<24 x 8 x f32>
!table = !model.tensor<40 x 8 x f32>
model.program @step max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["table"] : !table
  %tied = model.parameter ["table_of_outputs"] : !table
  %e = model.embedding %tokens, %table : (!rows, !table) -> !x
  %y = model.stack %e repeat 3 : (!x) -> !x {
  ^bb1(%a: !x):
    %w = model.parameter ["layers.{layer}.wide"] : !wide
    %norm = model.parameter ["layers.{layer}.bias"] : !model.tensor<24 x f32>
    %h = model.linear %a, %w : (!x, !wide) -> !model.tensor<rows x 24 x f32>
    %gw = model.linear_weight_gradient %h, %a : (!model.tensor<rows x 24 x f32>, !x) -> !wide
    model.gradient %gw of %w : !wide, !wide
    %gb = model.bias_gradient %h : (!model.tensor<rows x 24 x f32>) -> !model.tensor<24 x f32>
    model.gradient %gb of %norm : !model.tensor<24 x f32>, !model.tensor<24 x f32>
    %b = model.linear_input_gradient %h, %w : (!model.tensor<rows x 24 x f32>, !wide) -> !x
    model.yield %b : !x
  }
  %loss, %dx, %dw = model.cross_entropy %y, %tied, %targets, %weights : (!x, !table, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !table)
  %gt = model.embedding_gradient %y, %tokens : (!x, !rows) -> !table
  model.gradient %gt of %table : !table, !table
  %go = model.embedding_gradient %e, %tokens : (!x, !rows) -> !table
  model.gradient %go of %tied : !table, !table
  model.return %loss : !model.tensor<rows x f32>
}

// What a rule was is gone; parameters of one shape and group share a body, and
// a number that a group fixes is a constant.
// CHECK-NOT: update.
// CHECK: event.body @signs.40x8 grid ()[{{.*}}] -> (s2) accesses [#event.access<read @parameter, {{.*}}>, #event.access<write @parameter, {{.*}}>, #event.access<read @gradient, {{.*}}>, #event.access<read @state.average, {{.*}}>, #event.access<write @state.average, {{.*}}>, #event.access<read @numbers,
// A step that is not finite changes nothing.
// CHECK: %[[FINITE:.*]] = arith.cmpf one
// CHECK-NEXT: scf.if %[[FINITE]]
// Elements are in no order: whole vectors, and what is left of rows.
// CHECK: scf.parallel
// CHECK: vector.load
// CHECK: vector.store
// CHECK: scf.if
// CHECK-NEXT: scf.parallel
// CHECK: vector.maskedstore
// CHECK-NOT: event.body @signs.40x8
// CHECK: event.body @signs.3x24.group1
// CHECK: arith.constant 2.500000e-01 : f32
// CHECK: event.body @normal.24x8 grid
// CHECK: event.body @normal.2.24x8 grid
// Sums are in one.
// CHECK-NOT: scf.parallel
// CHECK: vector.reduction <add>
// CHECK: event.body @normal.2.total.24x8 grid
// The last one reads columns of the transposed matrix.
// CHECK: event.body @normal.5.24x8 grid
// CHECK: arith.constant 2.400000e+01 : f32
// CHECK-NOT: event.body

// CHECK: event.buffer @numbers {{.*}}numbers = [{name = "step"}, {name = "learning_rate"}, {name = "clip"}, {name = "loss_scale"}, {default = 5.000000e-01 : f32, name = "signs.keep"}]
// CHECK: event.segment "update" repeat 1
// CHECK: event.call "sum_squares"
// CHECK: event.call "step_summary"
// CHECK: event.phase "parameter.signs"
// CHECK: event.call "signs.40x8"
// CHECK: event.phase "parameter.4.signs"
// CHECK: event.call "signs.3x24.group1"
// CHECK: event.phase "parameter.2.signs"
// CHECK: event.call "signs.40x8"
// CHECK: event.segment "update.3" repeat 3
// CHECK: event.phase "parameter.3.normal"
// CHECK: event.phase "parameter.3.normal.2"
// CHECK: event.phase "parameter.3.normal.2.total"
// X transposed(X) of 8 rows: 8 columns of what is stored.
// CHECK: event.phase "parameter.3.normal.3"
// CHECK: event.call "product"
// CHECK: event.phase "parameter.3.normal.4"
// CHECK: event.call "product"
// CHECK: event.phase "parameter.3.normal.5"
// CHECK: event.segment "advance" repeat 1
// CHECK: event.advance
