//===- softmax.td - softmax and masks --------------------------------------===//

include "codegen/bodies/Body.td"

def MaskCausalBody : Body<"mask_causal",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           Count:$rows, Count:$width, Position:$position, Count:$window)> {
  let description = [{
    `out[r][j] = x[r][j]` where `j <= position + r` (and, with `window > 0`, `j >
    position + r - window`), else -infinity.
  }];
  let inPlace = ["x"];
  // The comparison with a row's own position.
  let flops = "rows * width";
}

def MaskSequencesBody : Body<"mask_sequences",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           Count:$rows, Count:$width, ReadsIntegers<["rows"]>:$positions,
           Position:$first_row, Count:$window, Number:$hidden)> {
  let description = [{
    `out[r][j] = x[r][j]` for the last `positions[r] + 1` columns `j` up to
    `first_row + r` (and, with `window > 0`, the last `window` of them), else
    `hidden`: what rows of a sequence see of a step's rows.
  }];
  let inPlace = ["x"];
  let flops = "rows * width";
}

def SoftmaxBody : Body<"softmax",
    (takes Writes<["rows", "width"]>:$out, Stride:$out_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride, Count:$rows, Count:$width,
           Nullable<ReadsWeight<["1"]>>:$sink)> {
  let description = [{
    `out = e^(x - max x) / sum`, per row; a row of -infinity only gives zeros. With `sink`
    each row has that number as one more element, which comes last in the sum and is not
    written.
  }];
  let inPlace = ["x"];
  // Maximum, difference, exponential, sum, quotient.
  let flops = "5 * rows * width";
}
