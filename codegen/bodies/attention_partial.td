//===- attention_partial.td - attention to some of the positions -----------===//
//
// No tiling rule: it is the first phase of model.attention, which
// passes/tiling/rules/attention.cpp tiles where it spreads positions over tasks.
// No sharding rule: it is no op of a model.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

def AttentionPartialBody : Body<"attention_partial",
    (takes MayWrite<["rows", "group", "least(positions / 64,"
                     " ceil_div(position + rows - begin, 64)) * (value_dim + 2)"],
                    ["partials_stride", "head_stride", "1"]>:$partials,
           Stride:$partials_stride,
           Reads<["rows", "group * head_dim"]>:$q, Stride:$q_stride,
           ReadsKeys<"least(begin + positions, position + rows)", "head_dim", "begin">:$keys, Stride:$key_stride,
           ReadsState<"least(begin + positions, position + rows)", "value_dim", "begin">:$values, Stride:$value_stride,
           Count:$rows, Position:$position, Count:$group, Count:$head_dim,
           Count:$value_dim, Number:$scale, Number:$softcap, Count:$window,
           Position:$begin, Count:$positions, Stride:$head_stride, Scratch:$scratch)> {
  let description = [{
    The part of `attention` that computes blocks, for the positions `[begin, begin
    + positions)`, both multiples of 64. What query head `i` of row `r` makes of
    block `b`, counted from `begin`, goes to `partials + r * partials_stride + i *
    head_stride + b * (value_dim + 2)`: its values' weighted sum, the maximum of its
    scores and the sum of its weights. Of blocks that a row does not see nothing is
    written. `scratch` has `baton_attention_scratch_bytes`, 4-byte aligned.
  }];
  let flops = "2 * seen(rows, position, window, begin, begin + positions) * group"
              " * (head_dim + value_dim)";
  let firstStateRow = "first_seen(position, window)";
}
