// RUN: baton-opt %s -split-input-file --tile-tasks="max-rows=8 plain-rows=4 max-outputs=2" | FileCheck %s

// Values are copied only where they cannot stay in place, and phases of a copy
// are named for the buffer that they fill.

// A value that only the stack reads, and that is computed anew from itself
// alone, stays in one buffer.
// CHECK-LABEL: event.program @in_place
// CHECK-NOT: "copy"
// CHECK: event.segment "layers" repeat 3
// CHECK-NEXT: event.phase "tanh" {{.*}}#event.access<read @embedding, {{.*}}#event.access<write @embedding,
// CHECK: event.segment "end"
// CHECK-NEXT: event.phase "logits" {{.*}}#event.access<read @embedding,
model.program @in_place max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %y = model.stack %e repeat 3 : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32> {
  ^bb0(%a: !model.tensor<rows x 4 x f32>):
    %t = model.tanh %a : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32>
    model.yield %t : !model.tensor<rows x 4 x f32>
  }
  %l = model.last_rows %y : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

// Another reader of the first value: the stack gets a copy.
// CHECK-LABEL: event.program @read_again
// CHECK: event.phase "carried" {{.*}}#event.access<read @embedding, {{.*}}#event.access<write @carried,
// CHECK-NEXT: event.call "copy"
// CHECK: event.phase "tanh" {{.*}}#event.access<read @carried, {{.*}}#event.access<write @carried,
// CHECK: event.phase "add" {{.*}}#event.access<read @carried, {{.*}}#event.access<read @embedding,
model.program @read_again max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %y = model.stack %e repeat 3 : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32> {
  ^bb0(%a: !model.tensor<rows x 4 x f32>):
    %t = model.tanh %a : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32>
    model.yield %t : !model.tensor<rows x 4 x f32>
  }
  %s = model.add %y, %e : (!model.tensor<rows x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %l = model.last_rows %s : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

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

// -----

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

// -----

// The old value is read, through a view, after the new one is there: the new
// one gets a buffer of its own first.
// CHECK-LABEL: event.program @old_value_read_late
// CHECK: event.phase "tanh" {{.*}}#event.access<read @embedding, {{.*}}#event.access<write @tanh,
// CHECK: event.phase "add" {{.*}}#event.access<read @tanh, {{.*}}#event.access<read @embedding, {{.*}}#event.access<write @add,
// CHECK: event.phase "yielded" {{.*}}#event.access<read @add,
// CHECK: event.phase "carry" {{.*}}#event.access<write @embedding,
model.program @old_value_read_late max_seq 8 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %table = model.parameter ["t"] : !model.tensor<4 x 4 x f32>
  %e = model.embedding %tokens, %table : (!model.tensor<rows x i32>, !model.tensor<4 x 4 x f32>) -> !model.tensor<rows x 4 x f32>
  %y = model.stack %e repeat 3 : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32> {
  ^bb0(%a: !model.tensor<rows x 4 x f32>):
    %v = model.reshape %a : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
    %t = model.tanh %a : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 4 x f32>
    %t3 = model.reshape %t : (!model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
    %s3 = model.add %t3, %v : (!model.tensor<rows x 2 x 2 x f32>, !model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 2 x 2 x f32>
    %s = model.reshape %s3 : (!model.tensor<rows x 2 x 2 x f32>) -> !model.tensor<rows x 4 x f32>
    model.yield %s : !model.tensor<rows x 4 x f32>
  }
  %l = model.last_rows %y : (!model.tensor<rows x 4 x f32>) -> !model.tensor<outputs x 4 x f32>
  model.return %l : !model.tensor<outputs x 4 x f32>
}

// -----

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
