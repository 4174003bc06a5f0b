// RUN: baton-opt %s -split-input-file -verify-diagnostics

// Rows that go to experts of other ranks: constraints of their ops.

// counts: axes of the mesh

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  // expected-error @+1 {{there is no axis "tp"}}
  %r, %n = dist.exchange_counts %b over ["tp"] payload "4 * 2 * 16" : (!bounds) -> (!own, !counts)
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// an axis at least

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  // expected-error @+1 {{is over no axis}}
  %r, %n = dist.exchange_counts %b over [] payload "4 * 2 * 16" : (!bounds) -> (!own, !counts)
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// bounds of a dispatch

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  // expected-error @+1 {{bounds are not made by model.dispatch of all experts}}
  %r, %n = dist.exchange_counts %c over ["ep"] payload "4 * 2 * 16" : (!experts) -> (!own, !counts)
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// of all experts

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e {axes = ["dp"]} : (!experts) -> (!model.tensor<10 x i32>, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  // expected-error @+1 {{bounds are not made by model.dispatch of all experts}}
  %r, %n = dist.exchange_counts %b over ["ep"] payload "4 * 2 * 16" : (!model.tensor<10 x i32>) -> (!own, !counts)
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// which ranks divide

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  // expected-error @+1 {{3 ranks do not divide 8 experts}}
  %r, %n = dist.exchange_counts %b over ["dp"] payload "4 * 2 * 16" : (!bounds) -> (!own, !counts)
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// bounds of as many

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<5 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  // expected-error @+1 {{the result has shape [5], expected [6]}}
  %r, %n = dist.exchange_counts %b over ["ep"] payload "4 * 2 * 16" : (!bounds) -> (!own, !counts)
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// counts in whole cache lines

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  // expected-error @+1 {{counts has shape [2, 4], expected [2, 16]}}
  %r, %n = dist.exchange_counts %b over ["ep"] payload "4 * 2 * 16" : (!bounds) -> (!own, !model.tensor<2 x 4 x i32>)
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// integers

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  // expected-error @+1 {{results are not i32}}
  %r, %n = dist.exchange_counts %b over ["ep"] payload "4 * 2 * 16" : (!bounds) -> (!own, !model.tensor<2 x 16 x f32>)
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// payload of counts

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  // expected-error @+1 {{has payload '4 * 2 * 4', expected '4 * 2 * 16'}}
  %r, %n = dist.exchange_counts %b over ["ep"] payload "4 * 2 * 4" : (!bounds) -> (!own, !counts)
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// rows: counts of these bounds

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  %r, %n = dist.exchange_counts %b over ["ep"] payload "4 * 2 * 16" : (!bounds) -> (!own, !counts)
  // expected-error @+1 {{received and counts are not made by one dist.exchange_counts of bounds over ["ep"]}}
  %z = dist.dispatch_rows %y, %b, %b, %n over ["ep"] payload "4 * rows * 2 * 8" : (!places, !bounds, !bounds, !counts) -> !received
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// over the same axes

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  %r, %n = dist.exchange_counts %b over ["ep"] payload "4 * 2 * 16" : (!bounds) -> (!own, !counts)
  // expected-error @+1 {{received and counts are not made by one dist.exchange_counts of bounds over ["dp"]}}
  %z = dist.dispatch_rows %y, %b, %r, %n over ["dp"] payload "4 * rows * 2 * 8" : (!places, !bounds, !own, !counts) -> !received
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// room for all rows

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  %r, %n = dist.exchange_counts %b over ["ep"] payload "4 * 2 * 16" : (!bounds) -> (!own, !counts)
  // expected-error @+1 {{the value of received rows has shape [rows, 2, 8], expected [rows, 4, 8]}}
  %z = dist.dispatch_rows %y, %b, %r, %n over ["ep"] payload "4 * rows * 2 * 8" : (!places, !bounds, !own, !counts) -> !places
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// places of rows

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  %r, %n = dist.exchange_counts %b over ["ep"] payload "4 * 2 * 16" : (!bounds) -> (!own, !counts)
  // expected-error @+1 {{the value of a rank's own rows has shape [rows, 4, 8], expected [rows, 2, 8]}}
  %z = dist.combine_rows %y, %b, %r, %n over ["ep"] payload "4 * rows * 2 * 8" : (!places, !bounds, !own, !counts) -> !received
  model.return %weights : !model.tensor<rows x f32>
}

// -----

// payload of rows

dist.mesh [dp = 3, ep = 2] batch [ep]
!i = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 4 x 8 x f32>
!bounds = !model.tensor<9 x i32>
!own = !model.tensor<6 x i32>
!counts = !model.tensor<2 x 16 x i32>
model.program @p max_seq 8 training {
^bb0(%tokens: !i, %positions: !i, %targets: !i, %weights: !model.tensor<rows x f32>):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!i, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !x
  %e, %g = model.route %l : (!x) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!bounds, !experts, !experts)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  %r, %n = dist.exchange_counts %b over ["ep"] payload "4 * 2 * 16" : (!bounds) -> (!own, !counts)
  // expected-error @+1 {{has payload '4 * rows * 8', expected '4 * rows * 2 * 8'}}
  %z = dist.dispatch_rows %y, %b, %r, %n over ["ep"] payload "4 * rows * 8" : (!places, !bounds, !own, !counts) -> !received
  model.return %weights : !model.tensor<rows x f32>
}
