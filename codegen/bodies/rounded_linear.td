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
