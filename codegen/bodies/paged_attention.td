//===- paged_attention.td - attention to states in pages -------------------===//
//
// No sharding rule: batch-form makes these ops of what a rank has, behind
// localize.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

class AppendPagesBody<string theName>
    : Body<theName,
    (takes StoredOutput<Writes<["rows", "row"]>>:$state, Count:$page_stride,
           Reads<["rows", "width"]>:$x, Stride:$x_stride,
           ReadsIntegers<["rows"]>:$slots, Count:$rows, Count:$width,
           Count:$row)> {
  let variants = StateVariants;
  let flops = "0";
}

def AppendKeyPagesBody : AppendPagesBody<"append_key_pages"> {
  let description = [{
    Writes rows of keys, `[rows, width]`, of one head: row `r` at position `p = slots[r] %
    64` of page `slots[r] / 64`. Pages are `page_stride` elements apart, and `state` is the
    first one's part for the head, in panels of 16 positions, of `row` elements each: element
    `d` of position `p` is at `(p / 16 * row + d) * 16 + p % 16`. BF16 is rounded to, to
    nearest. `_int8` and `_fp8` (E4M3) have numbers times a scale for each row: the largest
    magnitude over 127, or over 448, an F32 in the four bytes behind the numbers.
  }];
}

def AppendValuePagesBody : AppendPagesBody<"append_value_pages"> {
  let description = [{
    The same for values: element `d` of position `p` is where `append_values` puts
    it in a state of one page, of rows of `row` elements.
  }];
}

def PagedAttentionBody : Body<"paged_attention",
    (takes Writes<["rows", "group * value_dim"]>:$out, Stride:$out_stride,
           Reads<["rows", "group * head_dim"]>:$q, Stride:$q_stride,
           StoredInput<ReadsState<"step_rows", "key_row">>:$keys, Count:$key_page_stride,
           StoredInput<ReadsState<"step_rows", "value_row">>:$values, Count:$value_page_stride,
           ReadsIntegers<["rows"]>:$positions, ReadsIntegers<["rows"]>:$sequences,
           ReadsIntegers<["page_count"]>:$pages, Count:$page_count,
           Count:$line, Count:$step_rows, Count:$rows, Count:$group, Count:$head_dim,
           Count:$value_dim, Count:$key_row, Count:$value_row,
           Number:$scale, Number:$softcap, Count:$window,
           Nullable<Reads<["rows", "group * gate_width"]>>:$gate, Stride:$gate_stride,
           Count:$gate_width, Nullable<ReadsWeight<["group"]>>:$sinks, Scratch:$scratch)> {
  let description = [{
    `attention` of rows of several sequences. Row `r` is at `positions[r]`; the keys
    and values of its sequence's positions `64 b` to `64 b + 63` lie in page `pages[sequences[r]
    * line + b]`, as `append_key_pages` and `append_value_pages` of the same variant write
    them, of `key_row` and `value_row` elements. `keys` and `values` are the first page's parts
    for the head. A row has the bits that it has in `attention` on a state of its own sequence
    that holds what was stored, as F32, whatever rows are beside it.
  }];
  let variants = StateVariants;
  // As if all rows saw all of the step's; of what pages hold of sequences, a
  // plan says nothing.
  let flops = "2 * rows * step_rows * group * (head_dim + value_dim)";
}

def PagedLatentAttentionBody : Body<"paged_latent_attention",
    (takes Writes<["rows", "group * value_dim"]>:$out, Stride:$out_stride,
           Reads<["rows", "group * head_dim"]>:$q, Stride:$q_stride,
           StoredInput<ReadsState<"step_rows", "key_row">>:$keys, Count:$key_page_stride,
           ReadsIntegers<["rows"]>:$positions, ReadsIntegers<["rows"]>:$sequences,
           ReadsIntegers<["page_count"]>:$pages, Count:$page_count,
           Count:$line, Count:$step_rows, Count:$rows, Count:$group, Count:$head_dim,
           Count:$value_dim, Count:$key_row,
           Number:$scale, Number:$softcap, Count:$window, Scratch:$scratch)> {
  let description = [{
    `paged_attention` whose values are the first `value_dim` elements of keys, with neither
    gate nor sinks. `scratch` has room for 64 rows of values more.
  }];
  let variants = StateVariants;
  let flops = "2 * rows * step_rows * group * (head_dim + value_dim)";
}
