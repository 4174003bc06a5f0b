// Sums that are communicated at once, and those that are not.
//
// RUN: baton-opt %s --join-collectives | FileCheck %s

#part = #dist.placement<[replicate, replicate], partial sum(tensor)>
#other = #dist.placement<[replicate, replicate], partial sum(data)>
#whole = #dist.placement<[replicate, replicate]>
!x = !model.tensor<rows x 8 x f32>
!o = !model.tensor<outputs x 8 x f32>
dist.mesh [data = 2, tensor = 2] batch [data]

// What only waits for a sum waits for all of them.
// CHECK-LABEL: model.program @independent
// CHECK: dist.all_reduce %[[A:.+]] : {{.*}} payload "4 * rows * 8"{{$}}
// CHECK-NEXT: dist.all_reduce %{{.+}} payload "4 * rows * 8" {dist.joined}
// CHECK-NEXT: dist.all_reduce %{{.+}} payload "4 * rows * 8" {dist.joined}
// CHECK-NEXT: model.tanh
// CHECK-NEXT: model.add
model.program @independent max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %w = model.parameter ["w"] : !model.tensor<16 x 8 x f32>
  %x = model.embedding %tokens, %w : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !x
  %a = dist.all_reduce %x : !x over ["tensor"] from #part to #whole payload "4 * rows * 8"
  %t = model.tanh %a : (!x) -> !x
  %b = dist.all_reduce %x : !x over ["tensor"] from #part to #whole payload "4 * rows * 8"
  %u = model.scale %x {factor = 2.0 : f32} : (!x) -> !x
  %s = model.add %t, %b : (!x, !x) -> !x
  %c = dist.all_reduce %u : !x over ["tensor"] from #part to #whole payload "4 * rows * 8"
  %y = model.add %s, %c : (!x, !x) -> !x
  %last = model.last_rows %y : (!x) -> !o
  %l = model.linear %last, %w : (!o, !model.tensor<16 x 8 x f32>) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}

// Sums over other axes stand in between, and go along with none of these.
// CHECK-LABEL: model.program @between
// CHECK: dist.all_reduce %{{.+}} over ["data"] {{.*}} payload "4 * rows * 8"{{$}}
// CHECK-NEXT: model.tanh
// CHECK-NEXT: dist.all_reduce %{{.+}} over ["tensor"] {{.*}} payload "4 * rows * 8"{{$}}
// CHECK-NEXT: dist.all_reduce %{{.+}} over ["tensor"] {{.*}} payload "4 * rows * 8" {dist.joined}
// CHECK-NOT: dist.joined
// CHECK: model.return
model.program @between max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %w = model.parameter ["w"] : !model.tensor<16 x 8 x f32>
  %x = model.embedding %tokens, %w : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !x
  %a = dist.all_reduce %x : !x over ["tensor"] from #part to #whole payload "4 * rows * 8"
  %b = dist.all_reduce %x : !x over ["data"] from #other to #whole payload "4 * rows * 8"
  %t = model.tanh %b : (!x) -> !x
  %c = dist.all_reduce %x : !x over ["tensor"] from #part to #whole payload "4 * rows * 8"
  %s = model.add %a, %t : (!x, !x) -> !x
  %y = model.add %s, %c : (!x, !x) -> !x
  %last = model.last_rows %y : (!x) -> !o
  %l = model.linear %last, %w : (!o, !model.tensor<16 x 8 x f32>) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}

// One that depends on another, over other axes, or past an effect.
// CHECK-LABEL: model.program @apart
// CHECK-COUNT-5: dist.all_reduce
// CHECK-NOT: dist.joined
// CHECK: model.return
model.program @apart max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %w = model.parameter ["w"] : !model.tensor<16 x 8 x f32>
  %x = model.embedding %tokens, %w : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !x
  %a = dist.all_reduce %x : !x over ["tensor"] from #part to #whole payload "4 * rows * 8"
  %t = model.tanh %a : (!x) -> !x
  %b = dist.all_reduce %t : !x over ["tensor"] from #part to #whole payload "4 * rows * 8"
  %c = dist.all_reduce %x : !x over ["data"] from #other to #whole payload "4 * rows * 8"
  %d = dist.all_reduce %x : !x over ["tensor"] from #part to #whole payload "4 * rows * 8"
  %h = model.reshape %d : (!x) -> !model.tensor<rows x 2 x 4 x f32>
  %k = model.kv_append %h to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
  %e = dist.all_reduce %x : !x over ["tensor"] from #part to #whole payload "4 * rows * 8"
  %s = model.add %b, %c : (!x, !x) -> !x
  %y = model.add %s, %e : (!x, !x) -> !x
  %last = model.last_rows %y : (!x) -> !o
  %l = model.linear %last, %w : (!o, !model.tensor<16 x 8 x f32>) -> !model.tensor<outputs x 16 x f32>
  model.return %l : !model.tensor<outputs x 16 x f32>
}
