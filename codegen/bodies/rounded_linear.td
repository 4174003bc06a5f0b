//===- rounded_linear.td - linear layers on inputs rounded to BF16 --------===//
//
// No tiling rule: model.linear and model.gated_linear call these where the program
// says so (passes/tiling/rules/linear.cpp, passes/tiling/rules/gated_linear.cpp).
// No sharding rule: to ranks these linears are like others
// (passes/sharding/rules/linear.cpp).

include "codegen/bodies/Body.td"

def RoundRowsBody : Body<"round_rows",
    (takes Writes<["rows", "ceil_div(k, 2)"]>:$out, Stride:$out_stride,
           Reads<["rows", "k"]>:$x, Stride:$x_stride, Count:$rows, Count:$k)> {
  let description = [{
    Rounds rows to what `rounded_linear` reads: BF16 numbers, to the nearest, ties to
    even, two in the place of an F32; an odd `k` has a 0 behind it.
  }];
  let flops = "rows * k";
  let libraries = ["cpu"];
}

def RoundedLinearBody : Body<"rounded_linear",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "ceil_div(k, 2)"]>:$x, Stride:$x_stride,
           ReadsMatrix<[], "whole_panels(columns) * k">:$panels,
           Nullable<ReadsWeight<["columns"]>>:$bias,
           Nullable<Reads<["rows", "columns"]>>:$residual, Stride:$residual_stride,
           Count:$rows, Count:$k, Count:$columns, Choice<"BatonActivation">:$activation)> {
  let description = [{
    `linear` of rows that `round_rows` has made. A product is a chain of fused
    multiply-adds in F32 that starts at +0: of inputs 1, 0, 3, 2, 5, 4 and so on; the
    last of an odd `k` comes behind a product of zeros. Denormal inputs, weights and
    sums are zeros of their sign.
  }];
  let variants = [BF16];
  let inPlace = ["residual"];
  let flops = "2 * rows * k * columns";
  let isProduct = true;
  let libraries = ["cpu"];
}

def RoundedGatedLinearBody : Body<"rounded_gated_linear",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "ceil_div(k, 2)"]>:$x, Stride:$x_stride,
           ReadsMatrix<[], "2 * whole_panels(columns) * k">:$panels,
           Nullable<ReadsWeight<["columns"]>>:$bias_gate,
           Nullable<ReadsWeight<["columns"]>>:$bias_up,
           Count:$rows, Count:$k, Count:$columns, Choice<"BatonActivation">:$activation)> {
  let description = [{
    `gated_linear` of rows that `round_rows` has made; products are those of
    `rounded_linear`.
  }];
  let variants = [BF16];
  let flops = "4 * rows * k * columns";
  let isProduct = true;
  let libraries = ["cpu"];
}

def AmxLinearBody : Body<"amx_linear",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "ceil_div(k, 2)"]>:$x, Stride:$x_stride,
           ReadsMatrix<[], "whole_panels(columns) * k">:$panels,
           Nullable<ReadsWeight<["columns"]>>:$bias,
           Nullable<Reads<["rows", "columns"]>>:$residual, Stride:$residual_stride,
           Count:$rows, Count:$k, Count:$columns, Choice<"BatonActivation">:$activation)> {
  let description = [{
    `rounded_linear`, but for the order of sums, which is that of AMX's TDPBF16PS: of
    each 32 inputs two chains of fused multiply-adds in F32 start at +0, one of inputs 0,
    2, 4 and so on, one of the others; both are added up, and to what the products
    before came to, at first +0. Of fewer inputs the rest are zeros.
  }];
  let variants = [BF16];
  let inPlace = ["residual"];
  let flops = "2 * rows * k * columns";
  let isProduct = true;
  let libraries = ["cpu"];
}

def AmxGatedLinearBody : Body<"amx_gated_linear",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "ceil_div(k, 2)"]>:$x, Stride:$x_stride,
           ReadsMatrix<[], "2 * whole_panels(columns) * k">:$panels,
           Nullable<ReadsWeight<["columns"]>>:$bias_gate,
           Nullable<ReadsWeight<["columns"]>>:$bias_up,
           Count:$rows, Count:$k, Count:$columns, Choice<"BatonActivation">:$activation)> {
  let description = [{
    `gated_linear` of rows that `round_rows` has made; products are those of
    `amx_linear`.
  }];
  let variants = [BF16];
  let flops = "4 * rows * k * columns";
  let isProduct = true;
  let libraries = ["cpu"];
}

def AmxLinearTransposedBody : Body<"amx_linear_transposed",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "depth"]>:$a, Stride:$a_stride,
           ReadsMatrix<[], "whole_panels(depth) * columns">:$panels,
           Nullable<Reads<["rows", "columns"]>>:$residual, Stride:$residual_stride,
           Position:$first, Count:$rows, Count:$columns, Count:$depth, Count:$inputs)> {
  let description = [{
    `linear_transposed` of rows that it rounds to BF16, as `round_rows` does; sums, over
    `depth`, are those of `amx_linear`.
  }];
  let variants = [BF16];
  let inPlace = ["residual"];
  let flops = "2 * rows * columns * depth";
  let isProduct = true;
  let libraries = ["cpu"];
}
