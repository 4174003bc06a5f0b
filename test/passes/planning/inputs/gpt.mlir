// GPT-2 with 3 layers of 3 heads, whose queries, keys and values are made by three
// linears, each of a block of one weight.
dist.mesh [data = 2, tp = 3] batch [data]
model.program @gpt2 max_seq 128 family "gpt2" {
^bb0(%arg0: !model.tensor<rows x i32>):
  %0 = model.parameter ["transformer.wte.weight"] : <259 x 36 x f32>
  %1 = model.embedding %arg0, %0 : (!model.tensor<rows x i32>, !model.tensor<259 x 36 x f32>) -> !model.tensor<rows x 36 x f32>
  %2 = model.parameter ["transformer.wpe.weight"] : <128 x 36 x f32>
  %3 = model.position_embedding %2 : (!model.tensor<128 x 36 x f32>) -> !model.tensor<rows x 36 x f32>
  %4 = model.add %1, %3 : (!model.tensor<rows x 36 x f32>, !model.tensor<rows x 36 x f32>) -> !model.tensor<rows x 36 x f32>
  %5 = model.stack %4 repeat 3 : (!model.tensor<rows x 36 x f32>) -> !model.tensor<rows x 36 x f32> {
  ^bb0(%arg1: !model.tensor<rows x 36 x f32>):
    %11 = model.parameter ["transformer.h.{layer}.ln_1.weight"] : <36 x f32>
    %12 = model.parameter ["transformer.h.{layer}.ln_1.bias"] : <36 x f32>
    %13 = model.layer_norm %arg1, %11, %12 {epsilon = 9.99999974E-6 : f32} : (!model.tensor<rows x 36 x f32>, !model.tensor<36 x f32>, !model.tensor<36 x f32>) -> !model.tensor<rows x 36 x f32>
    %14 = model.parameter ["transformer.h.{layer}.attn.c_attn.weight"] transposed {blocks = array<i64: 36, 108, 0>} : <36 x 36 x f32>
    %15 = model.parameter ["transformer.h.{layer}.attn.c_attn.bias"] {blocks = array<i64: 36, 108, 0>} : <36 x f32>
    %16 = model.linear %13, %14 bias %15 : (!model.tensor<rows x 36 x f32>, !model.tensor<36 x 36 x f32>, !model.tensor<36 x f32>) -> !model.tensor<rows x 36 x f32>
    %17 = model.reshape %16 : (!model.tensor<rows x 36 x f32>) -> !model.tensor<rows x 3 x 12 x f32>
    %18 = model.parameter ["transformer.h.{layer}.attn.c_attn.weight"] transposed {blocks = array<i64: 36, 108, 36>} : <36 x 36 x f32>
    %19 = model.parameter ["transformer.h.{layer}.attn.c_attn.bias"] {blocks = array<i64: 36, 108, 36>} : <36 x f32>
    %20 = model.linear %13, %18 bias %19 : (!model.tensor<rows x 36 x f32>, !model.tensor<36 x 36 x f32>, !model.tensor<36 x f32>) -> !model.tensor<rows x 36 x f32>
    %21 = model.reshape %20 : (!model.tensor<rows x 36 x f32>) -> !model.tensor<rows x 3 x 12 x f32>
    %22 = model.parameter ["transformer.h.{layer}.attn.c_attn.weight"] transposed {blocks = array<i64: 36, 108, 72>} : <36 x 36 x f32>
    %23 = model.parameter ["transformer.h.{layer}.attn.c_attn.bias"] {blocks = array<i64: 36, 108, 72>} : <36 x f32>
    %24 = model.linear %13, %22 bias %23 : (!model.tensor<rows x 36 x f32>, !model.tensor<36 x 36 x f32>, !model.tensor<36 x f32>) -> !model.tensor<rows x 36 x f32>
    %25 = model.reshape %24 : (!model.tensor<rows x 36 x f32>) -> !model.tensor<rows x 3 x 12 x f32>
    %26 = model.kv_append %21 to "k" : (!model.tensor<rows x 3 x 12 x f32>) -> !model.tensor<kv x 3 x 12 x f32>
    %27 = model.kv_append %25 to "v" : (!model.tensor<rows x 3 x 12 x f32>) -> !model.tensor<kv x 3 x 12 x f32>
    %28 = model.transpose %17 {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 3 x 12 x f32>) -> !model.tensor<3 x rows x 12 x f32>
    %29 = model.transpose %26 {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 3 x 12 x f32>) -> !model.tensor<3 x 12 x kv x f32>
    %30 = model.transpose %27 {permutation = array<i64: 1, 0, 2>} : (!model.tensor<kv x 3 x 12 x f32>) -> !model.tensor<3 x kv x 12 x f32>
    %31 = model.matmul %28, %29 : (!model.tensor<3 x rows x 12 x f32>, !model.tensor<3 x 12 x kv x f32>) -> !model.tensor<3 x rows x kv x f32>
    %32 = model.scale %31 {factor = 0.288675129 : f32} : (!model.tensor<3 x rows x kv x f32>) -> !model.tensor<3 x rows x kv x f32>
    %33 = model.mask %32 : (!model.tensor<3 x rows x kv x f32>) -> !model.tensor<3 x rows x kv x f32>
    %34 = model.softmax %33 : (!model.tensor<3 x rows x kv x f32>) -> !model.tensor<3 x rows x kv x f32>
    %35 = model.matmul %34, %30 : (!model.tensor<3 x rows x kv x f32>, !model.tensor<3 x kv x 12 x f32>) -> !model.tensor<3 x rows x 12 x f32>
    %36 = model.transpose %35 {permutation = array<i64: 1, 0, 2>} : (!model.tensor<3 x rows x 12 x f32>) -> !model.tensor<rows x 3 x 12 x f32>
    %37 = model.reshape %36 : (!model.tensor<rows x 3 x 12 x f32>) -> !model.tensor<rows x 36 x f32>
    %38 = model.parameter ["transformer.h.{layer}.attn.c_proj.weight"] transposed : <36 x 36 x f32>
    %39 = model.parameter ["transformer.h.{layer}.attn.c_proj.bias"] : <36 x f32>
    %40 = model.linear %37, %38 bias %39 : (!model.tensor<rows x 36 x f32>, !model.tensor<36 x 36 x f32>, !model.tensor<36 x f32>) -> !model.tensor<rows x 36 x f32>
    %41 = model.add %arg1, %40 : (!model.tensor<rows x 36 x f32>, !model.tensor<rows x 36 x f32>) -> !model.tensor<rows x 36 x f32>
    %42 = model.parameter ["transformer.h.{layer}.ln_2.weight"] : <36 x f32>
    %43 = model.parameter ["transformer.h.{layer}.ln_2.bias"] : <36 x f32>
    %44 = model.layer_norm %41, %42, %43 {epsilon = 9.99999974E-6 : f32} : (!model.tensor<rows x 36 x f32>, !model.tensor<36 x f32>, !model.tensor<36 x f32>) -> !model.tensor<rows x 36 x f32>
    %45 = model.parameter ["transformer.h.{layer}.mlp.c_fc.weight"] transposed : <144 x 36 x f32>
    %46 = model.parameter ["transformer.h.{layer}.mlp.c_fc.bias"] : <144 x f32>
    %47 = model.linear %44, %45 bias %46 : (!model.tensor<rows x 36 x f32>, !model.tensor<144 x 36 x f32>, !model.tensor<144 x f32>) -> !model.tensor<rows x 144 x f32>
    %48 = model.activate %47 {activation = #model.activation<gelu_tanh>} : (!model.tensor<rows x 144 x f32>) -> !model.tensor<rows x 144 x f32>
    %49 = model.parameter ["transformer.h.{layer}.mlp.c_proj.weight"] transposed : <36 x 144 x f32>
    %50 = model.parameter ["transformer.h.{layer}.mlp.c_proj.bias"] : <36 x f32>
    %51 = model.linear %48, %49 bias %50 : (!model.tensor<rows x 144 x f32>, !model.tensor<36 x 144 x f32>, !model.tensor<36 x f32>) -> !model.tensor<rows x 36 x f32>
    %52 = model.add %41, %51 : (!model.tensor<rows x 36 x f32>, !model.tensor<rows x 36 x f32>) -> !model.tensor<rows x 36 x f32>
    model.yield %52 : !model.tensor<rows x 36 x f32>
  }
  %6 = model.last_rows %5 : (!model.tensor<rows x 36 x f32>) -> !model.tensor<outputs x 36 x f32>
  %7 = model.parameter ["transformer.ln_f.weight"] : <36 x f32>
  %8 = model.parameter ["transformer.ln_f.bias"] : <36 x f32>
  %9 = model.layer_norm %6, %7, %8 {epsilon = 9.99999974E-6 : f32} : (!model.tensor<outputs x 36 x f32>, !model.tensor<36 x f32>, !model.tensor<36 x f32>) -> !model.tensor<outputs x 36 x f32>
  %10 = model.linear %9, %0 : (!model.tensor<outputs x 36 x f32>, !model.tensor<259 x 36 x f32>) -> !model.tensor<outputs x 259 x f32>
  model.return %10 : !model.tensor<outputs x 259 x f32>
}
