// Where a mixture trains, ranks that have sequences of their own send their rows to experts by
// themselves: bounds are each rank's own, and gradients of experts are sums. Places are cut as sequences are
// and, among ranks that have the same rows, as experts are. Where it decodes, all ranks have all rows.
//
// RUN: baton-opt %S/../training/differentiate_experts.mlir --training-form --differentiate --cse --test-print-sharding-rules -o %t 2>&1 | FileCheck %s
// RUN: baton-opt %S/../training/differentiate_experts.mlir --test-print-sharding-rules -o %t 2>&1 | FileCheck %s --check-prefix=DECODE

// CHECK: loc("route"): rule: bs e -> bs j, bs j; replicated e j; e=4 j=2
// CHECK: loc("dispatch"): rule: bs j -> z, bs j, bs j; own b; replicated s j z; j=2 z=5
// CHECK: loc("gather"): rule: bs k, bs j -> be j k; replicated s k j; k=16 j=2
// CHECK: loc("gate_up.gate"): rule: be j k, z, e n k -> be j n; sum k; replicated j z; e=4 j=2 k=16 z=5 n=32
// CHECK: loc("down"): rule: bs h k ->; terms 0; h=2 k=16
// CHECK: loc("combine"): rule: be j k, bs j, bs j -> bs k; sum e; replicated j k s; terms 0, linear in them; j=2 k=16
// CHECK: loc("combine"): rule: bs k, bs j, bs j -> be j k; replicated s k j; k=16 j=2
// CHECK: loc("combine"): rule: bs k, be j k, bs j -> bs j; sum e; replicated s k j; terms 1, linear in them; k=16 j=2
// CHECK: loc("down"): rule: be j n, z, e n k -> be j k; sum n; replicated j z; e=4 j=2 n=16 z=5 k=32
// CHECK: loc("down"): rule: be j n, be j k, z -> e n k; sum b; replicated j z; e=4 j=2 n=16 k=32 z=5
// CHECK: loc("gather"): rule: be j k, bs j -> bs k; sum e; replicated j k s; terms 0, linear in them; j=2 k=16
// CHECK: loc("route"): rule: bs j, bs e, bs j -> bs e; replicated s j e; j=2 e=4

// DECODE: loc("dispatch"): rule: bs j -> z, bs j, bs j; replicated b s j z; j=2 z=5
// DECODE: loc("gather"): rule: bs k, bs j -> e j k; replicated b s j; k=16 j=2
// DECODE: loc("gate_up"): rule: e j k, z, e n k, e n k -> e j n; replicated j k z; e=4 j=2 k=16 z=5 n=32
// DECODE: loc("combine"): rule: e j k, bs j, bs j -> bs k; sum e; replicated j b s; terms 0, linear in them; j=2 k=16
