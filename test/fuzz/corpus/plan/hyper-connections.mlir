// Two residual streams around two feed-forward sublayers: what
// docs/hyper-connections.md walks through.
//
//   batonc models/examples/hyper-connections.mlir --emit=event

!tokens = !model.tensor<rows x i32>
!x = !model.tensor<rows x 2 x 32 x f32>
!read = !model.tensor<rows x 32 x f32>
!wide = !model.tensor<rows x 64 x f32>
!maps = !model.tensor<rows x 8 x f32>
!phi = !model.tensor<8 x 64 x f32>
!scale = !model.tensor<3 x f32>
!base = !model.tensor<8 x f32>
!up = !model.tensor<64 x 32 x f32>
!down = !model.tensor<32 x 64 x f32>
!table = !model.tensor<48 x 32 x f32>

model.program @hyper_connections max_seq 64 {
^bb0(%tokens: !tokens):
  %table = model.parameter ["embed"] : !table
  %embedded = model.embedding %tokens, %table : (!tokens, !table) -> !read
  %one = model.reshape %embedded : (!read) -> !model.tensor<rows x 1 x 32 x f32>
  %streams = model.broadcast %one {axis = 1 : i64, times = 2 : i64} : (!model.tensor<rows x 1 x 32 x f32>) -> !x
  %layers = model.stack %streams repeat 3 : (!x) -> !x {
  ^bb1(%x0: !x):
    %phi0 = model.parameter ["layers.{layer}.first_hc.fn"] : !phi
    %scale0 = model.parameter ["layers.{layer}.first_hc.scale"] : !scale
    %base0 = model.parameter ["layers.{layer}.first_hc.base"] : !base
    %logits0 = model.hyper_project %x0, %phi0 {epsilon = 1.0e-6 : f32} : (!x, !phi) -> !maps
    %maps0 = model.hyper_maps %logits0, %scale0, %base0 {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!maps, !scale, !base) -> !maps
    %reads0 = model.slice %maps0 {axis = 1 : i64, offset = 0 : i64} : (!maps) -> !model.tensor<rows x 2 x f32>
    %h0 = model.hyper_pre %x0, %reads0 : (!x, !model.tensor<rows x 2 x f32>) -> !read
    %up0 = model.parameter ["layers.{layer}.first.up"] : !up
    %a0 = model.linear %h0, %up0 : (!read, !up) -> !wide
    %b0 = model.activate %a0 {activation = #model.activation<relu>} : (!wide) -> !wide
    %down0 = model.parameter ["layers.{layer}.first.down"] : !down
    %y0 = model.linear %b0, %down0 : (!wide, !down) -> !read
    %writes0 = model.slice %maps0 {axis = 1 : i64, offset = 2 : i64} : (!maps) -> !model.tensor<rows x 6 x f32>
    %x1 = model.hyper_post %x0, %y0, %writes0 : (!x, !read, !model.tensor<rows x 6 x f32>) -> !x

    %phi1 = model.parameter ["layers.{layer}.second_hc.fn"] : !phi
    %scale1 = model.parameter ["layers.{layer}.second_hc.scale"] : !scale
    %base1 = model.parameter ["layers.{layer}.second_hc.base"] : !base
    %logits1 = model.hyper_project %x1, %phi1 {epsilon = 1.0e-6 : f32} : (!x, !phi) -> !maps
    %maps1 = model.hyper_maps %logits1, %scale1, %base1 {streams = 2 : i64, mixing = #model.mixing<sinkhorn>, iterations = 10 : i64, epsilon = 1.0e-6 : f32} : (!maps, !scale, !base) -> !maps
    %reads1 = model.slice %maps1 {axis = 1 : i64, offset = 0 : i64} : (!maps) -> !model.tensor<rows x 2 x f32>
    %h1 = model.hyper_pre %x1, %reads1 : (!x, !model.tensor<rows x 2 x f32>) -> !read
    %up1 = model.parameter ["layers.{layer}.second.up"] : !up
    %a1 = model.linear %h1, %up1 : (!read, !up) -> !wide
    %b1 = model.activate %a1 {activation = #model.activation<relu>} : (!wide) -> !wide
    %down1 = model.parameter ["layers.{layer}.second.down"] : !down
    %y1 = model.linear %b1, %down1 : (!wide, !down) -> !read
    %writes1 = model.slice %maps1 {axis = 1 : i64, offset = 2 : i64} : (!maps) -> !model.tensor<rows x 6 x f32>
    %x2 = model.hyper_post %x1, %y1, %writes1 : (!x, !read, !model.tensor<rows x 6 x f32>) -> !x
    model.yield %x2 : !x
  }
  %joined = model.reshape %layers : (!x) -> !wide
  %last = model.last_rows %joined : (!wide) -> !model.tensor<outputs x 64 x f32>
  %split = model.reshape %last : (!model.tensor<outputs x 64 x f32>) -> !model.tensor<outputs x 2 x 32 x f32>
  %head = model.parameter ["hc_head.fn"] : !model.tensor<2 x 64 x f32>
  %head_scale = model.parameter ["hc_head.scale"] : !model.tensor<1 x f32>
  %head_base = model.parameter ["hc_head.base"] : !model.tensor<2 x f32>
  %head_logits = model.hyper_project %split, %head {epsilon = 1.0e-6 : f32} : (!model.tensor<outputs x 2 x 32 x f32>, !model.tensor<2 x 64 x f32>) -> !model.tensor<outputs x 2 x f32>
  %head_maps = model.hyper_maps %head_logits, %head_scale, %head_base {streams = 2 : i64, mixing = #model.mixing<none>, epsilon = 1.0e-6 : f32} : (!model.tensor<outputs x 2 x f32>, !model.tensor<1 x f32>, !model.tensor<2 x f32>) -> !model.tensor<outputs x 2 x f32>
  %end = model.hyper_pre %split, %head_maps : (!model.tensor<outputs x 2 x 32 x f32>, !model.tensor<outputs x 2 x f32>) -> !model.tensor<outputs x 32 x f32>
  %logits = model.linear %end, %table : (!model.tensor<outputs x 32 x f32>, !table) -> !model.tensor<outputs x 48 x f32>
  model.return %logits : !model.tensor<outputs x 48 x f32>
}
