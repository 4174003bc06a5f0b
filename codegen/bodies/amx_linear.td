//===- amx_linear.td - linear layers whose sums are those of AMX ----------===//
//
// No tiling rule: model.linear and model.gated_linear call these where the program
// says so (passes/tiling/rules/linear.cpp, passes/tiling/rules/gated_linear.cpp).
// No sharding rule: to ranks these linears are like others
// (passes/sharding/rules/linear.cpp).

include "codegen/bodies/Body.td"

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
