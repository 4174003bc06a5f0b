// RUN: baton-opt %S/../tiling/inputs/block.mlir --tile-tasks="max-rows=16 linear-rows=8 linear-columns=16 attention-rows=4 plain-rows=4 max-outputs=2" --derive-events --schedule-static | FileCheck %s

// Tasks of equal size lie in blocks, so that a worker streams neighbouring
// weights. Attention's tasks grow with the row: they are dealt out in turn.

// CHECK: event.phase "linear"
// CHECK-NOT: distribution
// CHECK: event.phase "attention"
// CHECK-SAME: distribution = #event<distribution cyclic>
// CHECK: event.phase "linear.2"
// CHECK-NOT: distribution
