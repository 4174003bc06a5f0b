// What routers add to a loss goes through the layers as one more value that stacks carry: those
// with routers, from the first one on.
//
// RUN: baton-opt %s --training-form --router-losses="balance=0.25 z=0.5" | FileCheck %s
// RUN: baton-opt %s --training-form --router-losses | FileCheck %s --check-prefix=OWN
// RUN: baton-opt %s --training-form --router-losses=balance=0 | FileCheck %s --check-prefix=NONE
// RUN: baton-opt %s --training-form --router-losses=z=0.5 --differentiate --cse | FileCheck %s --check-prefix=BACK
// RUN: baton-opt %s --training-form --router-losses --differentiate --recompute=mode=full --cse | FileCheck %s --check-prefix=FULL

// CHECK-LABEL: model.program @mixture
// CHECK: ^bb0(%{{.+}}, %{{.+}}, %{{.+}}, %[[W:.+]]: !model.tensor<rows x f32>):
// CHECK: %[[X0:.+]] = model.stack %{{[^,]+}} repeat 2 : (!model.tensor<rows x 16 x f32>) -> !model.tensor<rows x 16 x f32>
// CHECK: %[[FIRST:.+]] = model.router_begin %[[W]] : (!model.tensor<rows x f32>) -> !model.tensor<rows x 9 x f32>
// CHECK: %[[X1:.+]]:2 = model.stack %[[X0]], %[[FIRST]] repeat 3
// CHECK-SAME: first_layer = 2 : i64
// CHECK: ^bb0(%{{.+}}: !model.tensor<rows x 16 x f32>, %[[BEFORE:.+]]: !model.tensor<rows x 9 x f32>):
// CHECK: %[[L:.+]] = model.linear
// CHECK: %[[E:.+]], %{{.+}} = model.route %[[L]]
// CHECK-NEXT: %[[MADE:.+]] = model.router_sums %[[BEFORE]], %[[L]], %[[E]]
// CHECK: model.yield %{{.+}}, %[[MADE]]
// A router outside of stacks.
// CHECK: %[[L2:.+]] = model.linear %[[X1]]#0
// CHECK: %[[E2:.+]], %{{.+}} = model.route %[[L2]]
// CHECK-NEXT: %[[ALL:.+]] = model.router_sums %[[X1]]#1, %[[L2]], %[[E2]]
// CHECK: %[[LOSS:.+]], %{{.+}}, %{{.+}} = model.cross_entropy
// CHECK: %[[LOSSES:.+]], %{{.+}} = model.router_loss %[[LOSS]], %[[ALL]], %[[W]] {balance = 2.500000e-01 : f32, layers = 4 : i64, z = 5.000000e-01 : f32}
// CHECK: model.return %[[LOSSES]] : !model.tensor<rows x 4 x f32>

// The config's factor, which is for no later pass.
// OWN-LABEL: model.program @mixture
// OWN-NOT: model.balance_loss
// OWN: model.router_loss {{.*}}{balance = 1.250000e-01 : f32, layers = 4 : i64, z = 0.000000e+00 : f32}

// NONE-NOT: model.router
// NONE: model.return %{{.+}} : !model.tensor<rows x f32>

// Gradients of sums go the way back, and to each router; those of counts there are none.
// BACK: %{{.+}}, %[[DSUMS:.+]] = model.router_loss
// BACK: model.router_sums_gradient %[[DSUMS]], %{{.+}} : (!model.tensor<rows x 5 x f32>, !model.tensor<rows x 4 x f32>)
// BACK: model.stack %{{.+}}, %[[DSUMS]] repeat 3 reverse
// BACK: ^bb0(%{{.+}}: {{.+}}, %[[DY:.+]]: !model.tensor<rows x 5 x f32>):
// BACK: %[[DL:.+]] = model.router_sums_gradient %[[DY]], %{{.+}}
// BACK: %[[D:.+]] = model.add
// BACK: model.linear_input_gradient %[[D]]
// BACK: model.yield %{{.+}}, %[[DY]]
// The stack without routers has what it had.
// BACK: model.stack %{{[^,]+}} repeat 2 reverse

// Sums are for the loss: no layer that is computed again makes them again.
// FULL: model.router_sums
// FULL: model.router_loss
// FULL-NOT: model.router_sums %
// FULL: model.return
!rows = !model.tensor<rows x i32>
!x = !model.tensor<rows x 16 x f32>
!l = !model.tensor<rows x 4 x f32>
!e = !model.tensor<rows x 2 x i32>
!k = !model.tensor<rows x 2 x f32>
!p = !model.tensor<rows x 2 x 16 x f32>
!w = !model.tensor<4 x 16 x f32>
!m = !model.tensor<4 x 16 x 16 x f32>
model.program @mixture max_seq 64 attributes {model.balance_loss = 0.125 : f32} {
^bb0(%tokens: !rows):
  %wte = model.parameter ["wte"] : !model.tensor<19 x 16 x f32>
  %x0 = model.embedding %tokens, %wte : (!rows, !model.tensor<19 x 16 x f32>) -> !x
  %x1 = model.stack %x0 repeat 2 : (!x) -> !x {
  ^bb1(%x: !x):
    %norm = model.parameter ["norm.{layer}"] : !model.tensor<16 x f32>
    %n = model.rms_norm %x, %norm {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<16 x f32>) -> !x
    model.yield %n : !x
  }
  %x2 = model.stack %x1 repeat 3 {first_layer = 2 : i64} : (!x) -> !x {
  ^bb1(%x: !x):
    %router = model.parameter ["router.{layer}"] : !w
    %experts = model.parameter ["layers.{layer}.experts.{expert}"] : !m
    %l = model.linear %x, %router : (!x, !w) -> !l
    %e, %w = model.route %l {normalize} : (!l) -> (!e, !k)
    %b, %c, %p = model.dispatch %e : (!e) -> (!model.tensor<5 x i32>, !e, !e)
    %g = model.gather %x, %c : (!x, !e) -> !p
    %d = model.grouped_linear %g, %b, %experts : (!p, !model.tensor<5 x i32>, !m) -> !p
    %s = model.combine %d, %p, %w : (!p, !e, !k) -> !x
    model.yield %s : !x
  }
  %router = model.parameter ["last.router"] : !w
  %experts = model.parameter ["last.experts.{expert}"] : !m
  %l = model.linear %x2, %router : (!x, !w) -> !l
  %e, %w = model.route %l {normalize} : (!l) -> (!e, !k)
  %b, %c, %p = model.dispatch %e : (!e) -> (!model.tensor<5 x i32>, !e, !e)
  %g = model.gather %x2, %c : (!x, !e) -> !p
  %d = model.grouped_linear %g, %b, %experts : (!p, !model.tensor<5 x i32>, !m) -> !p
  %x3 = model.combine %d, %p, %w : (!p, !e, !k) -> !x
  %last = model.last_rows %x3 : (!x) -> !model.tensor<outputs x 16 x f32>
  %o = model.linear %last, %wte : (!model.tensor<outputs x 16 x f32>, !model.tensor<19 x 16 x f32>) -> !model.tensor<outputs x 19 x f32>
  model.return %o : !model.tensor<outputs x 19 x f32>
}
