// Rows go to experts and come back: each expert has a segment of places, which only the step
// knows, and the plan is proved for any.
//
// RUN: baton-opt %s --tile-tasks="max-rows=8 max-outputs=3" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s
// RUN: baton-opt %s | baton-opt | FileCheck %s --check-prefix=MODEL

// MODEL: model.parameter ["layers.{layer}.experts.{expert}.gate"] : <4 x 32 x 16 x bf16>
// MODEL: %{{.+}}, %{{.+}} = model.route %{{.+}}, %{{.+}} {factor = 2.500000e+00 : f32, normalize, scoring = #model.scoring<sigmoid>}

// CHECK: event.program @mixture {{.*}}the table @dispatch.bounds holds 0 to rows * 2 + 1, partition
// CHECK: event.buffer @dispatch.bounds transient : i32 {{.*}}capacity [5]
// CHECK: event.table @dispatch.bounds holds {{.*}}(0) to {{.*}}(s0 * 2 + 1){{.*}} partition
// CHECK: event.table @dispatch.choices holds {{.*}}(0) to {{.*}}(s0 * 2){{.*}} distinct
// CHECK: event.table @dispatch.places holds {{.*}}(0) to {{.*}}(s0 * 2){{.*}} distinct
// CHECK: event.buffer @gather transient : f32 {{.*}}capacity [16, 16]
// CHECK: event.parameter @gate_up.weight : bf16 layers 2 as #event.panels<256 by 16 alternating>
// CHECK-SAME: from [#event.source<["layers.{layer}.experts.0.gate"] : 32 by 16>{{.*}}"layers.{layer}.experts.3.up"] : 32 by 16>]
// CHECK: event.phase "route" grid
// CHECK: event.call "route_rows"
// CHECK: event.phase "dispatch" grid
// CHECK: event.call "dispatch_rows"
// CHECK: event.phase "gather" grid
// CHECK: event.call "gather_rows"
// A task of an expert waits for all rows, and writes its segment.
// CHECK: event.phase "gate_up" grid {{.*}}capacity [4, 1]
// CHECK-SAME: entries [#event.address<@dispatch.bounds, (d0, d1)[s0, s1, s2] -> (d0)>, #event.address<@dispatch.bounds, (d0, d1)[s0, s1, s2] -> (d0 + 1)>]
// CHECK-SAME: #event.access<read @gather, (d0, d1, d2, d3)[s0, s1, s2] -> (d2, 0) to (d0, d1, d2, d3)[s0, s1, s2] -> (d3, 16)>
// CHECK-SAME: #event.access<write @gate_up, (d0, d1, d2, d3)[s0, s1, s2] -> (d2, d1 * 32) to (d0, d1, d2, d3)[s0, s1, s2] -> (d3, d1 * 32 + 32)>
// CHECK-SAME: waits [#event.wait<@gather.done
// CHECK: event.call "gated_linear_bf16"
// The second product of an expert waits for its first one.
// CHECK: event.phase "down" grid {{.*}}capacity [4, 1]
// CHECK-SAME: waits [#event.wait<@gate_up.done, (d0, d1)[s0, s1, s2] -> (d0) to (d0, d1)[s0, s1, s2] -> (d0 + 1)>]
// CHECK: event.call "linear_bf16"
// CHECK: event.phase "combine" grid
// CHECK-SAME: #event.access<read @down, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s0 * 2, 16)>
// CHECK: event.call "combine_rows"
model.program @mixture max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32>
  %x0 = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<19 x 16 x f32>) -> !model.tensor<rows x 16 x f32>
  %y0 = model.stack %x0 repeat 2 : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 16 x f32> {
  ^bb1(%x: !model.tensor<rows x 16 x f32>):
    %router = model.parameter ["layers.{layer}.router"] : !model.tensor<4 x 16 x f32>
    %bias = model.parameter ["layers.{layer}.bias"] : !model.tensor<4 x f32>
    %gate = model.parameter ["layers.{layer}.experts.{expert}.gate"] : !model.tensor<4 x 32 x 16 x bf16>
    %up = model.parameter ["layers.{layer}.experts.{expert}.up"] : !model.tensor<4 x 32 x 16 x bf16>
    %down = model.parameter ["layers.{layer}.experts.{expert}.down"] : !model.tensor<4 x 16 x 32 x bf16>
    %l = model.linear %x, %router : (!model.tensor<rows x 16 x f32>, !model.tensor<4 x 16 x f32>) -> !model.tensor<rows x 4 x f32> loc("logits")
    %e, %w = model.route %l, %bias {normalize, scoring = #model.scoring<sigmoid>, factor = 2.5 : f32} : (!model.tensor<rows x 4 x f32>, !model.tensor<4 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) loc("route")
    %b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<5 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>) loc("dispatch")
    %g = model.gather %x, %c : (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 2 x 16 x f32> loc("gather")
    %h = model.grouped_gated_linear %g, %b, %gate, %up {activation = #model.activation<silu>} : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<5 x i32>, !model.tensor<4 x 32 x 16 x bf16>, !model.tensor<4 x 32 x 16 x bf16>) -> !model.tensor<rows x 2 x 32 x f32> loc("gate_up")
    %d = model.grouped_linear %h, %b, %down : (!model.tensor<rows x 2 x 32 x f32>, !model.tensor<5 x i32>, !model.tensor<4 x 16 x 32 x bf16>) -> !model.tensor<rows x 2 x 16 x f32> loc("down")
    %s = model.combine %d, %p, %w : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) -> !model.tensor<rows x 16 x f32> loc("combine")
    %r = model.add %x, %s : (!model.tensor<rows x 16 x f32>, !model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 16 x f32>
    model.yield %r : !model.tensor<rows x 16 x f32>
  }
  %last = model.last_rows %y0 : (!model.tensor<rows x 16 x f32>) -> !model.tensor<outputs x 16 x f32>
  %o = model.linear %last, %wte : (!model.tensor<outputs x 16 x f32>, !model.tensor<19 x 16 x f32>) -> !model.tensor<outputs x 19 x f32>
  model.return %o : !model.tensor<outputs x 19 x f32>
}
