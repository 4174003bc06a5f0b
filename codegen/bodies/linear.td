//===- linear.td - linear layers on packed weights ------------------------===//

include "codegen/bodies/Body.td"

def LinearBody : Body<"linear",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "k"]>:$x, Stride:$x_stride,
           ReadsMatrix<[], "whole_panels(columns) * (k + overhead())">:$panels,
           Nullable<ReadsWeight<["columns"]>>:$bias,
           Nullable<Reads<["rows", "columns"]>>:$residual, Stride:$residual_stride,
           Count:$rows, Count:$k, Count:$columns, Choice<"BatonActivation">:$activation)> {
  let description = [{
    `out[r][0 .. columns) = activation(x W^T + bias) + residual`. `panels`, `bias`
    and `residual` begin at the tile's first column. `columns` is at least 1; its
    last panel may be partial.
  }];
  let variants = !listconcat(WeightVariants, BlockVariants, [Mixed]);
  let inPlace = ["residual"];
  let flops = "2 * rows * k * columns";
  let isProduct = true;
  let tuned = [Tuning<"cuda", "matrix", !listconcat([BF16], BlockVariants, [Mixed])>,
               Tuning<"cuda", "stream", !listconcat([BF16], BlockVariants, [Mixed])>,
               Tuning<"cuda", "cublaslt", [BF16]>];
}
