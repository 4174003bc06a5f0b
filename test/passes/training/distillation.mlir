// Losses beside a teacher: the program takes its tokens and numbers, and the cross-entropy reads them.
// A vocabulary of fewer tokens than a teacher may name has no more.
//
// RUN: baton-opt %s --training-form=teacher-tokens=4 --differentiate --cse --canonicalize | FileCheck %s
// RUN: baton-opt %s --training-form=teacher-tokens=64 | FileCheck %s --check-prefix=ALL
// RUN: baton-opt %s --training-form=teacher-tokens=4 --differentiate --cse --canonicalize --tile-tasks="max-rows=12 max-outputs=1" -o %t
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t
// RUN: baton-opt %t --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=PROOF
// RUN: baton-opt %s --training-form -o %t.form
// RUN: not baton-opt %t.form --training-form=teacher-tokens=4 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not baton-opt %s --training-form=teacher-tokens=4 --router-losses=balance=1 2>&1 | FileCheck %s --check-prefix=ROUTERS

// CHECK: ^bb0(%{{.+}}: !model.tensor<rows x i32>, %{{.+}}: !model.tensor<rows x i32>, %[[TARGETS:.+]]: !model.tensor<rows x i32>, %[[WEIGHTS:.+]]: !model.tensor<rows x f32>, %[[TOKENS:.+]]: !model.tensor<rows x 4 x i32>, %[[NUMBERS:.+]]: !model.tensor<rows x 9 x f32>):
// CHECK: %[[LOSS:.+]], %[[DX:.+]], %[[DHEAD:.+]] = model.cross_entropy %[[X:.+]], %[[HEAD:.+]], %[[TARGETS]], %[[WEIGHTS]], %[[TOKENS]], %[[NUMBERS]]
// CHECK-NOT: model.cross_entropy
// CHECK: model.gradient %[[DHEAD]] of %[[HEAD]]
// CHECK: model.embedding_gradient %[[DX]]
// CHECK: model.return %[[LOSS]] : !model.tensor<rows x 3 x f32>

// ALL: !model.tensor<rows x 16 x i32>, %{{.+}}: !model.tensor<rows x 21 x f32>):

// PLAN: event.program @taught {{.*}}event.losses = ["loss", "kl", "nll"]
// PLAN: event.buffer @teacher_tokens persistent : i32 {{.*}}role = "input"
// PLAN: event.buffer @teacher_numbers persistent : f32 {{.*}}role = "input"
// PLAN: event.call "teacher_loss"
// PLAN: event.call "step_summary"
// PROOF: proof

// FORM: is in training form already, and its loss has no teacher
// ROUTERS: gets no losses of routers: its loss has a teacher
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
model.program @taught max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !table loc("wte")
  %head = model.parameter ["head"] : !table loc("head_weight")
  %e = model.embedding %tokens, %wte : (!rows, !table) -> !x
  %last = model.last_rows %e : (!x) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %head : (!model.tensor<outputs x 8 x f32>, !table) -> !model.tensor<outputs x 16 x f32> loc("head")
  model.return %l : !model.tensor<outputs x 16 x f32>
}
