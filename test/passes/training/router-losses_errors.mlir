// What gets no losses of routers, and why.
//
// RUN: baton-opt %s --split-input-file --router-losses=balance=0.5 -verify-diagnostics

!rows = !model.tensor<rows x i32>
!loss = !model.tensor<rows x f32>
!x = !model.tensor<rows x 16 x f32>
!w = !model.tensor<19 x 16 x f32>
// expected-error @below {{gets no losses of routers: it has no model.route, as mixtures of experts have}}
model.program @dense max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !loss):
  %wte = model.parameter ["wte"] : !w
  %x = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %l, %dx, %dw = model.cross_entropy %x, %wte, %targets, %weights : (!x, !w, !rows, !loss) -> (!loss, !x, !w)
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

// -----

!rows = !model.tensor<rows x i32>
!loss = !model.tensor<rows x f32>
model.program @other max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !loss):
  // expected-error @below {{gets no losses of routers: it returns other losses than those of a model.cross_entropy}}
  model.return %weights : !loss
}

// -----

!rows = !model.tensor<rows x i32>
!loss = !model.tensor<rows x f32>
!x = !model.tensor<rows x 16 x f32>
!w = !model.tensor<19 x 16 x f32>
!e = !model.tensor<rows x 2 x i32>
!k = !model.tensor<rows x 2 x f32>
model.program @several max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !loss):
  %wte = model.parameter ["wte"] : !w
  %some = model.parameter ["some"] : !model.tensor<4 x 16 x f32>
  %more = model.parameter ["more"] : !model.tensor<6 x 16 x f32>
  %x = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %l4 = model.linear %x, %some : (!x, !model.tensor<4 x 16 x f32>) -> !model.tensor<rows x 4 x f32>
  %l6 = model.linear %x, %more : (!x, !model.tensor<6 x 16 x f32>) -> !model.tensor<rows x 6 x f32>
  %e4, %w4 = model.route %l4 : (!model.tensor<rows x 4 x f32>) -> (!e, !k)
  // expected-error @below {{gets no losses: it has 6 experts, another one 4, and a loss is of all layers together}}
  %e6, %w6 = model.route %l6 : (!model.tensor<rows x 6 x f32>) -> (!e, !k)
  %l, %dx, %dw = model.cross_entropy %x, %wte, %targets, %weights : (!x, !w, !rows, !loss) -> (!loss, !x, !w)
  model.return %l : !loss
}

// -----

!rows = !model.tensor<rows x i32>
!loss = !model.tensor<rows x f32>
!x = !model.tensor<rows x 16 x f32>
!w = !model.tensor<19 x 16 x f32>
model.program @sigmoids max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !loss):
  %wte = model.parameter ["wte"] : !w
  %some = model.parameter ["some"] : !model.tensor<4 x 16 x f32>
  %x = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %l4 = model.linear %x, %some : (!x, !model.tensor<4 x 16 x f32>) -> !model.tensor<rows x 4 x f32>
  // expected-error @below {{gets no loss that balances experts: its scores are sigmoids, and the loss is of a softmax}}
  %e4, %w4 = model.route %l4 {scoring = #model.scoring<sigmoid>} : (!model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)
  %l, %dx, %dw = model.cross_entropy %x, %wte, %targets, %weights : (!x, !w, !rows, !loss) -> (!loss, !x, !w)
  model.return %l : !loss
}

// -----

!rows = !model.tensor<rows x i32>
!loss = !model.tensor<rows x f32>
!x = !model.tensor<rows x 16 x f32>
!w = !model.tensor<19 x 16 x f32>
!pairs = !model.tensor<rows x 4 x f32>
model.program @pairs max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !loss, %preferences: !pairs):
  %wte = model.parameter ["wte"] : !w
  %x = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %l, %dx, %dw = model.cross_entropy %x, %wte, %targets, %weights : (!x, !w, !rows, !loss) -> (!loss, !x, !w)
  %p, %g = model.preference_loss %l, %weights, %preferences : (!loss, !loss, !pairs) -> (!model.tensor<rows x 7 x f32>, !loss)
  // expected-error @below {{gets no losses of routers: its loss is of pairs of answers (--loss=dpo); --router-aux-loss=0 leaves out}}
  model.return %p : !model.tensor<rows x 7 x f32>
}
