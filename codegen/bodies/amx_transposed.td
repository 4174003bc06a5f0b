//===- amx_transposed.td - packed BF16 weights from their other side ------===//
//
// No tiling rule: passes/tiling/rules/product.cpp calls it as it calls
// linear_transposed.
// No sharding rule: model.linear_input_gradient's is product's.

include "codegen/bodies/Body.td"

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
