// One attention block in fused form, small enough to read: 4 query heads on 2
// key/value heads of 8, three layers. Input of the tests beside this folder.

model.program @block max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["embed"] : !model.tensor<50 x 32 x bf16>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<50 x 32 x bf16>) -> !model.tensor<rows x 32 x f32>
  %angles = model.rope_table {frequencies = array<f32: 1.0, 0.5, 0.25, 0.125>} : () -> !model.tensor<rows x 8 x f32>
  %y = model.stack %e repeat 3 : (!model.tensor<rows x 32 x f32>) -> !model.tensor<rows x 32 x f32> {
  ^bb0(%x: !model.tensor<rows x 32 x f32>):
    %g = model.parameter ["h.{layer}.norm"] : !model.tensor<32 x f32>
    %wq = model.parameter ["h.{layer}.q"] : !model.tensor<32 x 32 x bf16>
    %wkv = model.parameter ["h.{layer}.kv"] : !model.tensor<32 x 32 x bf16>
    %w = model.concat %wq, %wkv : (!model.tensor<32 x 32 x bf16>, !model.tensor<32 x 32 x bf16>) -> !model.tensor<64 x 32 x bf16>
    %qkv = model.linear %x, %w norm_weight %g {norm = #model.norm<rms>, epsilon = 1.0e-5 : f32} : (!model.tensor<rows x 32 x f32>, !model.tensor<64 x 32 x bf16>, !model.tensor<32 x f32>) -> !model.tensor<rows x 64 x f32>
    %q1 = model.slice %qkv {axis = 1, offset = 0} : (!model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 32 x f32>
    %k1 = model.slice %qkv {axis = 1, offset = 32} : (!model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 16 x f32>
    %v1 = model.slice %qkv {axis = 1, offset = 48} : (!model.tensor<rows x 64 x f32>) -> !model.tensor<rows x 16 x f32>
    %q2 = model.reshape %q1 : (!model.tensor<rows x 32 x f32>) -> !model.tensor<rows x 4 x 8 x f32>
    %k2 = model.reshape %k1 : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 2 x 8 x f32>
    %v2 = model.reshape %v1 : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 2 x 8 x f32>
    %k3 = model.rope %k2, %angles : (!model.tensor<rows x 2 x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 8 x f32>
    %k = model.kv_append %k3 to "k" : (!model.tensor<rows x 2 x 8 x f32>) -> !model.tensor<kv x 2 x 8 x f32>
    %v = model.kv_append %v2 to "v" : (!model.tensor<rows x 2 x 8 x f32>) -> !model.tensor<kv x 2 x 8 x f32>
    %a = model.attention %q2, %k, %v {scale = 0.35 : f32} : (!model.tensor<rows x 4 x 8 x f32>, !model.tensor<kv x 2 x 8 x f32>, !model.tensor<kv x 2 x 8 x f32>) -> !model.tensor<rows x 4 x 8 x f32>
    %a1 = model.reshape %a : (!model.tensor<rows x 4 x 8 x f32>) -> !model.tensor<rows x 32 x f32>
    %wo = model.parameter ["h.{layer}.o"] : !model.tensor<32 x 32 x bf16>
    %h = model.linear %a1, %wo residual %x : (!model.tensor<rows x 32 x f32>, !model.tensor<32 x 32 x bf16>, !model.tensor<rows x 32 x f32>) -> !model.tensor<rows x 32 x f32>
    model.yield %h : !model.tensor<rows x 32 x f32>
  }
  %l = model.last_rows %y : (!model.tensor<rows x 32 x f32>) -> !model.tensor<outputs x 32 x f32>
  %wl = model.parameter ["head"] : !model.tensor<50 x 32 x bf16>
  %logits = model.linear %l, %wl : (!model.tensor<outputs x 32 x f32>, !model.tensor<50 x 32 x bf16>) -> !model.tensor<outputs x 50 x f32>
  model.return %logits : !model.tensor<outputs x 50 x f32>
}
