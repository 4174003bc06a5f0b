//===- norm.td - norms -----------------------------------------------------===//

include "codegen/bodies/Body.td"

def RmsNormBody : Body<"rms_norm",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           ReadsWeight<["width"]>:$weight,
           Count:$rows, Count:$width, Number:$epsilon)> {
  let description = [{
    `out = (x / sqrt(mean(x^2) + epsilon)) * weight`, per row.
  }];
  let inPlace = ["x"];
  // x * x and its sum, the factor, the weight.
  let flops = "4 * rows * width";
}

def LayerNormBody : Body<"layer_norm",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           ReadsWeight<["width"]>:$weight, Nullable<ReadsWeight<["width"]>>:$bias,
           Count:$rows, Count:$width, Number:$epsilon)> {
  let description = [{
    `out = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * weight + bias`, per
    row.
  }];
  let inPlace = ["x"];
  // Two sums, the difference, its square, the factor, weight and bias.
  let flops = "7 * rows * width";
}
