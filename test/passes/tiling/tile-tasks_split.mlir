// RUN: sed 's/max_seq 64/max_seq 200/' %S/inputs/block.mlir > %t.model
// RUN: baton-opt %t.model --tile-tasks="max-rows=4 attention-rows=4 attention-split=128 linear-rows=8 linear-columns=16 plain-rows=4 max-outputs=2" --schedule-static --derive-events --plan-memory -o %t.plan
// RUN: FileCheck %s < %t.plan
// RUN: baton-opt %t.plan --event-verify | FileCheck %s --check-prefix=PROVED
// RUN: sed 's/repeat 3/repeat 1/' %t.model | baton-opt --tile-tasks="max-rows=4 attention-rows=4 attention-split=128 linear-rows=8 linear-columns=16 plain-rows=4 max-outputs=2" --schedule-static --derive-events --plan-memory -o %t.once
// RUN: sed 's/waits \[#event.wait<@attention.partial.done.*>\] notifies/notifies/' %t.once > %t.unawaited
// RUN: not baton-opt %t.unawaited --event-verify 2>&1 | FileCheck %s --check-prefix=UNAWAITED
// RUN: sed 's/d1 floordiv 2) to \([^>]*-> (d0 + 1\), (d1 + 1) ceildiv 2)/0) to \1, 1)/' %t.once > %t.unordered
// RUN: not baton-opt %t.unordered --event-verify 2>&1 | FileCheck %s --check-prefix=UNORDERED
// RUN: sed 's/\(event.tensor @attention.partial.done .* count\) #map[0-9]*/\1 affine_map<()[s0, s1, s2] -> (1)>/' %t.once > %t.early
// RUN: not baton-opt %t.early --event-verify 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: baton-opt %t.model --tile-tasks="max-rows=5 attention-rows=4 attention-split=128" | FileCheck %s --check-prefix=WHOLE
// RUN: baton-opt %t.model --tile-tasks="max-rows=4 attention-rows=4 attention-split=256" | FileCheck %s --check-prefix=WHOLE
// RUN: baton-opt %t.model --tile-tasks="max-rows=4 attention-rows=4" | FileCheck %s --check-prefix=WHOLE
// RUN: not baton-opt %t.model --tile-tasks="attention-split=96" 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: sed 's/model.attention .* {/&event.required_tile, event.tile = array<i64: 4, 128>, /' %t.model > %t.decided
// RUN: baton-opt %t.decided --tile-tasks="max-rows=4" | FileCheck %s --check-prefix=DECIDED
// RUN: not baton-opt %t.decided --tile-tasks="max-rows=5" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: sed 's/max_seq 200/max_seq 128/' %t.decided | not baton-opt --tile-tasks="max-rows=4" 2>&1 | FileCheck %s --check-prefix=POSITIONS
// RUN: sed 's/event.required_tile, //' %t.decided | baton-opt --tile-tasks="max-rows=5" 2>&1 | FileCheck %s --check-prefix=OPTIONAL

// Attention in two phases: 128 positions a task, and the merge.

// CHECK-DAG: #[[BLOCKS:.*]] = affine_map<()[s0, s1, s2] -> (s0, 4, (s1 + s0) ceildiv 64, 10)>
// CHECK-DAG: #[[PARTS:.*]] = affine_map<()[s0, s1, s2] -> (s0 ceildiv 4, 2, (s1 + s0) ceildiv 128)>
// CHECK-DAG: #[[HEADS:.*]] = affine_map<()[s0, s1, s2] -> (s0 ceildiv 4, 4)>
// CHECK-DAG: #[[COUNT:.*]] = affine_map<()[s0, s1, s2] -> ((s1 + s0) ceildiv 128)>

// Elements, maximum and sum of four blocks; a head's lie behind one another.
// CHECK: event.buffer @attention.partial transient : f32 extents #[[BLOCKS]] capacity [4, 4, 4, 10] strides [{{[0-9]+}}, 40, 10, 1]

// A word for each head, counted up by as many tasks as there are parts.
// CHECK: event.tensor @attention.partial.done shape {{.*}} capacity [1, 2] count #[[COUNT]]

// A part that lies in the past waits for no key or value of this step: the boxes
// of words end before the first. Parts end with panels.
// CHECK: event.phase "attention.partial" grid #[[PARTS]] capacity [1, 2, 2]
// CHECK-SAME: #event.access<read @k, (d0, d1, d2)[s0, s1, s2] -> (d2 * 128, d1, 0) to (d0, d1, d2)[s0, s1, s2] -> (d2 * 128 + 128, d1 + 1, 8)>
// CHECK-SAME: #event.access<read @v, (d0, d1, d2)[s0, s1, s2] -> (d2 * 128, d1, 0) to (d0, d1, d2)[s0, s1, s2] -> (d2 * 128 + 128, d1 + 1, 8)>
// CHECK-SAME: #event.access<may write @attention.partial, (d0, d1, d2)[s0, s1, s2] -> (d0 * 4, d1 * 2, d2 * 2, 0) to (d0, d1, d2)[s0, s1, s2] -> (d0 * 4 + 4, d1 * 2 + 2, d2 * 2 + 2, 10)>
// CHECK-SAME: #event.wait<@kv_append.done, {{[^>]*}}> ({{.*}}) to {{[^>]*}}> ((d2 * 128 - s1 + 128) ceildiv 4, d1 + 1)>
// CHECK-SAME: notifies <@attention.partial.done, (d0, d1, d2)[s0, s1, s2] -> (d0, d1)>
// CHECK-NEXT: event.call "attention_partial" [#event.address<@attention.partial, {{[^>]*}}> (d0 * 4, d1 * 2, d2 * 2, 0)>, #event.stride<@attention.partial, [1, 0, 0, 0]>,
// CHECK-SAME: #event.address<@k, {{[^>]*}}> (0, d1, 0)>
// CHECK-SAME: #event.count<{{[^>]*}}> (d2 * 128)>, 128, #event.stride<@attention.partial, [0, 1, 0, 0]>, #event.scratch<0>]

// The merge has the op's name, and a task for each query head.
// CHECK: event.phase "attention" grid #[[HEADS]] capacity [1, 4]
// CHECK-SAME: #event.access<may read @attention.partial, (d0, d1)[s0, s1, s2] -> (d0 * 4, d1, 0, 0) to (d0, d1)[s0, s1, s2] -> (d0 * 4 + 4, d1 + 1, ((s0 + s1) ceildiv 128) * 2, 10) beyond 1>
// CHECK-SAME: #event.access<write @attention, (d0, d1)[s0, s1, s2] -> (d0 * 4, d1 * 8) to (d0, d1)[s0, s1, s2] -> (d0 * 4 + 4, d1 * 8 + 8)>
// CHECK-SAME: waits [#event.wait<@attention.partial.done, (d0, d1)[s0, s1, s2] -> (d0, d1 floordiv 2) to (d0, d1)[s0, s1, s2] -> (d0 + 1, (d1 + 1) ceildiv 2)>]
// CHECK-NEXT: event.call "attention_merge"

// PROVED: event.program @block {{.*}} proof {

// The merge has to wait. Waiting for the parts of one head is not enough for the others, nor is a word
// that the first part alone completes.
// UNAWAITED: error: phase 'attention' does not wait for
// UNORDERED: error: {{.*}}phase 'attention' does not wait for phase 'attention.partial': read after write of @attention.partial
// EARLY: error: {{.*}}attention.partial

// Several row tiles, or no position more than a part's, leave it one phase.
// WHOLE-NOT: attention.partial
// WHOLE: event.call "attention" [
// WHOLE-NOT: attention.partial

// REFUSED: attention-split is 96, neither 0 nor a multiple of 64

// A tile of positions that the op itself has is an error where it has no effect,
// unless it is optional.
// DECIDED: event.phase "attention.partial"
// ROWS: error: 'model.attention' op has a tile of 128 positions without effect: a step has up to 5 rows, more than a tile's 4; the schedule may say 'optional'
// POSITIONS: error: 'model.attention' op has a tile of 128 positions without effect: there are 128 at most, which a task has alone; the schedule may say 'optional'
// OPTIONAL: remark: positions are not spread over tasks: a step has up to 5 rows, more than a tile's 4
// OPTIONAL-NOT: attention.partial
