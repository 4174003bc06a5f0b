//===- magnitude.td - rows of adapted weights with trained lengths ---------===//

include "codegen/bodies/Body.td"

def AdaptedSquaresBody : Body<"adapted_squares",
    (takes Writes<["columns"]>:$out,
           ReadsMatrix<[], "whole_panels(columns) * (depth + overhead())">:$panels,
           Reads<["rank", "depth"]>:$down, Stride:$down_stride,
           Reads<["columns", "rank"]>:$up, Stride:$up_stride,
           Number:$factor, Count:$columns, Count:$rank, Count:$depth,
           Scratch:$scratch)> {
  let description = [{
    `out[c]` = the sum over `d` of `(W[c][d] + factor * (up down)[c][d])^2`, for a tile
    of `columns` outputs of a weight as `linear` has it, beside which is a low-rank
    pair. An element of the sum of both is one chain of fused multiply-adds that
    begins with the weight, in ascending ranks. Squares are eight chains, of every
    eighth `d`, which are added up in pairs.
  }];
  let variants = !listconcat(WeightVariants, BlockVariants, [Mixed]);
  let flops = "2 * columns * depth * (rank + 1)";
}

def MagnitudeBody : Body<"magnitude",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "columns"]>:$x, Stride:$x_stride,
           ReadsWeight<["columns"]>:$magnitude, Reads<["columns"]>:$squares,
           Nullable<ReadsWeight<["columns"]>>:$bias,
           Count:$rows, Count:$columns)> {
  let description = [{
    `out[r][c] = x[r][c] * (magnitude[c] / sqrt(squares[c])) + bias[c]`.
  }];
  let inPlace = ["x"];
  let flops = "2 * rows * columns";
}

def MagnitudeGradientBody : Body<"magnitude_gradient",
    (takes Accumulates<["columns"]>:$out,
           Reads<["rows", "columns"]>:$dy, Stride:$dy_stride,
           Reads<["rows", "columns"]>:$x, Stride:$x_stride,
           Reads<["columns"]>:$squares, Count:$rows, Count:$columns,
           Accumulate:$accumulate)> {
  let description = [{
    `out[c] (+)=` the sum over `r` of `dy[r][c] * x[r][c]`, divided by
    `sqrt(squares[c])`.
  }];
  let flops = "2 * rows * columns";
}
