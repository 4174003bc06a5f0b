// What gets no low-rank pairs, and why.
//
// RUN: baton-opt %s --split-input-file --low-rank-adapters="rank=4 targets=q_proj" -verify-diagnostics

!rows = !model.tensor<rows x i32>
!loss = !model.tensor<rows x f32>
!x = !model.tensor<rows x 16 x f32>
!w = !model.tensor<19 x 16 x f32>
// expected-error @below {{has no linear that can be adapted called 'q_proj'; there is k_proj, and all-linear for all of them}}
model.program @other max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !loss):
  %wte = model.parameter ["wte"] : !w
  %x = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %wk = model.parameter ["k_proj.weight"] : !model.tensor<16 x 16 x f32>
  %k = model.linear %x, %wk : (!x, !model.tensor<16 x 16 x f32>) -> !x
  %l, %dx, %dw = model.cross_entropy %k, %wte, %targets, %weights : (!x, !w, !rows, !loss) -> (!loss, !x, !w)
  model.return %l : !loss
}

// -----

!rows = !model.tensor<rows x i32>
// expected-error @below {{is no training program; training-form makes one}}
model.program @decodes max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32>
  %x = model.embedding %tokens, %wte : (!rows, !model.tensor<19 x 16 x f32>) -> !model.tensor<rows x 16 x f32>
  %last = model.last_rows %x : (!model.tensor<rows x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
  model.return %last : !model.tensor<outputs x 16 x f32>
}
