// Sums over ranks: buckets of gradients, and the loss.
//
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1" | FileCheck %s
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1 bucket=700" | FileCheck %s --check-prefix=SMALL
// RUN: sed -e '/%%ds/d' %s | baton-opt --tile-tasks="max-rows=64 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=EVENTS
// RUN: not baton-opt %s --tile-tasks="max-rows=64 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify 2>&1 | FileCheck %s --check-prefix=SHARED

dist.mesh [dp = 2, tp = 1] batch [dp]

!t = tensor<?x?xf32>
update.rule @plain {
^bb0(%parameter: !t, %gradient: !t):
  %p = update.map (%w = %parameter, %g = %gradient) {
    %next = arith.subf %w, %g : f32
    update.yield %next
  }
  update.return %p
}
update.group @plain

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!wide = !model.tensor<24 x 8 x f32>
!table = !model.tensor<40 x 8 x f32>
model.program @step max_seq 64 training {
^bb0(%tokens: !rows, %positions: !rows, %targets: !rows, %weights: !model.tensor<rows x f32>):
  %table = model.parameter ["table"] : !table
  %e = model.embedding %tokens, %table : (!rows, !table) -> !x
  %loss, %dx, %dtable = model.cross_entropy %e, %table, %targets, %weights : (!x, !table, !rows, !model.tensor<rows x f32>) -> (!model.tensor<rows x f32>, !x, !table)
  model.gradient %dtable of %table {dist.summed = ["dp"]} : !table, !table
  %y = model.stack %dx repeat 3 reverse : (!x) -> !x {
  ^bb1(%a: !x):
    %w = model.parameter ["layers.{layer}.wide"] : !wide
    %b = model.parameter ["layers.{layer}.bias"] : !model.tensor<24 x f32>
    %shared = model.parameter ["shared"] : !wide
    %z = model.linear %a, %w : (!x, !wide) -> !model.tensor<rows x 24 x f32>
    %dw = model.linear_weight_gradient %z, %a : (!model.tensor<rows x 24 x f32>, !x) -> !wide
    model.gradient %dw of %w {dist.summed = ["dp"]} : !wide, !wide
    %db = model.bias_gradient %z : (!model.tensor<rows x 24 x f32>) -> !model.tensor<24 x f32>
    model.gradient %db of %b {dist.summed = ["dp"]} : !model.tensor<24 x f32>, !model.tensor<24 x f32>
    %ds = model.linear_weight_gradient %z, %a : (!model.tensor<rows x 24 x f32>, !x) -> !wide
    model.gradient %ds of %shared {dist.summed = ["dp"]} : !wide, !wide
    %next = model.linear_input_gradient %z, %w : (!model.tensor<rows x 24 x f32>, !wide) -> !x
    model.yield %next : !x
  }
  %more = model.embedding_gradient %y, %tokens : (!x, !rows) -> !table
  model.gradient %more of %table {dist.summed = ["dp"]} : !table, !table
  model.return %loss : !model.tensor<rows x f32>
}

// CHECK: event.mesh ["dp", "tp"] sizes [2, 1] batch ["dp"]
// CHECK: event.storage @parameter.2.received_memory bytes 2304
// CHECK-NEXT: event.buffer @parameter.2.received transient : f32 extents {{.*}} capacity [2, 96] strides [96, 1] in @parameter.2.received_memory {layer_stride = 192 : i64, layers = 3 : i64, writers = 2 : i64}
// The table is complete behind the stack only.
// CHECK: event.segment "begin"
// CHECK-NOT: event.exchange
// Of a layer there is one bucket: what all layers add to has its own.
// CHECK: event.segment "layers.backward" repeat 3 reverse
// CHECK: event.phase "layers.gradients.exchange" grid #[[OUTPUTS:.*]] capacity [1]
// CHECK-SAME: #event.access<read @parameter.2.gradient,
// CHECK-SAME: #event.access<write @parameter.2.received,
// CHECK-NEXT: event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@parameter.2.gradient to @parameter.2.received, 192 by 96>, #event.transfer<@parameter.3.gradient to @parameter.3.received, 24 by 16>]
// CHECK-NOT: event.exchange
// CHECK: event.segment "end"
// CHECK: event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@parameter.4.gradient to @parameter.4.received, 192 by 96>, #event.transfer<@parameter.gradient to @parameter.received, 320 by 160>]
// CHECK-NOT: event.exchange
// CHECK: event.segment "sums" repeat 3 reverse
// CHECK-NEXT: event.phase "layers.gradients.sum"
// CHECK-SAME: #event.access<read @parameter.2.received, (d0)[s0, s1, s2] -> (0, d0 * 96) to (d0)[s0, s1, s2] -> (2, d0 * 96 + 96)>
// CHECK-SAME: #event.access<write @parameter.2.received, (d0)[s0, s1, s2] -> (0, d0 * 96) to (d0)[s0, s1, s2] -> (1, d0 * 96 + 96)>
// CHECK-NEXT: event.call "sum_ranks" [#event.address<@parameter.2.received, (d0)[s0, s1, s2] -> (0, d0 * 96)>, #event.address<@parameter.2.received, (d0)[s0, s1, s2] -> (0, d0 * 96)>, #event.stride<@parameter.2.received, [1, 0]>, 2, 96]
// CHECK: event.segment "sums.2" repeat 1
// CHECK: event.segment "gathers" repeat 3 reverse
// CHECK-NEXT: event.phase "layers.gradients.gather"
// CHECK-NEXT: event.exchange all_gather over ["dp"] for "all_reduce" [#event.transfer<@parameter.2.received to @parameter.2.gradient, 192 by 96>
// CHECK: event.segment "gathers.2" repeat 1
// CHECK: event.segment "update" repeat 1
// CHECK-NEXT: event.phase "loss.sum"
// CHECK-NEXT: event.call "sum_numbers" [#event.address<@loss.own, {{.*}}>, 16,
// CHECK: event.phase "loss.gather" grid #[[ONE:.*]] capacity [1]
// CHECK-NEXT: event.exchange all_gather over ["dp"] for "loss" [#event.transfer<@loss.own to @loss.ranks, 32 by 16>]
// CHECK: event.call "step_summary" [{{.*}}#event.address<@loss.ranks, {{.*}}>, #event.stride<@loss.ranks, [1, 0]>, #event.count<{{.*}} -> (2)>

// A bucket of 700 bytes is full with the first gradient, at once.
// SMALL: event.segment "layers.backward"
// SMALL: event.phase "linear_weight_gradient.weight_gradient"
// SMALL: event.phase "layers.gradients.exchange"
// SMALL-NEXT: event.exchange {{.*}}[#event.transfer<@parameter.2.gradient to @parameter.2.received, 192 by 96>]
// SMALL: event.phase "bias_gradient.bias_gradient"
// SMALL: event.phase "layers.gradients.2.exchange"
// SMALL-NEXT: event.exchange {{.*}}[#event.transfer<@parameter.3.gradient to @parameter.3.received, 24 by 16>]

// The exchange waits for the bucket's gradients, and nobody in the stack waits
// for the exchange.
// What all layers add to has no phase yet that begins it: the proof does not let the
// second layer forget the first.
// SHARED: phase 'linear_weight_gradient.weight_gradient.2' begins @parameter.4.gradient anew in a step's first microbatch, but others have added to it before

// EVENTS: proof {assumptions = {{.*}}"all ranks take as many steps, of the same outputs each"{{.*}}status = "proved"
// What the exchange waits for or notifies reaches beyond the device.
// EVENTS: event.tensor @layers.gradients.exchange.done {{.*}} scope system
// EVENTS: event.segment "layers.backward"
// EVENTS-NOT: waits {{.*}}layers.gradients.exchange.done
// EVENTS: event.phase "layers.gradients.exchange"
// EVENTS-SAME: waits [#event.wait<@{{.*}}gradient.done
// EVENTS-NOT: layers.gradients.exchange.done{{.*}}to
// EVENTS: event.segment "end"
// EVENTS: event.phase "layers.gradients.sum"
// EVENTS-SAME: waits [#event.wait<@layers.gradients.exchange.done
// EVENTS: event.phase "layers.gradients.gather"
// EVENTS-SAME: waits [#event.wait<@layers.gradients.sum.done
