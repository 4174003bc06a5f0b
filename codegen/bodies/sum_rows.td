//===- sum_rows.td - sums over rows ----------------------------------------===//

include "codegen/bodies/Body.td"

def SumRowsBody : Body<"sum_rows",
    (takes Accumulates<["columns"]>:$out,
           Reads<["rows", "columns"]>:$dy, Stride:$dy_stride,
           Count:$rows, Count:$columns, Accumulate:$accumulate)> {
  let description = [{
    `out[c] (+)=` the sum over `r` of `dy[r][c]`. The chain of an element that joins what
    is there starts at that.
  }];
  let flops = "rows * columns";
}
