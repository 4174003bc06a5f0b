//===- integer_linear.td - linear layers on inputs of 8 bits --------------===//
//
// No tiling rule: model.linear and model.gated_linear call these where their
// weights say so (passes/tiling/rules/linear.cpp, passes/tiling/rules/gated_linear.cpp).
// No sharding rule: to ranks these linears are like others
// (passes/sharding/rules/linear.cpp).

include "codegen/bodies/Body.td"

def QuantiseRowsBody : Body<"quantise_rows",
    (takes Writes<["rows", "quantised_row(k)"]>:$out, Stride:$out_stride,
           Reads<["rows", "k"]>:$x, Stride:$x_stride, Count:$rows, Count:$k)> {
  let description = [{
    Rounds rows to what `integer_linear` reads: of each 32 inputs, whole numbers
    in 8 bits, `q = round(x / s)` with `s = max |x| / 127`, halves to the even
    one; `s`; and the sums of the first and the last 16 numbers. 32 inputs lie in
    40 bytes. `k` is a multiple of 32.
  }];
  // The largest, the division, the sum.
  let flops = "3 * rows * k";
}

def IntegerLinearBody : Body<"integer_linear",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "quantised_row(k)"]>:$x, Stride:$x_stride,
           ReadsMatrix<[], "whole_panels(columns) * (k + overhead())">:$panels,
           Nullable<ReadsWeight<["columns"]>>:$bias,
           Nullable<Reads<["rows", "columns"]>>:$residual, Stride:$residual_stride,
           Count:$rows, Count:$k, Count:$columns, Choice<"BatonActivation">:$activation)> {
  let description = [{
    `linear` of rows that `quantise_rows` has made. A unit of the weights, w = q_w
    d + o, adds `d s * sum(q_w q_x)` and then `o * (s * sum(q_x))`, each by a fused
    multiply-add, units ascending; sums of whole numbers are exact.
  }];
  let variants = !listconcat(IntegerBlockVariants, [Mixed]);
  let inPlace = ["residual"];
  let flops = "2 * rows * k * columns";
  let isProduct = true;
  let tuned = [Tuning<"cuda", "bytes", !listconcat(IntegerBlockVariants, [Mixed])>,
               Tuning<"cuda", "stream", !listconcat(IntegerBlockVariants, [Mixed])>];
}

def PartlyIntegerLinearBody : Body<"partly_integer_linear",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "quantised_row(k)"]>:$x, Stride:$x_stride,
           Reads<["rows", "k"]>:$exact, Stride:$exact_stride,
           ReadsMatrix<[], "whole_panels(columns) * (k + overhead())">:$panels,
           Nullable<ReadsWeight<["columns"]>>:$bias,
           Nullable<Reads<["rows", "columns"]>>:$residual, Stride:$residual_stride,
           Count:$rows, Count:$k, Count:$columns, Choice<"BatonActivation">:$activation)> {
  let description = [{
    `integer_linear` where some panels have blocks, and others F16, BF16 or F32:
    those are multiplied by `exact`, the rows that `x` is rounded from, as `linear`
    does.
  }];
  let variants = [Mixed];
  let inPlace = ["residual"];
  let flops = "2 * rows * k * columns";
  let isProduct = true;
  let tuned = [Tuning<"cuda", "bytes", [Mixed]>, Tuning<"cuda", "stream", [Mixed]>];
}

def IntegerGatedLinearBody : Body<"integer_gated_linear",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "quantised_row(k)"]>:$x, Stride:$x_stride,
           ReadsMatrix<[], "2 * whole_panels(columns) * (k + overhead())">:$panels,
           Nullable<ReadsWeight<["columns"]>>:$bias_gate,
           Nullable<ReadsWeight<["columns"]>>:$bias_up,
           Count:$rows, Count:$k, Count:$columns, Choice<"BatonActivation">:$activation)> {
  let description = [{
    `gated_linear` of rows that `quantise_rows` has made; products are those of
    `integer_linear`.
  }];
  let variants = IntegerBlockVariants;
  let flops = "4 * rows * k * columns";
  let isProduct = true;
  let tuned = [Tuning<"cuda", "bytes", IntegerBlockVariants>,
               Tuning<"cuda", "stream", IntegerBlockVariants>];
}
