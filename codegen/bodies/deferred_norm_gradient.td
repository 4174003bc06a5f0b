//===- deferred_norm_gradient.td - adjoints of an RMS norm's two halves ---===//

include "codegen/bodies/Body.td"

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
