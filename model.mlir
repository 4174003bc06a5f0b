module {
  update.rule @plain {
  ^bb0(%arg0: tensor<?x?xf32>, %arg1: tensor<?x?xf32>):
    %0 = update.number "learning_rate"
    %1 = update.map (%arg2 = %arg0, %arg3 = %arg1) {
      %2 = arith.mulf %arg3, %0 : f32
      %3 = arith.subf %arg2, %2 : f32
      update.yield %3
    }
    update.return %1
  }
  update.group @plain
  model.program @llama max_seq 256 family "llama" training {
  ^bb0(%arg0: !model.tensor<rows x i32>, %arg1: !model.tensor<rows x i32>, %arg2: !model.tensor<rows x i32>, %arg3: !model.tensor<rows x f32>):
    %0 = model.parameter ["model.embed_tokens.weight", "embed_tokens.weight"] : <131 x 60 x f32>
    %1 = model.embedding %arg0, %0 : (!model.tensor<rows x i32>, !model.tensor<131 x 60 x f32>) -> !model.tensor<rows x 60 x f32>
    %2 = model.rope_table %arg1 {frequencies = array<f32: 1.000000e+00, 0.316227764, 1.000000e-01, 0.0316227786, 0.00999999977, 0.00316227786, 1.000000e-03, 3.16227786E-4>} : (!model.tensor<rows x i32>) -> !model.tensor<rows x 16 x f32>
    %3 = model.stack %1 repeat 3 : (!model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32> {
    ^bb0(%arg4: !model.tensor<rows x 60 x f32>):
      model.save %arg4 to "layers.input" : <rows x 60 x f32>
      %14 = model.parameter ["model.layers.{layer}.input_layernorm.weight", "layers.{layer}.input_layernorm.weight"] : <60 x f32>
      %15 = model.rms_norm %arg4, %14 {epsilon = 0.00999999977 : f32} : (!model.tensor<rows x 60 x f32>, !model.tensor<60 x f32>) -> !model.tensor<rows x 60 x f32>
      model.save %15 to "layers.input_layernorm" : <rows x 60 x f32>
      %16 = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight", "layers.{layer}.self_attn.q_proj.weight"] : <96 x 60 x f32>
      %17 = model.linear %15, %16 : (!model.tensor<rows x 60 x f32>, !model.tensor<96 x 60 x f32>) -> !model.tensor<rows x 96 x f32>
      %18 = model.reshape %17 : (!model.tensor<rows x 96 x f32>) -> !model.tensor<rows x 6 x 16 x f32>
      %19 = model.parameter ["model.layers.{layer}.self_attn.k_proj.weight", "layers.{layer}.self_attn.k_proj.weight"] : <32 x 60 x f32>
      %20 = model.linear %15, %19 : (!model.tensor<rows x 60 x f32>, !model.tensor<32 x 60 x f32>) -> !model.tensor<rows x 32 x f32>
      %21 = model.reshape %20 : (!model.tensor<rows x 32 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
      %22 = model.parameter ["model.layers.{layer}.self_attn.v_proj.weight", "layers.{layer}.self_attn.v_proj.weight"] : <32 x 60 x f32>
      %23 = model.linear %15, %22 : (!model.tensor<rows x 60 x f32>, !model.tensor<32 x 60 x f32>) -> !model.tensor<rows x 32 x f32>
      model.save %23 to "layers.self_attn.v_proj" : <rows x 32 x f32>
      %24 = model.reshape %23 : (!model.tensor<rows x 32 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
      %25 = model.rope %18, %2 : (!model.tensor<rows x 6 x 16 x f32>, !model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 6 x 16 x f32>
      model.save %25 to "layers.self_attn.q_rope" : <rows x 6 x 16 x f32>
      %26 = model.rope %21, %2 : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
      model.save %26 to "layers.self_attn.k_rope" : <rows x 2 x 16 x f32>
      %result, %statistics_0 = model.sequence_attention %25, %26, %24, %arg1 {scale = 2.500000e-01 : f32} : (!model.tensor<rows x 6 x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 6 x 16 x f32>, !model.tensor<rows x 6 x 2 x f32>)
      model.save %statistics_0 to "layers.self_attn.attention.1" : <rows x 6 x 2 x f32>
      model.save %result to "layers.self_attn.attention" : <rows x 6 x 16 x f32>
      %27 = model.reshape %result : (!model.tensor<rows x 6 x 16 x f32>) -> !model.tensor<rows x 96 x f32>
      %28 = model.parameter ["model.layers.{layer}.self_attn.o_proj.weight", "layers.{layer}.self_attn.o_proj.weight"] : <60 x 96 x f32>
      %29 = model.linear %27, %28 : (!model.tensor<rows x 96 x f32>, !model.tensor<60 x 96 x f32>) -> !model.tensor<rows x 60 x f32>
      %30 = model.add %arg4, %29 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      model.save %30 to "layers.self_attn.o_proj.residual" : <rows x 60 x f32>
      %31 = model.parameter ["model.layers.{layer}.post_attention_layernorm.weight", "layers.{layer}.post_attention_layernorm.weight"] : <60 x f32>
      %32 = model.rms_norm %30, %31 {epsilon = 0.00999999977 : f32} : (!model.tensor<rows x 60 x f32>, !model.tensor<60 x f32>) -> !model.tensor<rows x 60 x f32>
      model.save %32 to "layers.post_attention_layernorm" : <rows x 60 x f32>
      %33 = model.parameter ["model.layers.{layer}.mlp.gate_proj.weight", "layers.{layer}.mlp.gate_proj.weight"] : <100 x 60 x f32>
      %34 = model.linear %32, %33 : (!model.tensor<rows x 60 x f32>, !model.tensor<100 x 60 x f32>) -> !model.tensor<rows x 100 x f32>
      model.save %34 to "layers.mlp.gate_proj" : <rows x 100 x f32>
      %35 = model.parameter ["model.layers.{layer}.mlp.up_proj.weight", "layers.{layer}.mlp.up_proj.weight"] : <100 x 60 x f32>
      %36 = model.linear %32, %35 : (!model.tensor<rows x 60 x f32>, !model.tensor<100 x 60 x f32>) -> !model.tensor<rows x 100 x f32>
      model.save %36 to "layers.mlp.up_proj" : <rows x 100 x f32>
      %37 = model.activate %34 {activation = #model.activation<silu>} : (!model.tensor<rows x 100 x f32>) -> !model.tensor<rows x 100 x f32>
      model.save %37 to "layers.mlp.act_fn" : <rows x 100 x f32>
      %38 = model.mul %37, %36 : (!model.tensor<rows x 100 x f32>, !model.tensor<rows x 100 x f32>) -> !model.tensor<rows x 100 x f32>
      model.save %38 to "layers.mlp.gate_up" : <rows x 100 x f32>
      %39 = model.parameter ["model.layers.{layer}.mlp.down_proj.weight", "layers.{layer}.mlp.down_proj.weight"] : <60 x 100 x f32>
      %40 = model.linear %38, %39 : (!model.tensor<rows x 100 x f32>, !model.tensor<60 x 100 x f32>) -> !model.tensor<rows x 60 x f32>
      %41 = model.add %30, %40 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      model.yield %41 : !model.tensor<rows x 60 x f32>
    }
    %4 = model.parameter ["model.norm.weight", "norm.weight"] : <60 x f32>
    %5 = model.rms_norm %3, %4 {epsilon = 0.00999999977 : f32} : (!model.tensor<rows x 60 x f32>, !model.tensor<60 x f32>) -> !model.tensor<rows x 60 x f32>
    %6 = model.parameter ["lm_head.weight"] : <131 x 60 x f32>
    %loss, %statistics = model.cross_entropy %5, %6, %arg2, %arg3 : (!model.tensor<rows x 60 x f32>, !model.tensor<131 x 60 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !model.tensor<rows x 2 x f32>)
    %7 = model.cross_entropy_input_gradient %5, %6, %arg2, %arg3, %statistics : (!model.tensor<rows x 60 x f32>, !model.tensor<131 x 60 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 60 x f32>
    %8 = model.cross_entropy_weight_gradient %5, %6, %arg2, %arg3, %statistics : (!model.tensor<rows x 60 x f32>, !model.tensor<131 x 60 x f32>, !model.tensor<rows x i32>, !model.tensor<rows x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<131 x 60 x f32>
    model.gradient %8 of %6 : <131 x 60 x f32>, <131 x 60 x f32>
    %9 = model.norm_statistics %3 {epsilon = 0.00999999977 : f32, norm = #model.norm<rms>} : (!model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 2 x f32>
    %10 = model.norm_input_gradient %7, %3, %4, %9 {norm = #model.norm<rms>} : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>, !model.tensor<60 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 60 x f32>
    %11 = model.norm_weight_gradient %7, %3, %9 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<60 x f32>
    model.gradient %11 of %4 : <60 x f32>, <60 x f32>
    %12 = model.stack %10 repeat 3 reverse : (!model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32> {
    ^bb0(%arg4: !model.tensor<rows x 60 x f32>):
      %14 = model.saved "layers.input" : <rows x 60 x f32>
      %15 = model.saved "layers.input_layernorm" : <rows x 60 x f32>
      %16 = model.saved "layers.self_attn.attention.1" : <rows x 6 x 2 x f32>
      %17 = model.saved "layers.self_attn.v_proj" : <rows x 32 x f32>
      %18 = model.saved "layers.self_attn.k_rope" : <rows x 2 x 16 x f32>
      %19 = model.saved "layers.self_attn.q_rope" : <rows x 6 x 16 x f32>
      %20 = model.saved "layers.self_attn.attention" : <rows x 6 x 16 x f32>
      %21 = model.saved "layers.self_attn.o_proj.residual" : <rows x 60 x f32>
      %22 = model.saved "layers.post_attention_layernorm" : <rows x 60 x f32>
      %23 = model.saved "layers.mlp.gate_proj" : <rows x 100 x f32>
      %24 = model.saved "layers.mlp.act_fn" : <rows x 100 x f32>
      %25 = model.saved "layers.mlp.up_proj" : <rows x 100 x f32>
      %26 = model.saved "layers.mlp.gate_up" : <rows x 100 x f32>
      %27 = model.parameter ["model.layers.{layer}.mlp.down_proj.weight", "layers.{layer}.mlp.down_proj.weight"] : <60 x 100 x f32>
      %28 = model.linear_input_gradient %arg4, %27 : (!model.tensor<rows x 60 x f32>, !model.tensor<60 x 100 x f32>) -> !model.tensor<rows x 100 x f32>
      %29 = model.linear_weight_gradient %arg4, %26 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 100 x f32>) -> !model.tensor<60 x 100 x f32>
      model.gradient %29 of %27 : <60 x 100 x f32>, <60 x 100 x f32>
      %30 = model.mul %28, %25 : (!model.tensor<rows x 100 x f32>, !model.tensor<rows x 100 x f32>) -> !model.tensor<rows x 100 x f32>
      %31 = model.mul %28, %24 : (!model.tensor<rows x 100 x f32>, !model.tensor<rows x 100 x f32>) -> !model.tensor<rows x 100 x f32>
      %32 = model.activate_gradient %30, %23 {activation = #model.activation<silu>} : (!model.tensor<rows x 100 x f32>, !model.tensor<rows x 100 x f32>) -> !model.tensor<rows x 100 x f32>
      %33 = model.parameter ["model.layers.{layer}.mlp.up_proj.weight", "layers.{layer}.mlp.up_proj.weight"] : <100 x 60 x f32>
      %34 = model.linear_input_gradient %31, %33 : (!model.tensor<rows x 100 x f32>, !model.tensor<100 x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      %35 = model.linear_weight_gradient %31, %22 : (!model.tensor<rows x 100 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<100 x 60 x f32>
      model.gradient %35 of %33 : <100 x 60 x f32>, <100 x 60 x f32>
      %36 = model.parameter ["model.layers.{layer}.mlp.gate_proj.weight", "layers.{layer}.mlp.gate_proj.weight"] : <100 x 60 x f32>
      %37 = model.linear_input_gradient %32, %36 : (!model.tensor<rows x 100 x f32>, !model.tensor<100 x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      %38 = model.add %34, %37 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      %39 = model.linear_weight_gradient %32, %22 : (!model.tensor<rows x 100 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<100 x 60 x f32>
      model.gradient %39 of %36 : <100 x 60 x f32>, <100 x 60 x f32>
      %40 = model.norm_statistics %21 {epsilon = 0.00999999977 : f32, norm = #model.norm<rms>} : (!model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 2 x f32>
      %41 = model.parameter ["model.layers.{layer}.post_attention_layernorm.weight", "layers.{layer}.post_attention_layernorm.weight"] : <60 x f32>
      %42 = model.norm_input_gradient %38, %21, %41, %40 {norm = #model.norm<rms>} : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>, !model.tensor<60 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 60 x f32>
      %43 = model.add %arg4, %42 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      %44 = model.norm_weight_gradient %38, %21, %40 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<60 x f32>
      model.gradient %44 of %41 : <60 x f32>, <60 x f32>
      %45 = model.parameter ["model.layers.{layer}.self_attn.o_proj.weight", "layers.{layer}.self_attn.o_proj.weight"] : <60 x 96 x f32>
      %46 = model.linear_input_gradient %43, %45 : (!model.tensor<rows x 60 x f32>, !model.tensor<60 x 96 x f32>) -> !model.tensor<rows x 96 x f32>
      %47 = model.reshape %20 : (!model.tensor<rows x 6 x 16 x f32>) -> !model.tensor<rows x 96 x f32>
      %48 = model.linear_weight_gradient %43, %47 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 96 x f32>) -> !model.tensor<60 x 96 x f32>
      model.gradient %48 of %45 : <60 x 96 x f32>, <60 x 96 x f32>
      %49 = model.reshape %46 : (!model.tensor<rows x 96 x f32>) -> !model.tensor<rows x 6 x 16 x f32>
      %50 = model.attention_delta %49, %20 : (!model.tensor<rows x 6 x 16 x f32>, !model.tensor<rows x 6 x 16 x f32>) -> !model.tensor<rows x 6 x f32>
      %51 = model.reshape %17 : (!model.tensor<rows x 32 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
      %52 = model.attention_query_gradient %49, %19, %18, %51, %50, %16, %arg1 {scale = 2.500000e-01 : f32} : (!model.tensor<rows x 6 x 16 x f32>, !model.tensor<rows x 6 x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 6 x f32>, !model.tensor<rows x 6 x 2 x f32>, !model.tensor<rows x i32>) -> !model.tensor<rows x 6 x 16 x f32>
      %keys, %values = model.attention_key_value_gradient %49, %19, %18, %51, %50, %16, %arg1 {scale = 2.500000e-01 : f32} : (!model.tensor<rows x 6 x 16 x f32>, !model.tensor<rows x 6 x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 6 x f32>, !model.tensor<rows x 6 x 2 x f32>, !model.tensor<rows x i32>) -> (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x 16 x f32>)
      %53 = model.rope_gradient %keys, %2 : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
      %54 = model.rope_gradient %52, %2 : (!model.tensor<rows x 6 x 16 x f32>, !model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 6 x 16 x f32>
      %55 = model.reshape %values : (!model.tensor<rows x 2 x 16 x f32>) -> !model.tensor<rows x 32 x f32>
      %56 = model.parameter ["model.layers.{layer}.self_attn.v_proj.weight", "layers.{layer}.self_attn.v_proj.weight"] : <32 x 60 x f32>
      %57 = model.linear_input_gradient %55, %56 : (!model.tensor<rows x 32 x f32>, !model.tensor<32 x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      %58 = model.linear_weight_gradient %55, %15 : (!model.tensor<rows x 32 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<32 x 60 x f32>
      model.gradient %58 of %56 : <32 x 60 x f32>, <32 x 60 x f32>
      %59 = model.reshape %53 : (!model.tensor<rows x 2 x 16 x f32>) -> !model.tensor<rows x 32 x f32>
      %60 = model.parameter ["model.layers.{layer}.self_attn.k_proj.weight", "layers.{layer}.self_attn.k_proj.weight"] : <32 x 60 x f32>
      %61 = model.linear_input_gradient %59, %60 : (!model.tensor<rows x 32 x f32>, !model.tensor<32 x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      %62 = model.add %57, %61 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      %63 = model.linear_weight_gradient %59, %15 : (!model.tensor<rows x 32 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<32 x 60 x f32>
      model.gradient %63 of %60 : <32 x 60 x f32>, <32 x 60 x f32>
      %64 = model.reshape %54 : (!model.tensor<rows x 6 x 16 x f32>) -> !model.tensor<rows x 96 x f32>
      %65 = model.parameter ["model.layers.{layer}.self_attn.q_proj.weight", "layers.{layer}.self_attn.q_proj.weight"] : <96 x 60 x f32>
      %66 = model.linear_input_gradient %64, %65 : (!model.tensor<rows x 96 x f32>, !model.tensor<96 x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      %67 = model.add %62, %66 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      %68 = model.linear_weight_gradient %64, %15 : (!model.tensor<rows x 96 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<96 x 60 x f32>
      model.gradient %68 of %65 : <96 x 60 x f32>, <96 x 60 x f32>
      %69 = model.norm_statistics %14 {epsilon = 0.00999999977 : f32, norm = #model.norm<rms>} : (!model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 2 x f32>
      %70 = model.parameter ["model.layers.{layer}.input_layernorm.weight", "layers.{layer}.input_layernorm.weight"] : <60 x f32>
      %71 = model.norm_input_gradient %67, %14, %70, %69 {norm = #model.norm<rms>} : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>, !model.tensor<60 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 60 x f32>
      %72 = model.add %43, %71 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>
      %73 = model.norm_weight_gradient %67, %14, %69 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<60 x f32>
      model.gradient %73 of %70 : <60 x f32>, <60 x f32>
      model.yield %72 : !model.tensor<rows x 60 x f32>
    }
    %13 = model.embedding_gradient %12, %arg0 : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x i32>) -> !model.tensor<131 x 60 x f32>
    model.gradient %13 of %0 : <131 x 60 x f32>, <131 x 60 x f32>
    model.return %loss : !model.tensor<rows x f32>
  }
}

