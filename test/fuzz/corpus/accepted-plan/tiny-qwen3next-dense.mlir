module {
  model.program @qwen3_next max_seq 12 family "qwen3_next" {
  ^bb0(%arg0: !model.tensor<rows x i32>):
    %0 = model.parameter ["model.embed_tokens.weight", "embed_tokens.weight"] : <20 x 24 x f32>
    %1 = model.embedding %arg0, %0 : (!model.tensor<rows x i32>, !model.tensor<20 x 24 x f32>) -> !model.tensor<rows x 24 x f32>
    %2 = model.rope_table {frequencies = array<f32: 1.000000e+00>} : () -> !model.tensor<rows x 2 x f32>
    %3 = model.stack %1 repeat 2 : (!model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 24 x f32> {
    ^bb0(%arg1: !model.tensor<rows x 24 x f32>):
      %8 = model.parameter ["model.layers.{layer}.input_layernorm.weight", "layers.{layer}.input_layernorm.weight"] {plus = 1.000000e+00 : f32} : <24 x f32>
      %9 = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight", "layers.{layer}.self_attn.q_proj.weight"] {blocks = array<i64: 8, 16, 0>} : <48 x 24 x f32>
      %10 = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight", "layers.{layer}.self_attn.q_proj.weight"] {blocks = array<i64: 8, 16, 8>} : <48 x 24 x f32>
      %11 = model.parameter ["model.layers.{layer}.self_attn.k_proj.weight", "layers.{layer}.self_attn.k_proj.weight"] : <16 x 24 x f32>
      %12 = model.parameter ["model.layers.{layer}.self_attn.v_proj.weight", "layers.{layer}.self_attn.v_proj.weight"] : <16 x 24 x f32>
      %13 = model.concat %9, %10, %11, %12 : (!model.tensor<48 x 24 x f32>, !model.tensor<48 x 24 x f32>, !model.tensor<16 x 24 x f32>, !model.tensor<16 x 24 x f32>) -> !model.tensor<128 x 24 x f32>
      %14 = model.linear %arg1, %13 norm_weight %8 {epsilon = 9.99999997E-7 : f32, norm = #model.norm<rms>} : (!model.tensor<rows x 24 x f32>, !model.tensor<128 x 24 x f32>, !model.tensor<24 x f32>) -> !model.tensor<rows x 128 x f32>
      %15 = model.slice %14 {axis = 1 : i64, offset = 0 : i64} : (!model.tensor<rows x 128 x f32>) -> !model.tensor<rows x 48 x f32>
      %16 = model.slice %14 {axis = 1 : i64, offset = 48 : i64} : (!model.tensor<rows x 128 x f32>) -> !model.tensor<rows x 48 x f32>
      %17 = model.slice %14 {axis = 1 : i64, offset = 96 : i64} : (!model.tensor<rows x 128 x f32>) -> !model.tensor<rows x 16 x f32>
      %18 = model.slice %14 {axis = 1 : i64, offset = 112 : i64} : (!model.tensor<rows x 128 x f32>) -> !model.tensor<rows x 16 x f32>
      %19 = model.reshape %15 : (!model.tensor<rows x 48 x f32>) -> !model.tensor<rows x 6 x 8 x f32>
      %20 = model.reshape %16 : (!model.tensor<rows x 48 x f32>) -> !model.tensor<rows x 6 x 8 x f32>
      %21 = model.reshape %17 : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 2 x 8 x f32>
      %22 = model.reshape %18 : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 2 x 8 x f32>
      %23 = model.parameter ["model.layers.{layer}.self_attn.q_norm.weight", "layers.{layer}.self_attn.q_norm.weight"] {plus = 1.000000e+00 : f32} : <8 x f32>
      %24 = model.rms_norm %19, %23 {epsilon = 9.99999997E-7 : f32} : (!model.tensor<rows x 6 x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 6 x 8 x f32>
      %25 = model.rope %24, %2 : (!model.tensor<rows x 6 x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 6 x 8 x f32>
      %26 = model.parameter ["model.layers.{layer}.self_attn.k_norm.weight", "layers.{layer}.self_attn.k_norm.weight"] {plus = 1.000000e+00 : f32} : <8 x f32>
      %27 = model.rms_norm %21, %26 {epsilon = 9.99999997E-7 : f32} : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 2 x 8 x f32>
      %28 = model.rope %27, %2 : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 2 x 8 x f32>
      %29 = model.kv_append %28 to "k" : (!model.tensor<rows x 2 x 8 x f32>) -> !model.tensor<kv x 2 x 8 x f32>
      %30 = model.kv_append %22 to "v" : (!model.tensor<rows x 2 x 8 x f32>) -> !model.tensor<kv x 2 x 8 x f32>
      %31 = model.attention %25, %29, %30, %20 {scale = 0.353553385 : f32} : (!model.tensor<rows x 6 x 8 x f32>, !model.tensor<kv x 2 x 8 x f32>, !model.tensor<kv x 2 x 8 x f32>, !model.tensor<rows x 6 x 8 x f32>) -> !model.tensor<rows x 6 x 8 x f32>
      %32 = model.reshape %31 : (!model.tensor<rows x 6 x 8 x f32>) -> !model.tensor<rows x 48 x f32>
      %33 = model.parameter ["model.layers.{layer}.self_attn.o_proj.weight", "layers.{layer}.self_attn.o_proj.weight"] : <24 x 48 x f32>
      %34 = model.linear %32, %33 residual %arg1 : (!model.tensor<rows x 48 x f32>, !model.tensor<24 x 48 x f32>, !model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 24 x f32>
      %35 = model.parameter ["model.layers.{layer}.post_attention_layernorm.weight", "layers.{layer}.post_attention_layernorm.weight"] {plus = 1.000000e+00 : f32} : <24 x f32>
      %36 = model.parameter ["model.layers.{layer}.mlp.gate_proj.weight", "layers.{layer}.mlp.gate_proj.weight"] : <28 x 24 x f32>
      %37 = model.parameter ["model.layers.{layer}.mlp.up_proj.weight", "layers.{layer}.mlp.up_proj.weight"] : <28 x 24 x f32>
      %38 = model.gated_linear %34, %36, %37 norm_weight %35 {activation = #model.activation<silu>, epsilon = 9.99999997E-7 : f32, norm = #model.norm<rms>} : (!model.tensor<rows x 24 x f32>, !model.tensor<28 x 24 x f32>, !model.tensor<28 x 24 x f32>, !model.tensor<24 x f32>) -> !model.tensor<rows x 28 x f32>
      %39 = model.parameter ["model.layers.{layer}.mlp.down_proj.weight", "layers.{layer}.mlp.down_proj.weight"] : <24 x 28 x f32>
      %40 = model.linear %38, %39 residual %34 : (!model.tensor<rows x 28 x f32>, !model.tensor<24 x 28 x f32>, !model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 24 x f32>
      model.yield %40 : !model.tensor<rows x 24 x f32>
    }
    %4 = model.last_rows %3 : (!model.tensor<rows x 24 x f32>) -> !model.tensor<outputs x 24 x f32>
    %5 = model.parameter ["model.norm.weight", "norm.weight"] {plus = 1.000000e+00 : f32} : <24 x f32>
    %6 = model.parameter ["lm_head.weight"] : <20 x 24 x f32>
    %7 = model.linear %4, %6 norm_weight %5 {epsilon = 9.99999997E-7 : f32, norm = #model.norm<rms>} : (!model.tensor<outputs x 24 x f32>, !model.tensor<20 x 24 x f32>, !model.tensor<24 x f32>) -> !model.tensor<outputs x 20 x f32>
    model.return %7 : !model.tensor<outputs x 20 x f32>
  }
}

