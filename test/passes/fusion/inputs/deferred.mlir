module {
  model.program @lowrank max_seq 64 family "llama" {
  ^bb0(%arg0: !model.tensor<rows x i32>):
    %0 = model.parameter ["embed"] : <131 x 64 x f32>
    %1 = model.embedding %arg0, %0 : (!model.tensor<rows x i32>, !model.tensor<131 x 64 x f32>) -> !model.tensor<rows x 64 x f32>
    %2 = model.stack %1 repeat 3 : (!model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 64 x f32> {
    ^bb0(%arg1: !model.tensor<rows x 64 x f32>):
      %8 = model.parameter ["norm1.{layer}"] : <64 x f32>
      %scaled, %squares = model.norm_begin %arg1, %8 : (!model.tensor<rows x 64 x f32>, !model.tensor<64 x f32>) -> (!model.tensor<rows x 64 x f32>, !model.tensor<rows x 1 x f32>)
      %9 = model.parameter ["q_a.{layer}"] : <8 x 64 x f32>
      %10 = model.parameter ["q_b.{layer}"] : <64 x 8 x f32>
      %11 = model.parameter ["k_a.{layer}"] : <8 x 64 x f32>
      %12 = model.parameter ["k_b.{layer}"] : <32 x 8 x f32>
      %13 = model.parameter ["v_a.{layer}"] : <8 x 64 x f32>
      %14 = model.parameter ["v_b.{layer}"] : <32 x 8 x f32>
      %15 = model.linear %scaled, %9 : (!model.tensor<rows x 64 x f32>, !model.tensor<8 x 64 x f32>) -> !model.tensor<rows x 8 x f32>
      %16 = model.norm_end %15, %squares {epsilon = 9.99999974E-6 : f32, width = 64 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>
      %17 = model.linear %scaled, %11 : (!model.tensor<rows x 64 x f32>, !model.tensor<8 x 64 x f32>) -> !model.tensor<rows x 8 x f32>
      %18 = model.norm_end %17, %squares {epsilon = 9.99999974E-6 : f32, width = 64 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>
      %19 = model.linear %scaled, %13 : (!model.tensor<rows x 64 x f32>, !model.tensor<8 x 64 x f32>) -> !model.tensor<rows x 8 x f32>
      %20 = model.norm_end %19, %squares {epsilon = 9.99999974E-6 : f32, width = 64 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>
      %21 = model.linear %16, %10 : (!model.tensor<rows x 8 x f32>, !model.tensor<64 x 8 x f32>) -> !model.tensor<rows x 64 x f32>
      %22 = model.linear %18, %12 : (!model.tensor<rows x 8 x f32>, !model.tensor<32 x 8 x f32>) -> !model.tensor<rows x 32 x f32>
      %23 = model.linear %20, %14 : (!model.tensor<rows x 8 x f32>, !model.tensor<32 x 8 x f32>) -> !model.tensor<rows x 32 x f32>
      %24 = model.reshape %21 : (!model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 4 x 16 x f32>
      %25 = model.reshape %22 : (!model.tensor<rows x 32 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
      %26 = model.reshape %23 : (!model.tensor<rows x 32 x f32>) -> !model.tensor<rows x 2 x 16 x f32>
      %27 = model.kv_append %25 to "k" : (!model.tensor<rows x 2 x 16 x f32>) -> !model.tensor<kv x 2 x 16 x f32>
      %28 = model.kv_append %26 to "v" : (!model.tensor<rows x 2 x 16 x f32>) -> !model.tensor<kv x 2 x 16 x f32>
      %29 = model.attention %24, %27, %28 {scale = 2.500000e-01 : f32} : (!model.tensor<rows x 4 x 16 x f32>, !model.tensor<kv x 2 x 16 x f32>, !model.tensor<kv x 2 x 16 x f32>) -> !model.tensor<rows x 4 x 16 x f32>
      %30 = model.reshape %29 : (!model.tensor<rows x 4 x 16 x f32>) -> !model.tensor<rows x 64 x f32>
      %31 = model.parameter ["o_a.{layer}"] : <8 x 64 x f32>
      %32 = model.parameter ["o_b.{layer}"] : <64 x 8 x f32>
      %33 = model.linear %30, %31 : (!model.tensor<rows x 64 x f32>, !model.tensor<8 x 64 x f32>) -> !model.tensor<rows x 8 x f32>
      %34 = model.linear %33, %32 : (!model.tensor<rows x 8 x f32>, !model.tensor<64 x 8 x f32>) -> !model.tensor<rows x 64 x f32>
      %35 = model.add %arg1, %34 : (!model.tensor<rows x 64 x f32>, !model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 64 x f32>
      %36 = model.parameter ["norm2.{layer}"] : <64 x f32>
      %scaled_0, %squares_1 = model.norm_begin %35, %36 : (!model.tensor<rows x 64 x f32>, !model.tensor<64 x f32>) -> (!model.tensor<rows x 64 x f32>, !model.tensor<rows x 1 x f32>)
      %37 = model.parameter ["gate_a.{layer}"] : <8 x 64 x f32>
      %38 = model.parameter ["gate_b.{layer}"] : <160 x 8 x f32>
      %39 = model.parameter ["up_a.{layer}"] : <8 x 64 x f32>
      %40 = model.parameter ["up_b.{layer}"] : <160 x 8 x f32>
      %41 = model.linear %scaled_0, %37 : (!model.tensor<rows x 64 x f32>, !model.tensor<8 x 64 x f32>) -> !model.tensor<rows x 8 x f32>
      %42 = model.norm_end %41, %squares_1 {epsilon = 9.99999974E-6 : f32, width = 64 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>
      %43 = model.linear %scaled_0, %39 : (!model.tensor<rows x 64 x f32>, !model.tensor<8 x 64 x f32>) -> !model.tensor<rows x 8 x f32>
      %44 = model.norm_end %43, %squares_1 {epsilon = 9.99999974E-6 : f32, width = 64 : i64} : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 1 x f32>) -> !model.tensor<rows x 8 x f32>
      %45 = model.linear %42, %38 : (!model.tensor<rows x 8 x f32>, !model.tensor<160 x 8 x f32>) -> !model.tensor<rows x 160 x f32>
      %46 = model.linear %44, %40 : (!model.tensor<rows x 8 x f32>, !model.tensor<160 x 8 x f32>) -> !model.tensor<rows x 160 x f32>
      %47 = model.activate %45 {activation = #model.activation<silu>} : (!model.tensor<rows x 160 x f32>) -> !model.tensor<rows x 160 x f32>
      %48 = model.mul %47, %46 : (!model.tensor<rows x 160 x f32>, !model.tensor<rows x 160 x f32>) -> !model.tensor<rows x 160 x f32>
      %49 = model.parameter ["down_a.{layer}"] : <8 x 160 x f32>
      %50 = model.parameter ["down_b.{layer}"] : <64 x 8 x f32>
      %51 = model.linear %48, %49 : (!model.tensor<rows x 160 x f32>, !model.tensor<8 x 160 x f32>) -> !model.tensor<rows x 8 x f32>
      %52 = model.linear %51, %50 : (!model.tensor<rows x 8 x f32>, !model.tensor<64 x 8 x f32>) -> !model.tensor<rows x 64 x f32>
      %53 = model.add %35, %52 : (!model.tensor<rows x 64 x f32>, !model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 64 x f32>
      model.yield %53 : !model.tensor<rows x 64 x f32>
    }
    %3 = model.parameter ["final"] : <64 x f32>
    %4 = model.rms_norm %2, %3 {epsilon = 9.99999974E-6 : f32} : (!model.tensor<rows x 64 x f32>, !model.tensor<64 x f32>) -> !model.tensor<rows x 64 x f32>
    %5 = model.parameter ["head"] : <131 x 64 x f32>
    %6 = model.last_rows %4 : (!model.tensor<rows x 64 x f32>) -> !model.tensor<outputs x 64 x f32>
    %7 = model.linear %6, %5 : (!model.tensor<outputs x 64 x f32>, !model.tensor<131 x 64 x f32>) -> !model.tensor<outputs x 131 x f32>
    model.return %7 : !model.tensor<outputs x 131 x f32>
  }
}
