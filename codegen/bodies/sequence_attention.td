//===- sequence_attention.td - attention of a step's sequences -------------===//

include "codegen/bodies/Body.td"

def SequenceAttentionBody : Body<"sequence_attention",
    (takes Writes<["rows", "group * value_dim"]>:$out, Stride:$out_stride,
           Writes<["rows", "2 * group"]>:$statistics, Stride:$statistics_stride,
           Reads<["rows", "group * head_dim"]>:$q, Stride:$q_stride,
           Reads<["row + rows", "head_dim"], ["key_stride", "1"]>:$keys,
           Stride:$key_stride,
           Reads<["row + rows", "value_dim"], ["value_stride", "1"]>:$values,
           Stride:$value_stride,
           ReadsIntegers<["row + rows"]>:$positions, Position:$row, Count:$rows,
           Count:$group, Count:$head_dim, Count:$value_dim, Number:$scale,
           Number:$softcap, Count:$window, Nullable<ReadsWeight<["group"]>>:$sinks,
           Scratch:$scratch)> {
  let description = [{
    Attention of rows `[row, row + rows)` of all rows of the step. `q`, `out`,
    `statistics` begin at that tile, `keys`, `values` and `positions` at row 0 of
    the step; `q` and `out` at the group's first head. Row `r` sees the rows `r -
    positions[r] .. r`, of them the last `window` if that is not 0. The result has
    the bits of `attention` on a state of the row's own sequence. `statistics[r *
    statistics_stride + 2 * i]` = the maximum `m` of query head `i`'s (scaled,
    capped) scores, and `+ 1` = the sum of `e^(score - m)`. With `sinks`, `sinks[i]` is one
    more score of each row, of a value of zeros.
  }];
  // As if all rows were one sequence: the most that it can be.
  let flops = "2 * seen(rows, row, window, 0, row + rows) * group"
              " * (head_dim + value_dim)";
  let tuned = [Tuning<"cuda", "matrix", [Plain]>];
}
