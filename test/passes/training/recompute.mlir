// What a reversed stack reads is kept, or made again of what is.
//
// RUN: baton-opt %s --differentiate --recompute --cse --canonicalize | FileCheck %s --check-prefix=NONE
// RUN: baton-opt %s --differentiate --recompute=mode=selective --cse --canonicalize | FileCheck %s --check-prefix=SELECTIVE
// RUN: baton-opt %s --differentiate --recompute=mode=full --cse --canonicalize | FileCheck %s --check-prefix=FULL
// RUN: baton-opt %s --differentiate=split --recompute=mode=full --cse --canonicalize | FileCheck %s --check-prefix=SPLIT
// RUN: not baton-opt %s --recompute=mode=some 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: Cannot find option named 'some'!

!rows = !model.tensor<rows x i32>
!scalars = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!wh = !model.tensor<12 x 8 x f32>
!hw = !model.tensor<8 x 12 x f32>
!table = !model.tensor<16 x 8 x f32>

// Norms and activations are made again, linears are not. Three layers of two
// values of 8 and 12 floats, of one with full.

// NONE-LABEL: model.program @mlp
// NONE-SAME: model.recompute = {mode = "none", recomputed = 0 : i64, row_bytes = 480 : i64, row_flops = 0 : i64, saved = 4 : i64}
// NONE-COUNT-4: model.save
// NONE: model.stack {{.*}} reverse
// NONE-COUNT-4: model.saved
// NONE-NOT: model.rms_norm
// NONE-NOT: model.activate %
// NONE: model.return

// SELECTIVE-LABEL: model.program @mlp
// SELECTIVE-SAME: model.recompute = {mode = "selective", recomputed = 2 : i64, row_bytes = 240 : i64, row_flops = 0 : i64, saved = 2 : i64}
// SELECTIVE: model.save %{{.*}} to "layers.input"
// SELECTIVE-NOT: model.save
// SELECTIVE: model.save %{{.*}} to "layers.up"
// SELECTIVE-NOT: model.save
// SELECTIVE: model.stack {{.*}} reverse
// SELECTIVE-NEXT: ^bb0(%[[DY:.+]]: {{.*}}):
// SELECTIVE-NEXT: %[[A:.+]] = model.saved "layers.input"
// SELECTIVE-NEXT: %[[B:.+]] = model.saved "layers.up"
// SELECTIVE: %[[C:.+]] = model.activate %[[B]] {activation = #model.activation<gelu>}
// SELECTIVE-NEXT: model.linear_weight_gradient %[[DY]], %[[C]]
// SELECTIVE: %[[DB:.+]] = model.activate_gradient %{{.*}}, %[[B]]
// Of the parameter of the reversed stack's layer; adjoints read the same one.
// SELECTIVE: %[[W:.+]] = model.parameter ["norm.{layer}"]
// SELECTIVE-NEXT: %[[N:.+]] = model.rms_norm %[[A]], %[[W]]
// SELECTIVE-NEXT: model.linear_weight_gradient %[[DB]], %[[N]]
// SELECTIVE: model.norm_input_gradient %{{.*}}, %[[A]], %[[W]]

// FULL-LABEL: model.program @mlp
// FULL-SAME: model.recompute = {mode = "full", recomputed = 3 : i64, row_bytes = 96 : i64, row_flops = 576 : i64, saved = 1 : i64}
// FULL: model.save %{{.*}} to "layers.input"
// FULL-NOT: model.save
// FULL: model.stack {{.*}} reverse
// FULL-NEXT: ^bb0
// FULL-NEXT: %[[A:.+]] = model.saved "layers.input"
// FULL-NOT: model.saved
// FULL: %[[N:.+]] = model.rms_norm %[[A]]
// FULL: %[[B:.+]] = model.linear %[[N]], %{{.*}} bias
// FULL-NEXT: %[[C:.+]] = model.activate %[[B]]
// FULL-NEXT: model.linear_weight_gradient %{{.*}}, %[[C]]
// The last linear is read by nobody.
// FULL-NOT: model.linear %
// FULL: model.return

// Gradients that a reversed stack leaves to the next one stay; both make again
// what they read.
// SPLIT-LABEL: model.program @mlp
// SPLIT-SAME: model.recompute = {mode = "full", recomputed = 5 : i64, row_bytes = 96 : i64, row_flops = 1152 : i64, saved = 1 : i64}
// SPLIT: repeat 3 reverse
// SPLIT-NEXT: ^bb0
// SPLIT-NEXT: model.save %{{.*}} to "layers.output_gradient"
// SPLIT-NEXT: model.saved "layers.input"
// SPLIT: model.linear %
// SPLIT-NOT: model.activate %
// SPLIT: repeat 3 reverse
// SPLIT-DAG: model.saved "layers.output_gradient"
// SPLIT-DAG: model.saved "layers.input"
// SPLIT: model.linear %
// SPLIT-NEXT: model.activate %
model.program @mlp max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !scalars):
  %wte = model.parameter ["wte"] : !table
  %e = model.embedding %tokens, %wte : (!rows, !table) -> !x
  %y = model.stack %e repeat 3 : (!x) -> !x {
  ^bb1(%a: !x):
    %norm = model.parameter ["norm.{layer}"] : !model.tensor<8 x f32>
    %n = model.rms_norm %a, %norm {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<8 x f32>) -> !x loc("layers.norm")
    %up = model.parameter ["up.{layer}"] : !wh
    %bias = model.parameter ["bias.{layer}"] : !model.tensor<12 x f32>
    %b = model.linear %n, %up bias %bias : (!x, !wh, !model.tensor<12 x f32>) -> !h loc("layers.up")
    %c = model.activate %b {activation = #model.activation<gelu>} : (!h) -> !h loc("layers.act")
    %down = model.parameter ["down.{layer}"] : !hw
    %d = model.linear %c, %down : (!h, !hw) -> !x loc("layers.down")
    %r = model.add %a, %d : (!x, !x) -> !x
    model.yield %r : !x
  } loc("layers")
  %loss, %dx, %dw = model.cross_entropy %y, %wte, %targets, %weights : (!x, !table, !rows, !scalars) -> (!scalars, !x, !table)
  model.return %loss : !scalars
}

// Of values of one size on a path the last is kept: nothing is repeated for it.
// Attention is not repeated, so that both of its results are kept; with full it
// is, once, with both. Values around the stack are read where they are.

// SELECTIVE-LABEL: model.program @attention
// SELECTIVE-SAME: recomputed = 0 : i64
// SELECTIVE: model.stack
// SELECTIVE-DAG: model.save %{{.*}} to "layers.input"
// SELECTIVE-DAG: model.save %{{.*}} to "layers.rope"
// SELECTIVE-DAG: model.save %{{.*}} to "layers.attention"
// SELECTIVE-DAG: model.save %{{.*}} to "layers.attention.1"
// SELECTIVE-NOT: model.save
// SELECTIVE: model.stack {{.*}} reverse

// FULL-LABEL: model.program @attention
// What the last row of the longest sequence takes: 3 (2 * 8 * 8 + 2 * 64 * 8 * 2).
// FULL-SAME: row_flops = 6528 : i64
// FULL-NEXT: ^bb0(%{{[^ ]+}}: {{[^ ]+ [^ ]+ [^ ]+}}, %[[POSITIONS:[^ ]+]]:
// FULL: %[[ROPE:.+]] = model.rope_table %[[POSITIONS]]
// FULL: model.stack {{.*}} reverse
// FULL: model.rope %{{.*}}, %[[ROPE]]
// FULL: %[[Y:.+]], %[[STATISTICS:.+]] = model.sequence_attention %[[Q:.+]], %[[Q]], %{{.*}}, %[[POSITIONS]]
// FULL-NOT: model.sequence_attention
// FULL: %[[DELTA:.+]] = model.attention_delta %{{.*}}, %[[Y]]
// FULL: model.attention_query_gradient %{{.*}}, %[[Q]], %[[Q]], %{{.*}}, %[[DELTA]], %[[STATISTICS]], %[[POSITIONS]]
!heads = !model.tensor<rows x 2 x 4 x f32>
!angles = !model.tensor<rows x 4 x f32>
!square = !model.tensor<8 x 8 x f32>
model.program @attention max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !scalars):
  %wte = model.parameter ["wte"] : !table
  %e = model.embedding %tokens, %wte : (!rows, !table) -> !x
  %rope = model.rope_table %positions {frequencies = array<f32: 1.0, 0.5>} : (!rows) -> !angles
  %y = model.stack %e repeat 3 : (!x) -> !x {
  ^bb1(%a: !x):
    %w = model.parameter ["w.{layer}"] : !square
    %b = model.linear %a, %w : (!x, !square) -> !x loc("layers.projection")
    %q = model.reshape %b : (!x) -> !heads
    %k = model.rope %q, %rope : (!heads, !angles) -> !heads loc("layers.rope")
    %v = model.reshape %a : (!x) -> !heads
    %t, %s = model.sequence_attention %k, %k, %v, %positions {scale = 0.5 : f32} : (!heads, !heads, !heads, !rows) -> (!heads, !model.tensor<rows x 2 x 2 x f32>) loc("layers.attention")
    %r = model.reshape %t : (!heads) -> !x
    model.yield %r : !x
  } loc("layers")
  %loss, %dx, %dw = model.cross_entropy %y, %wte, %targets, %weights : (!x, !table, !rows, !scalars) -> (!scalars, !x, !table)
  model.return %loss : !scalars
}

// One wide product is kept for the two values that are slices of it; slices are
// taken again. Two values of 8 are made of one of 16 that is kept anyway.

// SELECTIVE-LABEL: model.program @slices
// SELECTIVE-SAME: recomputed = 2 : i64, row_bytes = 192 : i64, row_flops = 0 : i64, saved = 2 : i64
// SELECTIVE: model.stack {{.*}} reverse
// SELECTIVE-NEXT: ^bb0
// SELECTIVE-DAG: model.saved "layers.input"
// SELECTIVE-DAG: %[[B:.+]] = model.saved "layers.both"
// SELECTIVE-NOT: model.saved
// SELECTIVE: %[[GATE:.+]] = model.slice %[[B]] {axis = 1 : i64, offset = 0 : i64}
// SELECTIVE: %[[C:.+]] = model.activate %[[GATE]]
// SELECTIVE: %[[UP:.+]] = model.slice %[[B]] {axis = 1 : i64, offset = 8 : i64}
// SELECTIVE: model.mul %[[C]], %[[UP]]
!both = !model.tensor<rows x 16 x f32>
!wide = !model.tensor<16 x 8 x f32>
model.program @slices max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !scalars):
  %wte = model.parameter ["wte"] : !table
  %e = model.embedding %tokens, %wte : (!rows, !table) -> !x
  %y = model.stack %e repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    %w = model.parameter ["w.{layer}"] : !wide
    %b = model.linear %a, %w : (!x, !wide) -> !both loc("layers.both")
    %gate = model.slice %b {axis = 1, offset = 0} : (!both) -> !x
    %up = model.slice %b {axis = 1, offset = 8} : (!both) -> !x
    %c = model.activate %gate {activation = #model.activation<silu>} : (!x) -> !x
    %d = model.mul %c, %up : (!x, !x) -> !x
    %down = model.parameter ["down.{layer}"] : !square
    %r = model.linear %d, %down : (!x, !square) -> !x
    model.yield %r : !x
  } loc("layers")
  %loss, %dx, %dw = model.cross_entropy %y, %wte, %targets, %weights : (!x, !table, !rows, !scalars) -> (!scalars, !x, !table)
  model.return %loss : !scalars
}

// Of a pattern of two layers one input is kept with full, and the second layer's
// is made again by the first one's ops.

// FULL-LABEL: model.program @two
// FULL-SAME: row_bytes = 64 : i64, row_flops = 256 : i64, saved = 1 : i64
// FULL: model.stack {{.*}} reverse
// FULL-NEXT: ^bb0
// FULL-NEXT: %[[A:.+]] = model.saved "layers.input"
// FULL: %[[FIRST:.+]] = model.parameter ["w.{layer}"]
// FULL-NEXT: %[[B:.+]] = model.linear %[[A]], %[[FIRST]]
// FULL-NEXT: model.linear_weight_gradient %{{.*}}, %[[B]]
model.program @two max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !scalars):
  %wte = model.parameter ["wte"] : !table
  %e = model.embedding %tokens, %wte : (!rows, !table) -> !x
  %y = model.stack %e repeat 2 {layers_per_iteration = 2 : i64} : (!x) -> !x {
  ^bb1(%a: !x):
    %w = model.parameter ["w.{layer}"] : !square
    %b = model.linear %a, %w : (!x, !square) -> !x
    %u = model.parameter ["w.{layer+1}"] : !square
    %r = model.linear %b, %u : (!x, !square) -> !x
    model.yield %r : !x
  } loc("layers")
  %loss, %dx, %dw = model.cross_entropy %y, %wte, %targets, %weights : (!x, !table, !rows, !scalars) -> (!scalars, !x, !table)
  model.return %loss : !scalars
}
