#map = affine_map<()[s0, s1, s2] -> (s1 + s0)>
#map1 = affine_map<()[s0, s1, s2] -> (s0, 4)>
#map2 = affine_map<()[s0, s1, s2] -> (s0, 8)>
#map3 = affine_map<()[s0, s1, s2] -> (s2, 8)>
#map4 = affine_map<()[s0, s1, s2] -> (s0 ceildiv 16)>
#map5 = affine_map<()[s0, s1, s2] -> (1)>
#map6 = affine_map<()[s0, s1, s2] -> (4)>
#map7 = affine_map<()[s0, s1, s2] -> ()>
#map8 = affine_map<()[s0, s1, s2] -> (s2 ceildiv 16)>
#map9 = affine_map<()[s0, s1, s2] -> (s0 ceildiv 16, 4)>
module {
  event.program @uneven max_rows 8 max_seq 8 max_outputs 8 proof {assumptions = ["task bodies touch only what their accesses state, and the scratch that the program reserves", "every worker has a thread of its own, which is scheduled again and again", "all workers meet between two steps"], conflicts = 7 : i64, status = "proved"} {
    event.buffer @tokens input : i32 extents #map capacity [8] strides [1]
    event.buffer @embedding transient : f32 extents #map1 capacity [8, 4] strides [16, 1] in @tanh_memory
    event.parameter @embedding.table : f32 layers 1 as #event.table<4 by 4> from [#event.source<["t"] : 4 by 4>]
    event.storage @reshape_memory bytes 512
    event.buffer @reshape transient : f32 extents #map2 capacity [8, 8] strides [16, 1] in @reshape_memory
    event.storage @tanh_memory bytes 512
    event.buffer @tanh transient : f32 extents #map2 capacity [8, 8] strides [16, 1] in @tanh_memory
    event.storage @logits_memory bytes 512
    event.buffer @logits transient : f32 extents #map3 capacity [8, 8] strides [16, 1] in @logits_memory
    event.tensor @embedding.done shape #map4 capacity [1] count #map5
    event.tensor @reshape.done shape #map4 capacity [1] count #map6
    event.tensor @tanh.done shape #map4 capacity [1] count #map5
    event.tensor @logits.done shape #map7 capacity [] count #map8
    event.segment "begin" repeat 1 {
      event.phase "embedding" grid #map4 capacity [1] accesses [#event.access<read @tokens, (d0)[s0, s1, s2] -> (d0 * 16 + s1) to (d0)[s0, s1, s2] -> (d0 * 16 + s1 + 16)>, #event.access<write @embedding, (d0)[s0, s1, s2] -> (d0 * 16, 0) to (d0)[s0, s1, s2] -> (d0 * 16 + 16, 4)>] notifies <@embedding.done, (d0)[s0, s1, s2] -> (d0)> {
        event.call "embedding_f32" [#event.address<@embedding, (d0)[s0, s1, s2] -> (d0 * 16, 0)>, #event.stride<@embedding, [1, 0]>, #event.address<@tokens, (d0)[s0, s1, s2] -> (d0 * 16 + s1)>, #event.weight<@embedding.table, (d0)[s0, s1, s2] -> (0)>, #event.count<(d0)[s0, s1, s2] -> (16, d0 * -16 + s0)>, 4, 4, 1.000000e+00 : f32]
      }
      event.phase "reshape" grid #map9 capacity [1, 4] accesses [#event.access<read @embedding, (d0, d1)[s0, s1, s2] -> (d0 * 16, (d1 floordiv 2) * 2) to (d0, d1)[s0, s1, s2] -> (d0 * 16 + 16, (d1 floordiv 2) * 2 + 2)>, #event.access<write @reshape, (d0, d1)[s0, s1, s2] -> (d0 * 16, d1 * 2) to (d0, d1)[s0, s1, s2] -> (d0 * 16 + 16, d1 * 2 + 2)>] waits [#event.wait<@embedding.done, (d0, d1)[s0, s1, s2] -> (d0) to (d0, d1)[s0, s1, s2] -> (d0 + 1)>] notifies <@reshape.done, (d0, d1)[s0, s1, s2] -> (d0)> {
        event.call "copy" [#event.address<@reshape, (d0, d1)[s0, s1, s2] -> (d0 * 16, d1 * 2)>, #event.stride<@reshape, [1, 0]>, #event.address<@embedding, (d0, d1)[s0, s1, s2] -> (d0 * 16, (d1 floordiv 2) * 2)>, #event.stride<@embedding, [1, 0]>, #event.count<(d0, d1)[s0, s1, s2] -> (16, d0 * -16 + s0)>, #event.count<(d0, d1)[s0, s1, s2] -> (2)>]
      }
      event.phase "tanh" grid #map4 capacity [1] accesses [#event.access<read @reshape, (d0)[s0, s1, s2] -> (d0 * 16, 0) to (d0)[s0, s1, s2] -> (d0 * 16 + 16, 8)>, #event.access<write @tanh, (d0)[s0, s1, s2] -> (d0 * 16, 0) to (d0)[s0, s1, s2] -> (d0 * 16 + 16, 8)>] waits [#event.wait<@reshape.done, (d0)[s0, s1, s2] -> (d0) to (d0)[s0, s1, s2] -> (d0 + 1)>] notifies <@tanh.done, (d0)[s0, s1, s2] -> (d0)> {
        event.call "tanh" [#event.address<@tanh, (d0)[s0, s1, s2] -> (d0 * 16, 0)>, #event.stride<@tanh, [1, 0]>, #event.address<@reshape, (d0)[s0, s1, s2] -> (d0 * 16, 0)>, #event.stride<@reshape, [1, 0]>, #event.count<(d0)[s0, s1, s2] -> (16, d0 * -16 + s0)>, #event.count<(d0)[s0, s1, s2] -> (8)>]
      }
      event.phase "logits" grid #map8 capacity [1] accesses [#event.access<read @tanh, (d0)[s0, s1, s2] -> (d0 * 16 + s0 - s2, 0) to (d0)[s0, s1, s2] -> (d0 * 16 + s0 - s2 + 16, 8)>, #event.access<write @logits, (d0)[s0, s1, s2] -> (d0 * 16, 0) to (d0)[s0, s1, s2] -> (d0 * 16 + 16, 8)>] waits [#event.wait<@tanh.done, (d0)[s0, s1, s2] -> ((d0 * 16 + s0 - s2) floordiv 16) to (d0)[s0, s1, s2] -> ((d0 * 16 + s0 - s2 + 16) ceildiv 16)>] notifies <@logits.done, (d0)[s0, s1, s2] -> ()> {
        event.call "copy" [#event.address<@logits, (d0)[s0, s1, s2] -> (d0 * 16, 0)>, #event.stride<@logits, [1, 0]>, #event.address<@tanh, (d0)[s0, s1, s2] -> (d0 * 16 + s0 - s2, 0)>, #event.stride<@tanh, [1, 0]>, #event.count<(d0)[s0, s1, s2] -> (16, d0 * -16 + s2)>, #event.count<(d0)[s0, s1, s2] -> (8)>]
      }
      event.phase "advance" grid #map5 capacity [1] accesses [#event.access<read @logits, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s2, 8)>] waits [#event.wait<@logits.done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>] {
        event.advance @logits
      }
    }
  }
}

