// The bias of an output projection has a gradient beside the weight's. Where something is made
// of the losses and either trains, logits are made again; where both are frozen, they are not.
//
// RUN: baton-opt %s --training-form --differentiate | FileCheck %s
// RUN: sed 's/\["head"\]/["head"] {frozen}/' %s | baton-opt --training-form --differentiate | FileCheck %s --check-prefix=WEIGHT
// RUN: sed 's/\["bias"\]/["bias"] {frozen}/' %s | baton-opt --training-form --differentiate | FileCheck %s --check-prefix=HELD
// RUN: baton-opt %s --training-form=preferences --differentiate --cse --canonicalize | FileCheck %s --check-prefix=PAIRS
// RUN: sed 's/\["head"\]/["head"] {frozen}/' %s | baton-opt --training-form=preferences --differentiate --cse --canonicalize | FileCheck %s --check-prefix=PAIRS
// RUN: sed 's/\["\(head\|bias\)"\]/["\1"] {frozen}/' %s | baton-opt --training-form=preferences --differentiate --cse --canonicalize | FileCheck %s --check-prefix=FROZEN
//
// Every part of the rows adds to it, in the room of the logits; rows that two parts have count once.
// RUN: baton-opt %s --training-form --differentiate --tile-tasks="max-rows=12 max-outputs=1 logits-bytes=192" -o %t
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t
// RUN: baton-opt %t --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=PROOF
// RUN: baton-opt %s --training-form --differentiate --tile-tasks="max-rows=13 max-outputs=1" -o %t.odd
// RUN: FileCheck %s --check-prefix=ODD --input-file=%t.odd
// RUN: baton-opt %t.odd --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=PROOF
// RUN: sed 's/\["head"\]/["head"] {frozen}/' %s | baton-opt --training-form --differentiate --tile-tasks="max-rows=12 max-outputs=1" | FileCheck %s --check-prefix=PANELS --implicit-check-not=product_gradient
// RUN: sed 's/\["bias"\]/["bias"] {frozen}/' %s | baton-opt --training-form --differentiate --tile-tasks="max-rows=12 max-outputs=1" | FileCheck %s --check-prefix=PACKED --implicit-check-not=loss_bias_gradient

// CHECK: %{{.+}}, %[[DX:.+]], %[[DHEAD:.+]], %[[DBIAS:.+]] = model.cross_entropy %{{.+}}, %[[HEAD:.+]], %{{.+}}, %{{.+}} bias %[[BIAS:.+]] :
// CHECK: model.gradient %[[DHEAD]] of %[[HEAD]]
// CHECK: model.gradient %[[DBIAS]] of %[[BIAS]]
// CHECK: model.embedding_gradient %[[DX]]

// WEIGHT: %{{.+}}, %{{.+}}, %{{.+}}, %[[DBIAS:.+]] = model.cross_entropy
// WEIGHT-NEXT: model.gradient %[[DBIAS]]
// HELD: %{{.+}}, %{{.+}}, %[[DHEAD:.+]], %{{.+}} = model.cross_entropy
// HELD-NEXT: model.gradient %[[DHEAD]]
// HELD-NEXT: model.embedding_gradient

// PAIRS: %[[LOSS:.+]], %{{.+}}, %{{.+}}, %{{.+}} = model.cross_entropy %[[X:.+]], %[[HEAD:.+]], %{{.+}}, %[[WEIGHTS:.+]] bias %[[BIAS:.+]] :
// PAIRS: %{{.+}}, %[[GRADIENT:.+]] = model.preference_loss %[[LOSS]]
// PAIRS: %[[FACTORS:.+]] = model.weigh_rows %[[WEIGHTS]], %[[GRADIENT]]
// PAIRS: %{{.+}}, %[[DX:.+]], %{{.+}}, %[[DBIAS:.+]] = model.cross_entropy %[[X]], %[[HEAD]], %{{.+}}, %[[FACTORS]] bias %[[BIAS]]
// PAIRS: model.gradient %[[DBIAS]] of %[[BIAS]]
// PAIRS: model.embedding_gradient %[[DX]]

// FROZEN: %[[LOSS:.+]], %[[DX:.+]], %{{.+}}, %{{.+}} = model.cross_entropy
// FROZEN-NOT: model.cross_entropy
// FROZEN: %{{.+}}, %[[GRADIENT:.+]] = model.preference_loss %[[LOSS]]
// FROZEN: %[[WEIGHED:.+]] = model.weigh_rows %[[DX]], %[[GRADIENT]]
// FROZEN-NOT: model.cross_entropy
// FROZEN: model.embedding_gradient %[[WEIGHED]]

// PLAN: event.phase "head.loss.logits" grid
// PLAN: event.call "product" [{{.*}}#event.address<@bias.weights, (d0)[s0, s1, s2] -> (d0 * 64)>, #event.null
// PLAN: event.phase "head.loss_weight_gradient"
// PLAN: event.phase "head.loss_bias_gradient" grid
// PLAN: event.call "sum_rows" [#event.address<@bias.gradient{{.*}}, #event.address<@head.loss.logits{{.*}}#event.address<@accumulate
// PLAN: event.phase "head.loss_bias_gradient.2" grid
// PLAN: event.call "sum_rows" [#event.address<@bias.gradient{{.*}}, #event.null]
// PLAN: event.phase "head.loss_bias_gradient.5" grid
// PLAN-NOT: event.call "cross_entropy"
// PROOF: proof

// The second half begins one row too early where their number is odd, and leaves it out.
// ODD: event.phase "head.loss_bias_gradient" grid
// ODD: event.phase "head.loss_bias_gradient.2" grid
// ODD: event.call "sum_rows" [{{.*}}#event.address<@head.loss.logits, (d0)[s0, s1, s2] -> (-s0 + (s0 ceildiv 2) * 2, d0 * 64)>, {{[^>]*>}}, #event.count<(d0)[s0, s1, s2] -> (s0 - s0 ceildiv 2, s0 - s0 ceildiv 2)>
// ODD-NOT: event.call "cross_entropy"

// PANELS: event.call "linear_f32" [{{.*}}#event.weight<@head.weight{{.*}}#event.address<@bias.weights, (d0)[s0, s1, s2] -> (d0 * 64)>
// PANELS: event.phase "head.loss_bias_gradient"
// PACKED: event.phase "head.loss.logits" grid
// PACKED: event.call "product" [{{.*}}#event.weight<@head.bias, (d0)[s0, s1, s2] -> (d0 * 64)>
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 8 x f32>
!table = !model.tensor<16 x 8 x f32>
!bias = !model.tensor<16 x f32>
update.rule @keep {
^bb0(%p: tensor<?x?xf32>, %g: tensor<?x?xf32>):
  %n = update.map (%w = %p) {
    update.yield %w
  }
  update.return %n
}
update.group @keep
model.program @biased max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !table loc("wte")
  %head = model.parameter ["head"] : !table loc("head_weight")
  %bias = model.parameter ["bias"] : !bias loc("bias")
  %e = model.embedding %tokens, %wte : (!rows, !table) -> !x
  %last = model.last_rows %e : (!x) -> !model.tensor<outputs x 8 x f32>
  %l = model.linear %last, %head bias %bias : (!model.tensor<outputs x 8 x f32>, !table, !bias) -> !model.tensor<outputs x 16 x f32> loc("head")
  model.return %l : !model.tensor<outputs x 16 x f32>
}
