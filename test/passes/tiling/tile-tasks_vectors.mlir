// States with a number for each row and each column, and sums along a dimension.
//
// RUN: baton-opt %s --tile-tasks=max-rows=64 | FileCheck %s
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=EVENTS
// RUN: sed -e 's/columns"] {/columns"] wide {/' %s | baton-opt --tile-tasks=max-rows=64 | FileCheck %s --check-prefix=TURNED

!t = tensor<?x?xf32>
!r = tensor<?x1xf32>
!c = tensor<1x?xf32>
update.rule @factored states ["rows", "columns"] {
^bb0(%parameter: !t, %gradient: !t, %rows: !r, %columns: !c):
  %row_sum = update.sum (%g = %gradient) dimension 1 {
    %g2 = arith.mulf %g, %g : f32
    update.yield %g2
  }
  %column_sum = update.sum (%g = %gradient) dimension 0 {
    %g2 = arith.mulf %g, %g : f32
    update.yield %g2
  }
  %r = update.map (%a = %rows : !r, %b = %row_sum : !r) {
    %s = arith.addf %a, %b : f32
    update.yield %s
  }
  %c = update.map (%a = %columns : !c, %b = %column_sum : !c) {
    %s = arith.addf %a, %b : f32
    update.yield %s
  }
  %all = update.sum (%a = %r : !r) {
    update.yield %a
  }
  %p = update.map (%w = %parameter, %g = %gradient, %a = %r : !r, %b = %c : !c) {
    %ab = arith.mulf %a, %b : f32
    %part = arith.divf %ab, %all : f32
    %root = math.sqrt %part : f32
    %step = arith.divf %g, %root : f32
    %next = arith.subf %w, %step : f32
    update.yield %next
  }
  update.return %p, %r, %c : !t, !r, !c
}
update.group @factored

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 48 x f32>
!table = !model.tensor<400 x 48 x f32>
model.program @step max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["table"] : !table
  %e = model.embedding %tokens, %table : (!rows, !table) -> !x
  %loss, %dx, %dtable = model.cross_entropy %e, %table, %targets, %weights : (!x, !table, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !table)
  model.gradient %dtable of %table : !table, !table
  model.return %loss : !model.tensor<rows x f32>
}

// A row is one task's: it leaves the sum. Elements are added sixteen apart, in the
// order of columns.
// CHECK: event.body @factored.400x48 grid
// CHECK: scf.parallel
// CHECK: scf.for
// CHECK: vector.reduction <add>
// CHECK: vector.maskedstore
// Of columns a task leaves the sums of its rows.
// CHECK: event.body @factored.2.400x48 grid
// CHECK: scf.parallel
// CHECK: scf.for
// CHECK-NOT: vector.reduction
// CHECK: event.body @factored.2.total.400x48 grid
// What has one column is one number for a whole vector.
// CHECK: event.body @factored.6.400x48 grid
// CHECK: scf.parallel
// CHECK: memref.load
// CHECK: vector.broadcast

// CHECK-DAG: event.buffer @parameter.rows persistent : f32 {{.*}} capacity [400, 1] {{.*}}role = "optimizer"
// CHECK-DAG: event.buffer @parameter.columns persistent : f32 {{.*}} capacity [1, 48] {{.*}}role = "optimizer"
// CHECK-DAG: event.buffer @parameter.factored.sums transient : f32 {{.*}} capacity [400, 1]
// CHECK-DAG: event.buffer @parameter.factored.2.partial transient : f32 {{.*}} capacity [2, 48]
// CHECK-DAG: event.buffer @parameter.factored.2.sums transient : f32 {{.*}} capacity [1, 48]
// CHECK: event.phase "parameter.factored" {{.*}} capacity [2]
// CHECK: event.phase "parameter.factored.2" {{.*}} capacity [2]
// CHECK: event.phase "parameter.factored.2.total" {{.*}} capacity [1]
// CHECK: event.phase "parameter.factored.3" {{.*}} capacity [1]
// CHECK: event.phase "parameter.factored.4" {{.*}} capacity [1]
// CHECK: event.phase "parameter.factored.6" {{.*}} capacity [2]

// EVENTS: proof {{.*}}status = "proved"

// Rows of what is taken transposed are columns in memory.
// TURNED-DAG: event.buffer @parameter.rows persistent : f32 {{.*}} capacity [1, 48]
// TURNED-DAG: event.buffer @parameter.columns persistent : f32 {{.*}} capacity [400, 1]
