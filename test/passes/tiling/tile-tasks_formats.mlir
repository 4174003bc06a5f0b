// States that are kept in blocks: codes and scales, in memory and in bodies.
//
// RUN: sed -e '/^dist/d' -e 's/{dist.scattered[^}]*}//' %s | baton-opt --tile-tasks=max-rows=64 | FileCheck %s
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1" | FileCheck %s --check-prefix=ZERO
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=EVENTS
// RUN: sed -e 's/%%s0 = arith.mulf/%%s0 = arith.divf/' %s | baton-opt --tile-tasks="max-rows=64 max-outputs=1" | FileCheck %s --check-prefix=WHOLE

dist.mesh [dp = 2] batch [dp]

!t = tensor<?x?xf32>
update.format @linear codes i8 blocks [32, 32] scale (%largest) {
  %most = arith.constant 127.0 : f32
  %scale = arith.divf %largest, %most : f32
  update.yield %scale
} encode (%value, %scale) {
  %code = arith.divf %value, %scale : f32
  update.yield %code
} decode (%code, %scale) {
  %value = arith.mulf %code, %scale : f32
  update.yield %value
}
update.format @squares codes ui8 blocks [32, 32] scale (%largest) {
  update.yield %largest
} encode (%value, %scale) {
  update.yield %value
} decode (%code, %scale) {
  update.yield %code
}
update.rule @kept states ["mean", "square"] formats {mean = @linear, square = @squares} {
^bb0(%parameter: !t, %gradient: !t, %mean: !t, %square: !t):
  %half = arith.constant 0.5 : f32
  %p, %m, %q = update.map (%w = %parameter, %g = %gradient, %a = %mean, %s = %square) {
    %a0 = arith.mulf %a, %half : f32
    %a1 = arith.addf %a0, %g : f32
    %s0 = arith.mulf %s, %half : f32
    %s1 = arith.maximumf %s0, %g : f32
    %root = math.sqrt %s1 : f32
    %step = arith.divf %a1, %root : f32
    %next = arith.subf %w, %step : f32
    update.yield %next, %a1, %s1
  }
  update.return %p, %m, %q
}
update.group @kept

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 48 x f32>
!wide = !model.tensor<72 x 48 x f32>
!table = !model.tensor<96 x 48 x f32>
model.program @step max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["table"] : !table
  %e = model.embedding %tokens, %table : (!rows, !table) -> !x
  %loss, %dx, %dtable = model.cross_entropy %e, %table, %targets, %weights : (!x, !table, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !table)
  model.gradient %dtable of %table {dist.scattered = "update", dist.summed = ["dp"]} : !table, !table
  %y = model.stack %dx repeat 3 reverse : (!x) -> !x {
  ^bb1(%a: !x):
    %w = model.parameter ["layers.{layer}.wide"] : !wide
    %b = model.parameter ["layers.{layer}.bias"] : !model.tensor<72 x f32>
    %z = model.linear %a, %w : (!x, !wide) -> !model.tensor<rows x 72 x f32>
    %dw = model.linear_weight_gradient %z, %a : (!model.tensor<rows x 72 x f32>, !x) -> !wide
    model.gradient %dw of %w {dist.scattered = "update", dist.summed = ["dp"]} : !wide, !wide
    %db = model.bias_gradient %z : (!model.tensor<rows x 72 x f32>) -> !model.tensor<72 x f32>
    model.gradient %db of %b {dist.scattered = "update", dist.summed = ["dp"]} : !model.tensor<72 x f32>, !model.tensor<72 x f32>
    %next = model.linear_input_gradient %z, %w : (!model.tensor<rows x 72 x f32>, !wide) -> !x
    model.yield %next : !x
  }
  model.return %loss : !model.tensor<rows x f32>
}

// One body for each shape. A block is gone through twice, and nothing holds its
// new values in F32: what the largest magnitude does not need, the root and the
// division, is computed the second time only.
// CHECK: event.body @kept.96x48.blocks32x32
// CHECK-SAME: <read @state.mean, {{.*}}>, #event.access<write @state.mean, {{.*}}>, #event.access<read @state.mean.scale, {{.*}}>, #event.access<write @state.mean.scale
// CHECK: ^bb0({{.*}}memref<?x?xi8, strided<[?, 1]>>, {{.*}}memref<?x?xf32, strided<[?, 1]>>
// CHECK-NOT: memref.alloca
// CHECK: scf.parallel
// CHECK: memref.load
// CHECK: scf.for
// CHECK: arith.sitofp
// CHECK: arith.uitofp
// CHECK-NOT: math.sqrt
// CHECK: arith.maxnumf
// CHECK: vector.reduction <maxnumf>
// CHECK: vector.maskedstore
// CHECK: scf.for
// CHECK: math.sqrt
// CHECK: math.roundeven
// CHECK: arith.fptosi
// CHECK: arith.fptoui
// CHECK-NOT: memref.alloca
// A block of a vector has one row.
// CHECK: event.body @kept.3x72.blocks1x32
// 72 rows are no whole blocks: each layer is by itself.
// CHECK: event.body @kept.72x48.blocks32x32

// CHECK-DAG: event.buffer @parameter.mean persistent : i8 {{.*}} capacity [96, 48] {{.*}}role = "optimizer"
// CHECK-DAG: event.buffer @parameter.mean.scale persistent : f32 {{.*}} capacity [3, 2] {{.*}}role = "optimizer"
// CHECK-DAG: event.buffer @parameter.square persistent : i8 {{.*}} capacity [96, 48] {{.*}}element = "u8"
// CHECK-DAG: event.buffer @parameter.2.mean persistent : i8 {{.*}} capacity [72, 48] {{.*}}layers = 3 : i64
// CHECK-DAG: event.buffer @parameter.2.mean.scale persistent : f32 {{.*}} capacity [3, 2] {{.*}}layers = 3 : i64
// CHECK-DAG: event.buffer @parameter.3.mean persistent : i8 {{.*}} capacity [3, 72]
// CHECK-DAG: event.buffer @parameter.3.mean.scale persistent : f32 {{.*}} capacity [3, 3]
// CHECK: event.phase "parameter.kept" {{.*}} capacity [1]
// CHECK: event.segment "update.3" repeat 3
// CHECK: event.phase "parameter.2.kept"

// Of 96 rows of 48 blocks for ranks have 32 rows, as those of states have: one
// rank has two of them, the other one, which is 1536 codes and two scales each.
// ZERO-DAG: event.buffer @parameter.mean persistent : i8 {{.*}} capacity [64, 48] {{.*}}shape = [3072], shards = [{axes = ["dp"], dimension = 0 : i64, extent = 4608 : i64, flat = [96, 48], granularity = 1536 : i64, units = [2, 1]}]
// ZERO-DAG: event.buffer @parameter.mean.scale persistent : f32 {{.*}} capacity [2, 2] {{.*}}shape = [4], shards = [{axes = ["dp"], dimension = 0 : i64, extent = 6 : i64, flat = [3, 2], granularity = 2 : i64, units = [2, 1]}]
// ZERO-DAG: event.buffer @parameter.2.mean persistent : i8 {{.*}} capacity [64, 48] {{.*}}flat = [72, 48], granularity = 1536 : i64, units = [2, 1]}]
// ZERO-DAG: event.buffer @parameter.2.mean.scale persistent : f32 {{.*}} capacity [2, 2] {{.*}}extent = 6 : i64, flat = [3, 2], granularity = 2 : i64, units = [2, 1]}]
// ZERO-DAG: event.buffer @parameter.3.mean persistent : i8 {{.*}} capacity [2, 32] {{.*}}flat = [1, 72], granularity = 32 : i64, units = [2, 1]}]
// ZERO-DAG: event.buffer @parameter.3.mean.scale persistent : f32 {{.*}} capacity [2, 1] {{.*}}extent = 3 : i64, flat = [1, 3], granularity = 1 : i64, units = [2, 1]}]
// EVENTS: proof {{.*}}status = "proved"

// Of a rule that may make something of nothing, behind the end of the last rank's
// part, ranks have all.
// WHOLE: event.buffer @parameter.mean persistent : i8 {{.*}} capacity [96, 48]
// WHOLE-NOT: flat =
