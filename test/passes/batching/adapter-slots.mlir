// Rows of a batch get adapters of their own: pairs beside linears, of the ranks that two
// arguments name.
//
// RUN: baton-opt %s --batch-form=sequences=3 --adapter-slots="ranks=64 most=32 targets=all-linear" | FileCheck %s
// RUN: baton-opt %s --batch-form=sequences=3 --adapter-slots="ranks=64 most=32 targets=all-linear" | baton-opt | FileCheck %s
// RUN: baton-opt %s --linear-grouping --norm-rewrites --batch-form=sequences=3 --adapter-slots="ranks=64 most=32 targets=q_proj,v_proj,down_proj stored=bf16" | FileCheck %s --check-prefix=FUSED
// RUN: baton-opt %s --linear-grouping --norm-rewrites --batch-form=sequences=3 --adapter-slots="ranks=64 most=32 targets=k_proj,up_proj" | FileCheck %s --check-prefix=APART
// RUN: baton-opt %s --linear-grouping --norm-rewrites --batch-form=sequences=3 --adapter-slots="ranks=64 most=32 targets=all-linear" --cse --tile-tasks="max-rows=8 max-outputs=3" --schedule-static --derive-events --plan-memory --event-verify | FileCheck %s --check-prefix=PLAN
// RUN: baton-opt %s --batch-form=sequences=3 --adapter-slots="ranks=64 most=32 targets=all-linear" --cse --tile-tasks="max-rows=8 max-outputs=3" --schedule-static --derive-events --plan-memory | sed 's/#event.wait<@linear.lora_A.done/#event.wait<@rms_norm.done/' | not baton-opt --event-verify 2>&1 | FileCheck %s --check-prefix=UNAWAITED
// RUN: not baton-opt %s --batch-form=sequences=3 --adapter-slots="ranks=64 most=32 targets=nothing" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not baton-opt %s --adapter-slots="ranks=64 most=32 targets=q_proj" 2>&1 | FileCheck %s --check-prefix=NO-BATCH
// RUN: not baton-opt %s --batch-form=sequences=3 --adapter-slots="ranks=64 most=20 targets=q_proj" 2>&1 | FileCheck %s --check-prefix=MOST
// RUN: not baton-opt %s --batch-form=sequences=3 --adapter-slots="ranks=16 most=32 targets=q_proj" 2>&1 | FileCheck %s --check-prefix=RANKS
// RUN: not baton-opt %s --batch-form=sequences=3 --adapter-slots="ranks=64 most=32 stored=int8 targets=q_proj" 2>&1 | FileCheck %s --check-prefix=STORED
// RUN: not baton-opt %s --batch-form=sequences=3 --adapter-slots="ranks=64 most=32" 2>&1 | FileCheck %s --check-prefix=NO-TARGETS

// CHECK: model.program @decoder max_seq 64 batch 3 attributes {model.adapters = {most = 32 : i64, ranks = 64 : i64, targets = ["down_proj", "gate_proj", "k_proj", "q_proj", "up_proj", "v_proj"]}}
// CHECK: ^bb0({{.*}}, %[[PLACES:.+]]: !model.tensor<rows x i32>, %[[COUNTS:.+]]: !model.tensor<rows x i32>):
// CHECK: %[[N:.+]] = model.rms_norm
// CHECK: %[[Q:.+]] = model.linear %[[N]]
// CHECK: %[[A:.+]] = model.parameter ["base_model.model.l.{layer}.q_proj.lora_A.weight"] : <32 x 16 x f32>
// CHECK: %[[B:.+]] = model.parameter ["base_model.model.l.{layer}.q_proj.lora_B.weight"] : <16 x 32 x f32>
// CHECK: %[[LOW:.+]] = model.adapter_down %[[N]], %[[A]], %[[PLACES]], %[[COUNTS]] {ranks = 64 : i64}
// CHECK: model.adapter_up %[[Q]], %[[LOW]], %[[B]], %[[PLACES]], %[[COUNTS]] {ranks = 64 : i64}
// The output projection makes rows with logits only.
// CHECK-NOT: head.lora_A

// What a norm, a sum and a group were fused into: the norm is an op again, the sum stays
// the linear's, and parts of a group have pairs from their columns on.
// FUSED: %[[N:.+]] = model.rms_norm
// FUSED: %[[BASE:.+]] = model.linear %[[N]], %{{.+}} : (!model.tensor<rows x 16 x f32>, !model.tensor<56 x 16 x f32>) -> !model.tensor<rows x 56 x f32>
// FUSED: model.parameter ["base_model.model.l.{layer}.q_proj.lora_A.weight"] : <32 x 16 x bf16>
// FUSED: %[[FIRST:.+]] = model.adapter_up %[[BASE]]
// FUSED-NOT: k_proj.lora
// FUSED: model.parameter ["base_model.model.l.{layer}.v_proj.lora_A.weight"]
// FUSED: model.adapter_up %[[FIRST]], {{.*}} {offset = 16 : i64, ranks = 64 : i64}
// FUSED: model.gated_linear
// FUSED: %[[DOWN:.+]] = model.linear %{{.+}}, %{{.+}} residual %{{.+}} :
// FUSED: model.adapter_up %[[DOWN]]

// A part that begins at no multiple of 16 columns stands by itself again, and so do both of a
// gated linear.
// APART: model.parameter ["l.{layer}.k_proj.weight"]
// APART-NOT: model.concat
// APART: model.linear %[[N:.+]], %{{.+}} : (!model.tensor<rows x 16 x f32>, !model.tensor<16 x 16 x f32>)
// APART: model.linear %[[N]], %{{.+}} : (!model.tensor<rows x 16 x f32>, !model.tensor<24 x 16 x f32>)
// APART: %[[K:.+]] = model.linear %[[N]], %{{.+}} : (!model.tensor<rows x 16 x f32>, !model.tensor<16 x 16 x f32>)
// APART: model.adapter_up %[[K]]
// APART-NOT: model.gated_linear
// APART: %[[GATE:.+]] = model.linear
// APART: %[[UP:.+]] = model.linear
// APART: %[[SUM:.+]] = model.adapter_up %[[UP]]
// APART: %[[ACTIVE:.+]] = model.activate %[[GATE]]
// APART: model.mul %[[ACTIVE]], %[[SUM]]

// Room for all ranks of both layers; the pair is added in the task that makes the tile.
// PLAN: the table @adapter_places holds 0 to 65
// PLAN-SAME: the table @adapter_counts holds 0 to 33
// PLAN-SAME: event.batch = {adapters = {most = 32 : i64, ranks = 64 : i64
// PLAN: event.buffer @[[ROOM:linear.lora_A.2]] persistent : f32
// PLAN-SAME: capacity [1024]
// PLAN-SAME: role = "adapter"
// PLAN-SAME: layers = 2
// PLAN: event.call "adapter_down" [{{.*}}#event.address<@[[ROOM]]
// PLAN: event.call "linear_f32"
// PLAN-NEXT: event.call "adapter_up"

// UNAWAITED: does not wait for phase
// NOTHING: has no linear that can be adapted called 'nothing'; there is down_proj, gate_proj, k_proj, q_proj, up_proj, v_proj, and all-linear for all of them
// NO-BATCH: is no batch; batch-form makes one
// MOST: adapter-slots: most is 20, expected a multiple of 16 up to 1024
// RANKS: adapter-slots: ranks is 16, expected a multiple of 16, at least 32
// STORED: adapter-slots: stored is 'int8', expected f32 or bf16
// NO-TARGETS: adapter-slots: there are no targets

!x = !model.tensor<rows x 16 x f32>
!heads = !model.tensor<rows x 2 x 8 x f32>
!values = !model.tensor<rows x 2 x 12 x f32>
!wide = !model.tensor<rows x 24 x f32>

model.program @decoder max_seq 64 {
^bb0(%tokens: !model.tensor<rows x i32>):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32>
  %e = model.embedding %tokens, %wte : (!model.tensor<rows x i32>, !model.tensor<19 x 16 x f32>) -> !x
  %y = model.stack %e repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    %g = model.parameter ["l.{layer}.norm"] : !model.tensor<16 x f32>
    %n = model.rms_norm %a, %g {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<16 x f32>) -> !x
    %wq = model.parameter ["l.{layer}.q_proj.weight"] : !model.tensor<16 x 16 x f32>
    %wv = model.parameter ["l.{layer}.v_proj.weight"] : !model.tensor<24 x 16 x f32>
    %wk = model.parameter ["l.{layer}.k_proj.weight"] : !model.tensor<16 x 16 x f32>
    %q = model.linear %n, %wq : (!x, !model.tensor<16 x 16 x f32>) -> !x
    %v = model.linear %n, %wv : (!x, !model.tensor<24 x 16 x f32>) -> !wide
    %k = model.linear %n, %wk : (!x, !model.tensor<16 x 16 x f32>) -> !x
    %qh = model.reshape %q : (!x) -> !heads
    %kh = model.reshape %k : (!x) -> !heads
    %vh = model.reshape %v : (!wide) -> !values
    %keys = model.kv_append %kh to "k" : (!heads) -> !model.tensor<kv x 2 x 8 x f32>
    %values = model.kv_append %vh to "v" : (!values) -> !model.tensor<kv x 2 x 12 x f32>
    %o = model.attention %qh, %keys, %values {scale = 0.5 : f32} : (!heads, !model.tensor<kv x 2 x 8 x f32>, !model.tensor<kv x 2 x 12 x f32>) -> !values
    %flat = model.reshape %o : (!values) -> !wide
    %wg = model.parameter ["l.{layer}.gate_proj.weight"] : !model.tensor<24 x 24 x f32>
    %wu = model.parameter ["l.{layer}.up_proj.weight"] : !model.tensor<24 x 24 x f32>
    %wd = model.parameter ["l.{layer}.down_proj.weight"] : !model.tensor<16 x 24 x f32>
    %gate = model.linear %flat, %wg : (!wide, !model.tensor<24 x 24 x f32>) -> !wide
    %active = model.activate %gate {activation = #model.activation<silu>} : (!wide) -> !wide
    %up = model.linear %flat, %wu : (!wide, !model.tensor<24 x 24 x f32>) -> !wide
    %m = model.mul %active, %up : (!wide, !wide) -> !wide
    %d = model.linear %m, %wd : (!wide, !model.tensor<16 x 24 x f32>) -> !x
    %s = model.add %a, %d : (!x, !x) -> !x
    model.yield %s : !x
  }
  %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 16 x f32>
  %head = model.parameter ["head.weight"] : !model.tensor<19 x 16 x f32>
  %l = model.linear %last, %head : (!model.tensor<outputs x 16 x f32>, !model.tensor<19 x 16 x f32>) -> !model.tensor<outputs x 19 x f32>
  model.return %l : !model.tensor<outputs x 19 x f32>
}
