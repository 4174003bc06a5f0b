//===- linear_transposed.td - packed weights from their other side ---------===//
//
// No tiling rule: passes/tiling/rules/product.cpp calls it for the gradients of
// inputs of linears that are frozen.
// No sharding rule: model.linear_input_gradient's is product's.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

def LinearTransposedBody : Body<"linear_transposed",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "depth"]>:$a, Stride:$a_stride,
           ReadsMatrix<[], "whole_panels(depth) * (columns + overhead())">:$panels,
           Nullable<Reads<["rows", "columns"]>>:$residual, Stride:$residual_stride,
           Position:$first, Count:$rows, Count:$columns, Count:$depth, Count:$inputs,
           Scratch:$scratch)> {
  let description = [{
    `out[r][c]` = the sum over `d` of `a[r][d] W[d][first + c] + residual[r][c]`:
    the gradient of a linear's inputs, by the weight as `linear` has it, all
    `depth` outputs by `inputs` inputs. `first` is a multiple of 16. The bits are
    those of `product` by the same numbers.
  }];
  let variants = !listconcat(WeightVariants, BlockVariants, [Mixed]);
  let inPlace = ["residual"];
  let flops = "2 * rows * columns * depth";
  let isProduct = true;
}
