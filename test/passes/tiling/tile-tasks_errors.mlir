// RUN: baton-opt %s -split-input-file -verify-diagnostics --tile-tasks
// RUN: not baton-opt %S/inputs/block.mlir --tile-tasks=linear-rows=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not baton-opt %S/inputs/block.mlir --tile-tasks=max-outputs=-3 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not baton-opt %S/inputs/block.mlir --tile-tasks=linear-columns=24 2>&1 | FileCheck %s --check-prefix=PANEL
// RUN: not baton-opt %S/inputs/block.mlir --tile-tasks=logits-bytes=0 2>&1 | FileCheck %s --check-prefix=LOGITS
// RUN: not baton-opt %S/inputs/block.mlir --tile-tasks=bucket=0 2>&1 | FileCheck %s --check-prefix=BUCKET

// ZERO: error: tile-tasks: linear-rows is 0, expected at least 1
// NEGATIVE: error: tile-tasks: max-outputs is -3, expected at least 1
// PANEL: error: tile-tasks: linear-columns is 24, no multiple of 16
// LOGITS: error: tile-tasks: logits-bytes is 0, expected at least 1
// BUCKET: error: tile-tasks: bucket is 0, expected at least 1

model.program @foreign_op max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  // expected-error @+1 {{has no tiling rule}}
  %c = builtin.unrealized_conversion_cast %e : !model.tensor<rows x 4 x f32> to !model.tensor<rows x 4 x f32>
  %l = model.last_rows %c : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

model.program @nested_stacks max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %y = model.stack %e repeat 2 : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32> {
  ^bb0(%x: !model.tensor<rows x 4 x f32>):
    // expected-error @+1 {{stands inside another stack}}
    %z = model.stack %x repeat 2 : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32> {
    ^bb0(%w: !model.tensor<rows x 4 x f32>):
      %t = model.tanh %w : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32>
      model.yield %t : !model.tensor<rows x 4 x f32>
    }
    model.yield %z : !model.tensor<rows x 4 x f32>
  }
  %l = model.last_rows %y : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

// Bodies take contiguous last dimensions.
model.program @transposed max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %h = model.reshape %e : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
  %x = model.transpose %h {permutation = array<i64: 0, 2, 1>} : (!model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
  // expected-error @+1 {{cannot be tiled: the last dimension of an operand is not contiguous in its buffer}}
  %t = model.tanh %x : (!model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
  %f = model.reshape %t : (!model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 4 x f32>
  %l = model.last_rows %f : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

// Tiles are tiles of rows.
model.program @no_rows_before_the_last_dimension max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %x = model.transpose %e {permutation = array<i64: 1, 0>} : (!model.tensor<rows x 4 x f32>) -> !model.tensor<4 x rows x f32>
  // expected-error @+1 {{cannot be tiled: '!model.tensor<4 x rows x f32>' has no rows before its last dimension}}
  %t = model.tanh %x : (!model.tensor<4 x rows x f32>) -> !model.tensor<4 x rows x f32>
  %y = model.transpose %t {permutation = array<i64: 1, 0>} : (!model.tensor<4 x rows x f32>) -> !model.tensor<rows x 4 x f32>
  %l = model.last_rows %y : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

// A gate's body walks over heads that lie behind one another.
model.program @scattered_heads max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 8 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %h = model.reshape %e : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
  %s = model.slice %h {axis = 2, offset = 0} : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
  // expected-error @+1 {{cannot be tiled: the heads of x do not lie behind one another}}
  %r = model.gate %s, %s : (!model.tensor<rows x 2 x 2 x f32>, !model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
  %f = model.reshape %r : (!model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 4 x f32>
  %l = model.last_rows %f : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

// A file may state sizes of tiles.
model.program @tile_columns max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  // expected-error @+1 {{cannot be tiled: event.tile has 24 columns, expected a multiple of 16 up to 65536}}
  %x = model.linear %e, %table {event.tile = array<i64: 8, 24>} : (!model.tensor<rows x 4 x f32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %l = model.last_rows %x : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

model.program @tile_rows max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  // expected-error @+1 {{cannot be tiled: event.tile has 0 rows, expected 1 to 4096}}
  %e = model.embedding %tokens, %table {event.tile = array<i64: 0>} : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %l = model.last_rows %e : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

model.program @tile_words max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  // expected-error @+1 {{cannot be tiled: event.tile is no array of i64}}
  %e = model.embedding %tokens, %table {event.tile = "large"} : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %l = model.last_rows %e : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

model.program @no_gradients max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<16 x 8 x f32>
  %x = model.embedding %tokens, %w : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %loss, %dx, %dw = model.cross_entropy %x, %w, %targets, %weights : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)
  // expected-error @+1 {{cannot be tiled: no parameter has a gradient; differentiate comes before tile-tasks}}
  model.return %loss : !model.tensor<rows x f32>
}

// -----

model.program @only_trains max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<16 x 8 x f32>
  %v = model.parameter ["v"] : !model.tensor<8 x 8 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // expected-error @+1 {{cannot be tiled: its program does not train}}
  %d = model.linear_input_gradient %e, %v : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %l = model.last_rows %d : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}

// -----

model.program @fused_activation max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<16 x 8 x f32>
  %v = model.parameter ["v"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // expected-error @+1 {{cannot be tiled: where weights train, norms and activations are ops of their own}}
  %y = model.linear %x, %v {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  model.return %weights : !model.tensor<rows x f32>
}

// -----

model.program @fused_gate max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<16 x 8 x f32>
  %v = model.parameter ["v"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  // expected-error @+1 {{cannot be tiled: where weights train, it is two linears and what comes behind them}}
  %y = model.gated_linear %x, %v, %v {activation = #model.activation<silu>} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x 8 x f32>, !model.tensor<8 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [dp = 2] batch [dp]
// expected-error @+1 {{cannot be tiled: it is a program of all ranks; localize comes before tile-tasks}}
model.program @of_all_ranks max_seq 8 training attributes {dist.arguments = [#dist.placement<[shard(dp)]>, #dist.placement<[shard(dp)]>, #dist.placement<[shard(dp)]>, #dist.placement<[shard(dp)]>]} {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [tp = 2]
model.program @numbers_of_no_row max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  // expected-error @+1 {{cannot be tiled: it is of '!model.tensor<4 x 4 x f32>', and so far ranks add up numbers of every row, and vectors, in f32}}
  %sum = dist.all_reduce %table : !model.tensor<4 x 4 x f32> over ["tp"] from <[replicate, replicate], partial sum(tp)> to <[replicate, replicate]> payload "4 * 4 * 4"
  %e = model.embedding %tokens, %sum : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %l = model.last_rows %e : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

dist.mesh [dp = 2] batch [dp]
model.program @summed_in_part max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !model.tensor<16 x 8 x f32>
  %x = model.embedding %tokens, %w : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %loss, %dx, %dw = model.cross_entropy %x, %w, %targets, %weights : (!model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 8 x f32>, !model.tensor<16 x 8 x f32>)
  // expected-error @+1 {{cannot be tiled: the gradient of parameter is a sum over other ranks elsewhere}}
  model.gradient %dw of %w : <16 x 8 x f32>, <16 x 8 x f32>
  %more = model.embedding_gradient %dx, %tokens : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x i32>) -> !model.tensor<16 x 8 x f32>
  model.gradient %more of %w {dist.summed = ["dp"]} : <16 x 8 x f32>, <16 x 8 x f32>
  model.return %loss : !model.tensor<rows x f32>
}

// -----

model.program @several_formats_of_both max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : <64 x 256 x f32>
  %x = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<64 x 256 x f32>) -> !model.tensor<rows x 256 x f32>
  %w = model.parameter ["w"] : <256 x 256 x !model.quantized<"q4_k|q6_k">>
  // expected-error @+1 {{cannot be tiled: gates and ups are stored as q4_k|q6_k, and no body reads several formats of both; multiply by each of them in an op of its own}}
  %y = model.gated_linear %x, %w, %w {activation = #model.activation<silu>} : (!model.tensor<rows x 256 x f32>, !model.tensor<256 x 256 x !model.quantized<"q4_k|q6_k">>, !model.tensor<256 x 256 x !model.quantized<"q4_k|q6_k">>) -> !model.tensor<rows x 256 x f32>
  %l = model.last_rows %y : (!model.tensor<rows x 256 x f32>) -> !model.tensor<outputs x 256 x f32>
  model.return %l : !model.tensor<outputs x 256 x f32>
}
