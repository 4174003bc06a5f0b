//===- adapter.td - low-rank adapters, of each row its own -----------------===//
//
// No sharding rule: adapter-slots makes these ops of what a rank has, behind
// localize.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

defvar AdapterVariants = [Plain, BF16];

def AdapterDownBody : Body<"adapter_down",
    (takes Writes<["rows", "most"]>:$out, Stride:$out_stride,
           Reads<["rows", "k"]>:$x, Stride:$x_stride,
           StoredInput<Reads<["room"]>>:$ranks, Count:$room,
           ReadsIntegers<["rows"]>:$places, ReadsIntegers<["rows"]>:$counts,
           Count:$rows, Count:$k, Count:$most)> {
  let description = [{
    `out[r][j]` = x[r] times rank `j` of the row's adapter, for `j` below `counts[r]`, which
    is at most `most`, and 0 for others. An adapter's matrix begins at `ranks + places[r] *
    whole_panels(k)` and is panels of 16 ranks, `[counts[r] / 16][k][16]`. Bits are those of
    `linear` by the same panels, whatever rows are beside it.
  }];
  let variants = AdapterVariants;
  // As if all rows had the most ranks; of what adapters they have, a plan says
  // nothing.
  let flops = "2 * rows * k * most";
}

def AdapterUpBody : Body<"adapter_up",
    (takes Updates<["rows", "columns"]>:$out, Stride:$out_stride,
           Reads<["rows", "most"]>:$low, Stride:$low_stride,
           StoredInput<Reads<["room"]>>:$ranks, Count:$room,
           ReadsIntegers<["rows"]>:$places, ReadsIntegers<["rows"]>:$counts,
           Count:$rows, Count:$columns, Count:$most, Position:$column,
           Count:$offset, Count:$outputs)> {
  let description = [{
    Adds to a tile of `columns` columns, of which the first is number `column` of the
    whole: `out[r][offset + n - column]` grows by the product of `low[r][0 .. counts[r])` and row `n`
    of the row's adapter, for the `n` below `outputs` that the tile has. `column` and `offset` are
    multiples of 16. An adapter's matrix begins at `ranks + places[r] *
    whole_panels(outputs)`, in panels of 16 rows, `[whole_panels(outputs) / 16][counts[r]][16]`.
  }];
  let variants = AdapterVariants;
  let flops = "2 * rows * columns * most";
}
