// All parameters are frozen, and linears of the targets' names get pairs, which alone have
// gradients.
//
// RUN: baton-opt %s --training-form --low-rank-adapters="rank=4 alpha=8 targets=self_attn.q_proj,down_proj" | FileCheck %s
// RUN: baton-opt %s --training-form --low-rank-adapters="rank=4 alpha=4 targets=all-linear" | FileCheck %s --check-prefix=ALL
// RUN: baton-opt %s --training-form --low-rank-adapters="rank=4 alpha=8 stabilized targets=down_proj" | FileCheck %s --check-prefix=STABLE
// RUN: baton-opt %s --training-form --low-rank-adapters="rank=4 alpha=8 decomposed targets=down_proj" --differentiate --canonicalize --cse | FileCheck %s --check-prefix=ROWS
// RUN: baton-opt %s --training-form --low-rank-adapters="rank=4 alpha=8 targets=down_proj" --differentiate --canonicalize --cse | FileCheck %s --check-prefix=BACK

// CHECK: model.program @model
// CHECK-SAME: model.adapter = {alpha = 8.000000e+00 : f64, kind = "lora", rank = 4 : i64, rank_stabilized = false, targets = ["down_proj", "q_proj"], weight_decomposed = false}
// CHECK: model.parameter ["wte"] {frozen}
// CHECK: model.stack
// CHECK: %[[WQ:.+]] = model.parameter ["l.{layer}.self_attn.q_proj.weight", "other.{layer}.self_attn.q_proj.weight"] {frozen}
// CHECK: %[[Q:.+]] = model.linear %[[X:.+]], %[[WQ]]
// A has the input's width, B the output's; both are called as PEFT calls them.
// CHECK-DAG: %[[A:.+]] = model.parameter ["base_model.model.l.{layer}.self_attn.q_proj.lora_A.weight", "base_model.model.other.{layer}.self_attn.q_proj.lora_A.weight"] : <4 x 16 x f32>
// CHECK-DAG: %[[B:.+]] = model.parameter ["base_model.model.l.{layer}.self_attn.q_proj.lora_B.weight", "base_model.model.other.{layer}.self_attn.q_proj.lora_B.weight"] : <24 x 4 x f32>
// CHECK: %[[LOW:.+]] = model.linear %[[X]], %[[A]]
// CHECK: %[[SCALED:.+]] = model.scale %[[LOW]] {factor = 2.000000e+00 : f32}
// CHECK: %[[SUM:.+]] = model.linear %[[SCALED]], %[[B]] residual %[[Q]]
// CHECK: model.activate %[[SUM]]
// Of a part of a fused projection so is B.
// CHECK: model.parameter ["l.{layer}.down_proj.weight"] {blocks = array<i64: 16, 40, 8>, frozen}
// CHECK: model.parameter ["base_model.model.l.{layer}.down_proj.lora_B.weight"] {blocks = array<i64: 16, 40, 8>} : <16 x 4 x f32>

// The router has none, the output projection is none that could.
// ALL: targets = ["down_proj", "q_proj"]
// A factor of one is left out.
// ALL-NOT: model.scale
// ALL-NOT: gate.lora
// ALL: model.return

// 8 / sqrt(4)
// STABLE: model.scale %{{.+}} {factor = 4.000000e+00 : f32}

// Rows of the adapted weight have lengths that train, a bias comes behind. The backward step
// scales by the same numbers, of which squares are saved; what is divided by has no gradient.
// ROWS: targets = ["down_proj"], weight_decomposed = true}
// ROWS: %[[W:.+]] = model.parameter ["l.{layer}.down_proj.weight"] {blocks = array<i64: 16, 40, 8>, frozen}
// ROWS: %[[PLAIN:.+]] = model.linear %{{.+}}, %[[W]] : (
// ROWS-DAG: %[[DOWN:.+]] = model.parameter {{.+}}lora_A
// ROWS-DAG: %[[UP:.+]] = model.parameter {{.+}}lora_B
// ROWS: %[[SUM:.+]] = model.linear %{{.+}}, %[[UP]] residual %[[PLAIN]]
// ROWS: model.save %[[SUM]] to
// ROWS: %[[M:.+]] = model.parameter ["base_model.model.l.{layer}.down_proj.lora_magnitude_vector"] {blocks = array<i64: 16, 40, 8>} : <16 x f32>
// ROWS: %[[SQUARES:.+]] = model.adapted_squares %[[W]], %[[DOWN]], %[[UP]] {factor = 2.000000e+00 : f32}
// ROWS: model.save %[[SQUARES]] to
// ROWS: model.magnitude %[[SUM]], %[[M]], %[[SQUARES]] bias %{{.+}} :
// ROWS: repeat 2 reverse
// ROWS-DAG: %[[READ:.+]] = model.saved {{.+}} : <16 x f32>
// ROWS: model.magnitude_gradient %[[DY:.+]], %{{.+}}, %[[READ]]
// ROWS-NOT: model.adapted_squares
// ROWS: model.return

// No weight of the loss or of the other linear has a gradient, nor is that one's input, which
// the stack carries, saved for one.
// BACK-NOT: to "stack.input"
// BACK: model.stack %{{.+}} repeat 2 reverse
// BACK: model.linear_weight_gradient
// BACK: model.gradient %{{.+}} of %[[UP:.+]] :
// BACK: model.linear_weight_gradient
// BACK: model.gradient
// BACK-NOT: model.gradient %
// BACK: model.return

!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 16 x f32>
!wide = !model.tensor<rows x 24 x f32>
!w = !model.tensor<19 x 16 x f32>
model.program @model max_seq 64 {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !w
  %x = model.embedding %tokens, %wte : (!rows, !w) -> !x
  %y = model.stack %x repeat 2 : (!x) -> !x {
  ^bb0(%a: !x):
    %wq = model.parameter ["l.{layer}.self_attn.q_proj.weight", "other.{layer}.self_attn.q_proj.weight"] : !model.tensor<24 x 16 x f32>
    %q = model.linear %a, %wq : (!x, !model.tensor<24 x 16 x f32>) -> !wide
    %wg = model.parameter ["l.{layer}.gate.weight"] : !model.tensor<4 x 16 x f32>
    %g = model.linear %a, %wg : (!x, !model.tensor<4 x 16 x f32>) -> !model.tensor<rows x 4 x f32>
    %e, %p = model.route %g {normalize} : (!model.tensor<rows x 4 x f32>) -> (!model.tensor<rows x 2 x i32>, !model.tensor<rows x 2 x f32>)
    %r = model.activate %q {activation = #model.activation<silu>} : (!wide) -> !wide
    %wd = model.parameter ["l.{layer}.down_proj.weight"] {blocks = array<i64: 16, 40, 8>} : !model.tensor<16 x 24 x f32>
    %bd = model.parameter ["l.{layer}.down_proj.bias"] {blocks = array<i64: 16, 40, 8>} : !model.tensor<16 x f32>
    %d = model.linear %r, %wd bias %bd : (!wide, !model.tensor<16 x 24 x f32>, !model.tensor<16 x f32>) -> !x
    %s = model.add %a, %d : (!x, !x) -> !x
    model.yield %s : !x
  }
  %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 16 x f32>
  %logits = model.linear %last, %wte : (!model.tensor<outputs x 16 x f32>, !w) -> !model.tensor<outputs x 19 x f32>
  model.return %logits : !model.tensor<outputs x 19 x f32>
}
