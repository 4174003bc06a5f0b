// A model that no importer writes, to show what users may describe themselves:
// - a pattern of two layers, one that sees the last 32 positions, one that sees all;
// - scores capped at 30 by tanh, queries scaled before the product;
// - attention and feed-forward layer side by side, reading the same norm;
// - one key/value head for all query heads, and an embedding scaled by sqrt(64).
model.program @softcap_pairs max_seq 256 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["embedding"] : !model.tensor<113 x 64 x bf16>
  %embedded = model.embedding %tokens, %table {multiplier = 8.0 : f32}
      : (!model.tensor<rows x i32>, !model.tensor<113 x 64 x bf16>) -> !model.tensor<rows x 64 x f32>
  // Half of every head turns, the rest carries no position.
  %angles = model.rope_table {frequencies = array<f32: 1.0, 0.1, 0.01, 0.001>} : () -> !model.tensor<rows x 8 x f32>

  %decoded = model.stack %embedded repeat 4 {layers_per_iteration = 2 : i64}
      : (!model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 64 x f32> {
  ^bb0(%x: !model.tensor<rows x 64 x f32>):
    %local_normed_weight = model.parameter ["blocks.{layer}.norm"] : !model.tensor<64 x f32>
    %local_normed = model.rms_norm %x, %local_normed_weight {epsilon = 1.0e-6 : f32}
        : (!model.tensor<rows x 64 x f32>, !model.tensor<64 x f32>) -> !model.tensor<rows x 64 x f32>
    %local_q_weight = model.parameter ["blocks.{layer}.q"] : !model.tensor<64 x 64 x bf16>
    %local_q = model.linear %local_normed, %local_q_weight
        : (!model.tensor<rows x 64 x f32>, !model.tensor<64 x 64 x bf16>) -> !model.tensor<rows x 64 x f32>
    %local_q_split = model.reshape %local_q : (!model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 4 x 16 x f32>
    %local_k_weight = model.parameter ["blocks.{layer}.k"] : !model.tensor<16 x 64 x bf16>
    %local_k = model.linear %local_normed, %local_k_weight
        : (!model.tensor<rows x 64 x f32>, !model.tensor<16 x 64 x bf16>) -> !model.tensor<rows x 16 x f32>
    %local_k_split = model.reshape %local_k : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 1 x 16 x f32>
    %local_v_weight = model.parameter ["blocks.{layer}.v"] : !model.tensor<16 x 64 x bf16>
    %local_v = model.linear %local_normed, %local_v_weight
        : (!model.tensor<rows x 64 x f32>, !model.tensor<16 x 64 x bf16>) -> !model.tensor<rows x 16 x f32>
    %local_v_split = model.reshape %local_v : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 1 x 16 x f32>
    %local_q_rotated = model.rope %local_q_split, %angles
        : (!model.tensor<rows x 4 x 16 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 4 x 16 x f32>
    %local_k_rotated = model.rope %local_k_split, %angles
        : (!model.tensor<rows x 1 x 16 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 1 x 16 x f32>
    %local_q_scaled = model.scale %local_q_rotated {factor = 0.25 : f32}
        : (!model.tensor<rows x 4 x 16 x f32>) -> !model.tensor<rows x 4 x 16 x f32>
    %local_keys = model.kv_append %local_k_rotated to "local_k"
        : (!model.tensor<rows x 1 x 16 x f32>) -> !model.tensor<kv x 1 x 16 x f32>
    %local_values = model.kv_append %local_v_split to "local_v"
        : (!model.tensor<rows x 1 x 16 x f32>) -> !model.tensor<kv x 1 x 16 x f32>
    %local_q_heads = model.transpose %local_q_scaled {permutation = array<i64: 1, 0, 2>}
        : (!model.tensor<rows x 4 x 16 x f32>) -> !model.tensor<4 x rows x 16 x f32>
    %local_k_columns = model.transpose %local_keys {permutation = array<i64: 1, 2, 0>}
        : (!model.tensor<kv x 1 x 16 x f32>) -> !model.tensor<1 x 16 x kv x f32>
    %local_v_heads = model.transpose %local_values {permutation = array<i64: 1, 0, 2>}
        : (!model.tensor<kv x 1 x 16 x f32>) -> !model.tensor<1 x kv x 16 x f32>
    %local_k_repeated = model.broadcast %local_k_columns {axis = 0 : i64, times = 4 : i64}
        : (!model.tensor<1 x 16 x kv x f32>) -> !model.tensor<4 x 16 x kv x f32>
    %local_v_repeated = model.broadcast %local_v_heads {axis = 0 : i64, times = 4 : i64}
        : (!model.tensor<1 x kv x 16 x f32>) -> !model.tensor<4 x kv x 16 x f32>
    %local_scores = model.matmul %local_q_heads, %local_k_repeated
        : (!model.tensor<4 x rows x 16 x f32>, !model.tensor<4 x 16 x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %local_shrunk = model.scale %local_scores {factor = 0.0333333333 : f32}
        : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %local_bounded = model.tanh %local_shrunk
        : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %local_capped = model.scale %local_bounded {factor = 30.0 : f32}
        : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %local_masked = model.mask %local_capped {window = 32 : i64}
        : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %local_probabilities = model.softmax %local_masked
        : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %local_mixed = model.matmul %local_probabilities, %local_v_repeated
        : (!model.tensor<4 x rows x kv x f32>, !model.tensor<4 x kv x 16 x f32>) -> !model.tensor<4 x rows x 16 x f32>
    %local_rows = model.transpose %local_mixed {permutation = array<i64: 1, 0, 2>}
        : (!model.tensor<4 x rows x 16 x f32>) -> !model.tensor<rows x 4 x 16 x f32>
    %local_attended = model.reshape %local_rows
        : (!model.tensor<rows x 4 x 16 x f32>) -> !model.tensor<rows x 64 x f32>
    %local_projected_weight = model.parameter ["blocks.{layer}.out"] : !model.tensor<64 x 64 x bf16>
    %local_projected = model.linear %local_attended, %local_projected_weight
        : (!model.tensor<rows x 64 x f32>, !model.tensor<64 x 64 x bf16>) -> !model.tensor<rows x 64 x f32>
    %local_wide_weight = model.parameter ["blocks.{layer}.up"] : !model.tensor<96 x 64 x bf16>
    %local_wide = model.linear %local_normed, %local_wide_weight
        : (!model.tensor<rows x 64 x f32>, !model.tensor<96 x 64 x bf16>) -> !model.tensor<rows x 96 x f32>
    %local_activated = model.activate %local_wide {activation = #model.activation<gelu>}
        : (!model.tensor<rows x 96 x f32>) -> !model.tensor<rows x 96 x f32>
    %local_narrow_weight = model.parameter ["blocks.{layer}.down"] : !model.tensor<64 x 96 x bf16>
    %local_narrow = model.linear %local_activated, %local_narrow_weight
        : (!model.tensor<rows x 96 x f32>, !model.tensor<64 x 96 x bf16>) -> !model.tensor<rows x 64 x f32>
    %local_sum = model.add %local_projected, %local_narrow
        : (!model.tensor<rows x 64 x f32>, !model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 64 x f32>
    %local_end = model.add %x, %local_sum
        : (!model.tensor<rows x 64 x f32>, !model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 64 x f32>

    %global_normed_weight = model.parameter ["blocks.{layer+1}.norm"] : !model.tensor<64 x f32>
    %global_normed = model.rms_norm %local_end, %global_normed_weight {epsilon = 1.0e-6 : f32}
        : (!model.tensor<rows x 64 x f32>, !model.tensor<64 x f32>) -> !model.tensor<rows x 64 x f32>
    %global_q_weight = model.parameter ["blocks.{layer+1}.q"] : !model.tensor<64 x 64 x bf16>
    %global_q = model.linear %global_normed, %global_q_weight
        : (!model.tensor<rows x 64 x f32>, !model.tensor<64 x 64 x bf16>) -> !model.tensor<rows x 64 x f32>
    %global_q_split = model.reshape %global_q : (!model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 4 x 16 x f32>
    %global_k_weight = model.parameter ["blocks.{layer+1}.k"] : !model.tensor<16 x 64 x bf16>
    %global_k = model.linear %global_normed, %global_k_weight
        : (!model.tensor<rows x 64 x f32>, !model.tensor<16 x 64 x bf16>) -> !model.tensor<rows x 16 x f32>
    %global_k_split = model.reshape %global_k : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 1 x 16 x f32>
    %global_v_weight = model.parameter ["blocks.{layer+1}.v"] : !model.tensor<16 x 64 x bf16>
    %global_v = model.linear %global_normed, %global_v_weight
        : (!model.tensor<rows x 64 x f32>, !model.tensor<16 x 64 x bf16>) -> !model.tensor<rows x 16 x f32>
    %global_v_split = model.reshape %global_v : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 1 x 16 x f32>
    %global_q_rotated = model.rope %global_q_split, %angles
        : (!model.tensor<rows x 4 x 16 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 4 x 16 x f32>
    %global_k_rotated = model.rope %global_k_split, %angles
        : (!model.tensor<rows x 1 x 16 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 1 x 16 x f32>
    %global_q_scaled = model.scale %global_q_rotated {factor = 0.25 : f32}
        : (!model.tensor<rows x 4 x 16 x f32>) -> !model.tensor<rows x 4 x 16 x f32>
    %global_keys = model.kv_append %global_k_rotated to "global_k"
        : (!model.tensor<rows x 1 x 16 x f32>) -> !model.tensor<kv x 1 x 16 x f32>
    %global_values = model.kv_append %global_v_split to "global_v"
        : (!model.tensor<rows x 1 x 16 x f32>) -> !model.tensor<kv x 1 x 16 x f32>
    %global_q_heads = model.transpose %global_q_scaled {permutation = array<i64: 1, 0, 2>}
        : (!model.tensor<rows x 4 x 16 x f32>) -> !model.tensor<4 x rows x 16 x f32>
    %global_k_columns = model.transpose %global_keys {permutation = array<i64: 1, 2, 0>}
        : (!model.tensor<kv x 1 x 16 x f32>) -> !model.tensor<1 x 16 x kv x f32>
    %global_v_heads = model.transpose %global_values {permutation = array<i64: 1, 0, 2>}
        : (!model.tensor<kv x 1 x 16 x f32>) -> !model.tensor<1 x kv x 16 x f32>
    %global_k_repeated = model.broadcast %global_k_columns {axis = 0 : i64, times = 4 : i64}
        : (!model.tensor<1 x 16 x kv x f32>) -> !model.tensor<4 x 16 x kv x f32>
    %global_v_repeated = model.broadcast %global_v_heads {axis = 0 : i64, times = 4 : i64}
        : (!model.tensor<1 x kv x 16 x f32>) -> !model.tensor<4 x kv x 16 x f32>
    %global_scores = model.matmul %global_q_heads, %global_k_repeated
        : (!model.tensor<4 x rows x 16 x f32>, !model.tensor<4 x 16 x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %global_shrunk = model.scale %global_scores {factor = 0.0333333333 : f32}
        : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %global_bounded = model.tanh %global_shrunk
        : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %global_capped = model.scale %global_bounded {factor = 30.0 : f32}
        : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %global_masked = model.mask %global_capped
        : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %global_probabilities = model.softmax %global_masked
        : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
    %global_mixed = model.matmul %global_probabilities, %global_v_repeated
        : (!model.tensor<4 x rows x kv x f32>, !model.tensor<4 x kv x 16 x f32>) -> !model.tensor<4 x rows x 16 x f32>
    %global_rows = model.transpose %global_mixed {permutation = array<i64: 1, 0, 2>}
        : (!model.tensor<4 x rows x 16 x f32>) -> !model.tensor<rows x 4 x 16 x f32>
    %global_attended = model.reshape %global_rows
        : (!model.tensor<rows x 4 x 16 x f32>) -> !model.tensor<rows x 64 x f32>
    %global_projected_weight = model.parameter ["blocks.{layer+1}.out"] : !model.tensor<64 x 64 x bf16>
    %global_projected = model.linear %global_attended, %global_projected_weight
        : (!model.tensor<rows x 64 x f32>, !model.tensor<64 x 64 x bf16>) -> !model.tensor<rows x 64 x f32>
    %global_wide_weight = model.parameter ["blocks.{layer+1}.up"] : !model.tensor<96 x 64 x bf16>
    %global_wide = model.linear %global_normed, %global_wide_weight
        : (!model.tensor<rows x 64 x f32>, !model.tensor<96 x 64 x bf16>) -> !model.tensor<rows x 96 x f32>
    %global_activated = model.activate %global_wide {activation = #model.activation<gelu>}
        : (!model.tensor<rows x 96 x f32>) -> !model.tensor<rows x 96 x f32>
    %global_narrow_weight = model.parameter ["blocks.{layer+1}.down"] : !model.tensor<64 x 96 x bf16>
    %global_narrow = model.linear %global_activated, %global_narrow_weight
        : (!model.tensor<rows x 96 x f32>, !model.tensor<64 x 96 x bf16>) -> !model.tensor<rows x 64 x f32>
    %global_sum = model.add %global_projected, %global_narrow
        : (!model.tensor<rows x 64 x f32>, !model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 64 x f32>
    %global_end = model.add %local_end, %global_sum
        : (!model.tensor<rows x 64 x f32>, !model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 64 x f32>
    model.yield %global_end : !model.tensor<rows x 64 x f32>
  }

  %last = model.last_rows %decoded : (!model.tensor<rows x 64 x f32>) -> !model.tensor<outputs x 64 x f32>
  %final_weight = model.parameter ["norm"] : !model.tensor<64 x f32>
  %final = model.rms_norm %last, %final_weight {epsilon = 1.0e-6 : f32}
      : (!model.tensor<outputs x 64 x f32>, !model.tensor<64 x f32>) -> !model.tensor<outputs x 64 x f32>
  // The head shares the embedding's table.
  %logits = model.linear %final, %table
      : (!model.tensor<outputs x 64 x f32>, !model.tensor<113 x 64 x bf16>) -> !model.tensor<outputs x 113 x f32>
  model.return %logits : !model.tensor<outputs x 113 x f32>
}
