// Embedding and feed-forward layers of test/golden/llama-gqa, whose weights it takes, without
// attention: quick to compile.
model.program @feed_forward max_seq 64 family "llama" {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["model.embed_tokens.weight"] : !model.tensor<131 x 60 x f32>
  %embedded = model.embedding %tokens, %table
      : (!model.tensor<rows x i32>, !model.tensor<131 x 60 x f32>) -> !model.tensor<rows x 60 x f32>
  %decoded = model.stack %embedded repeat 3 : (!model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32> {
  ^bb0(%x: !model.tensor<rows x 60 x f32>):
    %gate_weight = model.parameter ["model.layers.{layer}.mlp.gate_proj.weight"] : !model.tensor<100 x 60 x f32>
    %gate = model.linear %x, %gate_weight
        : (!model.tensor<rows x 60 x f32>, !model.tensor<100 x 60 x f32>) -> !model.tensor<rows x 100 x f32>
    %up_weight = model.parameter ["model.layers.{layer}.mlp.up_proj.weight"] : !model.tensor<100 x 60 x f32>
    %up = model.linear %x, %up_weight
        : (!model.tensor<rows x 60 x f32>, !model.tensor<100 x 60 x f32>) -> !model.tensor<rows x 100 x f32>
    %activated = model.activate %gate {activation = #model.activation<silu>}
        : (!model.tensor<rows x 100 x f32>) -> !model.tensor<rows x 100 x f32> loc("layers.mlp.activated")
    %inner = model.mul %activated, %up
        : (!model.tensor<rows x 100 x f32>, !model.tensor<rows x 100 x f32>) -> !model.tensor<rows x 100 x f32> loc("layers.mlp.gated")
    %down_weight = model.parameter ["model.layers.{layer}.mlp.down_proj.weight"] : !model.tensor<60 x 100 x f32>
    %down = model.linear %inner, %down_weight
        : (!model.tensor<rows x 100 x f32>, !model.tensor<60 x 100 x f32>) -> !model.tensor<rows x 60 x f32>
    %sum = model.add %x, %down
        : (!model.tensor<rows x 60 x f32>, !model.tensor<rows x 60 x f32>) -> !model.tensor<rows x 60 x f32>
    model.yield %sum : !model.tensor<rows x 60 x f32>
  }
  %last = model.last_rows %decoded : (!model.tensor<rows x 60 x f32>) -> !model.tensor<outputs x 60 x f32>
  %head = model.parameter ["lm_head.weight"] : !model.tensor<131 x 60 x f32>
  %logits = model.linear %last, %head
      : (!model.tensor<outputs x 60 x f32>, !model.tensor<131 x 60 x f32>) -> !model.tensor<outputs x 131 x f32>
  model.return %logits : !model.tensor<outputs x 131 x f32>
}
