// ZeRO: of gradients that are scattered each rank updates a part, if the rule goes
// through them once, element by element.
//
// RUN: baton-opt %s --tile-tasks="max-rows=64 max-outputs=1" | FileCheck %s
// RUN: sed -e 's/= "update"/= "step"/' %s | baton-opt --tile-tasks="max-rows=64 max-outputs=1" | FileCheck %s --check-prefix=STEP
// RUN: sed -e 's/= "update"/= "step"/; /%%ds/d' %s | baton-opt --tile-tasks="max-rows=64 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=EVENTS
// RUN: sed -e '/%%ds/d' %s | baton-opt --tile-tasks="max-rows=64 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=EVENTS

dist.mesh [dp = 2, tp = 1] batch [dp]

!t = tensor<?x?xf32>
update.rule @plain states ["average"] {
^bb0(%parameter: !t, %gradient: !t, %average: !t):
  %p, %a = update.map (%w = %parameter, %g = %gradient, %old = %average) {
    %new = arith.addf %old, %g : f32
    %next = arith.subf %w, %new : f32
    update.yield %next, %new
  }
  update.return %p, %a
}
update.rule @whole {
^bb0(%parameter: !t, %gradient: !t):
  %total = update.sum (%g = %gradient) {
    update.yield %g
  }
  %p = update.map (%w = %parameter) {
    %next = arith.subf %w, %total : f32
    update.yield %next
  }
  update.return %p
}
update.group @whole names ["*bias*"]
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
  model.gradient %dtable of %table {dist.scattered = "update", dist.summed = ["dp"]} : !table, !table
  %y = model.stack %dx repeat 3 reverse : (!x) -> !x {
  ^bb1(%a: !x):
    %w = model.parameter ["layers.{layer}.wide"] : !wide
    %b = model.parameter ["layers.{layer}.bias"] : !model.tensor<24 x f32>
    %shared = model.parameter ["shared"] : !wide
    %z = model.linear %a, %w : (!x, !wide) -> !model.tensor<rows x 24 x f32>
    %dw = model.linear_weight_gradient %z, %a : (!model.tensor<rows x 24 x f32>, !x) -> !wide
    model.gradient %dw of %w {dist.scattered = "update", dist.summed = ["dp"]} : !wide, !wide
    %db = model.bias_gradient %z : (!model.tensor<rows x 24 x f32>) -> !model.tensor<24 x f32>
    model.gradient %db of %b {dist.scattered = "update", dist.summed = ["dp"]} : !model.tensor<24 x f32>, !model.tensor<24 x f32>
    %ds = model.linear_weight_gradient %z, %a : (!model.tensor<rows x 24 x f32>, !x) -> !wide
    model.gradient %ds of %shared {dist.scattered = "update", dist.summed = ["dp"]} : !wide, !wide
    %next = model.linear_input_gradient %z, %w : (!model.tensor<rows x 24 x f32>, !wide) -> !x
    model.yield %next : !x
  }
  %more = model.embedding_gradient %y, %tokens : (!x, !rows) -> !table
  model.gradient %more of %table {dist.scattered = "update", dist.summed = ["dp"]} : !table, !table
  model.return %loss : !model.tensor<rows x f32>
}


// What a rank receives, how the runtime finds the sum of it, and the states of a
// part: of 192 elements blocks of 16, of which each of two ranks has 6.
// CHECK: event.buffer @place persistent : i32 {{.*}} {carry = #event<carry kept>, description = {places = [{axes = ["dp"], dimension = 0 : i64, extent = 2 : i64}], role = "places"}}
// CHECK: event.storage @parameter.2.received_memory bytes 2304
// CHECK: event.buffer @parameter.2.received persistent : f32 {{.*}} capacity [2, 96] strides [96, 1] in @parameter.2.received_memory {layer_stride = 192 : i64, layers = 3 : i64, writers = 3 : i64}
// CHECK: event.buffer @parameter.2.gradient_part persistent : f32 {{.*}} capacity [96] strides [1] in @parameter.2.received_memory {description = {{{.*}}layers = 3 : i64, {{.*}}role = "gradient", shape = [96], shards = [{axes = ["dp"], dimension = 0 : i64, extent = 192 : i64, flat = [24, 8], granularity = 16 : i64, units = [6, 6]}]}, layer_stride = 192 : i64, layers = 3 : i64, offset = 96 : i64}
// CHECK: event.buffer @parameter.3.received transient
// CHECK: event.buffer @parameter.2.average persistent : f32 {{.*}} capacity [6, 16] {{.*}} {carry = #event<carry renewed>, description = {{{.*}}role = "optimizer", {{.*}}layers = 3 : i64, writers = 1 : i64}

// CHECK: event.segment "layers.backward"
// CHECK: event.exchange all_to_all over ["dp"] for "reduce_scatter" [#event.transfer<@parameter.2.gradient to @parameter.2.received, 192 by 96>]
// CHECK: event.exchange all_to_all over ["dp"] for "all_reduce" [#event.transfer<@parameter.3.gradient
// CHECK: event.segment "sums" repeat 3 reverse
// The sum lies in the second row: the first one is for the weights.
// CHECK-NEXT: event.phase "parameter.2.sum" {{.*}} capacity [6]
// CHECK-NEXT: event.call "sum_ranks" [#event.address<@parameter.2.received, (d0)[s0, s1, s2] -> (1, d0 * 16)>, #event.address<@parameter.2.received, (d0)[s0, s1, s2] -> (0, d0 * 16)>, #event.stride<@parameter.2.received, [1, 0]>, 2, 16]
// Only the rule that needs a whole gradient has it gathered.
// CHECK: event.segment "gathers" repeat 3 reverse
// CHECK-NEXT: event.phase "layers.gradients.2.gather"
// CHECK-NEXT: event.exchange {{.*}} for "all_reduce" [#event.transfer<@parameter.3.received
// CHECK: event.segment "update" repeat 1
// Of blocks of a rank, and of all blocks of the whole gradient.
// CHECK: event.phase "parameter.2.sum_squares" {{.*}} capacity [3, 6]
// CHECK-NEXT: event.call "sum_squares" [{{.*}}, 16, 16]
// CHECK: event.phase "parameter.3.sum_squares" {{.*}} capacity [3, 2]
// CHECK: event.exchange all_gather over ["dp"] for "norm" [#event.transfer<@parameter.squares to @parameter.squares.ranks, 32 by 16>, #event.transfer<@parameter.2.squares to @parameter.2.squares.ranks, 64 by 32>, #event.transfer<@parameter.4.squares
// CHECK: event.call "step_summary"
// CHECK: event.segment "update.3" repeat 3
// CHECK-NEXT: event.phase "parameter.3.whole"
// CHECK: event.segment "update.parts" repeat 3 reverse
// CHECK-NEXT: event.phase "parameter.2.plain"
// CHECK-NEXT: event.call "take_part" [#event.address<@parameter.2.received, {{.*}}>, #event.address<@parameter.2.weights, {{.*}}>, 192, 96,
// CHECK-NEXT: event.call "plain.6x16"
// CHECK-NOT: event.exchange
// CHECK: event.segment "gathers.2" repeat 3 reverse
// CHECK-NEXT: event.phase "layers.gradients.parameters"
// CHECK-NEXT: event.exchange all_gather over ["dp"] for "all_gather" [#event.transfer<@parameter.2.received to @parameter.2.weights, 192 by 96>]
// CHECK: event.segment "advance"

// EVENTS: proof {{.*}}status = "proved"

// Scattered in every step, gradients are of one layer at a time, and so is what is
// received; each first contribution begins anew, and sums are added to a part.
// STEP: event.buffer @never persistent : i32
// STEP: event.storage @parameter.2.gradient_memory bytes 768
// STEP: event.storage @parameter.2.received_memory bytes 768
// STEP: event.storage @parameter.2.gradient_part_memory bytes 1152
// STEP: event.segment "layers.backward" repeat 3 reverse
// STEP: event.phase "linear_weight_gradient.weight_gradient"
// STEP: event.call "product_gradient" [#event.address<@parameter.2.gradient, {{.*}}#event.address<@never,
// STEP: event.phase "layers.gradients.exchange"
// STEP-NEXT: event.exchange all_to_all over ["dp"] for "reduce_scatter" [#event.transfer<@parameter.2.gradient to @parameter.2.received, 192 by 96>]
// STEP: event.phase "parameter.2.sum"
// STEP-NEXT: event.call "add_ranks" [#event.address<@parameter.2.gradient_part, {{.*}}>, #event.address<@parameter.2.received, {{.*}}>, #event.stride<@parameter.2.received, [1, 0]>, 2, 16, #event.address<@accumulate,
// STEP: event.segment "end"
// Of the whole, only once an update.
// STEP: event.segment "sums" repeat 3 reverse
// STEP-NEXT: event.phase "layers.gradients.2.sum"
// STEP: event.segment "update.parts" repeat 3 reverse
// STEP: event.call "take_part"
// STEP: event.phase "layers.gradients.parameters"
// STEP: event.segment "advance"
