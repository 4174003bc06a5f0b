// Losses of routers: sums stay in one buffer, which a layer's tasks write over row by row; the shares
// of experts are of all rows of all layers, and losses and gradients wait for them.
//
// RUN: baton-opt %s --training-form --router-losses="balance=0.25 z=0.5" --differentiate --cse --tile-tasks="max-rows=40 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s

// CHECK: event.program @mixture {{.*}}event.losses = ["loss", "cross_entropy", "balance_loss", "z_loss"]
// CHECK-DAG: event.buffer @routers.sums transient : f32 {{.*}}capacity [40, 9]
// CHECK-DAG: event.buffer @routers.loss transient : f32 {{.*}}capacity [40, 4]
// CHECK-DAG: event.buffer @routers.loss.gradient transient : f32 {{.*}}capacity [40, 5]
// CHECK-DAG: event.buffer @summary transient : f32 {{.*}}capacity [1, 7]

// CHECK: event.phase "routers.sums"
// CHECK: event.call "router_begin" [#event.address<@routers.sums,
// CHECK: event.segment "layers" repeat 2
// CHECK: event.phase "route"
// CHECK: event.phase "route.sums"
// CHECK: event.call "router_sums" [#event.address<@routers.sums, {{.+}}, #event.address<@routers.sums,
// CHECK-NOT: event.phase "carry
// CHECK: event.segment "end"
// CHECK: event.phase "routers.loss.share"
// CHECK-SAME: #event.access<read @routers.sums, (d0)[s0, s1, s2] -> (0, d0 * 64 + 5)
// CHECK: event.call "expert_shares"
// CHECK: event.phase "routers.loss"
// CHECK-SAME: waits [#event.wait<@routers.loss.share
// CHECK: event.call "router_loss"
// CHECK: event.segment "layers.backward{{.*}}" repeat 2 reverse
// CHECK: event.phase "route.sums.gradient"
// CHECK: event.call "router_sums_gradient" {{.*}}#event.address<@routers.loss.gradient,
// CHECK-NOT: event.phase "carry
// CHECK: event.segment "update"
// CHECK: event.phase "summary.sum"
// CHECK: event.call "step_summary" [#event.address<@summary, {{.+}}, #event.address<@routers.loss,
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 16 x f32>
model.program @mixture max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32> loc("wte")
  %x0 = model.embedding %tokens, %wte : (!rows, !model.tensor<19 x 16 x f32>) -> !x
  %y0 = model.stack %x0 repeat 2 : (!x) -> !x {
  ^bb1(%x: !x):
    %router = model.parameter ["router.{layer}"] : !model.tensor<4 x 16 x f32> loc("router")
    %down = model.parameter ["layers.{layer}.experts.{expert}.down"] : !model.tensor<4 x 16 x 16 x f32> loc("down")
    %l = model.linear %x, %router : (!x, !model.tensor<4 x 16 x f32>) -> !model.tensor<rows x 4 x f32> loc("logits")
    %e, %w = model.route %l {normalize} : (!model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) loc("route")
    %b, %c, %p = model.dispatch %e : (!model.tensor<rows x 2 x i32>) -> (!model.tensor<5 x i32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x i32>) loc("dispatch")
    %g = model.gather %x, %c : (!x, !model.tensor<rows x 2 x i32>) -> !model.tensor<rows x 2 x 16 x f32> loc("gather")
    %d = model.grouped_linear %g, %b, %down : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<5 x i32>, !model.tensor<4 x 16 x 16 x f32>) -> !model.tensor<rows x 2 x 16 x f32> loc("down")
    %s = model.combine %d, %p, %w : (!model.tensor<rows x 2 x 16 x f32>, !model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>) -> !x loc("combine")
    %r = model.add %x, %s : (!x, !x) -> !x
    model.yield %r : !x
  }
  %last = model.last_rows %y0 : (!x) -> !model.tensor<outputs x 16 x f32>
  %o = model.linear %last, %wte : (!model.tensor<outputs x 16 x f32>, !model.tensor<19 x 16 x f32>) -> !model.tensor<outputs x 19 x f32>
  model.return %o : !model.tensor<outputs x 19 x f32>
}
update.rule @signs states [] {
^bb0(%parameter: tensor<?x?xf32>, %gradient: tensor<?x?xf32>):
  %rate = update.number "learning_rate"
  %p = update.map (%w = %parameter, %g = %gradient) {
    %change = math.copysign %rate, %g : f32
    %next = arith.subf %w, %change : f32
    update.yield %next
  }
  update.return %p
}
update.group @signs
