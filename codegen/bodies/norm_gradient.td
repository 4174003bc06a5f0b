//===- norm_gradient.td - adjoints of norms --------------------------------===//

include "codegen/bodies/Body.td"

def NormStatisticsBody : Body<"norm_statistics",
    (takes Writes<["rows", "2"]>:$statistics, Stride:$statistics_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           Count:$rows, Count:$width, Number:$epsilon, Switch:$centered)> {
  let description = [{
    `statistics[r] = {mean, 1 / sqrt(variance + epsilon)}`; with `centered` 0, as
    for `rms_norm`, `{0, 1 / sqrt(mean of squares + epsilon)}`. Rows are those of
    `rms_norm` or `layer_norm`, with the bits of their sums.
  }];
  let flops = "3 * rows * width";
}

def NormGradientBody : Body<"norm_gradient",
    (takes Writes<["rows", "width"]>:$dx, Stride:$dx_stride,
           Reads<["rows", "width"]>:$dy, Stride:$dy_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           ReadsWeight<["width"]>:$weight,
           Reads<["rows", "2"]>:$statistics, Stride:$statistics_stride,
           Count:$rows, Count:$width, Switch:$centered)> {
  let description = [{
    `dx` = the adjoint of the norm for `dy`.
  }];
  let inPlace = ["dy"];
  let flops = "8 * rows * width";
}

def NormWeightGradientBody : Body<"norm_weight_gradient",
    (takes Accumulates<["columns"]>:$dweight, Nullable<Accumulates<["columns"]>>:$dbias,
           Reads<["rows", "heads", "columns"], ["dy_stride", "head_stride", "1"]>:$dy,
           Stride:$dy_stride,
           Reads<["rows", "heads", "columns"], ["x_stride", "head_stride", "1"]>:$x,
           Stride:$x_stride,
           Reads<["rows", "2 * heads"]>:$statistics, Stride:$statistics_stride,
           Count:$rows, Count:$heads, Stride:$head_stride, Count:$columns,
           Accumulate:$accumulate)> {
  let description = [{
    `dweight[c] (+)=` the sum over `r` and `h` of `dy * (x - mean) * rstd` for
    `columns` columns; every row has `heads` norms, `head_stride` elements apart
    in `dy` and `x` alike, whose statistics are 2 elements apart. Rows outside,
    heads inside.
  }];
  let flops = "4 * rows * heads * columns";
}
