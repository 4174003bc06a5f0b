//===- embedding_gradient.td - adjoints of embeddings ----------------------===//

include "codegen/bodies/Body.td"

def EmbeddingGradientBody : Body<"embedding_gradient",
    (takes Accumulates<["vocabulary", "columns"], ["table_stride", "1"]>:$dtable,
           Stride:$table_stride,
           Reads<["rows", "columns"]>:$dy, Stride:$dy_stride,
           ReadsIntegers<["rows"]>:$indices,
           Count:$rows, Count:$columns, Count:$vocabulary, Number:$multiplier,
           Accumulate:$accumulate)> {
  let description = [{
    `dtable[t][c] (+)= multiplier *` the sum of `dy[r][c]` over the rows `r` with
    `indices[r] == t`, for all `t < vocabulary` and `c < columns` (a tile of the
    table's columns). An index outside the table contributes nothing. Tokens that
    no row has get +0, or keep what is there.
  }];
  let flops = "2 * rows * columns";
}

def EmbeddingGradientPartBody : Body<"embedding_gradient_part",
    (takes Accumulates<["room", "columns"], ["table_stride", "1"]>:$dtable,
           Stride:$table_stride,
           Reads<["rows", "columns"]>:$dy, Stride:$dy_stride,
           ReadsIntegers<["rows"]>:$indices,
           Count:$rows, Count:$columns, Count:$room, Number:$multiplier,
           Accumulate:$accumulate, Place<"2">:$place)> {
  let description = [{
    As `embedding_gradient`, of the tokens from `place[0]` on, `place[1]` of them,
    in a table with `room` rows.
  }];
  let flops = "2 * rows * columns";
}
