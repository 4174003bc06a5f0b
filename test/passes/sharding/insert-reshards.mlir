// Reshards where values lie elsewhere than they are read, and no more of them.
//
// RUN: baton-opt %s --insert-reshards --verify-sharding | FileCheck %s

!index = !model.tensor<rows x i32>
!rows = !model.tensor<rows x f32>
!x = !model.tensor<rows x 8 x f32>
!h = !model.tensor<rows x 12 x f32>
!table = !model.tensor<16 x 8 x f32>
!bias = !model.tensor<16 x f32>
!up = !model.tensor<12 x 8 x f32>
!down = !model.tensor<8 x 12 x f32>

#whole = #dist.placement<[replicate, replicate]>
#columns = #dist.placement<[replicate, shard(tensor)]>
#rows = #dist.placement<[shard(tensor), replicate]>
#part = #dist.placement<[replicate, replicate], partial sum(tensor)>

dist.mesh [tensor = 4]

// A bias and a residual are added by one rank of those that share a sum.
//
// CHECK-LABEL: model.program @terms
// CHECK: %[[BIAS:.+]] = model.parameter ["bias"]
// CHECK: %[[B:.+]] = dist.reshard %[[BIAS]] : !model.tensor<8 x f32> from <[replicate]> to <[replicate], partial sum(tensor)>
// CHECK: %[[R:.+]] = dist.reshard %[[X:.+]] : !model.tensor<rows x 8 x f32> from <[replicate, replicate]> to <[replicate, replicate], partial sum(tensor)>
// CHECK: %[[D:.+]] = model.linear %{{.+}}, %{{.+}} bias %[[B]] residual %[[R]] {dist.placements = [#dist.placement<[replicate, replicate], partial sum(tensor)>]}
// CHECK-NEXT: %[[SUM:.+]] = dist.reshard %[[D]] : {{.+}} from <[replicate, replicate], partial sum(tensor)> to <[replicate, replicate]>
// What several ops read is brought to its place once.
// CHECK-NEXT: model.tanh %[[SUM]]
// CHECK-NEXT: model.tanh %[[SUM]]
// CHECK-NOT: dist.reshard
// CHECK: model.return
model.program @terms max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] : !table
  %x = model.embedding %tokens, %table : (!index, !table) -> !x
  %up = model.parameter ["up"] {dist.placements = [#rows]} : !up
  %h = model.linear %x, %up {dist.placements = [#columns]} : (!x, !up) -> !h
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %bias = model.parameter ["bias"] : !model.tensor<8 x f32>
  %d = model.linear %h, %down bias %bias residual %x {dist.computed = [#part]} : (!h, !down, !model.tensor<8 x f32>, !x) -> !x
  %a = model.tanh %d : (!x) -> !x
  %b = model.tanh %d : (!x) -> !x
  model.return %weights : !rows
}

// Sums of partial values, and views of them, stay partial where nothing else
// reads the terms; the sum over ranks comes at the end, at once to where it is
// read.
//
// CHECK-LABEL: model.program @sums
// CHECK: model.parameter ["down"]
// CHECK-NEXT: %[[P:.+]] = model.linear
// CHECK-NEXT: %[[Q:.+]] = model.linear
// CHECK-NEXT: %[[S:.+]] = model.add %[[P]], %[[Q]] {dist.placements = [#dist.placement<[replicate, replicate], partial sum(tensor)>]}
// CHECK-NEXT: %[[T:.+]] = model.scale %[[S]] {dist.placements = [#dist.placement<[replicate, replicate], partial sum(tensor)>]
// CHECK-NEXT: %[[W:.+]] = dist.reshard %[[T]] : {{.+}} from <[replicate, replicate], partial sum(tensor)> to <[shard(tensor), replicate]>
// CHECK-NEXT: model.tanh %[[W]]
// One term that is read elsewhere is summed first.
// CHECK: %[[U:.+]] = model.linear
// CHECK-NEXT: %[[UW:.+]] = dist.reshard %[[U]] : {{.+}} to <[replicate, replicate]>
// CHECK-NEXT: %[[V:.+]] = model.linear
// CHECK-NEXT: %[[VW:.+]] = dist.reshard %[[V]] : {{.+}} to <[replicate, replicate]>
// CHECK-NEXT: model.add %[[UW]], %[[VW]] :
// CHECK-NEXT: model.tanh %[[UW]]
model.program @sums max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] : !table
  %x = model.embedding %tokens, %table : (!index, !table) -> !x
  %up = model.parameter ["up"] {dist.placements = [#rows]} : !up
  %h = model.linear %x, %up {dist.placements = [#columns]} : (!x, !up) -> !h
  %down = model.parameter ["down"] {dist.placements = [#columns]} : !down
  %p = model.linear %h, %down {dist.computed = [#part], dist.placements = [#rows]} : (!h, !down) -> !x
  %q = model.linear %h, %down {dist.computed = [#part], dist.placements = [#rows]} : (!h, !down) -> !x
  %s = model.add %p, %q {dist.placements = [#rows]} : (!x, !x) -> !x
  %t = model.scale %s {factor = 2.0 : f32, dist.placements = [#rows]} : (!x) -> !x
  %r = model.tanh %t {dist.placements = [#rows]} : (!x) -> !x
  %u = model.linear %h, %down {dist.computed = [#part]} : (!h, !down) -> !x
  %v = model.linear %h, %down {dist.computed = [#part]} : (!h, !down) -> !x
  %uv = model.add %u, %v : (!x, !x) -> !x
  %tu = model.tanh %u : (!x) -> !x
  model.return %weights : !rows
}

// What a pattern reads from around its stack is brought there in front of it;
// what it carries, at both ends.
//
// CHECK-LABEL: model.program @stack
// CHECK: %[[E:.+]] = model.embedding
// CHECK-NEXT: %[[Z:.+]] = model.tanh
// CHECK-NEXT: %[[INIT:.+]] = dist.reshard %[[E]] : {{.+}} to <[shard(tensor), replicate]>
// CHECK-NEXT: %[[ONCE:.+]] = dist.reshard %[[Z]] : {{.+}} from <[replicate, replicate]> to <[shard(tensor), replicate]>
// CHECK-NEXT: model.stack %[[INIT]]
// CHECK-NEXT: ^bb0(%[[A:.+]]: {{.+}}):
// CHECK-NEXT: %[[SUM:.+]] = model.add %[[A]], %[[ONCE]]
// CHECK-NEXT: %[[WHOLE:.+]] = dist.reshard %[[SUM]] : {{.+}} to <[replicate, replicate]>
// CHECK-NEXT: %[[Y:.+]] = model.tanh %[[WHOLE]]
// CHECK-NEXT: %[[BACK:.+]] = dist.reshard %[[Y]] : {{.+}} to <[shard(tensor), replicate]>
// CHECK-NEXT: model.yield %[[BACK]]
model.program @stack max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %table = model.parameter ["table"] : !table
  %e = model.embedding %tokens, %table : (!index, !table) -> !x
  %z = model.tanh %e : (!x) -> !x
  %y = model.stack %e repeat 2 {dist.placements = [#rows]} : (!x) -> !x {
  ^bb1(%a: !x):
    %s = model.add %a, %z {dist.operands = [#rows, #rows], dist.placements = [#rows]} : (!x, !x) -> !x
    %t = model.tanh %s {dist.operands = [#whole]} : (!x) -> !x
    model.yield %t : !x
  }
  model.return %weights : !rows
}

// Of a sharded vocabulary ranks exchange three numbers a row.
//
// CHECK-LABEL: model.program @loss
// CHECK-NOT: model.cross_entropy
// CHECK: %[[M:.+]] = dist.logit_maximum %[[X:.+]], %[[W:.+]] {dist.placements = [#dist.placement<[replicate], partial max(tensor)>], scale = 2.000000e+00 : f32, softcap = 3.000000e+01 : f32}
// CHECK-NEXT: %[[MAX:.+]] = dist.reshard %[[M]] : {{.+}} from <[replicate], partial max(tensor)> to <[replicate]>
// CHECK-NEXT: %[[S:.+]] = dist.logit_sums %[[X]], %[[W]], %{{.+}}, %[[MAX]] {dist.placements = [#dist.placement<[replicate, replicate], partial sum(tensor)>], scale = 2.000000e+00 : f32, softcap = 3.000000e+01 : f32}
// CHECK-NEXT: %[[SUMS:.+]] = dist.reshard %[[S]] : {{.+}} from <[replicate, replicate], partial sum(tensor)> to <[replicate, replicate]>
// CHECK-NEXT: %[[LOSS:.+]] = dist.losses %[[MAX]], %[[SUMS]], %{{.+}} :
// CHECK-NEXT: %[[DX:.+]], %[[DW:.+]] = dist.loss_gradients %[[X]], %[[W]], %{{.+}}, %{{.+}}, %[[MAX]], %[[SUMS]] {dist.placements = [#dist.placement<[replicate, replicate], partial sum(tensor)>, #dist.placement<[shard(tensor), replicate]>]
// CHECK-NEXT: %[[SUM:.+]] = dist.reshard %[[DX]] :
// CHECK-NEXT: model.tanh %[[SUM]]
// CHECK-NEXT: model.gradient %[[DW]] of %[[W]]
// CHECK-NEXT: model.return %[[LOSS]]
model.program @loss max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %small = model.parameter ["small"] : !table
  %x = model.embedding %tokens, %small : (!index, !table) -> !x
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %loss, %dx, %dw = model.cross_entropy %x, %table, %targets, %weights {scale = 2.0 : f32, softcap = 30.0 : f32, dist.placements = [#dist.placement<[replicate]>, #whole, #rows]} : (!x, !table, !index, !rows) -> (!rows, !x, !table)
  %t = model.tanh %dx : (!x) -> !x
  model.gradient %dw of %table : !table, !table
  model.return %loss : !rows
}

// A bias lies with the rows of the weight, and so does its gradient.
//
// CHECK-LABEL: model.program @biased
// CHECK: dist.logit_maximum %{{.+}}, %{{.+}} bias %[[B:[^ ]+]] {
// CHECK: dist.logit_sums %{{.+}} bias %[[B]] {
// CHECK: %{{.+}}, %{{.+}}, %[[DB:.+]] = dist.loss_gradients %{{.+}} bias %[[B]] {dist.placements = [#dist.placement<[replicate, replicate], partial sum(tensor)>, #dist.placement<[shard(tensor), replicate]>, #dist.placement<[shard(tensor)]>]
// CHECK: model.gradient %[[DB]] of %[[B]]
model.program @biased max_seq 64 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %small = model.parameter ["small"] : !table
  %x = model.embedding %tokens, %small : (!index, !table) -> !x
  %table = model.parameter ["table"] {dist.placements = [#rows]} : !table
  %bias = model.parameter ["bias"] {dist.placements = [#dist.placement<[shard(tensor)]>]} : !bias
  %loss, %dx, %dw, %db = model.cross_entropy %x, %table, %targets, %weights bias %bias {dist.placements = [#dist.placement<[replicate]>, #whole, #rows, #dist.placement<[shard(tensor)]>]} : (!x, !table, !index, !rows, !bias) -> (!rows, !x, !table, !bias)
  %t = model.tanh %dx : (!x) -> !x
  model.gradient %db of %bias : !bias, !bias
  model.return %loss : !rows
}
