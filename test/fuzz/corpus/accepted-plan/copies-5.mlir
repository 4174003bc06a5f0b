// Repeated heads do not lie evenly, so that joining them takes a copy.
// CHECK-LABEL: event.program @uneven
// CHECK: event.buffer @reshape transient : f32 {{.*}} capacity [8, 8]
// CHECK: event.phase "reshape" {{.*}}#event.access<read @embedding, (d0, d1)[s0, s1, s2] -> (d0 * 4, (d1 floordiv 2) * 2) {{.*}}#event.access<write @reshape, (d0, d1)[s0, s1, s2] -> (d0 * 4, d1 * 2)
// CHECK-NEXT: event.call "copy"
// CHECK: event.phase "tanh" {{.*}}#event.access<read @reshape,
model.program @uneven max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %h = model.reshape %e : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
  %b = model.broadcast %h {axis = 1 : i64, times = 2 : i64} : (!model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 4 x 2 x f32>
  %w = model.reshape %b : (!model.tensor<rows x 4 x 2 x f32>) -> !model.tensor<rows x 8 x f32>
  %t = model.tanh %w : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %l = model.last_rows %t : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  model.return %l : !model.tensor<outputs x 8 x f32>
}
