// RUN: baton-opt %S/../tiling/inputs/block.mlir --tile-tasks="max-rows=16 linear-rows=8 linear-columns=16 attention-rows=4 plain-rows=4 max-outputs=2" --derive-events | FileCheck %s
// RUN: baton-opt %S/../tiling/inputs/block.mlir --tile-tasks="max-rows=16 linear-rows=8 linear-columns=16 attention-rows=4 plain-rows=4 max-outputs=2" --derive-events=whole-phase | FileCheck %s --check-prefix=WHOLE

// Who waits for whom, and how finely.

// A coordinate that some waiting task tells apart stays; the others are counted.
// CHECK-DAG: #[[ONE:.*]] = affine_map<()[s0, s1, s2] -> (1)>
// CHECK-DAG: #[[TWO:.*]] = affine_map<()[s0, s1, s2] -> (2)>
// CHECK-DAG: #[[LOGITS:.*]] = affine_map<()[s0, s1, s2] -> ((s2 ceildiv 8) * 4)>
// CHECK: event.tensor @linear.done shape {{.*}} capacity [2, 4] count #[[ONE]]
// CHECK: event.tensor @attention.done shape {{.*}} capacity [4] count #[[TWO]]
// CHECK: event.tensor @linear.3.done shape {{.*}} capacity [] count #[[LOGITS]]

// The first layer waits for the embedding, every other for the layer before.
// CHECK: event.phase "linear" {{.*}} waits [
// CHECK-SAME: #event.wait<@embedding.done, (d0, d1)[s0, s1, s2] -> (d0 * 2) to (d0, d1)[s0, s1, s2] -> (d0 * 2 + 2)>
// CHECK-SAME: #event.wait<@linear.2.done distance 1, (d0, d1)[s0, s1, s2] -> (d0) to (d0, d1)[s0, s1, s2] -> (d0 + 1)>]

// Rotary positions wait for the tile of columns that holds the keys only.
// CHECK: event.phase "rope" {{.*}}#event.wait<@linear.done, (d0)[s0, s1, s2] -> (d0 floordiv 2, 2) to (d0)[s0, s1, s2] -> ((d0 + 1) ceildiv 2, 3)>

// Attention waits for its own head's keys and values, of this step's positions
// up to its own rows (of keys, to the end of the panel), and for its own queries.
// CHECK: event.phase "attention"
// CHECK-SAME: #event.wait<@kv_append.2.done, (d0, d1)[s0, s1, s2] -> ((-s1) floordiv 4, d1) to (d0, d1)[s0, s1, s2] -> (d0 + 1, d1 + 1)>
// CHECK-SAME: #event.wait<@kv_append.done, (d0, d1)[s0, s1, s2] -> ((-s1) floordiv 4, d1) to (d0, d1)[s0, s1, s2] -> ((d0 * 4 + 19) ceildiv 4, d1 + 1)>
// CHECK-SAME: #event.wait<@linear.done, (d0, d1)[s0, s1, s2] -> (d0 floordiv 2, d1) to (d0, d1)[s0, s1, s2] -> ((d0 + 1) ceildiv 2, d1 + 1)>]

// The residual's update comes after everybody has read the old value, but waits
// for attention alone: the other orders follow.
// CHECK: event.phase "linear.2" {{.*}} waits [#event.wait<@attention.done, {{[^>]*}}> (d0 * 2) to {{[^>]*}}> (d0 * 2 + 2)>] notifies

// CHECK: event.phase "advance" {{.*}} waits [#event.wait<@linear.3.done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>]

// With one event for each phase nothing is told apart.
// WHOLE-DAG: #[[ALL:.*]] = affine_map<()[s0, s1, s2] -> ((s0 ceildiv 8) * 4)>
// WHOLE: event.tensor @linear.done shape {{.*}} capacity [] count #[[ALL]]
// WHOLE: event.phase "rope" {{.*}}#event.wait<@linear.done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>
