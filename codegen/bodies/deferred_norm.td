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
