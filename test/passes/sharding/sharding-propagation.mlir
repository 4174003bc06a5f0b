// From a few values to all, forwards and backwards.
//
// RUN: baton-opt %s --sharding-propagation=tactics=tensor:tensor | FileCheck %s
// RUN: baton-opt %s --sharding-propagation=tactics=tensor:tensor --sharding-propagation=tactics=tensor:tensor | FileCheck %s --check-prefix=AGAIN
// RUN: baton-opt %s --sharding-propagation | FileCheck %s --check-prefix=STATED

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<9 x 8 x f32>
!up = !model.tensor<12 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>

// CHECK: dist.mesh [data = 2, tensor = 4] batch [data]
dist.mesh [data = 2, tensor = 4] batch [data]

// The inside of a feed-forward layer is found by what linears read, and the
// vocabulary may be uneven. Nothing is sharded where nothing follows.
//
// CHECK-LABEL: model.program @mlp
// CHECK-NOT: dist.arguments
// CHECK: %[[TABLE:.+]] = model.parameter ["table"] {dist.placements = [#dist.placement<[ragged(tensor: 1, [3, 2, 2, 2]), replicate]>]}
// CHECK: %[[E:.+]] = model.embedding %{{.+}}, %[[TABLE]] {dist.computed = [#dist.placement<[replicate, replicate], partial sum(tensor)>]}
// CHECK: model.stack %[[E]] repeat 2 :
// CHECK: model.parameter ["norm.{layer}"] :
// CHECK: model.rms_norm %{{.+}}, %{{.+}} {epsilon
// CHECK: model.parameter ["up.{layer}"] {dist.placements = [#dist.placement<[shard(tensor), replicate]>]}
// CHECK: model.parameter ["bias.{layer}"] {dist.placements = [#dist.placement<[shard(tensor)]>]}
// CHECK: model.linear %{{.+}}, %{{.+}} bias %{{.+}} {dist.placements = [#dist.placement<[replicate, shard(tensor)]>]}
// CHECK: model.activate %{{.+}} {activation = #model.activation<gelu>, dist.placements = [#dist.placement<[replicate, shard(tensor)]>]}
// CHECK: model.parameter ["down.{layer}"] {dist.placements = [#dist.placement<[replicate, shard(tensor)]>]}
// CHECK: model.linear %{{.+}}, %{{.+}} {dist.computed = [#dist.placement<[replicate, replicate], partial sum(tensor)>]} :
// CHECK: model.add %{{.+}}, %{{.+}} :
// Logits are needed whole.
// CHECK: %[[LOGITS:.+]] = model.linear %{{.+}}, %[[TABLE]] {dist.placements = [#dist.placement<[replicate, ragged(tensor: 1, [3, 2, 2, 2])]>]}
// CHECK: model.return {dist.operands = [#dist.placement<[replicate, replicate]>]} %[[LOGITS]]

// What was found is stated, and a second run finds the same.
// AGAIN-LABEL: model.program @mlp
// AGAIN: model.embedding {{.*}} {dist.computed = [#dist.placement<[replicate, replicate], partial sum(tensor)>]}
// AGAIN: ["down.{layer}"] {dist.placements = [#dist.placement<[replicate, shard(tensor)]>]}
// AGAIN: model.return {dist.operands = [#dist.placement<[replicate, replicate]>]}
model.program @mlp max_seq 64 {
^bb0(%tokens: !index):
  %table = model.parameter ["table"] : !table
  %e = model.embedding %tokens, %table : (!index, !table) -> !x
  %y = model.stack %e repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    %norm = model.parameter ["norm.{layer}"] : !model.tensor<8 x f32>
    %n = model.rms_norm %a, %norm {epsilon = 1.0e-5 : f32} : (!x, !model.tensor<8 x f32>) -> !x
    %up = model.parameter ["up.{layer}"] : !up
    %bias = model.parameter ["bias.{layer}"] : !model.tensor<12 x f32>
    %b = model.linear %n, %up bias %bias : (!x, !up, !model.tensor<12 x f32>) -> !h
    %c = model.activate %b {activation = #model.activation<gelu>} : (!h) -> !h
    %down = model.parameter ["down.{layer}"] : !down
    %d = model.linear %c, %down : (!h, !down) -> !x
    %r = model.add %a, %d : (!x, !x) -> !x
    model.yield %r : !x
  }
  %last = model.last_rows %y : (!x) -> !model.tensor<outputs x 8 x f32>
  %logits = model.linear %last, %table : (!model.tensor<outputs x 8 x f32>, !table) -> !model.tensor<outputs x 9 x f32>
  model.return %logits : !model.tensor<outputs x 9 x f32>
}

// Seeds in the IR, without a tactic: a column of one value reaches what makes
// and what reads it, a saved value, a parameter of the same name, and a stack's
// values in all iterations. A factor that has to be whole stops it.
//
// STATED-LABEL: model.program @stated
// STATED-SAME: dist.arguments = [#dist.placement<[shard(data)]>, #dist.placement<[replicate]>, #dist.placement<[replicate]>, #dist.placement<[replicate]>]
// STATED: model.parameter ["table"] {dist.placements = [#dist.placement<[replicate, shard(tensor)]>]}
// STATED: model.embedding {{.*}} {dist.placements = [#dist.placement<[shard(data), shard(tensor)]>]}
// STATED: model.stack {{.*}} {dist.placements = [#dist.placement<[shard(data), shard(tensor)]>]}
// STATED: model.tanh {{.*}} {dist.placements = [#dist.placement<[shard(data), shard(tensor)]>]}
// STATED: model.save {{.*}} to "a" :
// STATED: model.yield
// STATED: model.stack repeat 2
// STATED: model.saved "a" {dist.placements = [#dist.placement<[shard(data), shard(tensor)]>]}
// The sum over rows is one over ranks of data.
// STATED: model.bias_gradient {{.*}} {dist.computed = [#dist.placement<[shard(tensor)], partial sum(data)>], dist.placements = [#dist.placement<[shard(tensor)]>]}
// STATED: model.parameter ["bias.{layer}"] {dist.placements = [#dist.placement<[shard(tensor)]>]}
// STATED: model.softmax %{{.+}} {dist.computed = [#dist.placement<[shard(data), replicate]>], dist.operands = [#dist.placement<[shard(data), replicate]>], dist.placements = [#dist.placement<[shard(data), shard(tensor)]>]}
model.program @stated max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] : !table
  %e = model.embedding %tokens, %table : (!index, !table) -> !x
  %y = model.stack %e repeat 2 : (!x) -> !x {
  ^bb1(%a: !x):
    %t = model.tanh %a {dist.placements = [#dist.placement<[shard(data), shard(tensor)]>]} : (!x) -> !x
    model.save %t to "a" : !x
    model.yield %t : !x
  }
  model.stack repeat 2 : () -> () {
    %s = model.saved "a" : !x
    %db = model.bias_gradient %s : (!x) -> !model.tensor<8 x f32>
    %bias = model.parameter ["bias.{layer}"] : !model.tensor<8 x f32>
    model.gradient %db of %bias : !model.tensor<8 x f32>, !model.tensor<8 x f32>
    model.yield
  }
  %p = model.softmax %y : (!x) -> !x
  %q = model.add %p, %y : (!x, !x) -> !x
  model.return %weights : !rows
}
