// A Llama of three layers in primitive form, as its importer writes it: RMS norms,
// rotary grouped-query attention (6 query heads share 2 key/value heads) and a
// gated feed-forward layer. Weights are those of a Hugging Face checkpoint.
model.program @llama_block max_seq 512 family "llama" {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["model.embed_tokens.weight"] : !model.tensor<131 x 60 x f32>
  %embedded = model.embedding %tokens, %table
      : (!model.tensor<rows x i32>, !model.tensor<131 x 60 x f32>) -> !model.tensor<rows x 60 x f32>
  // 10000^(-2i/10)
  %angles = model.rope_table {frequencies = array<f32: 1.0, 0.158489317, 0.0251188632, 0.00398107059, 6.30957307e-04>}
      : () -> !model.tensor<rows x 10 x f32>

  %decoded = model.stack %embedded repeat 3 : (!model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32> {
  ^bb0(%x: !model.tensor<rows x 60 x f32>):
    %normed_weight = model.parameter ["model.layers.{layer}.input_layernorm.weight"] : !model.tensor<60 x f32>
    %normed = model.rms_norm %x, %normed_weight {epsilon = 1.0e-5 : f32}
        : (!model.tensor<rows x 60 x f32>, !model.tensor<60 x f32>) -> !model.tensor<rows x 60 x f32>
    %q_weight = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight"] : !model.tensor<60 x 60 x f32>
    %q = model.linear %normed, %q_weight
        : (!model.tensor<rows x 60 x f32>, !model.tensor<60 x 60 x f32>) -> !model.tensor<rows x 60 x f32>
    %q_split = model.reshape %q : (!model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 6 x 10 x f32>
    %k_weight = model.parameter ["model.layers.{layer}.self_attn.k_proj.weight"] : !model.tensor<20 x 60 x f32>
    %k = model.linear %normed, %k_weight
        : (!model.tensor<rows x 60 x f32>, !model.tensor<20 x 60 x f32>) -> !model.tensor<rows x 20 x f32>
    %k_split = model.reshape %k : (!model.tensor<rows x 20 x f32>) -> !model.tensor<rows x 2 x 10 x f32>
    %v_weight = model.parameter ["model.layers.{layer}.self_attn.v_proj.weight"] : !model.tensor<20 x 60 x f32>
    %v = model.linear %normed, %v_weight
        : (!model.tensor<rows x 60 x f32>, !model.tensor<20 x 60 x f32>) -> !model.tensor<rows x 20 x f32>
    %v_split = model.reshape %v : (!model.tensor<rows x 20 x f32>) -> !model.tensor<rows x 2 x 10 x f32>
    %q_rotated = model.rope %q_split, %angles
        : (!model.tensor<rows x 6 x 10 x f32>, !model.tensor<rows x 10 x f32>) -> !model.tensor<rows x 6 x 10 x f32>
    %k_rotated = model.rope %k_split, %angles
        : (!model.tensor<rows x 2 x 10 x f32>, !model.tensor<rows x 10 x f32>) -> !model.tensor<rows x 2 x 10 x f32>
    %keys = model.kv_append %k_rotated to "k"
        : (!model.tensor<rows x 2 x 10 x f32>) -> !model.tensor<kv x 2 x 10 x f32>
    %values = model.kv_append %v_split to "v"
        : (!model.tensor<rows x 2 x 10 x f32>) -> !model.tensor<kv x 2 x 10 x f32>

    // 1/sqrt(10)
    %q_heads = model.transpose %q_rotated {permutation = array<i64: 1, 0, 2>}
        : (!model.tensor<rows x 6 x 10 x f32>) -> !model.tensor<6 x rows x 10 x f32>
    %k_columns = model.transpose %keys {permutation = array<i64: 1, 2, 0>}
        : (!model.tensor<kv x 2 x 10 x f32>) -> !model.tensor<2 x 10 x kv x f32>
    %v_heads = model.transpose %values {permutation = array<i64: 1, 0, 2>}
        : (!model.tensor<kv x 2 x 10 x f32>) -> !model.tensor<2 x kv x 10 x f32>
    %k_repeated = model.broadcast %k_columns {axis = 0 : i64, times = 3 : i64}
        : (!model.tensor<2 x 10 x kv x f32>) -> !model.tensor<6 x 10 x kv x f32>
    %v_repeated = model.broadcast %v_heads {axis = 0 : i64, times = 3 : i64}
        : (!model.tensor<2 x kv x 10 x f32>) -> !model.tensor<6 x kv x 10 x f32>
    %scores = model.matmul %q_heads, %k_repeated
        : (!model.tensor<6 x rows x 10 x f32>, !model.tensor<6 x 10 x kv x f32>) -> !model.tensor<6 x rows x kv x f32>
    %scaled = model.scale %scores {factor = 0.316227764 : f32}
        : (!model.tensor<6 x rows x kv x f32>) -> !model.tensor<6 x rows x kv x f32>
    %masked = model.mask %scaled : (!model.tensor<6 x rows x kv x f32>) -> !model.tensor<6 x rows x kv x f32>
    %probabilities = model.softmax %masked
        : (!model.tensor<6 x rows x kv x f32>) -> !model.tensor<6 x rows x kv x f32>
    %mixed = model.matmul %probabilities, %v_repeated
        : (!model.tensor<6 x rows x kv x f32>, !model.tensor<6 x kv x 10 x f32>) -> !model.tensor<6 x rows x 10 x f32>
    %rows = model.transpose %mixed {permutation = array<i64: 1, 0, 2>}
        : (!model.tensor<6 x rows x 10 x f32>) -> !model.tensor<rows x 6 x 10 x f32>
    %attended = model.reshape %rows : (!model.tensor<rows x 6 x 10 x f32>) -> !model.tensor<rows x 60 x f32>
    %projected_weight = model.parameter ["model.layers.{layer}.self_attn.o_proj.weight"] : !model.tensor<60 x 60 x f32>
    %projected = model.linear %attended, %projected_weight
        : (!model.tensor<rows x 60 x f32>, !model.tensor<60 x 60 x f32>) -> !model.tensor<rows x 60 x f32>
    %middle = model.add %x, %projected
        : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>

    %middle_normed_weight = model.parameter ["model.layers.{layer}.post_attention_layernorm.weight"] : !model.tensor<60 x f32>
    %middle_normed = model.rms_norm %middle, %middle_normed_weight {epsilon = 1.0e-5 : f32}
        : (!model.tensor<rows x 60 x f32>, !model.tensor<60 x f32>) -> !model.tensor<rows x 60 x f32>
    %gate_weight = model.parameter ["model.layers.{layer}.mlp.gate_proj.weight"] : !model.tensor<100 x 60 x f32>
    %gate = model.linear %middle_normed, %gate_weight
        : (!model.tensor<rows x 60 x f32>, !model.tensor<100 x 60 x f32>) -> !model.tensor<rows x 100 x f32>
    %up_weight = model.parameter ["model.layers.{layer}.mlp.up_proj.weight"] : !model.tensor<100 x 60 x f32>
    %up = model.linear %middle_normed, %up_weight
        : (!model.tensor<rows x 60 x f32>, !model.tensor<100 x 60 x f32>) -> !model.tensor<rows x 100 x f32>
    %activated = model.activate %gate {activation = #model.activation<silu>}
        : (!model.tensor<rows x 100 x f32>) -> !model.tensor<rows x 100 x f32>
    %gated = model.mul %activated, %up
        : (!model.tensor<rows x 100 x f32>, !model.tensor<rows x 100 x f32>) -> !model.tensor<rows x 100 x f32>
    %down_weight = model.parameter ["model.layers.{layer}.mlp.down_proj.weight"] : !model.tensor<60 x 100 x f32>
    %down = model.linear %gated, %down_weight
        : (!model.tensor<rows x 100 x f32>, !model.tensor<60 x 100 x f32>) -> !model.tensor<rows x 60 x f32>
    %end = model.add %middle, %down
        : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>
    model.yield %end : !model.tensor<rows x 60 x f32>
  }

  %last = model.last_rows %decoded : (!model.tensor<rows x 60 x f32>) -> !model.tensor<outputs x 60 x f32>
  %final_weight = model.parameter ["model.norm.weight"] : !model.tensor<60 x f32>
  %final = model.rms_norm %last, %final_weight {epsilon = 1.0e-5 : f32}
      : (!model.tensor<outputs x 60 x f32>, !model.tensor<60 x f32>) -> !model.tensor<outputs x 60 x f32>
  %logits_weight = model.parameter ["lm_head.weight"] : !model.tensor<131 x 60 x f32>
  %logits = model.linear %final, %logits_weight
      : (!model.tensor<outputs x 60 x f32>, !model.tensor<131 x 60 x f32>) -> !model.tensor<outputs x 131 x f32>
  model.return %logits : !model.tensor<outputs x 131 x f32>
}
