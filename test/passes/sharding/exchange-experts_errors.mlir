// RUN: baton-opt %s --exchange-experts -split-input-file -verify-diagnostics

// expected-error @below {{exchange-experts: the mesh has no axis "ep"}}
module {
  dist.mesh [dp = 2] batch [dp]
}

// -----

dist.mesh [ep = 2]
// expected-error @below {{cannot be exchanged: ranks along axis "ep" have the same rows, expected a batch axis of a program that trains}}
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  model.return %weights : !model.tensor<rows x f32>
}

// -----

dist.mesh [ep = 2] batch [ep]
// expected-error @below {{cannot be exchanged: it is no mixture of experts}}
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// Three experts, of which two ranks cannot have as many each.

dist.mesh [ep = 2] batch [ep]
!x = !model.tensor<rows x 16 x f32>
!i = !model.tensor<rows x 2 x i32>
!p = !model.tensor<rows x 2 x 16 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32>
  %x = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<19 x 16 x f32>) -> !x
  %router = model.parameter ["router"] : !model.tensor<3 x 16 x f32>
  // expected-error @below {{cannot be exchanged: 2 ranks along axis "ep" cannot have equally many of the 3 experts of "experts.{expert}"}}
  %w = model.parameter ["experts.{expert}"] : !model.tensor<3 x 16 x 16 x f32>
  %l = model.linear %x, %router : (!x, !model.tensor<3 x 16 x f32>) -> !model.tensor<rows x 3 x f32>
  %e, %g = model.route %l : (!model.tensor<rows x 3 x f32>) -> (!i, !model.tensor<rows x 2 x f32>)
  %b, %c, %q = model.dispatch %e : (!i) -> (!model.tensor<4 x i32>, !i, !i)
  %px = model.gather %x, %c : (!x, !i) -> !p
  %py = model.grouped_linear %px, %b, %w : (!p, !model.tensor<4 x i32>, !model.tensor<3 x 16 x 16 x f32>) -> !p
  %y = model.combine %py, %q, %g : (!p, !i, !model.tensor<rows x 2 x f32>) -> !x
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// Along tp ranks have some of the experts each already.

dist.mesh [tp = 2, ep = 2] batch [ep]
!x = !model.tensor<rows x 16 x f32>
!i = !model.tensor<rows x 2 x i32>
!p = !model.tensor<rows x 2 x 16 x f32>
model.program @p max_seq 8 training {
^bb0(%tokens: !model.tensor<rows x i32>, %positions: !model.tensor<rows x i32>, %targets: !model.tensor<rows x i32>, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32>
  %x = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<19 x 16 x f32>) -> !x
  %router = model.parameter ["router"] : !model.tensor<4 x 16 x f32>
  %w = model.parameter ["experts.{expert}"] {shards = [#model.shard<0 of 4 over ["tp"]>]} : !model.tensor<2 x 16 x 16 x f32>
  %l = model.linear %x, %router : (!x, !model.tensor<4 x 16 x f32>) -> !model.tensor<rows x 4 x f32>
  %e, %g = model.route %l : (!model.tensor<rows x 4 x f32>) -> (!i, !model.tensor<rows x 2 x f32>)
  %b, %c, %q = model.dispatch %e {axes = ["tp"]} : (!i) -> (!model.tensor<4 x i32>, !i, !i)
  %px = model.gather %x, %c : (!x, !i) -> !p
  // expected-error @below {{cannot be exchanged: ranks along other axes have some of its experts each}}
  %py = model.grouped_linear %px, %b, %w : (!p, !model.tensor<4 x i32>, !model.tensor<2 x 16 x 16 x f32>) -> !p
  %y = model.combine %py, %q, %g, %b : (!p, !i, !model.tensor<rows x 2 x f32>, !model.tensor<4 x i32>) -> !x
  model.return %weights : !model.tensor<rows x f32>
}
