//===- attention_gradient.td - adjoints of attention of sequences ----------===//

include "codegen/bodies/Body.td"

// The gradients of a score and of what it weighs: P = e^(score - maximum) * (1 /
// sum), dS = P * (dP - delta) * slope with dP = dout . v and slope = scale, with
// a softcap (1 - tanh^2) * scale. A chain over rows covers those that see each
// other and no others.

def AttentionDeltaBody : Body<"attention_delta",
    (takes Writes<["rows", "heads"]>:$delta, Stride:$delta_stride,
           Reads<["rows", "heads * width"]>:$dout, Stride:$dout_stride,
           Reads<["rows", "heads * width"]>:$out, Stride:$out_stride,
           Count:$rows, Count:$heads, Count:$width)> {
  let description = [{
    `delta[r][h]` = the sum over `e` of `dout * out`, for `heads` heads of `width`
    elements behind one another.
  }];
  let flops = "2 * rows * heads * width";
}

def AttentionSinkGradientBody : Body<"attention_sink_gradient",
    (takes Writes<["rows", "heads"]>:$dsinks, Stride:$dsinks_stride,
           Reads<["rows", "heads"]>:$delta, Stride:$delta_stride,
           Reads<["rows", "2 * heads"]>:$statistics, Stride:$statistics_stride,
           ReadsWeight<["heads"]>:$sinks, Count:$rows, Count:$heads)> {
  let description = [{
    `dsinks[r][h] = -e^(sinks[h] - maximum) * (1 / sum) * delta[r][h]`: a sink is a score whose value is
    zeros.
  }];
  let flops = "5 * rows * heads";
}

def AttentionQueryGradientBody : Body<"attention_query_gradient",
    (takes Writes<["rows", "group * head_dim"]>:$dq, Stride:$dq_stride,
           Reads<["rows", "group * value_dim"]>:$dout, Stride:$dout_stride,
           Reads<["rows", "group * head_dim"]>:$q, Stride:$q_stride,
           Reads<["row + rows", "head_dim"], ["key_stride", "1"]>:$keys,
           Stride:$key_stride,
           Reads<["row + rows", "value_dim"], ["value_stride", "1"]>:$values,
           Stride:$value_stride,
           Reads<["rows", "group"]>:$delta, Stride:$delta_stride,
           Reads<["rows", "2 * group"]>:$statistics, Stride:$statistics_stride,
           ReadsIntegers<["row + rows"]>:$positions, Position:$row, Count:$rows,
           Count:$group, Count:$head_dim, Count:$value_dim, Number:$scale,
           Number:$softcap, Count:$window, Scratch:$scratch)> {
  let description = [{
    `dq` of the tile's rows; `dq`, `q`, `dout`, `delta`, `statistics` begin at the
    tile and the group's first head (`delta` has 1, `statistics` 2 elements a
    head).
  }];
  // Three products of each pair of a query and a key or value.
  let flops = "2 * seen(rows, row, window, 0, row + rows) * group"
              " * (2 * head_dim + value_dim)";
  let tuned = [Tuning<"cuda", "matrix", [Plain]>];
}

def AttentionKeyValueGradientBody : Body<"attention_key_value_gradient",
    (takes Writes<["rows", "head_dim"]>:$dk, Stride:$dk_stride,
           Writes<["rows", "value_dim"]>:$dv, Stride:$dv_stride,
           From<"row", Reads<["all_rows", "group * value_dim"]>>:$dout, Stride:$dout_stride,
           From<"row", Reads<["all_rows", "group * head_dim"]>>:$q, Stride:$q_stride,
           From<"row", Reads<["row + rows", "head_dim"], ["key_stride", "1"]>>:$keys,
           Stride:$key_stride,
           From<"row", Reads<["row + rows", "value_dim"], ["value_stride", "1"]>>:$values,
           Stride:$value_stride,
           From<"row", Reads<["all_rows", "group"]>>:$delta, Stride:$delta_stride,
           From<"row", Reads<["all_rows", "2 * group"]>>:$statistics, Stride:$statistics_stride,
           From<"row", ReadsIntegers<["all_rows"]>>:$positions, Position:$row, Count:$rows,
           Count:$all_rows, Count:$group, Count:$head_dim, Count:$value_dim,
           Number:$scale, Number:$softcap, Count:$window, Scratch:$scratch)> {
  let description = [{
    `dk` and `dv` of rows `[row, row + rows)` of one key/value head, summed over the
    queries that see them, of all heads of the group: heads outside, rows inside,
    ascending. `dk`, `dv` begin at the tile; `dout`, `q`, `delta`, `statistics` at
    row 0 of the step; `all_rows` is how many rows the step has.
  }];
  // Pairs of a tile's keys with all later rows.
  let flops = "4 * seen_by(row, rows, all_rows, window) * group"
              " * (head_dim + value_dim)";
  let tuned = [Tuning<"cuda", "matrix", [Plain]>];
}
