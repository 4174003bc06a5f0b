// AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", 2019)
// whose two averages are kept in 8 bits, with a scale for each block of 32 by 32
// elements (after Dettmers, Lewis, Shleifer and Zettlemoyer, "8-bit optimizers
// via block-wise quantization", 2022): about two bytes an element in place of
// eight. The update is computed in F32. Vectors do not decay.

// Of the mean, which has a sign: codes evenly apart.
update.format @signed codes i8 blocks [32, 32] scale (%largest) {
  %most = arith.constant 127.0 : f32
  %scale = arith.divf %largest, %most : f32
  update.yield %scale
} encode (%value, %scale) {
  %code = arith.divf %value, %scale : f32
  update.yield %code
} decode (%code, %scale) {
  %value = arith.mulf %code, %scale : f32
  update.yield %value
}

// Of the mean of squares, whose root divides: codes are evenly apart in the
// fourth root, so that small values are as near as large ones in proportion. What
// is not 0 never becomes 0, which would make a step of its element as large as
// one with no history.
update.format @fourth_root codes ui8 blocks [32, 32] scale (%largest) {
  %most = arith.constant 255.0 : f32
  %root = math.sqrt %largest : f32
  %fourth = math.sqrt %root : f32
  %scale = arith.divf %fourth, %most : f32
  update.yield %scale
} encode (%value, %scale) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %root = math.sqrt %value : f32
  %fourth = math.sqrt %root : f32
  %place = arith.divf %fourth, %scale : f32
  %raised = arith.maxnumf %place, %one : f32
  %has = arith.cmpf ogt, %value, %zero : f32
  %code = arith.select %has, %raised, %zero : f32
  update.yield %code
} decode (%code, %scale) {
  %fourth = arith.mulf %code, %scale : f32
  %root = arith.mulf %fourth, %fourth : f32
  %value = arith.mulf %root, %root : f32
  update.yield %value
}

update.rule @adamw_8bit states ["exp_avg", "exp_avg_sq"]
    formats {exp_avg = @signed, exp_avg_sq = @fourth_root} {
^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>,
     %mean: tensor<?x?xf32>, %square: tensor<?x?xf32>):
  %rate = update.number "learning_rate"
  %step = update.number "step"
  %beta1 = update.number "beta1" default 0.9
  %beta2 = update.number "beta2" default 0.999
  %epsilon = update.number "epsilon" default 1.0e-8
  %decay = update.number "weight_decay" default 0.1

  // What both averages lack of their first steps, in f64: 1 - 0.999 has few
  // digits left in f32.
  %one = arith.constant 1.0 : f32
  %one_f64 = arith.constant 1.0 : f64
  %step_f64 = arith.extf %step : f32 to f64
  %beta1_f64 = arith.extf %beta1 : f32 to f64
  %beta2_f64 = arith.extf %beta2 : f32 to f64
  %left1 = math.powf %beta1_f64, %step_f64 : f64
  %left2 = math.powf %beta2_f64, %step_f64 : f64
  %correction1 = arith.subf %one_f64, %left1 : f64
  %correction2 = arith.subf %one_f64, %left2 : f64
  %root2_f64 = math.sqrt %correction2 : f64
  %root2 = arith.truncf %root2_f64 : f64 to f32
  %rate_f64 = arith.extf %rate : f32 to f64
  %length_f64 = arith.divf %rate_f64, %correction1 : f64
  %length = arith.truncf %length_f64 : f64 to f32
  %other1 = arith.subf %one, %beta1 : f32
  %other2 = arith.subf %one, %beta2 : f32
  %shrunk = arith.mulf %rate, %decay : f32
  %kept = arith.subf %one, %shrunk : f32

  %p, %m, %v = update.map (%w = %parameter, %g = %gradient, %a = %mean, %s = %square) {
    %a0 = arith.mulf %a, %beta1 : f32
    %a1 = arith.mulf %g, %other1 : f32
    %a2 = arith.addf %a0, %a1 : f32
    %s0 = arith.mulf %s, %beta2 : f32
    %g2 = arith.mulf %g, %g : f32
    %s1 = arith.mulf %g2, %other2 : f32
    %s2 = arith.addf %s0, %s1 : f32
    %root = math.sqrt %s2 : f32
    %deviation = arith.divf %root, %root2 : f32
    %divisor = arith.addf %deviation, %epsilon : f32
    %direction = arith.divf %a2, %divisor : f32
    %change = arith.mulf %direction, %length : f32
    %w0 = arith.mulf %w, %kept : f32
    %w1 = arith.subf %w0, %change : f32
    update.yield %w1, %a2, %s2
  }
  update.return %p, %m, %v
}

update.group @adamw_8bit rank 1 numbers {weight_decay = 0.0 : f32}
update.group @adamw_8bit
