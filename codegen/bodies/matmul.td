//===- matmul.td - products of activations ---------------------------------===//

include "codegen/bodies/Body.td"

def MatmulBody : Body<"matmul",
    (takes Writes<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "depth"]>:$a, Stride:$a_stride,
           Reads<["columns", "depth"], ["b_column_stride", "b_depth_stride"]>:$b,
           Stride:$b_column_stride, Stride:$b_depth_stride,
           Count:$rows, Count:$columns, Count:$depth)> {
  let description = [{
    `out[r][j]` = the sum over `d` of `a[r][d] * b[j * b_column_stride + d *
    b_depth_stride]`, for `j < columns` and `d < depth`. Fast when either stride of
    `b` is 1.
  }];
  let flops = "2 * rows * columns * depth";
}
