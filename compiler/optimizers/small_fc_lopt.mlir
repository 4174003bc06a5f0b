// small_fc_lopt, a learned optimizer (Metz, Freeman, Harrison, Maheswaranathan and
// Sohl-Dickstein, "Practical tradeoffs between memory, compute, and performance in
// learned optimizers", 2022): of each element 28 features and 11 of the time go
// through a network of 39, 32, 32 and 2 numbers, which says where the element goes
// and how far. Its 2402 weights were learned, and a run reads them from a file
// (`train --optimizer-weights`), by the names that PyLO publishes them under, with
// the network's offsets of decays, which are PyLO's where the file has none.
//
// Features are never stored: a first pass adds up their squares, a second one
// computes them anew. The learning rate, by which the step is multiplied, is 1 as it
// was learned.

// Rows are those of the smaller dimension, hence wide: they have the means along
// the larger one.
update.rule @small_fc_lopt
    states ["momentum_1", "momentum_2", "momentum_3", "rms", "factor_row_1", "factor_row_2",
            "factor_row_3", "factor_col_1", "factor_col_2", "factor_col_3"] wide {
^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>,
     %momentum_1: tensor<?x?xf32>, %momentum_2: tensor<?x?xf32>, %momentum_3: tensor<?x?xf32>,
     %rms: tensor<?x?xf32>,
     %factor_row_1: tensor<?x1xf32>, %factor_row_2: tensor<?x1xf32>, %factor_row_3: tensor<?x1xf32>,
     %factor_col_1: tensor<1x?xf32>, %factor_col_2: tensor<1x?xf32>, %factor_col_3: tensor<1x?xf32>):
  %rate = update.number "learning_rate"
  %step = update.number "step"
  %step_size = update.number "step_mult" default 0.01
  %exponent = update.number "exp_mult" default 0.001
  %one = arith.constant 1.0 : f32
  %ten = arith.constant 10.0 : f32
  %least = arith.constant 1.0e-9 : f32
  %tiny = arith.constant 1.0e-30 : f32
  %of_rms = arith.constant 1.0e-6 : f32
  %of_factor = arith.constant 1.0e-8 : f32
  %of_feature = arith.constant 1.0e-5 : f32
  %length = arith.mulf %rate, %step_size : f32

  // Averages decay by learned rates: what is new weighs (1 - b) exp(10 offset), b
  // being 0.9, 0.99 or 0.999, and not more than all.
  %momentum_offsets = update.weights "momentum_decays" default [0.15216392, 0.14245212, 0.06812963] : tensor<3xf32>
  %rms_offsets = update.weights "rms_decays" default [0.01079706] : tensor<1xf32>
  %factor_offsets = update.weights "adafactor_decays" default [0.18621896, -0.10864615, -0.06185547] : tensor<3xf32>
  %m1_usual = arith.constant 1.0e-1 : f32
  %m1_offset = update.element %momentum_offsets[0] : tensor<3xf32>
  %m1_tens = arith.mulf %m1_offset, %ten : f32
  %m1_times = math.exp %m1_tens : f32
  %m1_share = arith.mulf %m1_usual, %m1_times : f32
  %m1_new = arith.minimumf %m1_share, %one : f32
  %m1_kept = arith.subf %one, %m1_new : f32
  %m2_usual = arith.constant 1.0e-2 : f32
  %m2_offset = update.element %momentum_offsets[1] : tensor<3xf32>
  %m2_tens = arith.mulf %m2_offset, %ten : f32
  %m2_times = math.exp %m2_tens : f32
  %m2_share = arith.mulf %m2_usual, %m2_times : f32
  %m2_new = arith.minimumf %m2_share, %one : f32
  %m2_kept = arith.subf %one, %m2_new : f32
  %m3_usual = arith.constant 1.0e-3 : f32
  %m3_offset = update.element %momentum_offsets[2] : tensor<3xf32>
  %m3_tens = arith.mulf %m3_offset, %ten : f32
  %m3_times = math.exp %m3_tens : f32
  %m3_share = arith.mulf %m3_usual, %m3_times : f32
  %m3_new = arith.minimumf %m3_share, %one : f32
  %m3_kept = arith.subf %one, %m3_new : f32
  %r_usual = arith.constant 1.0e-3 : f32
  %r_offset = update.element %rms_offsets[0] : tensor<1xf32>
  %r_tens = arith.mulf %r_offset, %ten : f32
  %r_times = math.exp %r_tens : f32
  %r_share = arith.mulf %r_usual, %r_times : f32
  %r_new = arith.minimumf %r_share, %one : f32
  %r_kept = arith.subf %one, %r_new : f32
  %f1_usual = arith.constant 1.0e-1 : f32
  %f1_offset = update.element %factor_offsets[0] : tensor<3xf32>
  %f1_tens = arith.mulf %f1_offset, %ten : f32
  %f1_times = math.exp %f1_tens : f32
  %f1_share = arith.mulf %f1_usual, %f1_times : f32
  %f1_new = arith.minimumf %f1_share, %one : f32
  %f1_kept = arith.subf %one, %f1_new : f32
  %f2_usual = arith.constant 1.0e-2 : f32
  %f2_offset = update.element %factor_offsets[1] : tensor<3xf32>
  %f2_tens = arith.mulf %f2_offset, %ten : f32
  %f2_times = math.exp %f2_tens : f32
  %f2_share = arith.mulf %f2_usual, %f2_times : f32
  %f2_new = arith.minimumf %f2_share, %one : f32
  %f2_kept = arith.subf %one, %f2_new : f32
  %f3_usual = arith.constant 1.0e-3 : f32
  %f3_offset = update.element %factor_offsets[2] : tensor<3xf32>
  %f3_tens = arith.mulf %f3_offset, %ten : f32
  %f3_times = math.exp %f3_tens : f32
  %f3_share = arith.mulf %f3_usual, %f3_times : f32
  %f3_new = arith.minimumf %f3_share, %one : f32
  %f3_kept = arith.subf %one, %f3_new : f32

  %rows = update.extent %parameter, 0
  %columns = update.extent %parameter, 1
  %elements = arith.mulf %rows, %columns : f32

  %sum_row = update.sum (%g = %gradient) dimension 1 {
    %square = arith.mulf %g, %g : f32
    %positive = arith.addf %square, %tiny : f32
    update.yield %positive
  }
  %sum_column = update.sum (%g = %gradient) dimension 0 {
    %square = arith.mulf %g, %g : f32
    %positive = arith.addf %square, %tiny : f32
    update.yield %positive
  }
  %new_row_1, %new_row_2, %new_row_3 = update.map (
      %old1 = %factor_row_1 : tensor<?x1xf32>, %old2 = %factor_row_2 : tensor<?x1xf32>,
      %old3 = %factor_row_3 : tensor<?x1xf32>, %sum = %sum_row : tensor<?x1xf32>) {
    %mean = arith.divf %sum, %columns : f32
    %v1_old = arith.mulf %old1, %f1_kept : f32
    %v1_add = arith.mulf %mean, %f1_new : f32
    %v1 = arith.addf %v1_old, %v1_add : f32
    %v2_old = arith.mulf %old2, %f2_kept : f32
    %v2_add = arith.mulf %mean, %f2_new : f32
    %v2 = arith.addf %v2_old, %v2_add : f32
    %v3_old = arith.mulf %old3, %f3_kept : f32
    %v3_add = arith.mulf %mean, %f3_new : f32
    %v3 = arith.addf %v3_old, %v3_add : f32
    update.yield %v1, %v2, %v3
  }

  // What a row and a column multiply by: one over the root of the row's mean, as a
  // part of all rows' mean, and of the column's.
  %total_row:3 = update.sum (
      %v1 = %new_row_1 : tensor<?x1xf32>, %v2 = %new_row_2 : tensor<?x1xf32>,
      %v3 = %new_row_3 : tensor<?x1xf32>) {
    update.yield %v1, %v2, %v3
  }
  %mean_row_1 = arith.divf %total_row#0, %rows : f32
  %all_rows_1 = arith.addf %mean_row_1, %least : f32
  %mean_row_2 = arith.divf %total_row#1, %rows : f32
  %all_rows_2 = arith.addf %mean_row_2, %least : f32
  %mean_row_3 = arith.divf %total_row#2, %rows : f32
  %all_rows_3 = arith.addf %mean_row_3, %least : f32
  %by_row_1, %inverse_row_1, %by_row_2, %inverse_row_2, %by_row_3, %inverse_row_3 = update.map (
      %v1 = %new_row_1 : tensor<?x1xf32>, %v2 = %new_row_2 : tensor<?x1xf32>,
      %v3 = %new_row_3 : tensor<?x1xf32>) {
    %part1 = arith.divf %v1, %all_rows_1 : f32
    %more1 = arith.maximumf %part1, %least : f32
    %root1 = math.sqrt %more1 : f32
    %by1 = arith.divf %one, %root1 : f32
    %above1 = arith.addf %v1, %of_factor : f32
    %above_root1 = math.sqrt %above1 : f32
    %inverse1 = arith.divf %one, %above_root1 : f32
    %part2 = arith.divf %v2, %all_rows_2 : f32
    %more2 = arith.maximumf %part2, %least : f32
    %root2 = math.sqrt %more2 : f32
    %by2 = arith.divf %one, %root2 : f32
    %above2 = arith.addf %v2, %of_factor : f32
    %above_root2 = math.sqrt %above2 : f32
    %inverse2 = arith.divf %one, %above_root2 : f32
    %part3 = arith.divf %v3, %all_rows_3 : f32
    %more3 = arith.maximumf %part3, %least : f32
    %root3 = math.sqrt %more3 : f32
    %by3 = arith.divf %one, %root3 : f32
    %above3 = arith.addf %v3, %of_factor : f32
    %above_root3 = math.sqrt %above3 : f32
    %inverse3 = arith.divf %one, %above_root3 : f32
    update.yield %by1, %inverse1, %by2, %inverse2, %by3, %inverse3
  }
  %new_col_1, %by_col_1, %inverse_col_1, %new_col_2, %by_col_2, %inverse_col_2,
  %new_col_3, %by_col_3, %inverse_col_3 = update.map (
      %old1 = %factor_col_1 : tensor<1x?xf32>, %old2 = %factor_col_2 : tensor<1x?xf32>,
      %old3 = %factor_col_3 : tensor<1x?xf32>, %sum = %sum_column : tensor<1x?xf32>) {
    %mean = arith.divf %sum, %rows : f32
    %v1_old = arith.mulf %old1, %f1_kept : f32
    %v1_add = arith.mulf %mean, %f1_new : f32
    %v1 = arith.addf %v1_old, %v1_add : f32
    %more1 = arith.maximumf %v1, %least : f32
    %root1 = math.sqrt %more1 : f32
    %by1 = arith.divf %one, %root1 : f32
    %above1 = arith.addf %v1, %of_factor : f32
    %above_root1 = math.sqrt %above1 : f32
    %inverse1 = arith.divf %one, %above_root1 : f32
    %v2_old = arith.mulf %old2, %f2_kept : f32
    %v2_add = arith.mulf %mean, %f2_new : f32
    %v2 = arith.addf %v2_old, %v2_add : f32
    %more2 = arith.maximumf %v2, %least : f32
    %root2 = math.sqrt %more2 : f32
    %by2 = arith.divf %one, %root2 : f32
    %above2 = arith.addf %v2, %of_factor : f32
    %above_root2 = math.sqrt %above2 : f32
    %inverse2 = arith.divf %one, %above_root2 : f32
    %v3_old = arith.mulf %old3, %f3_kept : f32
    %v3_add = arith.mulf %mean, %f3_new : f32
    %v3 = arith.addf %v3_old, %v3_add : f32
    %more3 = arith.maximumf %v3, %least : f32
    %root3 = math.sqrt %more3 : f32
    %by3 = arith.divf %one, %root3 : f32
    %above3 = arith.addf %v3, %of_factor : f32
    %above_root3 = math.sqrt %above3 : f32
    %inverse3 = arith.divf %one, %above_root3 : f32
    update.yield %v1, %by1, %inverse1, %v2, %by2, %inverse2, %v3, %by3, %inverse3
  }

  // The mean of each feature's squares, over the whole tensor.
  %squares:28 = update.sum (
      %w = %parameter, %g = %gradient, %m1_state = %momentum_1, %m2_state = %momentum_2,
      %m3_state = %momentum_3, %r_state = %rms, %row1 = %new_row_1 : tensor<?x1xf32>,
      %row1_factor = %by_row_1 : tensor<?x1xf32>, %row1_inverse = %inverse_row_1 : tensor<?x1xf32>,
      %row2 = %new_row_2 : tensor<?x1xf32>, %row2_factor = %by_row_2 : tensor<?x1xf32>,
      %row2_inverse = %inverse_row_2 : tensor<?x1xf32>, %row3 = %new_row_3 : tensor<?x1xf32>,
      %row3_factor = %by_row_3 : tensor<?x1xf32>, %row3_inverse = %inverse_row_3 : tensor<?x1xf32>,
      %col1 = %new_col_1 : tensor<1x?xf32>, %col1_factor = %by_col_1 : tensor<1x?xf32>,
      %col1_inverse = %inverse_col_1 : tensor<1x?xf32>, %col2 = %new_col_2 : tensor<1x?xf32>,
      %col2_factor = %by_col_2 : tensor<1x?xf32>, %col2_inverse = %inverse_col_2 : tensor<1x?xf32>,
      %col3 = %new_col_3 : tensor<1x?xf32>, %col3_factor = %by_col_3 : tensor<1x?xf32>,
      %col3_inverse = %inverse_col_3 : tensor<1x?xf32>) {
    %m1_old = arith.mulf %m1_state, %m1_kept : f32
    %m1_add = arith.mulf %g, %m1_new : f32
    %m1 = arith.addf %m1_old, %m1_add : f32
    %m2_old = arith.mulf %m2_state, %m2_kept : f32
    %m2_add = arith.mulf %g, %m2_new : f32
    %m2 = arith.addf %m2_old, %m2_add : f32
    %m3_old = arith.mulf %m3_state, %m3_kept : f32
    %m3_add = arith.mulf %g, %m3_new : f32
    %m3 = arith.addf %m3_old, %m3_add : f32
    %g2 = arith.mulf %g, %g : f32
    %r_old = arith.mulf %r_state, %r_kept : f32
    %r_add = arith.mulf %g2, %r_new : f32
    %r = arith.addf %r_old, %r_add : f32
    %r_above = arith.addf %r, %of_rms : f32
    %r_root = math.sqrt %r_above : f32
    %r_inverse = arith.divf %one, %r_root : f32
    %mr1 = arith.mulf %m1, %r_inverse : f32
    %mr2 = arith.mulf %m2, %r_inverse : f32
    %mr3 = arith.mulf %m3, %r_inverse : f32
    %fg1_row = arith.mulf %g, %row1_factor : f32
    %fg1 = arith.mulf %fg1_row, %col1_factor : f32
    %fm1_row = arith.mulf %m1, %row1_factor : f32
    %fm1 = arith.mulf %fm1_row, %col1_factor : f32
    %fg2_row = arith.mulf %g, %row2_factor : f32
    %fg2 = arith.mulf %fg2_row, %col2_factor : f32
    %fm2_row = arith.mulf %m2, %row2_factor : f32
    %fm2 = arith.mulf %fm2_row, %col2_factor : f32
    %fg3_row = arith.mulf %g, %row3_factor : f32
    %fg3 = arith.mulf %fg3_row, %col3_factor : f32
    %fm3_row = arith.mulf %m3, %row3_factor : f32
    %fm3 = arith.mulf %fm3_row, %col3_factor : f32
    %g_2 = arith.mulf %g, %g : f32
    %w_2 = arith.mulf %w, %w : f32
    %m1_2 = arith.mulf %m1, %m1 : f32
    %m2_2 = arith.mulf %m2, %m2 : f32
    %m3_2 = arith.mulf %m3, %m3 : f32
    %r_2 = arith.mulf %r, %r : f32
    %mr1_2 = arith.mulf %mr1, %mr1 : f32
    %mr2_2 = arith.mulf %mr2, %mr2 : f32
    %mr3_2 = arith.mulf %mr3, %mr3 : f32
    %r_inverse_2 = arith.mulf %r_inverse, %r_inverse : f32
    %fg1_2 = arith.mulf %fg1, %fg1 : f32
    %fg2_2 = arith.mulf %fg2, %fg2 : f32
    %fg3_2 = arith.mulf %fg3, %fg3 : f32
    %row1_2 = arith.mulf %row1, %row1 : f32
    %row2_2 = arith.mulf %row2, %row2 : f32
    %row3_2 = arith.mulf %row3, %row3 : f32
    %col1_2 = arith.mulf %col1, %col1 : f32
    %col2_2 = arith.mulf %col2, %col2 : f32
    %col3_2 = arith.mulf %col3, %col3 : f32
    %row1_inverse_2 = arith.mulf %row1_inverse, %row1_inverse : f32
    %row2_inverse_2 = arith.mulf %row2_inverse, %row2_inverse : f32
    %row3_inverse_2 = arith.mulf %row3_inverse, %row3_inverse : f32
    %col1_inverse_2 = arith.mulf %col1_inverse, %col1_inverse : f32
    %col2_inverse_2 = arith.mulf %col2_inverse, %col2_inverse : f32
    %col3_inverse_2 = arith.mulf %col3_inverse, %col3_inverse : f32
    %fm1_2 = arith.mulf %fm1, %fm1 : f32
    %fm2_2 = arith.mulf %fm2, %fm2 : f32
    %fm3_2 = arith.mulf %fm3, %fm3 : f32
    update.yield %g_2, %w_2, %m1_2, %m2_2, %m3_2, %r_2, %mr1_2, %mr2_2, %mr3_2, %r_inverse_2, %fg1_2, %fg2_2,
      %fg3_2, %row1_2, %row2_2, %row3_2, %col1_2, %col2_2, %col3_2, %row1_inverse_2, %row2_inverse_2,
      %row3_inverse_2, %col1_inverse_2, %col2_inverse_2, %col3_inverse_2, %fm1_2, %fm2_2, %fm3_2
  }
  %g_mean = arith.divf %squares#0, %elements : f32
  %g_positive = arith.addf %g_mean, %of_feature : f32
  %g_deviation = math.sqrt %g_positive : f32
  %g_scale = arith.divf %one, %g_deviation : f32
  %w_mean = arith.divf %squares#1, %elements : f32
  %w_positive = arith.addf %w_mean, %of_feature : f32
  %w_deviation = math.sqrt %w_positive : f32
  %w_scale = arith.divf %one, %w_deviation : f32
  %m1_mean = arith.divf %squares#2, %elements : f32
  %m1_positive = arith.addf %m1_mean, %of_feature : f32
  %m1_deviation = math.sqrt %m1_positive : f32
  %m1_scale = arith.divf %one, %m1_deviation : f32
  %m2_mean = arith.divf %squares#3, %elements : f32
  %m2_positive = arith.addf %m2_mean, %of_feature : f32
  %m2_deviation = math.sqrt %m2_positive : f32
  %m2_scale = arith.divf %one, %m2_deviation : f32
  %m3_mean = arith.divf %squares#4, %elements : f32
  %m3_positive = arith.addf %m3_mean, %of_feature : f32
  %m3_deviation = math.sqrt %m3_positive : f32
  %m3_scale = arith.divf %one, %m3_deviation : f32
  %r_mean = arith.divf %squares#5, %elements : f32
  %r_positive = arith.addf %r_mean, %of_feature : f32
  %r_deviation = math.sqrt %r_positive : f32
  %r_scale = arith.divf %one, %r_deviation : f32
  %mr1_mean = arith.divf %squares#6, %elements : f32
  %mr1_positive = arith.addf %mr1_mean, %of_feature : f32
  %mr1_deviation = math.sqrt %mr1_positive : f32
  %mr1_scale = arith.divf %one, %mr1_deviation : f32
  %mr2_mean = arith.divf %squares#7, %elements : f32
  %mr2_positive = arith.addf %mr2_mean, %of_feature : f32
  %mr2_deviation = math.sqrt %mr2_positive : f32
  %mr2_scale = arith.divf %one, %mr2_deviation : f32
  %mr3_mean = arith.divf %squares#8, %elements : f32
  %mr3_positive = arith.addf %mr3_mean, %of_feature : f32
  %mr3_deviation = math.sqrt %mr3_positive : f32
  %mr3_scale = arith.divf %one, %mr3_deviation : f32
  %r_inverse_mean = arith.divf %squares#9, %elements : f32
  %r_inverse_positive = arith.addf %r_inverse_mean, %of_feature : f32
  %r_inverse_deviation = math.sqrt %r_inverse_positive : f32
  %r_inverse_scale = arith.divf %one, %r_inverse_deviation : f32
  %fg1_mean = arith.divf %squares#10, %elements : f32
  %fg1_positive = arith.addf %fg1_mean, %of_feature : f32
  %fg1_deviation = math.sqrt %fg1_positive : f32
  %fg1_scale = arith.divf %one, %fg1_deviation : f32
  %fg2_mean = arith.divf %squares#11, %elements : f32
  %fg2_positive = arith.addf %fg2_mean, %of_feature : f32
  %fg2_deviation = math.sqrt %fg2_positive : f32
  %fg2_scale = arith.divf %one, %fg2_deviation : f32
  %fg3_mean = arith.divf %squares#12, %elements : f32
  %fg3_positive = arith.addf %fg3_mean, %of_feature : f32
  %fg3_deviation = math.sqrt %fg3_positive : f32
  %fg3_scale = arith.divf %one, %fg3_deviation : f32
  %row1_mean = arith.divf %squares#13, %elements : f32
  %row1_positive = arith.addf %row1_mean, %of_feature : f32
  %row1_deviation = math.sqrt %row1_positive : f32
  %row1_scale = arith.divf %one, %row1_deviation : f32
  %row2_mean = arith.divf %squares#14, %elements : f32
  %row2_positive = arith.addf %row2_mean, %of_feature : f32
  %row2_deviation = math.sqrt %row2_positive : f32
  %row2_scale = arith.divf %one, %row2_deviation : f32
  %row3_mean = arith.divf %squares#15, %elements : f32
  %row3_positive = arith.addf %row3_mean, %of_feature : f32
  %row3_deviation = math.sqrt %row3_positive : f32
  %row3_scale = arith.divf %one, %row3_deviation : f32
  %col1_mean = arith.divf %squares#16, %elements : f32
  %col1_positive = arith.addf %col1_mean, %of_feature : f32
  %col1_deviation = math.sqrt %col1_positive : f32
  %col1_scale = arith.divf %one, %col1_deviation : f32
  %col2_mean = arith.divf %squares#17, %elements : f32
  %col2_positive = arith.addf %col2_mean, %of_feature : f32
  %col2_deviation = math.sqrt %col2_positive : f32
  %col2_scale = arith.divf %one, %col2_deviation : f32
  %col3_mean = arith.divf %squares#18, %elements : f32
  %col3_positive = arith.addf %col3_mean, %of_feature : f32
  %col3_deviation = math.sqrt %col3_positive : f32
  %col3_scale = arith.divf %one, %col3_deviation : f32
  %row1_inverse_mean = arith.divf %squares#19, %elements : f32
  %row1_inverse_positive = arith.addf %row1_inverse_mean, %of_feature : f32
  %row1_inverse_deviation = math.sqrt %row1_inverse_positive : f32
  %row1_inverse_scale = arith.divf %one, %row1_inverse_deviation : f32
  %row2_inverse_mean = arith.divf %squares#20, %elements : f32
  %row2_inverse_positive = arith.addf %row2_inverse_mean, %of_feature : f32
  %row2_inverse_deviation = math.sqrt %row2_inverse_positive : f32
  %row2_inverse_scale = arith.divf %one, %row2_inverse_deviation : f32
  %row3_inverse_mean = arith.divf %squares#21, %elements : f32
  %row3_inverse_positive = arith.addf %row3_inverse_mean, %of_feature : f32
  %row3_inverse_deviation = math.sqrt %row3_inverse_positive : f32
  %row3_inverse_scale = arith.divf %one, %row3_inverse_deviation : f32
  %col1_inverse_mean = arith.divf %squares#22, %elements : f32
  %col1_inverse_positive = arith.addf %col1_inverse_mean, %of_feature : f32
  %col1_inverse_deviation = math.sqrt %col1_inverse_positive : f32
  %col1_inverse_scale = arith.divf %one, %col1_inverse_deviation : f32
  %col2_inverse_mean = arith.divf %squares#23, %elements : f32
  %col2_inverse_positive = arith.addf %col2_inverse_mean, %of_feature : f32
  %col2_inverse_deviation = math.sqrt %col2_inverse_positive : f32
  %col2_inverse_scale = arith.divf %one, %col2_inverse_deviation : f32
  %col3_inverse_mean = arith.divf %squares#24, %elements : f32
  %col3_inverse_positive = arith.addf %col3_inverse_mean, %of_feature : f32
  %col3_inverse_deviation = math.sqrt %col3_inverse_positive : f32
  %col3_inverse_scale = arith.divf %one, %col3_inverse_deviation : f32
  %fm1_mean = arith.divf %squares#25, %elements : f32
  %fm1_positive = arith.addf %fm1_mean, %of_feature : f32
  %fm1_deviation = math.sqrt %fm1_positive : f32
  %fm1_scale = arith.divf %one, %fm1_deviation : f32
  %fm2_mean = arith.divf %squares#26, %elements : f32
  %fm2_positive = arith.addf %fm2_mean, %of_feature : f32
  %fm2_deviation = math.sqrt %fm2_positive : f32
  %fm2_scale = arith.divf %one, %fm2_deviation : f32
  %fm3_mean = arith.divf %squares#27, %elements : f32
  %fm3_positive = arith.addf %fm3_mean, %of_feature : f32
  %fm3_deviation = math.sqrt %fm3_positive : f32
  %fm3_scale = arith.divf %one, %fm3_deviation : f32

  // How far the run is, on several scales of time.
  %before = arith.subf %step, %one : f32
  %t1_scale = arith.constant 1.0 : f32
  %t1_done = arith.divf %before, %t1_scale : f32
  %t1_left = arith.subf %t1_done, %one : f32
  %t1 = math.tanh %t1_left : f32
  %t3_scale = arith.constant 3.0 : f32
  %t3_done = arith.divf %before, %t3_scale : f32
  %t3_left = arith.subf %t3_done, %one : f32
  %t3 = math.tanh %t3_left : f32
  %t10_scale = arith.constant 10.0 : f32
  %t10_done = arith.divf %before, %t10_scale : f32
  %t10_left = arith.subf %t10_done, %one : f32
  %t10 = math.tanh %t10_left : f32
  %t30_scale = arith.constant 30.0 : f32
  %t30_done = arith.divf %before, %t30_scale : f32
  %t30_left = arith.subf %t30_done, %one : f32
  %t30 = math.tanh %t30_left : f32
  %t100_scale = arith.constant 100.0 : f32
  %t100_done = arith.divf %before, %t100_scale : f32
  %t100_left = arith.subf %t100_done, %one : f32
  %t100 = math.tanh %t100_left : f32
  %t300_scale = arith.constant 300.0 : f32
  %t300_done = arith.divf %before, %t300_scale : f32
  %t300_left = arith.subf %t300_done, %one : f32
  %t300 = math.tanh %t300_left : f32
  %t1000_scale = arith.constant 1000.0 : f32
  %t1000_done = arith.divf %before, %t1000_scale : f32
  %t1000_left = arith.subf %t1000_done, %one : f32
  %t1000 = math.tanh %t1000_left : f32
  %t3000_scale = arith.constant 3000.0 : f32
  %t3000_done = arith.divf %before, %t3000_scale : f32
  %t3000_left = arith.subf %t3000_done, %one : f32
  %t3000 = math.tanh %t3000_left : f32
  %t10000_scale = arith.constant 10000.0 : f32
  %t10000_done = arith.divf %before, %t10000_scale : f32
  %t10000_left = arith.subf %t10000_done, %one : f32
  %t10000 = math.tanh %t10000_left : f32
  %t30000_scale = arith.constant 30000.0 : f32
  %t30000_done = arith.divf %before, %t30000_scale : f32
  %t30000_left = arith.subf %t30000_done, %one : f32
  %t30000 = math.tanh %t30000_left : f32
  %t100000_scale = arith.constant 100000.0 : f32
  %t100000_done = arith.divf %before, %t100000_scale : f32
  %t100000_left = arith.subf %t100000_done, %one : f32
  %t100000 = math.tanh %t100000_left : f32

  %weight0 = update.weights "network.input.weight" : tensor<32x39xf32>
  %bias0 = update.weights "network.input.bias" : tensor<32xf32>
  %weight1 = update.weights "network.linear_0.weight" : tensor<32x32xf32>
  %bias1 = update.weights "network.linear_0.bias" : tensor<32xf32>
  %weight2 = update.weights "network.output.weight" : tensor<2x32xf32>
  %bias2 = update.weights "network.output.bias" : tensor<2xf32>
  %p, %next_m1, %next_m2, %next_m3, %next_r = update.map (
      %w = %parameter, %g = %gradient, %m1_state = %momentum_1, %m2_state = %momentum_2,
      %m3_state = %momentum_3, %r_state = %rms, %row1 = %new_row_1 : tensor<?x1xf32>,
      %row1_factor = %by_row_1 : tensor<?x1xf32>, %row1_inverse = %inverse_row_1 : tensor<?x1xf32>,
      %row2 = %new_row_2 : tensor<?x1xf32>, %row2_factor = %by_row_2 : tensor<?x1xf32>,
      %row2_inverse = %inverse_row_2 : tensor<?x1xf32>, %row3 = %new_row_3 : tensor<?x1xf32>,
      %row3_factor = %by_row_3 : tensor<?x1xf32>, %row3_inverse = %inverse_row_3 : tensor<?x1xf32>,
      %col1 = %new_col_1 : tensor<1x?xf32>, %col1_factor = %by_col_1 : tensor<1x?xf32>,
      %col1_inverse = %inverse_col_1 : tensor<1x?xf32>, %col2 = %new_col_2 : tensor<1x?xf32>,
      %col2_factor = %by_col_2 : tensor<1x?xf32>, %col2_inverse = %inverse_col_2 : tensor<1x?xf32>,
      %col3 = %new_col_3 : tensor<1x?xf32>, %col3_factor = %by_col_3 : tensor<1x?xf32>,
      %col3_inverse = %inverse_col_3 : tensor<1x?xf32>) {
    %m1_old = arith.mulf %m1_state, %m1_kept : f32
    %m1_add = arith.mulf %g, %m1_new : f32
    %m1 = arith.addf %m1_old, %m1_add : f32
    %m2_old = arith.mulf %m2_state, %m2_kept : f32
    %m2_add = arith.mulf %g, %m2_new : f32
    %m2 = arith.addf %m2_old, %m2_add : f32
    %m3_old = arith.mulf %m3_state, %m3_kept : f32
    %m3_add = arith.mulf %g, %m3_new : f32
    %m3 = arith.addf %m3_old, %m3_add : f32
    %g2 = arith.mulf %g, %g : f32
    %r_old = arith.mulf %r_state, %r_kept : f32
    %r_add = arith.mulf %g2, %r_new : f32
    %r = arith.addf %r_old, %r_add : f32
    %r_above = arith.addf %r, %of_rms : f32
    %r_root = math.sqrt %r_above : f32
    %r_inverse = arith.divf %one, %r_root : f32
    %mr1 = arith.mulf %m1, %r_inverse : f32
    %mr2 = arith.mulf %m2, %r_inverse : f32
    %mr3 = arith.mulf %m3, %r_inverse : f32
    %fg1_row = arith.mulf %g, %row1_factor : f32
    %fg1 = arith.mulf %fg1_row, %col1_factor : f32
    %fm1_row = arith.mulf %m1, %row1_factor : f32
    %fm1 = arith.mulf %fm1_row, %col1_factor : f32
    %fg2_row = arith.mulf %g, %row2_factor : f32
    %fg2 = arith.mulf %fg2_row, %col2_factor : f32
    %fm2_row = arith.mulf %m2, %row2_factor : f32
    %fm2 = arith.mulf %fm2_row, %col2_factor : f32
    %fg3_row = arith.mulf %g, %row3_factor : f32
    %fg3 = arith.mulf %fg3_row, %col3_factor : f32
    %fm3_row = arith.mulf %m3, %row3_factor : f32
    %fm3 = arith.mulf %fm3_row, %col3_factor : f32
    %g_input = arith.mulf %g, %g_scale : f32
    %w_input = arith.mulf %w, %w_scale : f32
    %m1_input = arith.mulf %m1, %m1_scale : f32
    %m2_input = arith.mulf %m2, %m2_scale : f32
    %m3_input = arith.mulf %m3, %m3_scale : f32
    %r_input = arith.mulf %r, %r_scale : f32
    %mr1_input = arith.mulf %mr1, %mr1_scale : f32
    %mr2_input = arith.mulf %mr2, %mr2_scale : f32
    %mr3_input = arith.mulf %mr3, %mr3_scale : f32
    %r_inverse_input = arith.mulf %r_inverse, %r_inverse_scale : f32
    %fg1_input = arith.mulf %fg1, %fg1_scale : f32
    %fg2_input = arith.mulf %fg2, %fg2_scale : f32
    %fg3_input = arith.mulf %fg3, %fg3_scale : f32
    %row1_input = arith.mulf %row1, %row1_scale : f32
    %row2_input = arith.mulf %row2, %row2_scale : f32
    %row3_input = arith.mulf %row3, %row3_scale : f32
    %col1_input = arith.mulf %col1, %col1_scale : f32
    %col2_input = arith.mulf %col2, %col2_scale : f32
    %col3_input = arith.mulf %col3, %col3_scale : f32
    %row1_inverse_input = arith.mulf %row1_inverse, %row1_inverse_scale : f32
    %row2_inverse_input = arith.mulf %row2_inverse, %row2_inverse_scale : f32
    %row3_inverse_input = arith.mulf %row3_inverse, %row3_inverse_scale : f32
    %col1_inverse_input = arith.mulf %col1_inverse, %col1_inverse_scale : f32
    %col2_inverse_input = arith.mulf %col2_inverse, %col2_inverse_scale : f32
    %col3_inverse_input = arith.mulf %col3_inverse, %col3_inverse_scale : f32
    %fm1_input = arith.mulf %fm1, %fm1_scale : f32
    %fm2_input = arith.mulf %fm2, %fm2_scale : f32
    %fm3_input = arith.mulf %fm3, %fm3_scale : f32
    %hidden0:32 = update.dense %weight0, %bias0 (
      %g_input, %w_input, %m1_input, %m2_input, %m3_input, %r_input, %mr1_input, %mr2_input,
      %mr3_input, %r_inverse_input, %fg1_input, %fg2_input, %fg3_input, %row1_input, %row2_input,
      %row3_input, %col1_input, %col2_input, %col3_input, %row1_inverse_input, %row2_inverse_input,
      %row3_inverse_input, %col1_inverse_input, %col2_inverse_input, %col3_inverse_input, %fm1_input,
      %fm2_input, %fm3_input, %t1, %t3, %t10, %t30, %t100, %t300, %t1000, %t3000, %t10000, %t30000,
      %t100000) relu : tensor<32x39xf32>
    %hidden1:32 = update.dense %weight1, %bias1 (
      %hidden0#0, %hidden0#1, %hidden0#2, %hidden0#3, %hidden0#4, %hidden0#5, %hidden0#6, %hidden0#7,
      %hidden0#8, %hidden0#9, %hidden0#10, %hidden0#11, %hidden0#12, %hidden0#13, %hidden0#14,
      %hidden0#15, %hidden0#16, %hidden0#17, %hidden0#18, %hidden0#19, %hidden0#20, %hidden0#21,
      %hidden0#22, %hidden0#23, %hidden0#24, %hidden0#25, %hidden0#26, %hidden0#27, %hidden0#28,
      %hidden0#29, %hidden0#30, %hidden0#31) relu : tensor<32x32xf32>
    %direction, %magnitude = update.dense %weight2, %bias2 (
      %hidden1#0, %hidden1#1, %hidden1#2, %hidden1#3, %hidden1#4, %hidden1#5, %hidden1#6, %hidden1#7,
      %hidden1#8, %hidden1#9, %hidden1#10, %hidden1#11, %hidden1#12, %hidden1#13, %hidden1#14,
      %hidden1#15, %hidden1#16, %hidden1#17, %hidden1#18, %hidden1#19, %hidden1#20, %hidden1#21,
      %hidden1#22, %hidden1#23, %hidden1#24, %hidden1#25, %hidden1#26, %hidden1#27, %hidden1#28,
      %hidden1#29, %hidden1#30, %hidden1#31) : tensor<2x32xf32>
    %power = arith.mulf %magnitude, %exponent : f32
    %size = math.exp %power : f32
    %way = arith.mulf %direction, %size : f32
    %change = arith.mulf %way, %length : f32
    %next = arith.subf %w, %change : f32
    update.yield %next, %m1, %m2, %m3, %r
  }
  update.return %p, %next_m1, %next_m2, %next_m3, %next_r, %new_row_1, %new_row_2, %new_row_3, %new_col_1, %new_col_2, %new_col_3
      : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>,
        tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<1x?xf32>, tensor<1x?xf32>,
        tensor<1x?xf32>
}

// A vector has all of its means of squares, three of them.
update.rule @small_fc_lopt_vector
    states ["momentum_1", "momentum_2", "momentum_3", "rms", "factor_1", "factor_2", "factor_3"] {
^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>,
     %momentum_1: tensor<?x?xf32>, %momentum_2: tensor<?x?xf32>, %momentum_3: tensor<?x?xf32>,
     %rms: tensor<?x?xf32>,
     %factor_1: tensor<?x?xf32>, %factor_2: tensor<?x?xf32>, %factor_3: tensor<?x?xf32>):
  %rate = update.number "learning_rate"
  %step = update.number "step"
  %step_size = update.number "step_mult" default 0.01
  %exponent = update.number "exp_mult" default 0.001
  %one = arith.constant 1.0 : f32
  %ten = arith.constant 10.0 : f32
  %least = arith.constant 1.0e-9 : f32
  %tiny = arith.constant 1.0e-30 : f32
  %of_rms = arith.constant 1.0e-6 : f32
  %of_factor = arith.constant 1.0e-8 : f32
  %of_feature = arith.constant 1.0e-5 : f32
  %length = arith.mulf %rate, %step_size : f32

  // Averages decay by learned rates: what is new weighs (1 - b) exp(10 offset), b
  // being 0.9, 0.99 or 0.999, and not more than all.
  %momentum_offsets = update.weights "momentum_decays" default [0.15216392, 0.14245212, 0.06812963] : tensor<3xf32>
  %rms_offsets = update.weights "rms_decays" default [0.01079706] : tensor<1xf32>
  %factor_offsets = update.weights "adafactor_decays" default [0.18621896, -0.10864615, -0.06185547] : tensor<3xf32>
  %m1_usual = arith.constant 1.0e-1 : f32
  %m1_offset = update.element %momentum_offsets[0] : tensor<3xf32>
  %m1_tens = arith.mulf %m1_offset, %ten : f32
  %m1_times = math.exp %m1_tens : f32
  %m1_share = arith.mulf %m1_usual, %m1_times : f32
  %m1_new = arith.minimumf %m1_share, %one : f32
  %m1_kept = arith.subf %one, %m1_new : f32
  %m2_usual = arith.constant 1.0e-2 : f32
  %m2_offset = update.element %momentum_offsets[1] : tensor<3xf32>
  %m2_tens = arith.mulf %m2_offset, %ten : f32
  %m2_times = math.exp %m2_tens : f32
  %m2_share = arith.mulf %m2_usual, %m2_times : f32
  %m2_new = arith.minimumf %m2_share, %one : f32
  %m2_kept = arith.subf %one, %m2_new : f32
  %m3_usual = arith.constant 1.0e-3 : f32
  %m3_offset = update.element %momentum_offsets[2] : tensor<3xf32>
  %m3_tens = arith.mulf %m3_offset, %ten : f32
  %m3_times = math.exp %m3_tens : f32
  %m3_share = arith.mulf %m3_usual, %m3_times : f32
  %m3_new = arith.minimumf %m3_share, %one : f32
  %m3_kept = arith.subf %one, %m3_new : f32
  %r_usual = arith.constant 1.0e-3 : f32
  %r_offset = update.element %rms_offsets[0] : tensor<1xf32>
  %r_tens = arith.mulf %r_offset, %ten : f32
  %r_times = math.exp %r_tens : f32
  %r_share = arith.mulf %r_usual, %r_times : f32
  %r_new = arith.minimumf %r_share, %one : f32
  %r_kept = arith.subf %one, %r_new : f32
  %f1_usual = arith.constant 1.0e-1 : f32
  %f1_offset = update.element %factor_offsets[0] : tensor<3xf32>
  %f1_tens = arith.mulf %f1_offset, %ten : f32
  %f1_times = math.exp %f1_tens : f32
  %f1_share = arith.mulf %f1_usual, %f1_times : f32
  %f1_new = arith.minimumf %f1_share, %one : f32
  %f1_kept = arith.subf %one, %f1_new : f32
  %f2_usual = arith.constant 1.0e-2 : f32
  %f2_offset = update.element %factor_offsets[1] : tensor<3xf32>
  %f2_tens = arith.mulf %f2_offset, %ten : f32
  %f2_times = math.exp %f2_tens : f32
  %f2_share = arith.mulf %f2_usual, %f2_times : f32
  %f2_new = arith.minimumf %f2_share, %one : f32
  %f2_kept = arith.subf %one, %f2_new : f32
  %f3_usual = arith.constant 1.0e-3 : f32
  %f3_offset = update.element %factor_offsets[2] : tensor<3xf32>
  %f3_tens = arith.mulf %f3_offset, %ten : f32
  %f3_times = math.exp %f3_tens : f32
  %f3_share = arith.mulf %f3_usual, %f3_times : f32
  %f3_new = arith.minimumf %f3_share, %one : f32
  %f3_kept = arith.subf %one, %f3_new : f32

  %rows = update.extent %parameter, 0
  %columns = update.extent %parameter, 1
  %elements = arith.mulf %rows, %columns : f32

  // The mean of each feature's squares, over the whole tensor.
  %squares:22 = update.sum (
      %w = %parameter, %g = %gradient, %m1_state = %momentum_1, %m2_state = %momentum_2,
      %m3_state = %momentum_3, %r_state = %rms, %v1_state = %factor_1, %v2_state = %factor_2,
      %v3_state = %factor_3) {
    %m1_old = arith.mulf %m1_state, %m1_kept : f32
    %m1_add = arith.mulf %g, %m1_new : f32
    %m1 = arith.addf %m1_old, %m1_add : f32
    %m2_old = arith.mulf %m2_state, %m2_kept : f32
    %m2_add = arith.mulf %g, %m2_new : f32
    %m2 = arith.addf %m2_old, %m2_add : f32
    %m3_old = arith.mulf %m3_state, %m3_kept : f32
    %m3_add = arith.mulf %g, %m3_new : f32
    %m3 = arith.addf %m3_old, %m3_add : f32
    %g2 = arith.mulf %g, %g : f32
    %r_old = arith.mulf %r_state, %r_kept : f32
    %r_add = arith.mulf %g2, %r_new : f32
    %r = arith.addf %r_old, %r_add : f32
    %r_above = arith.addf %r, %of_rms : f32
    %r_root = math.sqrt %r_above : f32
    %r_inverse = arith.divf %one, %r_root : f32
    %mr1 = arith.mulf %m1, %r_inverse : f32
    %mr2 = arith.mulf %m2, %r_inverse : f32
    %mr3 = arith.mulf %m3, %r_inverse : f32
    %v1_old = arith.mulf %v1_state, %f1_kept : f32
    %v1_square = arith.addf %g2, %tiny : f32
    %v1_add = arith.mulf %v1_square, %f1_new : f32
    %v1 = arith.addf %v1_old, %v1_add : f32
    %v1_more = arith.addf %v1, %least : f32
    %v1_root = math.sqrt %v1_more : f32
    %fg1 = arith.divf %g, %v1_root : f32
    %v1_above = arith.addf %v1, %of_factor : f32
    %v1_above_root = math.sqrt %v1_above : f32
    %v1_inverse = arith.divf %one, %v1_above_root : f32
    %v1_of_momentum = arith.addf %v1, %of_rms : f32
    %v1_momentum_root = math.sqrt %v1_of_momentum : f32
    %fm1 = arith.divf %m1, %v1_momentum_root : f32
    %v2_old = arith.mulf %v2_state, %f2_kept : f32
    %v2_square = arith.addf %g2, %tiny : f32
    %v2_add = arith.mulf %v2_square, %f2_new : f32
    %v2 = arith.addf %v2_old, %v2_add : f32
    %v2_more = arith.addf %v2, %least : f32
    %v2_root = math.sqrt %v2_more : f32
    %fg2 = arith.divf %g, %v2_root : f32
    %v2_above = arith.addf %v2, %of_factor : f32
    %v2_above_root = math.sqrt %v2_above : f32
    %v2_inverse = arith.divf %one, %v2_above_root : f32
    %v2_of_momentum = arith.addf %v2, %of_rms : f32
    %v2_momentum_root = math.sqrt %v2_of_momentum : f32
    %fm2 = arith.divf %m2, %v2_momentum_root : f32
    %v3_old = arith.mulf %v3_state, %f3_kept : f32
    %v3_square = arith.addf %g2, %tiny : f32
    %v3_add = arith.mulf %v3_square, %f3_new : f32
    %v3 = arith.addf %v3_old, %v3_add : f32
    %v3_more = arith.addf %v3, %least : f32
    %v3_root = math.sqrt %v3_more : f32
    %fg3 = arith.divf %g, %v3_root : f32
    %v3_above = arith.addf %v3, %of_factor : f32
    %v3_above_root = math.sqrt %v3_above : f32
    %v3_inverse = arith.divf %one, %v3_above_root : f32
    %v3_of_momentum = arith.addf %v3, %of_rms : f32
    %v3_momentum_root = math.sqrt %v3_of_momentum : f32
    %fm3 = arith.divf %m3, %v3_momentum_root : f32
    %g_2 = arith.mulf %g, %g : f32
    %w_2 = arith.mulf %w, %w : f32
    %m1_2 = arith.mulf %m1, %m1 : f32
    %m2_2 = arith.mulf %m2, %m2 : f32
    %m3_2 = arith.mulf %m3, %m3 : f32
    %r_2 = arith.mulf %r, %r : f32
    %mr1_2 = arith.mulf %mr1, %mr1 : f32
    %mr2_2 = arith.mulf %mr2, %mr2 : f32
    %mr3_2 = arith.mulf %mr3, %mr3 : f32
    %r_inverse_2 = arith.mulf %r_inverse, %r_inverse : f32
    %fg1_2 = arith.mulf %fg1, %fg1 : f32
    %fg2_2 = arith.mulf %fg2, %fg2 : f32
    %fg3_2 = arith.mulf %fg3, %fg3 : f32
    %v1_2 = arith.mulf %v1, %v1 : f32
    %v2_2 = arith.mulf %v2, %v2 : f32
    %v3_2 = arith.mulf %v3, %v3 : f32
    %v1_inverse_2 = arith.mulf %v1_inverse, %v1_inverse : f32
    %v2_inverse_2 = arith.mulf %v2_inverse, %v2_inverse : f32
    %v3_inverse_2 = arith.mulf %v3_inverse, %v3_inverse : f32
    %fm1_2 = arith.mulf %fm1, %fm1 : f32
    %fm2_2 = arith.mulf %fm2, %fm2 : f32
    %fm3_2 = arith.mulf %fm3, %fm3 : f32
    update.yield %g_2, %w_2, %m1_2, %m2_2, %m3_2, %r_2, %mr1_2, %mr2_2, %mr3_2, %r_inverse_2, %fg1_2, %fg2_2,
      %fg3_2, %v1_2, %v2_2, %v3_2, %v1_inverse_2, %v2_inverse_2, %v3_inverse_2, %fm1_2, %fm2_2,
      %fm3_2
  }
  %g_mean = arith.divf %squares#0, %elements : f32
  %g_positive = arith.addf %g_mean, %of_feature : f32
  %g_deviation = math.sqrt %g_positive : f32
  %g_scale = arith.divf %one, %g_deviation : f32
  %w_mean = arith.divf %squares#1, %elements : f32
  %w_positive = arith.addf %w_mean, %of_feature : f32
  %w_deviation = math.sqrt %w_positive : f32
  %w_scale = arith.divf %one, %w_deviation : f32
  %m1_mean = arith.divf %squares#2, %elements : f32
  %m1_positive = arith.addf %m1_mean, %of_feature : f32
  %m1_deviation = math.sqrt %m1_positive : f32
  %m1_scale = arith.divf %one, %m1_deviation : f32
  %m2_mean = arith.divf %squares#3, %elements : f32
  %m2_positive = arith.addf %m2_mean, %of_feature : f32
  %m2_deviation = math.sqrt %m2_positive : f32
  %m2_scale = arith.divf %one, %m2_deviation : f32
  %m3_mean = arith.divf %squares#4, %elements : f32
  %m3_positive = arith.addf %m3_mean, %of_feature : f32
  %m3_deviation = math.sqrt %m3_positive : f32
  %m3_scale = arith.divf %one, %m3_deviation : f32
  %r_mean = arith.divf %squares#5, %elements : f32
  %r_positive = arith.addf %r_mean, %of_feature : f32
  %r_deviation = math.sqrt %r_positive : f32
  %r_scale = arith.divf %one, %r_deviation : f32
  %mr1_mean = arith.divf %squares#6, %elements : f32
  %mr1_positive = arith.addf %mr1_mean, %of_feature : f32
  %mr1_deviation = math.sqrt %mr1_positive : f32
  %mr1_scale = arith.divf %one, %mr1_deviation : f32
  %mr2_mean = arith.divf %squares#7, %elements : f32
  %mr2_positive = arith.addf %mr2_mean, %of_feature : f32
  %mr2_deviation = math.sqrt %mr2_positive : f32
  %mr2_scale = arith.divf %one, %mr2_deviation : f32
  %mr3_mean = arith.divf %squares#8, %elements : f32
  %mr3_positive = arith.addf %mr3_mean, %of_feature : f32
  %mr3_deviation = math.sqrt %mr3_positive : f32
  %mr3_scale = arith.divf %one, %mr3_deviation : f32
  %r_inverse_mean = arith.divf %squares#9, %elements : f32
  %r_inverse_positive = arith.addf %r_inverse_mean, %of_feature : f32
  %r_inverse_deviation = math.sqrt %r_inverse_positive : f32
  %r_inverse_scale = arith.divf %one, %r_inverse_deviation : f32
  %fg1_mean = arith.divf %squares#10, %elements : f32
  %fg1_positive = arith.addf %fg1_mean, %of_feature : f32
  %fg1_deviation = math.sqrt %fg1_positive : f32
  %fg1_scale = arith.divf %one, %fg1_deviation : f32
  %fg2_mean = arith.divf %squares#11, %elements : f32
  %fg2_positive = arith.addf %fg2_mean, %of_feature : f32
  %fg2_deviation = math.sqrt %fg2_positive : f32
  %fg2_scale = arith.divf %one, %fg2_deviation : f32
  %fg3_mean = arith.divf %squares#12, %elements : f32
  %fg3_positive = arith.addf %fg3_mean, %of_feature : f32
  %fg3_deviation = math.sqrt %fg3_positive : f32
  %fg3_scale = arith.divf %one, %fg3_deviation : f32
  %v1_mean = arith.divf %squares#13, %elements : f32
  %v1_positive = arith.addf %v1_mean, %of_feature : f32
  %v1_deviation = math.sqrt %v1_positive : f32
  %v1_scale = arith.divf %one, %v1_deviation : f32
  %v2_mean = arith.divf %squares#14, %elements : f32
  %v2_positive = arith.addf %v2_mean, %of_feature : f32
  %v2_deviation = math.sqrt %v2_positive : f32
  %v2_scale = arith.divf %one, %v2_deviation : f32
  %v3_mean = arith.divf %squares#15, %elements : f32
  %v3_positive = arith.addf %v3_mean, %of_feature : f32
  %v3_deviation = math.sqrt %v3_positive : f32
  %v3_scale = arith.divf %one, %v3_deviation : f32
  %v1_inverse_mean = arith.divf %squares#16, %elements : f32
  %v1_inverse_positive = arith.addf %v1_inverse_mean, %of_feature : f32
  %v1_inverse_deviation = math.sqrt %v1_inverse_positive : f32
  %v1_inverse_scale = arith.divf %one, %v1_inverse_deviation : f32
  %v2_inverse_mean = arith.divf %squares#17, %elements : f32
  %v2_inverse_positive = arith.addf %v2_inverse_mean, %of_feature : f32
  %v2_inverse_deviation = math.sqrt %v2_inverse_positive : f32
  %v2_inverse_scale = arith.divf %one, %v2_inverse_deviation : f32
  %v3_inverse_mean = arith.divf %squares#18, %elements : f32
  %v3_inverse_positive = arith.addf %v3_inverse_mean, %of_feature : f32
  %v3_inverse_deviation = math.sqrt %v3_inverse_positive : f32
  %v3_inverse_scale = arith.divf %one, %v3_inverse_deviation : f32
  %fm1_mean = arith.divf %squares#19, %elements : f32
  %fm1_positive = arith.addf %fm1_mean, %of_feature : f32
  %fm1_deviation = math.sqrt %fm1_positive : f32
  %fm1_scale = arith.divf %one, %fm1_deviation : f32
  %fm2_mean = arith.divf %squares#20, %elements : f32
  %fm2_positive = arith.addf %fm2_mean, %of_feature : f32
  %fm2_deviation = math.sqrt %fm2_positive : f32
  %fm2_scale = arith.divf %one, %fm2_deviation : f32
  %fm3_mean = arith.divf %squares#21, %elements : f32
  %fm3_positive = arith.addf %fm3_mean, %of_feature : f32
  %fm3_deviation = math.sqrt %fm3_positive : f32
  %fm3_scale = arith.divf %one, %fm3_deviation : f32

  // How far the run is, on several scales of time.
  %before = arith.subf %step, %one : f32
  %t1_scale = arith.constant 1.0 : f32
  %t1_done = arith.divf %before, %t1_scale : f32
  %t1_left = arith.subf %t1_done, %one : f32
  %t1 = math.tanh %t1_left : f32
  %t3_scale = arith.constant 3.0 : f32
  %t3_done = arith.divf %before, %t3_scale : f32
  %t3_left = arith.subf %t3_done, %one : f32
  %t3 = math.tanh %t3_left : f32
  %t10_scale = arith.constant 10.0 : f32
  %t10_done = arith.divf %before, %t10_scale : f32
  %t10_left = arith.subf %t10_done, %one : f32
  %t10 = math.tanh %t10_left : f32
  %t30_scale = arith.constant 30.0 : f32
  %t30_done = arith.divf %before, %t30_scale : f32
  %t30_left = arith.subf %t30_done, %one : f32
  %t30 = math.tanh %t30_left : f32
  %t100_scale = arith.constant 100.0 : f32
  %t100_done = arith.divf %before, %t100_scale : f32
  %t100_left = arith.subf %t100_done, %one : f32
  %t100 = math.tanh %t100_left : f32
  %t300_scale = arith.constant 300.0 : f32
  %t300_done = arith.divf %before, %t300_scale : f32
  %t300_left = arith.subf %t300_done, %one : f32
  %t300 = math.tanh %t300_left : f32
  %t1000_scale = arith.constant 1000.0 : f32
  %t1000_done = arith.divf %before, %t1000_scale : f32
  %t1000_left = arith.subf %t1000_done, %one : f32
  %t1000 = math.tanh %t1000_left : f32
  %t3000_scale = arith.constant 3000.0 : f32
  %t3000_done = arith.divf %before, %t3000_scale : f32
  %t3000_left = arith.subf %t3000_done, %one : f32
  %t3000 = math.tanh %t3000_left : f32
  %t10000_scale = arith.constant 10000.0 : f32
  %t10000_done = arith.divf %before, %t10000_scale : f32
  %t10000_left = arith.subf %t10000_done, %one : f32
  %t10000 = math.tanh %t10000_left : f32
  %t30000_scale = arith.constant 30000.0 : f32
  %t30000_done = arith.divf %before, %t30000_scale : f32
  %t30000_left = arith.subf %t30000_done, %one : f32
  %t30000 = math.tanh %t30000_left : f32
  %t100000_scale = arith.constant 100000.0 : f32
  %t100000_done = arith.divf %before, %t100000_scale : f32
  %t100000_left = arith.subf %t100000_done, %one : f32
  %t100000 = math.tanh %t100000_left : f32

  %weight0 = update.weights "network.input.weight" : tensor<32x39xf32>
  %bias0 = update.weights "network.input.bias" : tensor<32xf32>
  %weight1 = update.weights "network.linear_0.weight" : tensor<32x32xf32>
  %bias1 = update.weights "network.linear_0.bias" : tensor<32xf32>
  %weight2 = update.weights "network.output.weight" : tensor<2x32xf32>
  %bias2 = update.weights "network.output.bias" : tensor<2xf32>
  %p, %next_m1, %next_m2, %next_m3, %next_r, %next_v1, %next_v2, %next_v3 = update.map (
      %w = %parameter, %g = %gradient, %m1_state = %momentum_1, %m2_state = %momentum_2,
      %m3_state = %momentum_3, %r_state = %rms, %v1_state = %factor_1, %v2_state = %factor_2,
      %v3_state = %factor_3) {
    %m1_old = arith.mulf %m1_state, %m1_kept : f32
    %m1_add = arith.mulf %g, %m1_new : f32
    %m1 = arith.addf %m1_old, %m1_add : f32
    %m2_old = arith.mulf %m2_state, %m2_kept : f32
    %m2_add = arith.mulf %g, %m2_new : f32
    %m2 = arith.addf %m2_old, %m2_add : f32
    %m3_old = arith.mulf %m3_state, %m3_kept : f32
    %m3_add = arith.mulf %g, %m3_new : f32
    %m3 = arith.addf %m3_old, %m3_add : f32
    %g2 = arith.mulf %g, %g : f32
    %r_old = arith.mulf %r_state, %r_kept : f32
    %r_add = arith.mulf %g2, %r_new : f32
    %r = arith.addf %r_old, %r_add : f32
    %r_above = arith.addf %r, %of_rms : f32
    %r_root = math.sqrt %r_above : f32
    %r_inverse = arith.divf %one, %r_root : f32
    %mr1 = arith.mulf %m1, %r_inverse : f32
    %mr2 = arith.mulf %m2, %r_inverse : f32
    %mr3 = arith.mulf %m3, %r_inverse : f32
    %v1_old = arith.mulf %v1_state, %f1_kept : f32
    %v1_square = arith.addf %g2, %tiny : f32
    %v1_add = arith.mulf %v1_square, %f1_new : f32
    %v1 = arith.addf %v1_old, %v1_add : f32
    %v1_more = arith.addf %v1, %least : f32
    %v1_root = math.sqrt %v1_more : f32
    %fg1 = arith.divf %g, %v1_root : f32
    %v1_above = arith.addf %v1, %of_factor : f32
    %v1_above_root = math.sqrt %v1_above : f32
    %v1_inverse = arith.divf %one, %v1_above_root : f32
    %v1_of_momentum = arith.addf %v1, %of_rms : f32
    %v1_momentum_root = math.sqrt %v1_of_momentum : f32
    %fm1 = arith.divf %m1, %v1_momentum_root : f32
    %v2_old = arith.mulf %v2_state, %f2_kept : f32
    %v2_square = arith.addf %g2, %tiny : f32
    %v2_add = arith.mulf %v2_square, %f2_new : f32
    %v2 = arith.addf %v2_old, %v2_add : f32
    %v2_more = arith.addf %v2, %least : f32
    %v2_root = math.sqrt %v2_more : f32
    %fg2 = arith.divf %g, %v2_root : f32
    %v2_above = arith.addf %v2, %of_factor : f32
    %v2_above_root = math.sqrt %v2_above : f32
    %v2_inverse = arith.divf %one, %v2_above_root : f32
    %v2_of_momentum = arith.addf %v2, %of_rms : f32
    %v2_momentum_root = math.sqrt %v2_of_momentum : f32
    %fm2 = arith.divf %m2, %v2_momentum_root : f32
    %v3_old = arith.mulf %v3_state, %f3_kept : f32
    %v3_square = arith.addf %g2, %tiny : f32
    %v3_add = arith.mulf %v3_square, %f3_new : f32
    %v3 = arith.addf %v3_old, %v3_add : f32
    %v3_more = arith.addf %v3, %least : f32
    %v3_root = math.sqrt %v3_more : f32
    %fg3 = arith.divf %g, %v3_root : f32
    %v3_above = arith.addf %v3, %of_factor : f32
    %v3_above_root = math.sqrt %v3_above : f32
    %v3_inverse = arith.divf %one, %v3_above_root : f32
    %v3_of_momentum = arith.addf %v3, %of_rms : f32
    %v3_momentum_root = math.sqrt %v3_of_momentum : f32
    %fm3 = arith.divf %m3, %v3_momentum_root : f32
    %g_input = arith.mulf %g, %g_scale : f32
    %w_input = arith.mulf %w, %w_scale : f32
    %m1_input = arith.mulf %m1, %m1_scale : f32
    %m2_input = arith.mulf %m2, %m2_scale : f32
    %m3_input = arith.mulf %m3, %m3_scale : f32
    %r_input = arith.mulf %r, %r_scale : f32
    %mr1_input = arith.mulf %mr1, %mr1_scale : f32
    %mr2_input = arith.mulf %mr2, %mr2_scale : f32
    %mr3_input = arith.mulf %mr3, %mr3_scale : f32
    %r_inverse_input = arith.mulf %r_inverse, %r_inverse_scale : f32
    %fg1_input = arith.mulf %fg1, %fg1_scale : f32
    %fg2_input = arith.mulf %fg2, %fg2_scale : f32
    %fg3_input = arith.mulf %fg3, %fg3_scale : f32
    %v1_input = arith.mulf %v1, %v1_scale : f32
    %v2_input = arith.mulf %v2, %v2_scale : f32
    %v3_input = arith.mulf %v3, %v3_scale : f32
    %v1_inverse_input = arith.mulf %v1_inverse, %v1_inverse_scale : f32
    %v2_inverse_input = arith.mulf %v2_inverse, %v2_inverse_scale : f32
    %v3_inverse_input = arith.mulf %v3_inverse, %v3_inverse_scale : f32
    %fm1_input = arith.mulf %fm1, %fm1_scale : f32
    %fm2_input = arith.mulf %fm2, %fm2_scale : f32
    %fm3_input = arith.mulf %fm3, %fm3_scale : f32
    %hidden0:32 = update.dense %weight0, %bias0 (
      %g_input, %w_input, %m1_input, %m2_input, %m3_input, %r_input, %mr1_input, %mr2_input,
      %mr3_input, %r_inverse_input, %fg1_input, %fg2_input, %fg3_input, %v1_input, %v2_input,
      %v3_input, %v1_input, %v2_input, %v3_input, %v1_inverse_input, %v2_inverse_input,
      %v3_inverse_input, %v1_inverse_input, %v2_inverse_input, %v3_inverse_input, %fm1_input,
      %fm2_input, %fm3_input, %t1, %t3, %t10, %t30, %t100, %t300, %t1000, %t3000, %t10000, %t30000,
      %t100000) relu : tensor<32x39xf32>
    %hidden1:32 = update.dense %weight1, %bias1 (
      %hidden0#0, %hidden0#1, %hidden0#2, %hidden0#3, %hidden0#4, %hidden0#5, %hidden0#6, %hidden0#7,
      %hidden0#8, %hidden0#9, %hidden0#10, %hidden0#11, %hidden0#12, %hidden0#13, %hidden0#14,
      %hidden0#15, %hidden0#16, %hidden0#17, %hidden0#18, %hidden0#19, %hidden0#20, %hidden0#21,
      %hidden0#22, %hidden0#23, %hidden0#24, %hidden0#25, %hidden0#26, %hidden0#27, %hidden0#28,
      %hidden0#29, %hidden0#30, %hidden0#31) relu : tensor<32x32xf32>
    %direction, %magnitude = update.dense %weight2, %bias2 (
      %hidden1#0, %hidden1#1, %hidden1#2, %hidden1#3, %hidden1#4, %hidden1#5, %hidden1#6, %hidden1#7,
      %hidden1#8, %hidden1#9, %hidden1#10, %hidden1#11, %hidden1#12, %hidden1#13, %hidden1#14,
      %hidden1#15, %hidden1#16, %hidden1#17, %hidden1#18, %hidden1#19, %hidden1#20, %hidden1#21,
      %hidden1#22, %hidden1#23, %hidden1#24, %hidden1#25, %hidden1#26, %hidden1#27, %hidden1#28,
      %hidden1#29, %hidden1#30, %hidden1#31) : tensor<2x32xf32>
    %power = arith.mulf %magnitude, %exponent : f32
    %size = math.exp %power : f32
    %way = arith.mulf %direction, %size : f32
    %change = arith.mulf %way, %length : f32
    %next = arith.subf %w, %change : f32
    update.yield %next, %m1, %m2, %m3, %r, %v1, %v2, %v3
  }
  update.return %p, %next_m1, %next_m2, %next_m3, %next_r, %next_v1, %next_v2, %next_v3
}

update.group @small_fc_lopt_vector rank 1
update.group @small_fc_lopt
