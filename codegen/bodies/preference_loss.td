//===- preference_loss.td - the loss of pairs of answers --------------------===//

include "codegen/bodies/Body.td"

def PreferenceLossBody : Body<"preference_loss",
    (takes Writes<["rows", "7"]>:$results, Stride:$results_stride,
           Writes<["rows"]>:$gradient, Reads<["rows", "1"]>:$losses, Stride:$losses_stride,
           Reads<["rows"]>:$weights, Reads<["rows", "4"], ["4", "1"]>:$preferences,
           Count:$rows)> {
  let description = [{
    A pair begins at row 0 and at each row where `preferences[r][0]` is not 0; w, beta, c'
    and r' are the four numbers there. c is minus the sum of `losses[r]` over its rows whose
    weight is above 0, r the sum over those whose weight is below 0; each sum is one chain in
    F64, rounded at its end. With `z = beta * ((c - c') - (r - r'))`, `results` of its first row
    are w times `{-log(sigmoid(z)), beta * (c - c'), beta * (r - r'), z, z > 0, c, r}`, and 0 in its
    other rows. `gradient` of all its rows is `w * beta * sigmoid(-z)`.
  }];
  // Two sums, the columns, and the loss of each of many pairs.
  let flops = "16 * rows";
}

def WeighRowsBody : Body<"weigh_rows",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           Reads<["rows", "1"]>:$factors, Stride:$factors_stride,
           Count:$rows, Count:$width)> {
  let description = [{
    `out[r] = x[r] * factors[r]`.
  }];
  let inPlace = ["x"];
  let flops = "rows * width";
}
