// Muon (Jordan et al., "Muon: an optimizer for hidden layers in neural
// networks", 2024): the momentum's nearest half-orthogonal matrix, by five steps
// of an iteration of Newton and Schulz; scaled so that its elements are as large
// as AdamW's (Liu et al., "Muon is scalable for LLM training", 2025), and both
// take one learning rate. Vectors, embeddings and the output projection take
// AdamW.

update.rule @muon states ["momentum"] wide {
^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>,
     %momentum: tensor<?x?xf32>):
  %rate = update.number "learning_rate"
  %keep = update.number "momentum" default 0.95
  %decay = update.number "weight_decay" default 0.1
  %size = update.number "element_size" default 0.2
  %one = arith.constant 1.0 : f32
  %other = arith.subf %one, %keep : f32

  // As Nesterov's: one step ahead of the average.
  %ahead, %m = update.map (%g = %gradient, %old = %momentum) {
    %o0 = arith.mulf %old, %keep : f32
    %g0 = arith.mulf %g, %other : f32
    %new = arith.addf %o0, %g0 : f32
    %n0 = arith.mulf %new, %keep : f32
    %next = arith.addf %n0, %g0 : f32
    update.yield %next, %new
  }
  %squares = update.sum (%x = %ahead) {
    %x2 = arith.mulf %x, %x : f32
    update.yield %x2
  }
  %norm = math.sqrt %squares : f32
  %least = arith.constant 1.0e-7 : f32
  %divisor = arith.maximumf %norm, %least : f32
  %x0 = update.map (%x = %ahead) {
    %unit = arith.divf %x, %divisor : f32
    update.yield %unit
  }

  // X <- a X + (b A + c A A) X, with A = X transposed(X): singular values go to
  // about 1.
  %a = arith.constant 3.4445 : f32
  %b = arith.constant -4.7750 : f32
  %c = arith.constant 2.0315 : f32
  %gram0 = update.product %x0, %x0 transposed
  %gram0_squared = update.product %gram0, %gram0
  %mixed0 = update.map (%g1 = %gram0, %g2 = %gram0_squared) {
    %t1 = arith.mulf %g1, %b : f32
    %t2 = arith.mulf %g2, %c : f32
    %t = arith.addf %t1, %t2 : f32
    update.yield %t
  }
  %turned0 = update.product %mixed0, %x0
  %x1 = update.map (%x = %x0, %t = %turned0) {
    %t1 = arith.mulf %x, %a : f32
    %new = arith.addf %t1, %t : f32
    update.yield %new
  }

  %gram1 = update.product %x1, %x1 transposed
  %gram1_squared = update.product %gram1, %gram1
  %mixed1 = update.map (%g1 = %gram1, %g2 = %gram1_squared) {
    %t1 = arith.mulf %g1, %b : f32
    %t2 = arith.mulf %g2, %c : f32
    %t = arith.addf %t1, %t2 : f32
    update.yield %t
  }
  %turned1 = update.product %mixed1, %x1
  %x2 = update.map (%x = %x1, %t = %turned1) {
    %t1 = arith.mulf %x, %a : f32
    %new = arith.addf %t1, %t : f32
    update.yield %new
  }

  %gram2 = update.product %x2, %x2 transposed
  %gram2_squared = update.product %gram2, %gram2
  %mixed2 = update.map (%g1 = %gram2, %g2 = %gram2_squared) {
    %t1 = arith.mulf %g1, %b : f32
    %t2 = arith.mulf %g2, %c : f32
    %t = arith.addf %t1, %t2 : f32
    update.yield %t
  }
  %turned2 = update.product %mixed2, %x2
  %x3 = update.map (%x = %x2, %t = %turned2) {
    %t1 = arith.mulf %x, %a : f32
    %new = arith.addf %t1, %t : f32
    update.yield %new
  }

  %gram3 = update.product %x3, %x3 transposed
  %gram3_squared = update.product %gram3, %gram3
  %mixed3 = update.map (%g1 = %gram3, %g2 = %gram3_squared) {
    %t1 = arith.mulf %g1, %b : f32
    %t2 = arith.mulf %g2, %c : f32
    %t = arith.addf %t1, %t2 : f32
    update.yield %t
  }
  %turned3 = update.product %mixed3, %x3
  %x4 = update.map (%x = %x3, %t = %turned3) {
    %t1 = arith.mulf %x, %a : f32
    %new = arith.addf %t1, %t : f32
    update.yield %new
  }

  %gram4 = update.product %x4, %x4 transposed
  %gram4_squared = update.product %gram4, %gram4
  %mixed4 = update.map (%g1 = %gram4, %g2 = %gram4_squared) {
    %t1 = arith.mulf %g1, %b : f32
    %t2 = arith.mulf %g2, %c : f32
    %t = arith.addf %t1, %t2 : f32
    update.yield %t
  }
  %turned4 = update.product %mixed4, %x4

  %rows = update.extent %parameter, 0
  %columns = update.extent %parameter, 1
  %larger = arith.maximumf %rows, %columns : f32
  %root = math.sqrt %larger : f32
  %scale = arith.mulf %root, %size : f32
  %length = arith.mulf %scale, %rate : f32
  %shrunk = arith.mulf %rate, %decay : f32
  %kept = arith.subf %one, %shrunk : f32
  %p = update.map (%w = %parameter, %x = %x4, %t = %turned4) {
    %t1 = arith.mulf %x, %a : f32
    %direction = arith.addf %t1, %t : f32
    %change = arith.mulf %direction, %length : f32
    %w0 = arith.mulf %w, %kept : f32
    %next = arith.subf %w0, %change : f32
    update.yield %next
  }
  update.return %p, %m
}

// Loshchilov and Hutter, 2019; see adamw.mlir.
update.rule @adamw states ["exp_avg", "exp_avg_sq"] {
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

update.group @adamw rank 1 numbers {weight_decay = 0.0 : f32}
update.group @adamw names ["*embed*", "*wte*", "*wpe*", "*lm_head*"]
update.group @muon
