// Every op and placement prints what it parses.
//
// RUN: baton-opt %s | baton-opt | FileCheck %s
// RUN: baton-opt %s --mlir-print-op-generic | baton-opt | FileCheck %s

!rows = !model.tensor<rows x f32>
!index = !model.tensor<rows x i32>
!two = !model.tensor<rows x 2 x f32>
!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<17 x 8 x f32>
!bias = !model.tensor<17 x f32>

// CHECK: dist.mesh [data = 2, tensor = 4] batch [data]
dist.mesh [data = 2, tensor = 4] batch [data]

#part = #dist.placement<[shard(data), replicate], partial sum(tensor)>
#max = #dist.placement<[replicate], partial max(data, tensor)>
#data = #dist.placement<[shard(data), replicate]>
#both = #dist.placement<[shard(data, tensor), replicate]>
#columns = #dist.placement<[shard(data), shard(tensor)]>
#ragged = #dist.placement<[ragged(tensor: 4, [2, 0, 2, 1]), replicate]>
#dimension = #dist.dimension<shard(data)>

// CHECK: model.program @p max_seq 8 training attributes {dist.arguments = [#dist.placement<[shard(data)]>, {{.+}}], test.dimension = #dist.dimension<shard(data)>}
model.program @p max_seq 8 training attributes {dist.arguments = [
    #dist.placement<[shard(data)]>, #dist.placement<[shard(data)]>,
    #dist.placement<[shard(data)]>, #dist.placement<[shard(data)]>], test.dimension = #dimension} {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  // CHECK: model.parameter ["w"] {dist.placements = [#dist.placement<[ragged(tensor: 4, [2, 0, 2, 1]), replicate]>]}
  %w = model.parameter ["w"] {dist.placements = [#ragged]} : !w
  %e = model.embedding %tokens, %w {dist.computed = [#part], dist.operands = [#dist.placement<[shard(data)]>, #ragged]} : (!index, !w) -> !x
  // CHECK: dist.reshard %{{.+}} : !model.tensor<rows x 8 x f32> from <[shard(data), replicate], partial sum(tensor)> to <[shard(data), replicate]>
  %0 = dist.reshard %e : !x from #part to #data
  // CHECK: dist.all_reduce %{{.+}} : !model.tensor<rows x 8 x f32> over ["tensor"] from <[shard(data), replicate], partial sum(tensor)> to <[shard(data), replicate]> payload "4 * rows/2 * 8"
  %1 = dist.all_reduce %e : !x over ["tensor"] from #part to #data payload "4 * rows/2 * 8"
  // CHECK: dist.reduce_scatter %{{.+}} : !model.tensor<rows x 8 x f32> dimension 0 over ["tensor"] from <[shard(data), replicate], partial sum(tensor)> to <[shard(data, tensor), replicate]> payload "4 * rows/2 * 8"
  %2 = dist.reduce_scatter %e : !x dimension 0 over ["tensor"] from #part to #both payload "4 * rows/2 * 8"
  // CHECK: dist.all_gather %{{.+}} : !model.tensor<rows x 8 x f32> dimension 0 over ["tensor"] from <[shard(data, tensor), replicate]> to <[shard(data), replicate]> payload "4 * rows/2 * 8"
  %3 = dist.all_gather %2 : !x dimension 0 over ["tensor"] from #both to #data payload "4 * rows/2 * 8"
  // CHECK: dist.all_to_all %{{.+}} : !model.tensor<rows x 8 x f32> dimension 0 to 1 over ["tensor"] from <[shard(data, tensor), replicate]> to <[shard(data), shard(tensor)]> payload "4 * rows/8 * 8"
  %4 = dist.all_to_all %2 : !x dimension 0 to 1 over ["tensor"] from #both to #columns payload "4 * rows/8 * 8"
  // CHECK: dist.slice %{{.+}} : !model.tensor<rows x 8 x f32> dimension 1 over ["tensor"] from <[shard(data), replicate]> to <[shard(data), shard(tensor)]>
  %5 = dist.slice %3 : !x dimension 1 over ["tensor"] from #data to #columns
  // CHECK: dist.first_rank %{{.+}} : !model.tensor<rows x 8 x f32> over ["tensor"] from <[shard(data), replicate]> to <[shard(data), replicate], partial sum(tensor)>
  %6 = dist.first_rank %3 : !x over ["tensor"] from #data to #part
  // CHECK: dist.logit_maximum %{{.+}} {dist.computed = [#dist.placement<[replicate], partial max(data, tensor)>], scale
  %m = dist.logit_maximum %3, %w {dist.computed = [#max], scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w) -> !rows
  // CHECK: dist.logit_sums
  %s = dist.logit_sums %3, %w, %targets, %m {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows) -> !two
  // CHECK: dist.losses
  %l = dist.losses %m, %s, %weights : (!rows, !two, !rows) -> !rows
  // CHECK: dist.loss_gradients
  %dx, %dw = dist.loss_gradients %3, %w, %targets, %weights, %m, %s {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows, !rows, !two) -> (!x, !w)
  // With a bias.
  %bias = model.parameter ["bias"] : !bias
  // CHECK: dist.logit_maximum %{{.+}}, %{{.+}} bias %[[B:[^ ]+]] {scale
  %bm = dist.logit_maximum %3, %w bias %bias {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !bias) -> !rows
  // CHECK: dist.logit_sums %{{.+}} bias %[[B]] {scale
  %bs = dist.logit_sums %3, %w, %targets, %bm bias %bias {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows, !bias) -> !two
  // CHECK: dist.loss_gradients %{{.+}} bias %[[B]] {scale
  %bdx:3 = dist.loss_gradients %3, %w, %targets, %weights, %bm, %bs bias %bias {scale = 1.0 : f32, softcap = 0.0 : f32} : (!x, !w, !index, !rows, !rows, !two, !bias) -> (!x, !w, !bias)
  // CHECK: model.gradient %{{.+}} of %{{.+}} {dist.gradient = #dist.placement<[ragged(tensor: 4, [2, 0, 2, 1]), replicate]>}
  model.gradient %dw of %w {dist.gradient = #ragged} : !w, !w
  model.return %l : !rows
}

!experts = !model.tensor<rows x 2 x i32>
!places = !model.tensor<rows x 2 x 8 x f32>
!received = !model.tensor<rows x 8 x 8 x f32>

// CHECK: model.program @rows
model.program @rows max_seq 8 training {
^bb0(%tokens: !index, %positions: !index, %targets: !index, %weights: !rows):
  %w = model.parameter ["w"] : !w
  %router = model.parameter ["router"] : !model.tensor<8 x 8 x f32>
  %x = model.embedding %tokens, %w : (!index, !w) -> !x
  %l = model.linear %x, %router : (!x, !model.tensor<8 x 8 x f32>) -> !model.tensor<rows x 8 x f32>
  %e, %g = model.route %l : (!model.tensor<rows x 8 x f32>) -> (!experts, !model.tensor<rows x 2 x f32>)
  %b, %c, %p = model.dispatch %e : (!experts) -> (!model.tensor<9 x i32>, !experts, !experts)
  // CHECK: dist.exchange_counts %{{.+}} over ["tensor"] payload "4 * 4 * 16" : (!model.tensor<9 x i32>) -> (!model.tensor<4 x i32>, !model.tensor<4 x 16 x i32>)
  %r, %n = dist.exchange_counts %b over ["tensor"] payload "4 * 4 * 16" : (!model.tensor<9 x i32>) -> (!model.tensor<4 x i32>, !model.tensor<4 x 16 x i32>)
  %y = model.gather %x, %c : (!x, !experts) -> !places
  // CHECK: dist.dispatch_rows %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} over ["tensor"] payload "4 * rows * 2 * 8" :
  %z = dist.dispatch_rows %y, %b, %r, %n over ["tensor"] payload "4 * rows * 2 * 8" : (!places, !model.tensor<9 x i32>, !model.tensor<4 x i32>, !model.tensor<4 x 16 x i32>) -> !received
  // CHECK: dist.combine_rows %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} over ["tensor"] payload "4 * rows * 2 * 8" :
  %v = dist.combine_rows %z, %b, %r, %n over ["tensor"] payload "4 * rows * 2 * 8" : (!received, !model.tensor<9 x i32>, !model.tensor<4 x i32>, !model.tensor<4 x 16 x i32>) -> !places
  model.return %weights : !rows
}
