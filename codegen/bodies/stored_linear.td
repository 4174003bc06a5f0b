//===- stored_linear.td - linear layers on matrices as they are stored ----===//
//
// No tiling rule: task bodies of users call it (event.library_call "linear").
// No sharding rule: it is no op of a model.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

def StoredLinearBody : Body<"stored_linear",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "k"]>:$x, Stride:$x_stride,
           ReadsMatrix<["columns", "k"], "columns * k">:$weight, Stride:$weight_stride,
           Nullable<ReadsWeight<["columns"]>>:$bias,
           Count:$rows, Count:$k, Count:$columns)> {
  let description = [{
    `out = x W^T + bias`, where row `j` of the matrix, as a checkpoint stores it, is
    at `weight + j * weight_stride`. The bits are those of `linear` without an
    activation.
  }];
  let variants = WeightVariants;
  let flops = "2 * rows * k * columns";
  let isProduct = true;
}
