// RUN: batonc %s --mode=train --mesh=tp=2 --emit=event | FileCheck %s

// A norm over columns of which ranks have six each, in rows 16 apart: what lies
// between them is sent, and nobody has written it.

// CHECK: event.phase "all_gather.part{{.*}}#event.access<may write @columns.12.part
// CHECK: event.phase "all_gather.gather{{.*}}#event.access<may read @columns.12.part

module {
  model.program @olmo2 max_seq 64 family "olmo2" {
  ^bb0(%arg0: !model.tensor<rows x i32>):
    %0 = model.parameter ["model.embed_tokens.weight", "embed_tokens.weight"] : <13 x 20 x f32>
    %1 = model.embedding %arg0, %0 : (!model.tensor<rows x i32>, !model.tensor<13 x 20 x f32>) -> !model.tensor<rows x 20 x f32>
    %2 = model.rope_table {frequencies = array<f32: 1.000000e+00, 0.215443447, 0.046415884>} : () -> !model.tensor<rows x 6 x f32>
    %3 = model.stack %1 repeat 2 : (!model.tensor<rows x 20 x f32>) -> !model.tensor<rows x 20 x f32> {
    ^bb0(%arg1: !model.tensor<rows x 20 x f32>):
      %9 = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight", "layers.{layer}.self_attn.q_proj.weight"] : <24 x 20 x f32>
      %10 = model.linear %arg1, %9 : (!model.tensor<rows x 20 x f32>, !model.tensor<24 x 20 x f32>) -> !model.tensor<rows x 24 x f32>
      %11 = model.parameter ["model.layers.{layer}.self_attn.k_proj.weight", "layers.{layer}.self_attn.k_proj.weight"] : <12 x 20 x f32>
      %12 = model.linear %arg1, %11 : (!model.tensor<rows x 20 x f32>, !model.tensor<12 x 20 x f32>) -> !model.tensor<rows x 12 x f32>
      %13 = model.parameter ["model.layers.{layer}.self_attn.v_proj.weight", "layers.{layer}.self_attn.v_proj.weight"] : <12 x 20 x f32>
      %14 = model.linear %arg1, %13 : (!model.tensor<rows x 20 x f32>, !model.tensor<12 x 20 x f32>) -> !model.tensor<rows x 12 x f32>
      %15 = model.reshape %14 : (!model.tensor<rows x 12 x f32>) -> !model.tensor<rows x 2 x 6 x f32>
      %16 = model.parameter ["model.layers.{layer}.self_attn.q_norm.weight", "layers.{layer}.self_attn.q_norm.weight"] : <24 x f32>
      %17 = model.rms_norm %10, %16 {epsilon = 1.000000e-03 : f32} : (!model.tensor<rows x 24 x f32>, !model.tensor<24 x f32>) -> !model.tensor<rows x 24 x f32>
      %18 = model.parameter ["model.layers.{layer}.self_attn.k_norm.weight", "layers.{layer}.self_attn.k_norm.weight"] : <12 x f32>
      %19 = model.rms_norm %12, %18 {epsilon = 1.000000e-03 : f32} : (!model.tensor<rows x 12 x f32>, !model.tensor<12 x f32>) -> !model.tensor<rows x 12 x f32>
      %20 = model.reshape %17 : (!model.tensor<rows x 24 x f32>) -> !model.tensor<rows x 4 x 6 x f32>
      %21 = model.reshape %19 : (!model.tensor<rows x 12 x f32>) -> !model.tensor<rows x 2 x 6 x f32>
      %22 = model.rope %20, %2 : (!model.tensor<rows x 4 x 6 x f32>, !model.tensor<rows x 6 x f32>) -> !model.tensor<rows x 4 x 6 x f32>
      %23 = model.rope %21, %2 : (!model.tensor<rows x 2 x 6 x f32>, !model.tensor<rows x 6 x f32>) -> !model.tensor<rows x 2 x 6 x f32>
      %24 = model.kv_append %23 to "k" : (!model.tensor<rows x 2 x 6 x f32>) -> !model.tensor<kv x 2 x 6 x f32>
      %25 = model.kv_append %15 to "v" : (!model.tensor<rows x 2 x 6 x f32>) -> !model.tensor<kv x 2 x 6 x f32>
      %26 = model.transpose %22 {permutation = array<i64: 1, 0, 2>} : (!model.tensor<rows x 4 x 6 x f32>) -> !model.tensor<4 x rows x 6 x f32>
      %27 = model.transpose %24 {permutation = array<i64: 1, 2, 0>} : (!model.tensor<kv x 2 x 6 x f32>) -> !model.tensor<2 x 6 x kv x f32>
      %28 = model.broadcast %27 {axis = 0 : i64, times = 2 : i64} : (!model.tensor<2 x 6 x kv x f32>) -> !model.tensor<4 x 6 x kv x f32>
      %29 = model.transpose %25 {permutation = array<i64: 1, 0, 2>} : (!model.tensor<kv x 2 x 6 x f32>) -> !model.tensor<2 x kv x 6 x f32>
      %30 = model.broadcast %29 {axis = 0 : i64, times = 2 : i64} : (!model.tensor<2 x kv x 6 x f32>) -> !model.tensor<4 x kv x 6 x f32>
      %31 = model.matmul %26, %28 : (!model.tensor<4 x rows x 6 x f32>, !model.tensor<4 x 6 x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
      %32 = model.scale %31 {factor = 0.408248305 : f32} : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
      %33 = model.mask %32 : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
      %34 = model.softmax %33 : (!model.tensor<4 x rows x kv x f32>) -> !model.tensor<4 x rows x kv x f32>
      %35 = model.matmul %34, %30 : (!model.tensor<4 x rows x kv x f32>, !model.tensor<4 x kv x 6 x f32>) -> !model.tensor<4 x rows x 6 x f32>
      %36 = model.transpose %35 {permutation = array<i64: 1, 0, 2>} : (!model.tensor<4 x rows x 6 x f32>) -> !model.tensor<rows x 4 x 6 x f32>
      %37 = model.reshape %36 : (!model.tensor<rows x 4 x 6 x f32>) -> !model.tensor<rows x 24 x f32>
      %38 = model.parameter ["model.layers.{layer}.self_attn.o_proj.weight", "layers.{layer}.self_attn.o_proj.weight"] : <20 x 24 x f32>
      %39 = model.linear %37, %38 : (!model.tensor<rows x 24 x f32>, !model.tensor<20 x 24 x f32>) -> !model.tensor<rows x 20 x f32>
      %40 = model.parameter ["model.layers.{layer}.post_attention_layernorm.weight", "layers.{layer}.post_attention_layernorm.weight"] : <20 x f32>
      %41 = model.rms_norm %39, %40 {epsilon = 1.000000e-03 : f32} : (!model.tensor<rows x 20 x f32>, !model.tensor<20 x f32>) -> !model.tensor<rows x 20 x f32>
      %42 = model.add %arg1, %41 : (!model.tensor<rows x 20 x f32>, !model.tensor<rows x 20 x f32>) -> !model.tensor<rows x 20 x f32>
      %43 = model.parameter ["model.layers.{layer}.mlp.gate_proj.weight", "layers.{layer}.mlp.gate_proj.weight"] : <28 x 20 x f32>
      %44 = model.linear %42, %43 : (!model.tensor<rows x 20 x f32>, !model.tensor<28 x 20 x f32>) -> !model.tensor<rows x 28 x f32>
      %45 = model.parameter ["model.layers.{layer}.mlp.up_proj.weight", "layers.{layer}.mlp.up_proj.weight"] : <28 x 20 x f32>
      %46 = model.linear %42, %45 : (!model.tensor<rows x 20 x f32>, !model.tensor<28 x 20 x f32>) -> !model.tensor<rows x 28 x f32>
      %47 = model.activate %44 {activation = #model.activation<silu>} : (!model.tensor<rows x 28 x f32>) -> !model.tensor<rows x 28 x f32>
      %48 = model.mul %47, %46 : (!model.tensor<rows x 28 x f32>, !model.tensor<rows x 28 x f32>) -> !model.tensor<rows x 28 x f32>
      %49 = model.parameter ["model.layers.{layer}.mlp.down_proj.weight", "layers.{layer}.mlp.down_proj.weight"] : <20 x 28 x f32>
      %50 = model.linear %48, %49 : (!model.tensor<rows x 28 x f32>, !model.tensor<20 x 28 x f32>) -> !model.tensor<rows x 20 x f32>
      %51 = model.parameter ["model.layers.{layer}.post_feedforward_layernorm.weight", "layers.{layer}.post_feedforward_layernorm.weight"] : <20 x f32>
      %52 = model.rms_norm %50, %51 {epsilon = 1.000000e-03 : f32} : (!model.tensor<rows x 20 x f32>, !model.tensor<20 x f32>) -> !model.tensor<rows x 20 x f32>
      %53 = model.add %42, %52 : (!model.tensor<rows x 20 x f32>, !model.tensor<rows x 20 x f32>) -> !model.tensor<rows x 20 x f32>
      model.yield %53 : !model.tensor<rows x 20 x f32>
    }
    %4 = model.last_rows %3 : (!model.tensor<rows x 20 x f32>) -> !model.tensor<outputs x 20 x f32>
    %5 = model.parameter ["model.norm.weight", "norm.weight"] : <20 x f32>
    %6 = model.rms_norm %4, %5 {epsilon = 1.000000e-03 : f32} : (!model.tensor<outputs x 20 x f32>, !model.tensor<20 x f32>) -> !model.tensor<outputs x 20 x f32>
    %7 = model.parameter ["lm_head.weight"] : <13 x 20 x f32>
    %8 = model.linear %6, %7 : (!model.tensor<outputs x 20 x f32>, !model.tensor<13 x 20 x f32>) -> !model.tensor<outputs x 13 x f32>
    model.return %8 : !model.tensor<outputs x 13 x f32>
  }
}
