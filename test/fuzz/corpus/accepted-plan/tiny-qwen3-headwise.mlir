module {
  model.program @qwen3 max_seq 12 family "qwen3" {
  ^bb0(%arg0: !model.tensor<rows x i32>):
    %0 = model.parameter ["model.embed_tokens.weight", "embed_tokens.weight"] : <20 x 24 x bf16>
    %1 = model.embedding %arg0, %0 : (!model.tensor<rows x i32>, !model.tensor<20 x 24 x bf16>) -> !model.tensor<rows x 24 x f32>
    %2 = model.rope_table {frequencies = array<f32: 1.000000e+00, 0.00999999977>} : () -> !model.tensor<rows x 4 x f32>
    %3 = model.stack %1 repeat 2 : (!model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 24 x f32> {
    ^bb0(%arg1: !model.tensor<rows x 24 x f32>):
      %8 = model.parameter ["model.layers.{layer}.input_layernorm.weight", "layers.{layer}.input_layernorm.weight"] : <24 x f32>
      %9 = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight", "layers.{layer}.self_attn.q_proj.weight"] {blocks = array<i64: 12, 15, 0>} : <24 x 24 x bf16>
      %10 = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight", "layers.{layer}.self_attn.q_proj.weight"] {blocks = array<i64: 3, 15, 12>} : <6 x 24 x bf16>
      %11 = model.parameter ["model.layers.{layer}.self_attn.k_proj.weight", "layers.{layer}.self_attn.k_proj.weight"] : <8 x 24 x bf16>
      %12 = model.parameter ["model.layers.{layer}.self_attn.v_proj.weight", "layers.{layer}.self_attn.v_proj.weight"] : <8 x 24 x bf16>
      %13 = model.concat %9, %10, %11, %12 : (!model.tensor<24 x 24 x bf16>, !model.tensor<6 x 24 x bf16>, !model.tensor<8 x 24 x bf16>, !model.tensor<8 x 24 x bf16>) -> !model.tensor<46 x 24 x bf16>
      %14 = model.linear %arg1, %13 norm_weight %8 {epsilon = 9.99999997E-7 : f32, norm = #model.norm<rms>} : (!model.tensor<rows x 24 x f32>, !model.tensor<46 x 24 x bf16>, !model.tensor<24 x f32>) -> !model.tensor<rows x 46 x f32>
      %15 = model.slice %14 {axis = 1 : i64, offset = 0 : i64} : (!model.tensor<rows x 46 x f32>) -> !model.tensor<rows x 24 x f32>
      %16 = model.slice %14 {axis = 1 : i64, offset = 24 : i64} : (!model.tensor<rows x 46 x f32>) -> !model.tensor<rows x 6 x f32>
      %17 = model.slice %14 {axis = 1 : i64, offset = 30 : i64} : (!model.tensor<rows x 46 x f32>) -> !model.tensor<rows x 8 x f32>
      %18 = model.slice %14 {axis = 1 : i64, offset = 38 : i64} : (!model.tensor<rows x 46 x f32>) -> !model.tensor<rows x 8 x f32>
      %19 = model.reshape %15 : (!model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 6 x 4 x f32>
      %20 = model.reshape %17 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
      %21 = model.reshape %18 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
      %22 = model.parameter ["model.layers.{layer}.self_attn.q_norm.weight", "layers.{layer}.self_attn.q_norm.weight"] : <4 x f32>
      %23 = model.rms_norm %19, %22 {epsilon = 9.99999997E-7 : f32} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<4 x f32>) -> !model.tensor<rows x 6 x 4 x f32>
      %24 = model.parameter ["model.layers.{layer}.self_attn.k_norm.weight", "layers.{layer}.self_attn.k_norm.weight"] : <4 x f32>
      %25 = model.rms_norm %20, %24 {epsilon = 9.99999997E-7 : f32} : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
      %26 = model.rope %23, %2 : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 6 x 4 x f32>
      %27 = model.rope %25, %2 : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
      %28 = model.kv_append %27 to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
      %29 = model.kv_append %21 to "v" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
      %30 = model.attention %26, %28, %29, %16 {scale = 5.000000e-01 : f32} : (!model.tensor<rows x 6 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<rows x 6 x f32>) -> !model.tensor<rows x 6 x 4 x f32>
      %31 = model.reshape %30 : (!model.tensor<rows x 6 x 4 x f32>) -> !model.tensor<rows x 24 x f32>
      %32 = model.parameter ["model.layers.{layer}.self_attn.o_proj.weight", "layers.{layer}.self_attn.o_proj.weight"] : <24 x 24 x bf16>
      %33 = model.linear %31, %32 residual %arg1 : (!model.tensor<rows x 24 x f32>, !model.tensor<24 x 24 x bf16>, !model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 24 x f32>
      %34 = model.parameter ["model.layers.{layer}.post_attention_layernorm.weight", "layers.{layer}.post_attention_layernorm.weight"] : <24 x f32>
      %35 = model.parameter ["model.layers.{layer}.mlp.gate_proj.weight", "layers.{layer}.mlp.gate_proj.weight"] : <28 x 24 x bf16>
      %36 = model.parameter ["model.layers.{layer}.mlp.up_proj.weight", "layers.{layer}.mlp.up_proj.weight"] : <28 x 24 x bf16>
      %37 = model.gated_linear %33, %35, %36 norm_weight %34 {activation = #model.activation<silu>, epsilon = 9.99999997E-7 : f32, norm = #model.norm<rms>} : (!model.tensor<rows x 24 x f32>, !model.tensor<28 x 24 x bf16>, !model.tensor<28 x 24 x bf16>, !model.tensor<24 x f32>) -> !model.tensor<rows x 28 x f32>
      %38 = model.parameter ["model.layers.{layer}.mlp.down_proj.weight", "layers.{layer}.mlp.down_proj.weight"] : <24 x 28 x bf16>
      %39 = model.linear %37, %38 residual %33 : (!model.tensor<rows x 28 x f32>, !model.tensor<24 x 28 x bf16>, !model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 24 x f32>
      model.yield %39 : !model.tensor<rows x 24 x f32>
    }
    %4 = model.last_rows %3 : (!model.tensor<rows x 24 x f32>) -> !model.tensor<outputs x 24 x f32>
    %5 = model.parameter ["model.norm.weight", "norm.weight"] : <24 x f32>
    %6 = model.parameter ["lm_head.weight"] : <20 x 24 x bf16>
    %7 = model.linear %4, %6 norm_weight %5 {epsilon = 9.99999997E-7 : f32, norm = #model.norm<rms>} : (!model.tensor<outputs x 24 x f32>, !model.tensor<20 x 24 x bf16>, !model.tensor<24 x f32>) -> !model.tensor<outputs x 20 x f32>
    model.return %7 : !model.tensor<outputs x 20 x f32>
  }
}

