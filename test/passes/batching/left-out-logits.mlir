// Logits that sampling alone reads may be left out, by panels of 16 tokens: the tasks of
// the linear that makes them have a condition. What a running count of wanted panels says
// of a task's own ones tells it whether it has work; of several it looks at both ends.
//
// RUN: baton-opt %s --batch-form=sequences=3 --tile-tasks="max-rows=8 max-outputs=3 linear-columns=32" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s
// RUN: baton-opt %s --batch-form=sequences=3 --tile-tasks="max-rows=8 max-outputs=3 linear-columns=32" --schedule-static --derive-events --plan-memory | baton-opt --event-verify | FileCheck %s
// RUN: baton-opt %s --batch-form=sequences=3 --tile-tasks="max-rows=8 max-outputs=3 linear-columns=32" --schedule-static --derive-events --plan-memory | sed 's/accesses .#event.access<may read @linear, (d0).s0, s1, s2. -> (d0, 0)/accesses [#event.access<read @linear, (d0)[s0, s1, s2] -> (d0, 0)/' | not baton-opt --event-verify 2>&1 | FileCheck %s --check-prefix=RELIED
// RUN: baton-opt %s --batch-form=sequences=3 --tile-tasks="max-rows=8 max-outputs=3 linear-columns=32" --schedule-static --derive-events --plan-memory | sed 's/(d1 . 2 + 2, 7)/(d1 * 2 + 2)/' | not baton-opt --event-verify 2>&1 | FileCheck %s --check-prefix=BEHIND

// CHECK: event.program @left
// CHECK-SAME: of what tasks leave out, by a table of the step, no row of the step reads any
// CHECK-SAME: the table @wanted_panels holds 0 to 8
// CHECK: event.buffer @wanted_panels persistent : i32 extents {{.*}} capacity [8] strides [1]
// CHECK-SAME: role = "input"
// CHECK: event.phase "linear" grid {{.*}} capacity [1, 4] when <@wanted_panels, (d0, d1)[s0, s1, s2] -> (d1 * 2) below (d0, d1)[s0, s1, s2] -> (d1 * 2 + 2, 7) by 16>
// CHECK-SAME: #event.access<read @wanted_panels, (d0, d1)[s0, s1, s2] -> (d1 * 2) to (d0, d1)[s0, s1, s2] -> (d1 * 2 + 3)>
// CHECK-SAME: #event.access<may write @linear
// CHECK: event.phase "sample"
// CHECK-SAME: accesses [#event.access<may read @linear
// CHECK: event.phase "advance"
// CHECK-SAME: accesses [#event.access<may read @linear
// CHECK-SAME: #event.access<write @wanted_panels

// Who relies on all of them is rejected, and so is a look behind the count's end.
// RELIED: error: phase 'sample' reads @linear({{[0-2]}}, 0), which no task before it writes
// BEHIND: error: phase 'linear' has a condition of @wanted_panels(8), of which it states no read

// Where something else reads them, as a cap does, all are made.
// CHECK: event.program @capped
// CHECK-NOT: when <
// CHECK: event.phase "sample"
// CHECK-SAME: accesses [#event.access<read @

model.program @left max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<100 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<100 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %wpe = model.parameter ["wpe"] : !model.tensor<64 x 8 x f32>
  %p = model.position_embedding %wpe : (!model.tensor<64 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %x = model.add %e, %p : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %angles = model.rope_table {frequencies = array<f32: 1.0, 0.1>} : () -> !model.tensor<rows x 4 x f32>
  %y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    %h = model.reshape %a : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
    %q = model.rope %h, %angles : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
    %k = model.kv_append %q to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
    %v = model.kv_append %h to "v" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
    %o = model.attention %q, %k, %v, %h {scale = 0.5 : f32, window = 7 : i64} : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
    %b = model.reshape %o : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 8 x f32>
    model.yield %b : !model.tensor<rows x 8 x f32>
  }
  %last = model.last_rows %y : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %g = model.parameter ["norm"] : !model.tensor<8 x f32>
  %n = model.rms_norm %last, %g {epsilon = 1.0e-5 : f32} : (!model.tensor<outputs x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %n, %wte : (!model.tensor<outputs x 8 x f32>, !model.tensor<100 x 8 x f32>) -> !model.tensor<outputs x 100 x f32>
  model.return %l : !model.tensor<outputs x 100 x f32>
}

model.program @capped max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<16 x 8 x f32>
  %e = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %wpe = model.parameter ["wpe"] : !model.tensor<64 x 8 x f32>
  %p = model.position_embedding %wpe : (!model.tensor<64 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %x = model.add %e, %p : (!model.tensor<rows x 8 x f32>, !model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %angles = model.rope_table {frequencies = array<f32: 1.0, 0.1>} : () -> !model.tensor<rows x 4 x f32>
  %y = model.stack %x repeat 2 : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 8 x f32> {
  ^bb1(%a: !model.tensor<rows x 8 x f32>):
    %h = model.reshape %a : (!model.tensor<rows x 8 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
    %q = model.rope %h, %angles : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<rows x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
    %k = model.kv_append %q to "k" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
    %v = model.kv_append %h to "v" : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<kv x 2 x 4 x f32>
    %o = model.attention %q, %k, %v, %h {scale = 0.5 : f32, window = 7 : i64} : (!model.tensor<rows x 2 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<kv x 2 x 4 x f32>, !model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 2 x 4 x f32>
    %b = model.reshape %o : (!model.tensor<rows x 2 x 4 x f32>) -> !model.tensor<rows x 8 x f32>
    model.yield %b : !model.tensor<rows x 8 x f32>
  }
  %last = model.last_rows %y : (!model.tensor<rows x 8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %g = model.parameter ["norm"] : !model.tensor<8 x f32>
  %n = model.rms_norm %last, %g {epsilon = 1.0e-5 : f32} : (!model.tensor<outputs x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %n, %wte : (!model.tensor<outputs x 8 x f32>, !model.tensor<16 x 8 x f32>) -> !model.tensor<outputs x 16 x f32>
  %s = model.scale %l {factor = 0.0666666701 : f32} : (!model.tensor<outputs x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
  %t = model.tanh %s : (!model.tensor<outputs x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
  %c = model.scale %t {factor = 30.0 : f32} : (!model.tensor<outputs x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
  model.return %c : !model.tensor<outputs x 16 x f32>
}
