//===- attention.td - attention to states, and what it reads ---------------===//

include "codegen/bodies/Body.td"

def AppendKeysBody : Body<"append_keys",
    (takes From<"position", Writes<["position + rows", "width"]>>:$panels,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           Position:$position, Count:$rows, Count:$width)> {
  let description = [{
    Writes rows of keys, `[rows, width]`, into the panels of one head: position `p`
    behind `panels` has element `d` at `panels[(p / 16 * width + d) * 16 + p %
    16]`. The first row is at `position`.
  }];
  let flops = "0";
}

def AppendValuesBody : Body<"append_values",
    (takes From<"position", Writes<["position + rows", "width"]>>:$panels,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           Position:$position, Count:$rows, Count:$width)> {
  let description = [{
    The same for values: element `d` of position `p` at `panels[p / 16 * 16 * width
    + d / 16 * 256 + p % 16 * w + d % 16]`, where `w` is 16, or what is left of
    `width` for the last elements.
  }];
  let flops = "0";
}

def AttentionBody : Body<"attention",
    (takes Writes<["rows", "group * value_dim"]>:$out, Stride:$out_stride,
           Reads<["rows", "group * head_dim"]>:$q, Stride:$q_stride,
           ReadsKeys<"position + rows", "head_dim">:$keys, Stride:$key_stride,
           ReadsState<"position + rows", "value_dim">:$values, Stride:$value_stride,
           Count:$rows, Position:$position, Count:$group, Count:$head_dim,
           Count:$value_dim, Number:$scale, Number:$softcap, Count:$window,
           Nullable<Reads<["rows", "group * gate_width"]>>:$gate, Stride:$gate_stride,
           Count:$gate_width, Nullable<ReadsWeight<["group"]>>:$sinks, Scratch:$scratch)> {
  let description = [{
    Attention of `group` query heads that share one key/value head. Query head `i`
    of row `r` lies at `q + r * q_stride + i * head_dim`, its output at `out + r *
    out_stride + i * value_dim`. `keys` and `values` are indexed by absolute
    position; row `r` is at `position + r` and sees the positions up to its own,
    with `window > 0` only the last `window` of them. Positions that no row of the
    tile sees are not read, except keys in panels.

    With a `key_stride` of 0 the keys lie in panels of 16 positions, as
    `append_keys` writes them; panels with a position that is seen are read whole,
    whatever the others hold. With a `value_stride` of 0 the values lie as
    `append_values` writes them.

    `score = (q . k) * scale`, then `softcap * tanh(score / softcap)` if `softcap`
    is not 0. Blocks of 64 absolute positions are computed each on its own and
    merged in ascending order (FlashAttention-2, Dao 2023, algorithm 1), so that
    neither the tile's rows nor the chunking of a prompt changes a bit. A row whose
    scores are all -infinity gives zeros.

    With `gate`, each row of a head's output is multiplied by the sigmoid of its
    gate: of `gate[r * gate_stride + i]` with a `gate_width` of 1, of `value_dim`
    elements from `gate + r * gate_stride + i * value_dim` with one of `value_dim`.
    With `sinks`, each row of head `i` has `sinks[i]` as one more score, of a value of
    zeros, behind all blocks.
    `scratch` has `baton_attention_scratch_bytes`, 4-byte aligned.
  }];
  // Scores, and the sum of values that they weigh.
  let flops = "2 * seen(rows, position, window, 0, position + rows) * group"
              " * (head_dim + value_dim)";
  let firstStateRow = "first_seen(position, window)";
  let tuned = [Tuning<"cuda", "matrix", [Plain]>];
}

def GateBody : Body<"gate",
    (takes Writes<["rows", "heads * width"]>:$out, Stride:$out_stride,
           Reads<["rows", "heads * width"]>:$x, Stride:$x_stride,
           Reads<["rows", "heads * gate_width"]>:$gate, Stride:$gate_stride,
           Count:$rows, Count:$heads, Count:$width, Count:$gate_width)> {
  let description = [{
    `out[r][i] = x[r][i] * sigmoid(gate of r and i)` for heads of `width` elements
    behind one another; `gate_width` is 1 or `width`, as for `attention`.
  }];
  let inPlace = ["x"];
  let flops = "2 * rows * heads * width";
}
