module {
  model.program @llama max_seq 12 family "llama" {
  ^bb0(%arg0: !model.tensor<rows x i32>):
    %0 = model.parameter ["model.embed_tokens.weight", "embed_tokens.weight"] : <20 x 24 x f32>
    %1 = model.embedding %arg0, %0 : (!model.tensor<rows x i32>, !model.tensor<20 x 24 x f32>) -> !model.tensor<rows x 24 x f32>
    %2 = model.rope_table {frequencies = array<f32: 1.000000e+00, 0.00999999977>} : () -> !model.tensor<rows x 4 x f32>
    %3 = model.stack %1 repeat 2 : (!model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 24 x f32> {
    ^bb0(%arg1: !model.tensor<rows x 24 x f32>):
      %8 = model.parameter ["model.layers.{layer}.input_layernorm.weight", "layers.{layer}.input_layernorm.weight"] : <24 x f32>
      %9 = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight", "layers.{layer}.self_attn.q_proj.weight"] : <24 x 24 x f32>
      %10 = model.parameter ["model.layers.{layer}.self_attn.k_proj.weight", "layers.{layer}.self_attn.k_proj.weight"] : <8 x 24 x f32>
      %11 = model.parameter ["model.layers.{layer}.self_attn.v_proj.weight", "layers.{layer}.self_attn.v_proj.weight"] : <8 x 24 x f32>
      %12 = model.concat %9, %10, %11 : (!model.tensor<24 x 24 x f32>, !model.tensor<8 x 24 x f32>, !model.tensor<8 x 24 x f32>) -> !model.tensor<40 x 24 x f32>
      %13 = model.linear %arg1, %12 norm_weight %8 {epsilon = 0.00999999977 : f32, norm = #model.norm<rms>} : (!model.tensor<rows x 24 x f32>, !model.tensor<40 x 24 x f32>, !model.tensor<24 x f32>) -> !model.tensor<rows x 40 x f32>
      %14 = model.slice %13 {axis = 1 : i64, offset = 0 : i64} : (!model.tensor<rows x 40 x f32>) -> !model.tensor<rows x 24 x f32>
      %15 = model.slice %13 {axis = 1 : i64, offset = 24 : i64} : (!model.tensor<rows x 40 x f32>) -> !model.tensor<rows x 8 x f32>
      %16 = model.slice %13 {axis = 1 : i64, offset = 32 : i64} : (!model.tensor<rows x 40 x f32>) -> !model.tensor<rows x 8 x f32>
      %17 = model.reshape %14 : (!model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 6 x 4 x f32>
      %18 = model.reshape %15 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
      %19 = model.reshape %16 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
      %20 = model.rope %17, %2 : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 6 x 4 x f32>
      %21 = model.rope %18, %2 : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
      %22 = model.kv_append %21 to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
      %23 = model.kv_append %19 to "v" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
      %24 = model.attention %20, %22, %23 {scale = 5.000000e-01 : f32} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>) -> !model.tensor<rows x 6 x 4 x f32>
      %25 = model.reshape %24 : (!model.tensor<rows x 6 x 4 x f32>) -> !model.tensor<rows x 24 x f32>
      %26 = model.parameter ["model.layers.{layer}.self_attn.o_proj.weight", "layers.{layer}.self_attn.o_proj.weight"] : <24 x 24 x f32>
      %27 = model.linear %25, %26 residual %arg1 : (!model.tensor<rows x 24 x f32>, !model.tensor<24 x 24 x f32>, !model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 24 x f32>
      %28 = model.parameter ["model.layers.{layer}.post_attention_layernorm.weight", "layers.{layer}.post_attention_layernorm.weight"] : <24 x f32>
      %29 = model.parameter ["model.layers.{layer}.mlp.gate_proj.weight", "layers.{layer}.mlp.gate_proj.weight"] : <28 x 24 x f32>
      %30 = model.parameter ["model.layers.{layer}.mlp.up_proj.weight", "layers.{layer}.mlp.up_proj.weight"] : <28 x 24 x f32>
      %31 = model.gated_linear %27, %29, %30 norm_weight %28 {activation = #model.activation<silu>, epsilon = 0.00999999977 : f32, norm = #model.norm<rms>} : (!model.tensor<rows x 24 x f32>, !model.tensor<28 x 24 x f32>, !model.tensor<28 x 24 x f32>, !model.tensor<24 x f32>) -> !model.tensor<rows x 28 x f32>
      %32 = model.parameter ["model.layers.{layer}.mlp.down_proj.weight", "layers.{layer}.mlp.down_proj.weight"] : <24 x 28 x f32>
      %33 = model.linear %31, %32 residual %27 : (!model.tensor<rows x 28 x f32>, !model.tensor<24 x 28 x f32>, !model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 24 x f32>
      model.yield %33 : !model.tensor<rows x 24 x f32>
    }
    %4 = model.last_rows %3 : (!model.tensor<rows x 24 x f32>) -> !model.tensor<outputs x 24 x f32>
    %5 = model.parameter ["model.norm.weight", "norm.weight"] : <24 x f32>
    %6 = model.parameter ["lm_head.weight"] : <20 x 24 x f32>
    %7 = model.linear %4, %6 norm_weight %5 {epsilon = 0.00999999977 : f32, norm = #model.norm<rms>} : (!model.tensor<outputs x 24 x f32>, !model.tensor<20 x 24 x f32>, !model.tensor<24 x f32>) -> !model.tensor<outputs x 20 x f32>
    model.return %7 : !model.tensor<outputs x 20 x f32>
  }
}

