//===- product.td - matrix products of training ----------------------------===//

include "codegen/bodies/Body.td"

def ProductBody : Body<"product",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "depth"], ["a_row_stride", "a_depth_stride"]>:$a,
           Stride:$a_row_stride, Stride:$a_depth_stride,
           Reads<["depth", "columns"], ["b_depth_stride", "b_column_stride"]>:$b,
           Stride:$b_depth_stride, Stride:$b_column_stride,
           Nullable<ReadsWeight<["columns"]>>:$bias,
           Nullable<Reads<["rows", "columns"]>>:$residual, Stride:$residual_stride,
           Count:$rows, Count:$columns, Count:$depth, Scratch:$scratch)> {
  let description = [{
    `out[r][c]` = the sum over `d` of `a(r, d) b(d, c) + bias[c] +
    residual[r][c]`, with `a(r, d) = a[r * a_row_stride + d * a_depth_stride]` and
    `b(d, c) = b[d * b_depth_stride + c * b_column_stride]`; one of each pair of
    strides is 1. The bits are those of `linear_f32`. With a suffix, elements of
    `a` and `b` are rounded to that type first.
  }];
  let variants = Roundings;
  let inPlace = ["residual"];
  let flops = "2 * rows * columns * depth";
  let isProduct = true;
  let tuned = [Tuning<"cuda", "staged", Roundings>,
               Tuning<"cuda", "matrix", [RoundedBF16, RoundedF16]>];
}

def ProductGradientBody : Body<"product_gradient",
    (takes Accumulates<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "depth"], ["a_row_stride", "a_depth_stride"]>:$a,
           Stride:$a_row_stride, Stride:$a_depth_stride,
           Reads<["depth", "columns"], ["b_depth_stride", "b_column_stride"]>:$b,
           Stride:$b_depth_stride, Stride:$b_column_stride,
           Nullable<Reads<["depth"]>>:$weights,
           Count:$rows, Count:$columns, Count:$depth, Accumulate:$accumulate,
           Scratch:$scratch)> {
  let description = [{
    The same without bias and residual, for gradients of weights: `out (+)= a b`.
    The chain of an element that joins what is there starts at that. If `weights`
    is not null, `b(d, ...)` counts as 0 where `weights[d]` is, whatever it is;
    then `b_column_stride` is 1.
  }];
  let variants = Roundings;
  let flops = "2 * rows * columns * depth";
  let isProduct = true;
  let tuned = [Tuning<"cuda", "staged", Roundings>,
               Tuning<"cuda", "matrix", [RoundedBF16, RoundedF16]>];
}
