// Every way from one placement to another.
//
// RUN: baton-opt %s --lower-reshards | FileCheck %s

!x = !model.tensor<rows x 8 x f32>
!w = !model.tensor<8 x 12 x bf16>
!v = !model.tensor<9 x 12 x f32>

#whole = #dist.placement<[replicate, replicate]>
#a0 = #dist.placement<[shard(a), replicate]>
#a1 = #dist.placement<[replicate, shard(a)]>
#b0 = #dist.placement<[shard(b), replicate]>
#ab0 = #dist.placement<[shard(a, b), replicate]>
#b1a1 = #dist.placement<[replicate, shard(b, a)]>
#a0b1 = #dist.placement<[shard(a), shard(b)]>
#b0a1 = #dist.placement<[shard(b), shard(a)]>
#sum_a = #dist.placement<[replicate, replicate], partial sum(a)>
#sum_ab = #dist.placement<[replicate, replicate], partial sum(a, b)>
#max_a = #dist.placement<[replicate, replicate], partial max(a)>
#b0_sum_a = #dist.placement<[shard(b), replicate], partial sum(a)>
#ragged = #dist.placement<[ragged(a: 1, [5, 4]), replicate]>

dist.mesh [a = 2, b = 4]

%x = "model.parameter"() {sources = ["x"]} : () -> !w
%v = model.parameter ["v"] : !v

// CHECK: dist.all_reduce %{{.+}} over ["a"] from <[replicate, replicate], partial sum(a)> to <[replicate, replicate]> payload "2 * 8 * 12"
%0 = dist.reshard %x : !w from #sum_a to #whole
// CHECK-NEXT: dist.all_reduce %{{.+}} over ["a"] from <[replicate, replicate], partial max(a)> to <[replicate, replicate]> payload "2 * 8 * 12"
%1 = dist.reshard %x : !w from #max_a to #whole
// CHECK-NEXT: dist.reduce_scatter %{{.+}} dimension 0 over ["a"] from <[replicate, replicate], partial sum(a)> to <[shard(a), replicate]> payload "2 * 8 * 12"
%2 = dist.reshard %x : !w from #sum_a to #a0
// CHECK-NEXT: %[[S:.+]] = dist.reduce_scatter %{{.+}} dimension 0 over ["a"] from <[replicate, replicate], partial sum(a, b)> to <[shard(a), replicate], partial sum(b)> payload "2 * 8 * 12"
// CHECK-NEXT: dist.all_reduce %[[S]] {{.+}} over ["b"] from <[shard(a), replicate], partial sum(b)> to <[shard(a), replicate]> payload "2 * 4 * 12"
%3 = dist.reshard %x : !w from #sum_ab to #a0
// CHECK-NEXT: dist.reduce_scatter %{{.+}} dimension 0 over ["a", "b"] from <[replicate, replicate], partial sum(a, b)> to <[shard(a, b), replicate]> payload "2 * 8 * 12"
%4 = dist.reshard %x : !w from #sum_ab to #ab0

// The shard of b is in the way of that of a: the sum goes to all ranks.
// CHECK-NEXT: %[[S:.+]] = dist.all_reduce %{{.+}} over ["a"] from <[shard(b), replicate], partial sum(a)> to <[shard(b), replicate]> payload "2 * 2 * 12"
// CHECK-NEXT: %[[G:.+]] = dist.all_gather %[[S]] {{.+}} dimension 0 over ["b"] from <[shard(b), replicate]> to <[replicate, replicate]> payload "2 * 8 * 12"
// CHECK-NEXT: dist.slice %[[G]] {{.+}} dimension 0 over ["a", "b"] from <[replicate, replicate]> to <[shard(a, b), replicate]>
%5 = dist.reshard %x : !w from #b0_sum_a to #ab0

// CHECK-NEXT: dist.all_gather %{{.+}} dimension 0 over ["a", "b"] from <[shard(a, b), replicate]> to <[replicate, replicate]> payload "2 * 8 * 12"
%6 = dist.reshard %x : !w from #ab0 to #whole
// CHECK-NEXT: dist.all_gather %{{.+}} dimension 0 over ["b"] from <[shard(a, b), replicate]> to <[shard(a), replicate]> payload "2 * 4 * 12"
%7 = dist.reshard %x : !w from #ab0 to #a0
// CHECK-NEXT: dist.slice %{{.+}} dimension 0 over ["a", "b"] from <[replicate, replicate]> to <[shard(a, b), replicate]>
%8 = dist.reshard %x : !w from #whole to #ab0
// CHECK-NEXT: dist.all_to_all %{{.+}} dimension 0 to 1 over ["a"] from <[shard(a), replicate]> to <[replicate, shard(a)]> payload "2 * 4 * 12"
%9 = dist.reshard %x : !w from #a0 to #a1
// CHECK-NEXT: dist.all_to_all %{{.+}} dimension 0 to 1 over ["b"] from <[shard(a, b), replicate]> to <[shard(a), shard(b)]> payload "2 * 1 * 12"
%10 = dist.reshard %x : !w from #ab0 to #a0b1

// Two dimensions that change their axes: one of them is gathered first.
// CHECK-NEXT: %[[G:.+]] = dist.all_gather %{{.+}} dimension 0 over ["a"] from <[shard(a), shard(b)]> to <[replicate, shard(b)]> payload "2 * 8 * 3"
// CHECK-NEXT: %[[G2:.+]] = dist.all_gather %[[G]] {{.+}} dimension 1 over ["b"] from <[replicate, shard(b)]> to <[replicate, replicate]> payload "2 * 8 * 12"
// CHECK-NEXT: %[[C:.+]] = dist.slice %[[G2]] {{.+}} dimension 0 over ["b"]
// CHECK-NEXT: dist.slice %[[C]] {{.+}} dimension 1 over ["a"] from <[shard(b), replicate]> to <[shard(b), shard(a)]>
%11 = dist.reshard %x : !w from #a0b1 to #b0a1

// CHECK-NEXT: dist.first_rank %{{.+}} over ["a"] from <[replicate, replicate]> to <[replicate, replicate], partial sum(a)>
%12 = dist.reshard %x : !w from #whole to #sum_a
// The largest part of uneven ones counts.
// CHECK-NEXT: dist.all_gather %{{.+}} dimension 0 over ["a"] from <[ragged(a: 1, [5, 4]), replicate]> to <[replicate, replicate]> payload "4 * 9 * 12"
%13 = dist.reshard %v : !v from #ragged to #whole
// CHECK-NEXT: dist.slice %{{.+}} dimension 0 over ["a"] from <[replicate, replicate]> to <[ragged(a: 1, [5, 4]), replicate]>
%14 = dist.reshard %v : !v from #whole to #ragged
// CHECK-NEXT: dist.reduce_scatter %{{.+}} dimension 0 over ["a"] from <[replicate, replicate], partial sum(a)> to <[ragged(a: 1, [5, 4]), replicate]> payload "4 * 9 * 12"
%15 = dist.reshard %v : !v from #sum_a to #ragged
// Other parts of the same axis: all of it, and then the other part.
// CHECK-NEXT: %[[G:.+]] = dist.all_gather %{{.+}} from <[ragged(a: 1, [5, 4]), replicate]> to <[replicate, replicate]> payload "4 * 9 * 12"
// CHECK-NEXT: dist.slice %[[G]] {{.+}} to <[ragged(a: 1, [9, 0]), replicate]>
%16 = dist.reshard %v : !v from #ragged to #dist.placement<[ragged(a: 1, [9, 0]), replicate]>
// CHECK-NEXT: %[[G:.+]] = dist.all_gather %{{.+}} from <[ragged(a: 1, [5, 4]), replicate]> to <[replicate, replicate]> payload "4 * 9 * 12"
// CHECK-NEXT: dist.slice %[[G]] {{.+}} dimension 1 over ["a"] from <[replicate, replicate]> to <[replicate, shard(a)]>
%17 = dist.reshard %v : !v from #ragged to #a1

// Uneven parts are not cut further: the rest is summed, and cut of the whole.
// CHECK-NEXT: %[[S:.+]] = dist.all_reduce %{{.+}} over ["b"] from <[ragged(a: 4, [1, 1]), replicate], partial sum(b)> to <[ragged(a: 4, [1, 1]), replicate]> payload "2 * 4 * 12"
// CHECK-NEXT: %[[G:.+]] = dist.all_gather %[[S]] {{.+}} dimension 0 over ["a"] from <[ragged(a: 4, [1, 1]), replicate]> to <[replicate, replicate]> payload "2 * 8 * 12"
// CHECK-NEXT: dist.slice %[[G]] {{.+}} dimension 0 over ["a", "b"] from <[replicate, replicate]> to <[shard(a, b), replicate]>
%18 = dist.reshard %x : !w from #dist.placement<[ragged(a: 4, [1, 1]), replicate], partial sum(b)> to #ab0
