// Rows that go to segments, in every layer, as rows go to experts: tables that a task
// writes, and tasks whose boxes depend on them (docs/dynamic-plans.md). Events and
// memory are as derive-events and plan-memory make them of such phases.

#map = affine_map<()[s0, s1, s2] -> (s0, 4)>
#map1 = affine_map<()[s0, s1, s2] -> (4)>
#map2 = affine_map<()[s0, s1, s2] -> (s0)>
#map3 = affine_map<()[s0, s1, s2] -> (s2, 2)>
#map4 = affine_map<()[s0, s1, s2] -> ()>
#map5 = affine_map<()[s0, s1, s2] -> (s0 ceildiv 2)>
#map6 = affine_map<()[s0, s1, s2] -> (1)>
#map7 = affine_map<()[s0, s1, s2] -> (3)>
#map8 = affine_map<()[s0, s1, s2] -> (2)>
#map9 = affine_map<()[s0, s1, s2] -> (3, 2)>
module {
  event.program @routed max_rows 6 max_seq 10 max_outputs 2 {
    event.storage @x_memory bytes 384
    event.buffer @x transient : f32 extents #map capacity [6, 4] strides [16, 1] in @x_memory
    event.storage @bounds_memory bytes 64
    event.buffer @bounds transient : i32 extents #map1 capacity [4] strides [1] in @bounds_memory
    event.storage @place_memory bytes 64
    event.buffer @place transient : i32 extents #map2 capacity [6] strides [1] in @place_memory
    event.storage @hidden_memory bytes 384
    event.buffer @hidden transient : f32 extents #map capacity [6, 4] strides [16, 1] in @hidden_memory
    event.storage @out_memory bytes 384
    event.buffer @out transient : f32 extents #map capacity [6, 4] strides [16, 1] in @out_memory
    event.storage @logits_memory bytes 128
    event.buffer @logits transient : f32 extents #map3 capacity [2, 2] strides [16, 1] in @logits_memory
    event.table @bounds holds ()[s0, s1, s2] -> (0) to ()[s0, s1, s2] -> (s0 + 1)  partition
    event.table @place holds ()[s0, s1, s2] -> (0) to ()[s0, s1, s2] -> (s0)  distinct
    event.tensor @embed.done shape #map4 capacity [] count #map5
    event.tensor @route.done shape #map4 capacity [] count #map6
    event.tensor @up.done shape #map7 capacity [3] count #map8
    event.tensor @down.done shape #map4 capacity [] count #map7
    event.tensor @combine.done shape #map4 capacity [] count #map2
    event.tensor @score.done shape #map4 capacity [] count #map6
    event.segment "begin" repeat 1 {
      event.phase "embed" grid #map5 capacity [3] accesses [#event.access<write @x, (d0)[s0, s1, s2] -> (d0 * 2, 0) to (d0)[s0, s1, s2] -> (d0 * 2 + 2, 4)>] notifies <@embed.done, (d0)[s0, s1, s2] -> ()> {
      }
    }
    event.segment "layers" repeat 2 {
      event.phase "route" grid #map6 capacity [1] accesses [#event.access<read @x, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s0, 4)>, #event.access<write @bounds, (d0)[s0, s1, s2] -> (0) to (d0)[s0, s1, s2] -> (4)>, #event.access<write @place, (d0)[s0, s1, s2] -> (0) to (d0)[s0, s1, s2] -> (s0)>] waits [#event.wait<@embed.done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>, #event.wait<@combine.done distance 1, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>] notifies <@route.done, (d0)[s0, s1, s2] -> ()> {
      }
      event.phase "up" grid #map9 capacity [3, 2] entries [#event.address<@bounds, (d0, d1)[s0, s1, s2] -> (d0)>, #event.address<@bounds, (d0, d1)[s0, s1, s2] -> (d0 + 1)>] accesses [#event.access<read @bounds, (d0, d1, d2, d3)[s0, s1, s2] -> (d0) to (d0, d1, d2, d3)[s0, s1, s2] -> (d0 + 2)>, #event.access<read @x, (d0, d1, d2, d3)[s0, s1, s2] -> (0, 0) to (d0, d1, d2, d3)[s0, s1, s2] -> (s0, 4)>, #event.access<write @hidden, (d0, d1, d2, d3)[s0, s1, s2] -> (d2, d1 * 2) to (d0, d1, d2, d3)[s0, s1, s2] -> (d3, d1 * 2 + 2)>] waits [#event.wait<@route.done, (d0, d1)[s0, s1, s2] -> () to (d0, d1)[s0, s1, s2] -> ()>] notifies <@up.done, (d0, d1)[s0, s1, s2] -> (d0)> {
      }
      event.phase "down" grid #map7 capacity [3] entries [#event.address<@bounds, (d0)[s0, s1, s2] -> (d0)>, #event.address<@bounds, (d0)[s0, s1, s2] -> (d0 + 1)>] accesses [#event.access<read @bounds, (d0, d1, d2)[s0, s1, s2] -> (d0) to (d0, d1, d2)[s0, s1, s2] -> (d0 + 2)>, #event.access<read @hidden, (d0, d1, d2)[s0, s1, s2] -> (d1, 0) to (d0, d1, d2)[s0, s1, s2] -> (d2, 4)>, #event.access<write @out, (d0, d1, d2)[s0, s1, s2] -> (d1, 0) to (d0, d1, d2)[s0, s1, s2] -> (d2, 4)>] waits [#event.wait<@up.done, (d0)[s0, s1, s2] -> (d0) to (d0)[s0, s1, s2] -> (d0 + 1)>] notifies <@down.done, (d0)[s0, s1, s2] -> ()> {
      }
      event.phase "combine" grid #map2 capacity [6] entries [#event.address<@place, (d0)[s0, s1, s2] -> (d0)>] accesses [#event.access<read @place, (d0, d1)[s0, s1, s2] -> (d0) to (d0, d1)[s0, s1, s2] -> (d0 + 1)>, #event.access<read @out, (d0, d1)[s0, s1, s2] -> (d1, 0) to (d0, d1)[s0, s1, s2] -> (d1 + 1, 4)>, #event.access<read @x, (d0, d1)[s0, s1, s2] -> (d0, 0) to (d0, d1)[s0, s1, s2] -> (d0 + 1, 4)>, #event.access<write @x, (d0, d1)[s0, s1, s2] -> (d0, 0) to (d0, d1)[s0, s1, s2] -> (d0 + 1, 4)>] waits [#event.wait<@down.done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>] notifies <@combine.done, (d0)[s0, s1, s2] -> ()> {
      }
    }
    event.segment "end" repeat 1 {
      event.phase "score" grid #map6 capacity [1] accesses [#event.access<read @x, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s0, 4)>, #event.access<write @logits, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s2, 2)>] waits [#event.wait<@combine.done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>] notifies <@score.done, (d0)[s0, s1, s2] -> ()> {
      }
      event.phase "hand" grid #map6 capacity [1] accesses [#event.access<read @logits, (d0)[s0, s1, s2] -> (0, 0) to (d0)[s0, s1, s2] -> (s2, 2)>] waits [#event.wait<@score.done, (d0)[s0, s1, s2] -> () to (d0)[s0, s1, s2] -> ()>] {
        event.advance @logits
      }
    }
  }
}
