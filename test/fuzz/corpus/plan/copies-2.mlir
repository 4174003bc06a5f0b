// The first value is read by the stack alone, but what it is a view of is not.
// CHECK-LABEL: event.program @read_behind_the_view
// CHECK: event.phase "scale" {{.*}}#event.access<write @scale,
// CHECK: event.phase "carried" {{.*}}#event.access<read @scale, {{.*}}#event.access<write @carried,
// CHECK: event.phase "tanh" {{.*}}#event.access<write @carried,
// CHECK: event.phase "add" {{.*}}#event.access<read @scale,
model.program @read_behind_the_view max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %e3 = model.reshape %e : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
  %x3 = model.scale %e3 {factor = 2.0 : f32} : (!model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
  %x = model.reshape %x3 : (!model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 4 x f32>
  %y = model.stack %x repeat 3 : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32> {
  ^bb0(%a: !model.tensor<rows x 4 x f32>):
    %t = model.tanh %a : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32>
    model.yield %t : !model.tensor<rows x 4 x f32>
  }
  %y3 = model.reshape %y : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
  %s3 = model.add %y3, %x3 : (!model.tensor<rows x 2 x 2 x f32>, !model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
  %s = model.reshape %s3 : (!model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 4 x f32>
  %l = model.last_rows %s : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}
