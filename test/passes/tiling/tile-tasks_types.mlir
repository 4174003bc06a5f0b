// What the type of a training program's matrices makes of its plan.
//
// RUN: sed s/TYPE/bf16/ %s | cat - %optimizers/sgd.mlir | baton-opt --differentiate --tile-tasks=max-rows=64 | FileCheck %s --check-prefixes=CHECK,ROUNDED -DTYPE=bf16
// RUN: sed s/TYPE/f16/ %s | cat - %optimizers/sgd.mlir | baton-opt --differentiate --tile-tasks=max-rows=64 | FileCheck %s --check-prefixes=CHECK,ROUNDED -DTYPE=f16
// RUN: sed s/TYPE/f64/ %s | cat - %optimizers/sgd.mlir | baton-opt --differentiate --tile-tasks=max-rows=64 | FileCheck %s --check-prefixes=CHECK,WIDE -DTYPE=f64

// Weights, gradients, sums and the optimizer stay in F32 where products round.
// In F64 all is F64, and storages and scratch are twice as large.
// WIDE: event.body @sgd.40x8
// WIDE: ^bb0(%{{.*}}: memref<?x?xf64, strided<[?, 1]>>
// WIDE-NOT: f32
// CHECK: event.program @step {{.*}}event.compute = "[[TYPE]]"
// ROUNDED: event.buffer @numbers persistent : f32
// WIDE: event.buffer @numbers persistent : f64
// ROUNDED: event.storage @parameter.weights_memory bytes 1280
// ROUNDED: event.buffer @parameter.weights persistent : f32
// WIDE: event.storage @parameter.weights_memory bytes 2560
// WIDE: event.buffer @parameter.weights persistent : f64
// ROUNDED: event.call "embedding_f32"
// ROUNDED-NOT: event.call "product"
// ROUNDED: event.call "product_[[TYPE]]"
// ROUNDED: event.call "cross_entropy"
// ROUNDED: event.call "product_gradient_[[TYPE]]"
// ROUNDED-NOT: event.call "product_gradient"
// ROUNDED: event.call "step_summary"
// WIDE: event.call "embedding_f64" {{.*}}, 1.000000e+00]
// WIDE: event.call "product_f64"
// WIDE: event.call "product_gradient_f64" {{.*}}#event.scratch<0>
// WIDE: event.call "step_summary_f64"
// CHECK: event.call "sgd.40x8"

// RUN: sed -e s/TYPE/f64/ -e 's/8 x 8 x f64/8 x 8 x bf16/' %s | cat - %optimizers/sgd.mlir | not baton-opt --differentiate --tile-tasks=max-rows=64 2>&1 | FileCheck %s --check-prefix=MIXED
// MIXED: error: 'model.parameter' op cannot be tiled: the program computes in f64, since it has parameters of that type, and not in 16 bits too

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!weight = !model.tensor<40 x 8 x TYPE>
!gradient = !model.tensor<40 x 8 x f32>
!square = !model.tensor<8 x 8 x TYPE>
model.program @step max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["table"] : !weight
  %e = model.embedding %tokens, %table : (!rows, !weight) -> !x
  %square = model.parameter ["square"] : !square
  %y = model.linear %e, %square : (!x, !square) -> !x
  %loss, %dx, %dtable = model.cross_entropy %y, %table, %targets, %weights : (!x, !weight, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !gradient)
  model.return %loss : !model.tensor<rows x f32>
}
