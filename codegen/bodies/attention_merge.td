//===- attention_merge.td - the merge of attention's parts -----------------===//
//
// No tiling rule: it is the second phase of model.attention, which
// passes/tiling/rules/attention.cpp tiles.
// No sharding rule: it is no op of a model.
//
//===----------------------------------------------------------------------===//

include "codegen/bodies/Body.td"

def AttentionMergeBody : Body<"attention_merge",
    (takes Writes<["rows", "value_dim"]>:$out, Stride:$out_stride,
           MayRead<["rows", "ceil_div(position + rows, 64) * (value_dim + 2)"]>:$partials,
           Stride:$partials_stride,
           Count:$rows, Position:$position, Count:$value_dim, Count:$window,
           Nullable<Reads<["rows", "gate_width"]>>:$gate, Stride:$gate_stride,
           Count:$gate_width, Nullable<ReadsWeight<["1"]>>:$sink)> {
  let description = [{
    The rest of `attention`, for one query head: merges the blocks that each row
    sees, of which block 0 of row 0 is at `partials`, in ascending order, then
    the sink, and applies the gate. The result has the bits of `attention`.
  }];
  // A product and a fused multiply-add for each element of a block.
  let flops = "3 * blocks_seen(rows, position, window) * value_dim";
}
