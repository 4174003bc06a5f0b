// Losses of pairs of answers: the cross-entropy of each row is that of its answer, and what a pair
// makes of the sums says how much its rows count. A frozen output projection has the gradient for
// its input once, times that; of another one logits are made again, with these weights.
//
// RUN: baton-opt %s --training-form=preferences --differentiate --cse --canonicalize | FileCheck %s
// RUN: sed 's/\["head"\]/["head"] {frozen}/' %s | baton-opt --training-form=preferences --differentiate --cse --canonicalize | FileCheck %s --check-prefix=FROZEN
// RUN: baton-opt %s --training-form=preferences --differentiate --cse --canonicalize --tile-tasks="max-rows=12 max-outputs=1" -o %t
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t
// RUN: baton-opt %t --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=PROOF
// RUN: sed 's/\["head"\]/["head"] {frozen}/' %s | baton-opt --training-form=preferences --differentiate --cse --canonicalize --tile-tasks="max-rows=12 max-outputs=1" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=PROOF
// RUN: baton-opt %s --training-form -o %t.form
// RUN: not baton-opt %t.form --training-form=preferences 2>&1 | FileCheck %s --check-prefix=FORM

// CHECK: ^bb0(%{{.+}}: !model.tensor<rows x i32>, %{{.+}}: !model.tensor<rows x i32>, %[[TARGETS:.+]]: !model.tensor<rows x i32>, %[[WEIGHTS:.+]]: !model.tensor<rows x f32>, %[[PAIRS:.+]]: !model.tensor<rows x 4 x f32>):
// CHECK: %[[LOSS:.+]], %{{.+}}, %{{.+}} = model.cross_entropy %[[X:.+]], %[[HEAD:.+]], %[[TARGETS]], %[[WEIGHTS]]
// CHECK: %[[RESULTS:.+]], %[[GRADIENT:.+]] = model.preference_loss %[[LOSS]], %[[WEIGHTS]], %[[PAIRS]]
// CHECK: %[[FACTORS:.+]] = model.weigh_rows %[[WEIGHTS]], %[[GRADIENT]]
// CHECK: %{{.+}}, %[[DX:.+]], %[[DHEAD:.+]] = model.cross_entropy %[[X]], %[[HEAD]], %[[TARGETS]], %[[FACTORS]]
// CHECK-NOT: model.cross_entropy
// CHECK: model.gradient %[[DHEAD]] of %[[HEAD]]
// CHECK: model.embedding_gradient %[[DX]]
// CHECK: model.return %[[RESULTS]] : !model.tensor<rows x 7 x f32>

// FROZEN: %[[LOSS:.+]], %[[DX:.+]], %{{.+}} = model.cross_entropy
// FROZEN-NOT: model.cross_entropy
// FROZEN: %{{.+}}, %[[GRADIENT:.+]] = model.preference_loss %[[LOSS]]
// FROZEN: %[[WEIGHED:.+]] = model.weigh_rows %[[DX]], %[[GRADIENT]]
// FROZEN-NOT: model.cross_entropy
// FROZEN: model.embedding_gradient %[[WEIGHED]]

// PLAN: event.program @pairs {{.*}}event.losses = ["loss", "rewards/chosen", "rewards/rejected", "rewards/margins", "rewards/accuracies", "logps/chosen", "logps/rejected"]
// PLAN: event.buffer @preferences persistent : f32 {{.*}}role = "input"
// PLAN: event.buffer @pairs persistent : f32 {{.*}}role = "output"
// PLAN: event.phase "head.loss" grid
// PLAN: event.phase "preference" grid
// PLAN: event.call "preference_loss" [#event.address<@pairs
// PLAN: event.call "weigh_rows"
// PLAN: event.call "step_summary"
// PROOF: proof

// FORM: is in training form already, and its loss is not of pairs of answers
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!table = !model.tensor<16 x 8 x f32>
update.rule @keep {
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>):
  %n = update.map (%w = %p) {
    update.yield %w
  }
  update.return %n
}
update.group @keep
model.program @pairs max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !table loc("wte")
  %head = model.parameter ["head"] : !table loc("head_weight")
  %e = model.embedding %tokens, %wte : (!rows, !table) -> !x
  %last = model.last_rows %e : (!x) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %head : (!model.tensor<outputs x 8 x f32>, !table) -> !model.tensor<outputs x 16 x f32> loc("head")
  model.return %l : !model.tensor<outputs x 16 x f32>
}
