
update.rule @plain {
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>):
  %rate = update.number "learning_rate"
  %n = update.map (%w = %p, %d = %g) {
    %c = arith.mulf %d, %rate : f32
    %x = arith.subf %w, %c : f32
    update.yield %x
  }
  update.return %n
}
update.group @plain