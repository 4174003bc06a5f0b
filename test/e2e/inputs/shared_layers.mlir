// A stack whose iterations share a matrix and a bias, and have another matrix each.
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
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
model.program @mlp max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!rows, !model.tensor<16 x 8 x f32>) -> !x
  %y = model.stack %e repeat 3 : (!x) -> !x {
  ^bb1(%a: !x):
    %up = model.parameter ["up"] : !model.tensor<12 x 8 x f32>
    %bias = model.parameter ["bias"] : !model.tensor<12 x f32>
    %b = model.linear %a, %up bias %bias : (!x, !model.tensor<12 x 8 x f32>, !model.tensor<12 x f32>) -> !h loc("layers.up")
    %c = model.activate %b {activation = #model.activation<gelu>} : (!h) -> !h loc("layers.act")
    %down = model.parameter ["down.{layer}"] : !model.tensor<8 x 12 x f32>
    %d = model.linear %c, %down : (!h, !model.tensor<8 x 12 x f32>) -> !x loc("layers.down")
    %r = model.add %a, %d : (!x, !x) -> !x
    model.yield %r : !x
  } loc("layers")
  %loss, %dx, %dw = model.cross_entropy %y, %wte, %targets, %weights : (!x, !model.tensor<16 x 8 x f32>, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !model.tensor<16 x 8 x f32>)
  model.return %loss : !model.tensor<rows x f32>
}
