// Values that change places go through copies of both.
// CHECK-LABEL: event.program @swapped
// CHECK: event.segment "layers" repeat 3
// CHECK-NEXT: event.phase "yielded" {{.*}}#event.access<read @tanh, {{.*}}#event.access<write @yielded,
// CHECK-NEXT: event.call "copy"
// CHECK: event.phase "yielded.2" {{.*}}#event.access<read @carried, {{.*}}#event.access<write @yielded.2,
// CHECK: event.phase "carry" {{.*}}#event.access<read @yielded, {{.*}}#event.access<write @carried,
// CHECK: event.phase "carry.2" {{.*}}#event.access<read @yielded.2, {{.*}}#event.access<write @tanh,
model.program @swapped max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %f = model.tanh %e : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %y:2 = model.stack %e, %f repeat 3 : (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 4 x f32>) {
  ^bb0(%a: !model.tensor<rows x 4 x f32>, %b: !model.tensor<rows x 4 x f32>):
    model.yield %b, %a : !model.tensor<rows x 4 x f32>, !model.tensor<rows x 4 x f32>
  }
  %l = model.last_rows %y#0 : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}
