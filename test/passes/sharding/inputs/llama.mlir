// A decoder of 3 layers with 6 query heads over 2 key/value heads, and a vocabulary
// that no axis divides.
dist.mesh [data = 2, tensor = 2] batch [data]
model.program @llama max_seq 256 family "llama" {
^bb0(%arg0: !model.tensor<rows x i32>):
  %0 = model.parameter ["model.embed_tokens.weight"] : <131 x 60 x f32>
  %1 = model.embedding %arg0, %0 : (!model.tensor<rows x i32>, !model.tensor<131 x 60 x f32>) -> !model.tensor<rows x 60 x f32>
  %2 = model.rope_table {frequencies = array<f32: 1.000000e+00, 0.316227764, 1.000000e-01, 0.0316227786, 0.00999999977, 0.00316227786, 1.000000e-03, 3.16227786E-4>} : () -> !model.tensor<rows x 16 x f32>
  %3 = model.stack %1 repeat 3 : (!model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32> {
  ^bb0(%arg1: !model.tensor<rows x 60 x f32>):
    %9 = model.parameter ["model.layers.{layer}.input_layernorm.weight"] : <60 x f32>
    %10 = model.rms_norm %arg1, %9 {epsilon = 0.00999999977 : f32} : (!model.tensor<rows x 60 x f32>, !model.tensor<60 x f32>) -> !model.tensor<rows x 60 x f32>
    %11 = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight"] : <96 x 60 x f32>
    %12 = model.linear %10, %11 : (!model.tensor<rows x 60 x f32>, !model.tensor<96 x 60 x f32>) -> !model.tensor<rows x 96 x f32>
    %13 = model.reshape %12 : (!model.tensor<rows x 96 x f32>) -> !model.tensor<rows x 6 x 16 x f32>
    %14 = model.parameter ["model.layers.{layer}.self_attn.k_proj.weight"] : <32 x 60 x f32>
    %15 = model.linear %10, %14 : (!model.tensor<rows x 60 x f32>, !model.tensor<32 x 60 x f32>) -> !model.tensor<rows x 32 x f32>
    %16 = model.reshape %15 : (!model.tensor<rows x 32 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
    %17 = model.parameter ["model.layers.{layer}.self_attn.v_proj.weight"] : <32 x 60 x f32>
    %18 = model.linear %10, %17 : (!model.tensor<rows x 60 x f32>, !model.tensor<32 x 60 x f32>) -> !model.tensor<rows x 32 x f32>
    %19 = model.reshape %18 : (!model.tensor<rows x 32 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
    %20 = model.rope %13, %2 : (!model.tensor<rows x 6 x 16 x f32>, !model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 6 x 16 x f32>
    %21 = model.rope %16, %2 : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
    %22 = model.kv_append %21 to "k" : (!model.tensor<rows x 2 x 16 x f32>) -> !model.tensor<kv x 2 x 16 x f32>
    %23 = model.kv_append %19 to "v" : (!model.tensor<rows x 2 x 16 x f32>) -> !model.tensor<kv x 2 x 16 x f32>
    %24 = model.attention %20, %22, %23 {scale = 2.500000e-01 : f32} : (!model.tensor<rows x 6 x 16 x f32>, !model.tensor<kv x 2 x 16 x f32>, !model.tensor<kv x 2 x 16 x f32>) -> !model.tensor<rows x 6 x 16 x f32>
    %25 = model.reshape %24 : (!model.tensor<rows x 6 x 16 x f32>) -> !model.tensor<rows x 96 x f32>
    %26 = model.parameter ["model.layers.{layer}.self_attn.o_proj.weight"] : <60 x 96 x f32>
    %27 = model.linear %25, %26 : (!model.tensor<rows x 96 x f32>, !model.tensor<60 x 96 x f32>) -> !model.tensor<rows x 60 x f32>
    %28 = model.add %arg1, %27 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>
    %29 = model.parameter ["model.layers.{layer}.post_attention_layernorm.weight"] : <60 x f32>
    %30 = model.rms_norm %28, %29 {epsilon = 0.00999999977 : f32} : (!model.tensor<rows x 60 x f32>, !model.tensor<60 x f32>) -> !model.tensor<rows x 60 x f32>
    %31 = model.parameter ["model.layers.{layer}.mlp.gate_proj.weight"] : <100 x 60 x f32>
    %32 = model.linear %30, %31 : (!model.tensor<rows x 60 x f32>, !model.tensor<100 x 60 x f32>) -> !model.tensor<rows x 100 x f32>
    %33 = model.parameter ["model.layers.{layer}.mlp.up_proj.weight"] : <100 x 60 x f32>
    %34 = model.linear %30, %33 : (!model.tensor<rows x 60 x f32>, !model.tensor<100 x 60 x f32>) -> !model.tensor<rows x 100 x f32>
    %35 = model.activate %32 {activation = #model.activation<silu>} : (!model.tensor<rows x 100 x f32>) -> !model.tensor<rows x 100 x f32>
    %36 = model.mul %35, %34 : (!model.tensor<rows x 100 x f32>, !model.tensor<rows x 100 x f32>) -> !model.tensor<rows x 100 x f32>
    %37 = model.parameter ["model.layers.{layer}.mlp.down_proj.weight"] : <60 x 100 x f32>
    %38 = model.linear %36, %37 : (!model.tensor<rows x 100 x f32>, !model.tensor<60 x 100 x f32>) -> !model.tensor<rows x 60 x f32>
    %39 = model.add %28, %38 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>
    model.yield %39 : !model.tensor<rows x 60 x f32>
  }
  %4 = model.last_rows %3 : (!model.tensor<rows x 60 x f32>) -> !model.tensor<outputs x 60 x f32>
  %5 = model.parameter ["model.norm.weight"] : <60 x f32>
  %6 = model.rms_norm %4, %5 {epsilon = 0.00999999977 : f32} : (!model.tensor<outputs x 60 x f32>, !model.tensor<60 x f32>) -> !model.tensor<outputs x 60 x f32>
  %7 = model.parameter ["lm_head.weight"] : <131 x 60 x f32>
  %8 = model.linear %6, %7 : (!model.tensor<outputs x 60 x f32>, !model.tensor<131 x 60 x f32>) -> !model.tensor<outputs x 131 x f32>
  model.return %8 : !model.tensor<outputs x 131 x f32>
}
