//===- deferred_norm.td - norms whose scale comes later --------------------===//

include "codegen/bodies/Body.td"

def NormBeginBody : Body<"norm_begin",
    (takes Writes<["rows", "width"]>:$scaled, Stride:$scaled_stride,
           Writes<["rows", "1"]>:$squares, Stride:$squares_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           ReadsWeight<["width"]>:$weight, Count:$rows, Count:$width)> {
  let description = [{
    `scaled = x * weight`, and `squares[r]` = the sum of `x[r]^2`.
  }];
  let inPlace = ["x"];
  let flops = "3 * rows * width";
}

def NormEndBody : Body<"norm_end",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "columns"]>:$x, Stride:$x_stride,
           Reads<["rows", "1"]>:$squares, Stride:$squares_stride,
           Count:$rows, Count:$columns, Count:$width, Number:$epsilon)> {
  let description = [{
    `out[r] = x[r] / sqrt(squares[r] / width + epsilon)`.
  }];
  let inPlace = ["x"];
  let flops = "rows * columns";
}

def NormBeginGradientBody : Body<"norm_begin_gradient",
    (takes Writes<["rows", "width"]>:$dx, Stride:$dx_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           ReadsWeight<["width"]>:$weight,
           Nullable<Reads<["rows", "width"], ["scaled_stride", "1"]>>:$scaled_gradient,
           Stride:$scaled_stride,
           Nullable<Reads<["rows", "1"], ["squares_stride", "1"]>>:$squares_gradient,
           Stride:$squares_stride,
           Count:$rows, Count:$width)> {
  let description = [{
    `dx` = the adjoint of `norm_begin`, of either result or both; the gradient of
    a result may be null.
  }];
  let inPlace = ["x", "scaled_gradient"];
  let flops = "3 * rows * width";
}

def NormEndGradientBody : Body<"norm_end_gradient",
    (takes Writes<["rows", "1"]>:$dsquares, Stride:$dsquares_stride,
           Reads<["rows", "columns"]>:$dy, Stride:$dy_stride,
           Reads<["rows", "columns"]>:$x, Stride:$x_stride,
           Reads<["rows", "1"]>:$squares, Stride:$squares_stride,
           Count:$rows, Count:$columns, Count:$width, Number:$epsilon)> {
  let description = [{
    `dsquares[r]` = the adjoint of `norm_end` for the squares.
  }];
  let flops = "2 * rows * columns";
}
