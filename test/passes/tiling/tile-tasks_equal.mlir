// Biases of two linears that are added have one gradient, of which CSE leaves one op:
// each parameter gets its own contribution, and one that both read gets it twice.
//
// RUN: baton-opt %s --differentiate --cse "--tile-tasks=max-rows=16 max-outputs=1" \
// RUN:   --derive-events --plan-memory --event-verify | FileCheck %s
// RUN: sed s/right.bias/left.bias/ %s | baton-opt --differentiate --cse --cse \
// RUN:   "--tile-tasks=max-rows=16 max-outputs=1" --derive-events --plan-memory --event-verify \
// RUN:   | FileCheck %s --check-prefix=SHARED

// CHECK: "sum_rows" [#event.address<@right.bias.gradient,
// CHECK: "sum_rows" [#event.address<@left.bias.gradient,
// CHECK-NOT: "sum_rows"

// SHARED-COUNT-2: "sum_rows"
// SHARED-NOT: "sum_rows"

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!square = !model.tensor<8 x 8 x f32>
!t = tensor<?x?xf32>
update.rule @descent {
^bb0(%parameter: !t, %gradient: !t):
  %rate = update.number "learning_rate"
  %p = update.map (%w = %parameter, %g = %gradient) {
    %change = arith.mulf %rate, %g : f32
    %next = arith.subf %w, %change : f32
    update.yield %next
  }
  update.return %p
}
update.group @descent
model.program @sum max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!rows, !model.tensor<16 x 8 x f32>) -> !x
  %l = model.parameter ["left"] : !square
  %m = model.parameter ["left.bias"] : !model.tensor<8 x f32> loc("left.bias")
  %left = model.linear %e, %l bias %m : (!x, !square, !model.tensor<8 x f32>) -> !x
  %r = model.parameter ["right"] : !square
  %n = model.parameter ["right.bias"] : !model.tensor<8 x f32> loc("right.bias")
  %right = model.linear %e, %r bias %n : (!x, !square, !model.tensor<8 x f32>) -> !x
  %y = model.add %left, %right : (!x, !x) -> !x
  %loss, %dx, %dw = model.cross_entropy %y, %wte, %targets, %weights : (!x, !model.tensor<16 x 8 x f32>, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !model.tensor<16 x 8 x f32>)
  model.return %loss : !model.tensor<rows x f32>
}
