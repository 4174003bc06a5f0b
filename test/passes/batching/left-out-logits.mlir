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
// RELIED: error: phase 'sample' reads @linear(0, 0), which no task before it writes
// BEHIND: error: phase 'linear' has a condition of @wanted_panels(8), of which it states no read

// Where something else reads them, as a cap does, all are made.
// CHECK: event.program @capped
// CHECK-NOT: when <
// CHECK: event.phase "sample"
// CHECK-SAME: accesses [#event.access<read @
model.program @left max_seq 64 batch 3 {
// CHECK-NEXT: ^bb0(%[[TOKENS:.+]]: !model.tensor<rows x i32>, %[[POSITIONS:.+]]: !model.tensor<rows x i32>, %[[SEQUENCES:.+]]: !model.tensor<rows x i32>, %[[SLOTS:.+]]: !model.tensor<rows x i32>, %[[PAGES:.+]]: !model.tensor<3 x i32>, %[[SAMPLING:.+]]: !model.tensor<outputs x 28 x i32>, %[[CHANGES:.+]]: !model.tensor<9792 x i32>):
// CHECK: model.embedding %[[TOKENS]]
// CHECK: %[[TABLE:.+]] = model.parameter ["wpe"]
// CHECK: model.embedding %[[POSITIONS]], %[[TABLE]]
// CHECK: model.rope_table %[[POSITIONS]]
// CHECK: model.stack
// CHECK: %[[K:.+]] = model.paged_append %{{.+}} at %[[SLOTS]] to "k"
// CHECK: %[[V:.+]] = model.paged_append %[[H:.+]] at %[[SLOTS]] to "v"
// CHECK: model.paged_attention %{{.+}}, %[[K]], %[[V]], %[[POSITIONS]], %[[SEQUENCES]], %[[PAGES]] gate %[[H]] {scale = 5.000000e-01 : f32, window = 7 : i64}
// CHECK: model.last_rows
// CHECK: %[[MASKS:.+]] = model.token_mask %[[SAMPLING]] : (!model.tensor<outputs x 28 x i32>) -> !model.tensor<outputs x 1 x i32>
// CHECK: %[[DRAWS:.+]] = model.sample %[[LOGITS:.+]], %[[SAMPLING]], %[[CHANGES]], %[[MASKS]]
// CHECK: model.return %[[LOGITS]], %[[DRAWS]]

// States lie in pages of 64 positions, both layers behind one another; attention
// waits for all rows of its head.
// PLAN: event.program @decoder max_rows 8 max_seq 8 max_outputs 3
// PLAN-SAME: what rows see before those of their own step was written, in pages that the step does not write but behind it
// PLAN-SAME: the table @slots holds 0 to 2147483647, distinct
// PLAN-SAME: event.batch = {changes = 1088 : i64, longest_sequence = 64 : i64, sequences = 3 : i64}
// PLAN: event.storage @k_memory bytes 4096
// PLAN: event.buffer @k state : f32
// PLAN-SAME: page = 64 : i64, page_stride = 1024 : i64, slots = @slots
// PLAN: event.phase "{{.*}}paged_append"
// PLAN: event.call "append_key_pages" [#event.address<@k, (d0, d1)[s0, s1, s2] -> (d0 * 16, d1, 0)>, 1024,
// PLAN: event.call "append_value_pages"
// PLAN: event.phase "{{.*}}paged_attention"
// PLAN-SAME: waits [
// PLAN-SAME: #event.wait<@{{.*}}paged_append{{.*}}done
// PLAN: event.call "paged_attention"
// Masks wait for nothing of the step, and sampling for its row's mask.
// PLAN: event.phase "token_mask" grid {{.*}} capacity [3] accesses [#event.access<read @sampling, (d0)[s0, s1, s2] -> (d0, 0)
// PLAN-SAME: #event.access<may write @masks, (d0)[s0, s1, s2] -> (d0, 0) to (d0)[s0, s1, s2] -> (d0 + 1, 1)>] notifies <@token_mask.done
// PLAN: event.call "token_mask"
// PLAN: event.phase "sample" grid
// PLAN-SAME: #event.access<may read @masks
// PLAN-SAME: waits [
// PLAN-SAME: #event.wait<@token_mask.done, (d0)[s0, s1, s2] -> (d0)
// PLAN: event.call "sample" [#event.address<@draws
// PLAN: event.phase "advance"
// PLAN-SAME: #event.access<read @draws
// PLAN-SAME: #event.access<write @tokens
// PLAN-SAME: #event.access<write @positions
// PLAN-SAME: #event.access<write @sequences
// PLAN-SAME: #event.access<write @slots
// PLAN-SAME: #event.access<write @pages
// PLAN-SAME: #event.access<write @sampling
// PLAN-SAME: #event.access<write @changes

// Sampling that did not wait would be rejected.
// UNAWAITED: error: phase 'sample' does not wait for phase 'token_mask': read after write of @masks

// As half as many bytes, or as bytes with a scale behind each row.
// BF16: event.storage @k_memory bytes 2048
// BF16: event.buffer @k state : bf16
// BF16-SAME: capacity [8, 2, 4]
// BF16: event.call "append_key_pages_bf16"
// BF16: event.call "paged_attention_bf16"
// INT8: event.storage @k_memory bytes 2048
// INT8: event.buffer @k state : i8
// INT8-SAME: capacity [8, 2, 8]
// INT8: event.call "append_key_pages_int8"
// INT8: event.call "append_value_pages_int8"
// INT8: event.call "paged_attention_int8"

// What logits are made of, of all rows: behind the norm, before factors and caps.
// HIDDEN: %[[Y:.+]] = model.stack
// HIDDEN: model.last_rows %[[Y]]
// HIDDEN: %[[DRAWS:.+]] = model.sample
// HIDDEN: %[[H:.+]] = model.rms_norm %[[Y]], %{{.+}} {epsilon = {{.+}} : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
// HIDDEN: model.return %{{.+}}, %[[DRAWS]], %[[H]] :
// HIDDEN-PLAN: event.buffer @hidden_states persistent : f32
// HIDDEN-PLAN-SAME: capacity [8, 8]
// HIDDEN-PLAN-SAME: role = "output"
// HIDDEN-PLAN: event.call "rms_norm" [#event.address<@hidden_states
// HIDDEN-PLAN: event.phase "advance"
// HIDDEN-PLAN-SAME: #event.access<read @hidden_states

// FP8: model.paged_append %{{.+}} at %{{.+}} to "k" {stored = #model.stored<fp8>}
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

model.program @capped max_seq 64 batch 3 {
// CHECK-NEXT: ^bb0(%[[TOKENS:.+]]: !model.tensor<rows x i32>, %[[POSITIONS:.+]]: !model.tensor<rows x i32>, %[[SEQUENCES:.+]]: !model.tensor<rows x i32>, %[[SLOTS:.+]]: !model.tensor<rows x i32>, %[[PAGES:.+]]: !model.tensor<3 x i32>, %[[SAMPLING:.+]]: !model.tensor<outputs x 28 x i32>, %[[CHANGES:.+]]: !model.tensor<9792 x i32>):
// CHECK: model.embedding %[[TOKENS]]
// CHECK: %[[TABLE:.+]] = model.parameter ["wpe"]
// CHECK: model.embedding %[[POSITIONS]], %[[TABLE]]
// CHECK: model.rope_table %[[POSITIONS]]
// CHECK: model.stack
// CHECK: %[[K:.+]] = model.paged_append %{{.+}} at %[[SLOTS]] to "k"
// CHECK: %[[V:.+]] = model.paged_append %[[H:.+]] at %[[SLOTS]] to "v"
// CHECK: model.paged_attention %{{.+}}, %[[K]], %[[V]], %[[POSITIONS]], %[[SEQUENCES]], %[[PAGES]] gate %[[H]] {scale = 5.000000e-01 : f32, window = 7 : i64}
// CHECK: model.last_rows
// CHECK: %[[MASKS:.+]] = model.token_mask %[[SAMPLING]] : (!model.tensor<outputs x 28 x i32>) -> !model.tensor<outputs x 1 x i32>
// CHECK: %[[DRAWS:.+]] = model.sample %[[LOGITS:.+]], %[[SAMPLING]], %[[CHANGES]], %[[MASKS]]
// CHECK: model.return %[[LOGITS]], %[[DRAWS]]

// States lie in pages of 64 positions, both layers behind one another; attention
// waits for all rows of its head.
// PLAN: event.program @capped max_rows 8 max_seq 8 max_outputs 3
// PLAN-SAME: what rows see before those of their own step was written, in pages that the step does not write but behind it
// PLAN-SAME: the table @slots holds 0 to 2147483647, distinct
// PLAN-SAME: event.batch = {changes = 1088 : i64, longest_sequence = 64 : i64, sequences = 3 : i64}
// PLAN: event.storage @k_memory bytes 4096
// PLAN: event.buffer @k state : f32
// PLAN-SAME: page = 64 : i64, page_stride = 1024 : i64, slots = @slots
// PLAN: event.phase "{{.*}}paged_append"
// PLAN: event.call "append_key_pages" [#event.address<@k, (d0, d1)[s0, s1, s2] -> (d0 * 16, d1, 0)>, 1024,
// PLAN: event.call "append_value_pages"
// PLAN: event.phase "{{.*}}paged_attention"
// PLAN-SAME: waits [
// PLAN-SAME: #event.wait<@{{.*}}paged_append{{.*}}done
// PLAN: event.call "paged_attention"
// Masks wait for nothing of the step, and sampling for its row's mask.
// PLAN: event.phase "token_mask" grid {{.*}} capacity [3] accesses [#event.access<read @sampling, (d0)[s0, s1, s2] -> (d0, 0)
// PLAN-SAME: #event.access<may write @masks, (d0)[s0, s1, s2] -> (d0, 0) to (d0)[s0, s1, s2] -> (d0 + 1, 1)>] notifies <@token_mask.done
// PLAN: event.call "token_mask"
// PLAN: event.phase "sample" grid
// PLAN-SAME: #event.access<may read @masks
// PLAN-SAME: waits [
// PLAN-SAME: #event.wait<@token_mask.done, (d0)[s0, s1, s2] -> (d0)
// PLAN: event.call "sample" [#event.address<@draws
// PLAN: event.phase "advance"
// PLAN-SAME: #event.access<read @draws
// PLAN-SAME: #event.access<write @tokens
// PLAN-SAME: #event.access<write @positions
// PLAN-SAME: #event.access<write @sequences
// PLAN-SAME: #event.access<write @slots
// PLAN-SAME: #event.access<write @pages
// PLAN-SAME: #event.access<write @sampling
// PLAN-SAME: #event.access<write @changes

// Sampling that did not wait would be rejected.
// UNAWAITED: error: phase 'sample' does not wait for phase 'token_mask': read after write of @masks

// As half as many bytes, or as bytes with a scale behind each row.
// BF16: event.storage @k_memory bytes 2048
// BF16: event.buffer @k state : bf16
// BF16-SAME: capacity [8, 2, 4]
// BF16: event.call "append_key_pages_bf16"
// BF16: event.call "paged_attention_bf16"
// INT8: event.storage @k_memory bytes 2048
// INT8: event.buffer @k state : i8
// INT8-SAME: capacity [8, 2, 8]
// INT8: event.call "append_key_pages_int8"
// INT8: event.call "append_value_pages_int8"
// INT8: event.call "paged_attention_int8"

// What logits are made of, of all rows: behind the norm, before factors and caps.
// HIDDEN: %[[Y:.+]] = model.stack
// HIDDEN: model.last_rows %[[Y]]
// HIDDEN: %[[DRAWS:.+]] = model.sample
// HIDDEN: %[[H:.+]] = model.rms_norm %[[Y]], %{{.+}} {epsilon = {{.+}} : f32} : (!model.tensor<rows x 8 x f32>, !model.tensor<8 x f32>) -> !model.tensor<rows x 8 x f32>
// HIDDEN: model.return %{{.+}}, %[[DRAWS]], %[[H]] :
// HIDDEN-PLAN: event.buffer @hidden_states persistent : f32
// HIDDEN-PLAN-SAME: capacity [8, 8]
// HIDDEN-PLAN-SAME: role = "output"
// HIDDEN-PLAN: event.call "rms_norm" [#event.address<@hidden_states
// HIDDEN-PLAN: event.phase "advance"
// HIDDEN-PLAN-SAME: #event.access<read @hidden_states

// FP8: model.paged_append %{{.+}} at %{{.+}} to "k" {stored = #model.stored<fp8>}
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
