// RUN: baton-opt %S/../tiling/inputs/block.mlir --tile-tasks="max-rows=16 linear-rows=8 linear-columns=16 attention-rows=4 plain-rows=4 max-outputs=2" --derive-events --schedule-static | FileCheck %s

// Tasks of equal size lie in blocks, so that a worker streams neighbouring
// weights. Attention's tasks grow with the row: they are dealt out in turn.

// CHECK: event.phase "linear"
// CHECK-NOT: distribution
// CHECK: event.phase "attention"
// CHECK-SAME: distribution = #event<distribution cyclic>
// CHECK: event.phase "linear.2"
// CHECK-NOT: distribution

// Where tasks are few among workers, phases that do not depend on one another
// have the two deals by turns: one task each, they are the last worker's and
// the first one's.

// RUN: baton-opt %S/../tiling/inputs/block.mlir --tile-tasks="max-rows=1 linear-rows=1 linear-columns=16 attention-rows=1 plain-rows=1 max-outputs=1" --schedule-static="few-tasks=8" | FileCheck %s --check-prefix=FEW

// FEW: event.phase "embedding"
// FEW-NOT: cyclic
// FEW: event.phase "rope_table"
// FEW-SAME: cyclic
// FEW: event.phase "rope"
// FEW-NOT: cyclic
// FEW: event.phase "kv_append"
// FEW-NOT: cyclic
// FEW: event.phase "kv_append.2"
// FEW-SAME: cyclic
// FEW: event.phase "attention"
