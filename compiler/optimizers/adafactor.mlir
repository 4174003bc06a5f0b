// Adafactor (Shazeer and Stern, "Adafactor: adaptive learning rates with
// sublinear memory cost", 2018): of a matrix's mean of squares only what its rows
// and its columns have in common is kept, one number for each. The rate is given
// and, unless `--set scale_parameter=0`, relative to the size of the parameter;
// steps whose root of the mean square is above the threshold are scaled down to it.
// Without momentum.

update.rule @adafactor states ["exp_avg_sq_row", "exp_avg_sq_col"] {
^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>,
     %old_row: tensor<?x1xf32>, %old_column: tensor<1x?xf32>):
  %rate = update.number "learning_rate"
  %step = update.number "step"
  %power = update.number "decay_rate" default -0.8
  %threshold = update.number "clip_threshold" default 1.0
  %epsilon = update.number "epsilon1" default 1.0e-30
  %least = update.number "epsilon2" default 1.0e-3
  %scales = update.number "scale_parameter" default 1.0
  %decay = update.number "weight_decay" default 0.0
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32

  // How much of the old averages stays, which grows with the steps.
  %step_f64 = arith.extf %step : f32 to f64
  %power_f64 = arith.extf %power : f32 to f64
  %new_f64 = math.powf %step_f64, %power_f64 : f64
  %new = arith.truncf %new_f64 : f64 to f32
  %kept = arith.subf %one, %new : f32

  %rows = update.extent %parameter, 0
  %columns = update.extent %parameter, 1
  %elements = arith.mulf %rows, %columns : f32

  %sum_row = update.sum (%g = %gradient) dimension 1 {
    %square = arith.mulf %g, %g : f32
    %positive = arith.addf %square, %epsilon : f32
    update.yield %positive
  }
  %sum_column = update.sum (%g = %gradient) dimension 0 {
    %square = arith.mulf %g, %g : f32
    %positive = arith.addf %square, %epsilon : f32
    update.yield %positive
  }
  %row = update.map (%old = %old_row : tensor<?x1xf32>, %sum = %sum_row : tensor<?x1xf32>) {
    %mean = arith.divf %sum, %columns : f32
    %o = arith.mulf %old, %kept : f32
    %n = arith.mulf %mean, %new : f32
    %next = arith.addf %o, %n : f32
    update.yield %next
  }
  %column = update.map (%old = %old_column : tensor<1x?xf32>, %sum = %sum_column : tensor<1x?xf32>) {
    %mean = arith.divf %sum, %rows : f32
    %o = arith.mulf %old, %kept : f32
    %n = arith.mulf %mean, %new : f32
    %next = arith.addf %o, %n : f32
    update.yield %next
  }

  // What rows and columns divide by: the roots of their parts of the mean square.
  %sum_rows = update.sum (%r = %row : tensor<?x1xf32>) {
    update.yield %r
  }
  %mean_rows = arith.divf %sum_rows, %rows : f32
  %by_row = update.map (%r = %row : tensor<?x1xf32>) {
    %part = arith.divf %r, %mean_rows : f32
    %root = math.sqrt %part : f32
    update.yield %root
  }
  %by_column = update.map (%c = %column : tensor<1x?xf32>) {
    %root = math.sqrt %c : f32
    update.yield %root
  }
  %squares = update.sum (%g = %gradient, %r = %by_row : tensor<?x1xf32>, %c = %by_column : tensor<1x?xf32>) {
    %u0 = arith.divf %g, %r : f32
    %u = arith.divf %u0, %c : f32
    %u2 = arith.mulf %u, %u : f32
    update.yield %u2
  }
  %size2 = update.sum (%w = %parameter) {
    %w2 = arith.mulf %w, %w : f32
    update.yield %w2
  }

  %mean_square = arith.divf %squares, %elements : f32
  %rms = math.sqrt %mean_square : f32
  %ratio = arith.divf %rms, %threshold : f32
  %divisor = arith.maximumf %ratio, %one : f32
  %mean_size = arith.divf %size2, %elements : f32
  %size = math.sqrt %mean_size : f32
  %at_least = arith.maximumf %size, %least : f32
  %is_relative = arith.cmpf une, %scales, %zero : f32
  %relative = arith.select %is_relative, %at_least, %one : f32
  %length = arith.mulf %rate, %relative : f32
  %clipped = arith.divf %length, %divisor : f32
  %shrunk = arith.mulf %length, %decay : f32
  %left = arith.subf %one, %shrunk : f32
  %p = update.map (%w = %parameter, %g = %gradient, %r = %by_row : tensor<?x1xf32>, %c = %by_column : tensor<1x?xf32>) {
    %u0 = arith.divf %g, %r : f32
    %u = arith.divf %u0, %c : f32
    %change = arith.mulf %u, %clipped : f32
    %w0 = arith.mulf %w, %left : f32
    %next = arith.subf %w0, %change : f32
    update.yield %next
  }
  update.return %p, %row, %column : tensor<?x?xf32>, tensor<?x1xf32>, tensor<1x?xf32>
}

// A vector has all of its mean of squares.
update.rule @adafactor_vector states ["exp_avg_sq"] {
^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>, %old: tensor<?x?xf32>):
  %rate = update.number "learning_rate"
  %step = update.number "step"
  %power = update.number "decay_rate" default -0.8
  %threshold = update.number "clip_threshold" default 1.0
  %epsilon = update.number "epsilon1" default 1.0e-30
  %least = update.number "epsilon2" default 1.0e-3
  %scales = update.number "scale_parameter" default 1.0
  %decay = update.number "weight_decay" default 0.0
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %step_f64 = arith.extf %step : f32 to f64
  %power_f64 = arith.extf %power : f32 to f64
  %new_f64 = math.powf %step_f64, %power_f64 : f64
  %new = arith.truncf %new_f64 : f64 to f32
  %kept = arith.subf %one, %new : f32
  %rows = update.extent %parameter, 0
  %columns = update.extent %parameter, 1
  %elements = arith.mulf %rows, %columns : f32

  %update, %square = update.map (%g = %gradient, %s = %old) {
    %g2 = arith.mulf %g, %g : f32
    %positive = arith.addf %g2, %epsilon : f32
    %o = arith.mulf %s, %kept : f32
    %n = arith.mulf %positive, %new : f32
    %next = arith.addf %o, %n : f32
    %root = math.sqrt %next : f32
    %u = arith.divf %g, %root : f32
    update.yield %u, %next
  }
  %squares, %size2 = update.sum (%u = %update, %w = %parameter) {
    %u2 = arith.mulf %u, %u : f32
    %w2 = arith.mulf %w, %w : f32
    update.yield %u2, %w2
  }

  %mean_square = arith.divf %squares, %elements : f32
  %rms = math.sqrt %mean_square : f32
  %ratio = arith.divf %rms, %threshold : f32
  %divisor = arith.maximumf %ratio, %one : f32
  %mean_size = arith.divf %size2, %elements : f32
  %size = math.sqrt %mean_size : f32
  %at_least = arith.maximumf %size, %least : f32
  %is_relative = arith.cmpf une, %scales, %zero : f32
  %relative = arith.select %is_relative, %at_least, %one : f32
  %length = arith.mulf %rate, %relative : f32
  %clipped = arith.divf %length, %divisor : f32
  %shrunk = arith.mulf %length, %decay : f32
  %left = arith.subf %one, %shrunk : f32
  %p = update.map (%w = %parameter, %u = %update) {
    %change = arith.mulf %u, %clipped : f32
    %w0 = arith.mulf %w, %left : f32
    %next = arith.subf %w0, %change : f32
    update.yield %next
  }
  update.return %p, %square
}

update.group @adafactor_vector rank 1
update.group @adafactor
