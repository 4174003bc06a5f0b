// Lion: the sign of an average (Chen et al., "Symbolic discovery of
// optimization algorithms", 2023). Its learning rate is three to ten times
// smaller than AdamW's.

update.rule @lion states ["exp_avg"] {
^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>,
     %mean: tensor<?x?xf32>):
  %rate = update.number "learning_rate"
  %beta1 = update.number "beta1" default 0.9
  %beta2 = update.number "beta2" default 0.99
  %decay = update.number "weight_decay" default 0.1
  %one = arith.constant 1.0 : f32
  %other1 = arith.subf %one, %beta1 : f32
  %other2 = arith.subf %one, %beta2 : f32
  %shrunk = arith.mulf %rate, %decay : f32
  %kept = arith.subf %one, %shrunk : f32
  %p, %m = update.map (%w = %parameter, %g = %gradient, %a = %mean) {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.mulf %a, %beta1 : f32
    %c1 = arith.mulf %g, %other1 : f32
    %c = arith.addf %c0, %c1 : f32
    %up = math.copysign %rate, %c : f32
    %still = arith.cmpf oeq, %c, %zero : f32
    %change = arith.select %still, %zero, %up : f32
    %w0 = arith.mulf %w, %kept : f32
    %next = arith.subf %w0, %change : f32
    %a0 = arith.mulf %a, %beta2 : f32
    %a1 = arith.mulf %g, %other2 : f32
    %new = arith.addf %a0, %a1 : f32
    update.yield %next, %new
  }
  update.return %p, %m
}

update.group @lion rank 1 numbers {weight_decay = 0.0 : f32}
update.group @lion
