// RUN: baton-opt %s --localize -split-input-file -verify-diagnostics

// Key/value heads that all ranks have.
dist.mesh [tp = 2]
!rows = !model.tensor<rows x i32>
model.program @heads max_seq 8 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wide = model.parameter ["wide"] : !model.tensor<9 x 16 x f32>
  %narrow = model.parameter ["narrow"] : !model.tensor<9 x 8 x f32>
  %x = model.embedding %tokens, %wide : (!rows, !model.tensor<9 x 16 x f32>) -> !model.tensor<rows x 16 x f32>
  %y = model.embedding %tokens, %narrow : (!rows, !model.tensor<9 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %q = model.reshape %x : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 4 x 4 x f32>
  %k = model.reshape %y : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  // expected-error @+1 {{cannot be localized: all ranks have all its key/value heads, and which of them a rank's queries read is not computed; with an axis of as many ranks as there are key/value heads, and another one for the queries of each, ranks have one}}
  %o, %s = model.sequence_attention %q, %k, %k, %positions {dist.shared_heads, scale = 0.5 : f32} : (!model.tensor<rows x 4 x 4 x f32>, !model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 2 x 4 x f32>, !rows) -> (!model.tensor<rows x 4 x 4 x f32>, !model.tensor<rows x 4 x 2 x f32>)
  model.return %weights : !model.tensor<rows x f32>
}
