// RUN: baton-opt %s --event-verify | FileCheck %s

// Two layers of a transformer with tiles of unequal height, proved for all
// rows, lengths, outputs and workers.

// CHECK: event.program @two_layers
// CHECK-SAME: proof {assumptions = ["other bodies touch only what their accesses state, and the scratch that the program reserves, and write all that they state to write",
// CHECK-SAME: conflicts = {{[1-9][0-9]*}} : i64
// CHECK-SAME: status = "proved"}
event.program @two_layers max_rows 12 max_seq 20 max_outputs 3 {
  event.storage @x_memory bytes 384
  event.storage @q_memory bytes 384
  event.storage @k_memory bytes 640
  event.storage @v_memory bytes 640
  event.storage @a_memory bytes 384
  event.storage @h_memory bytes 576
  event.storage @logits_memory bytes 144
  event.buffer @tokens input : i32 extents affine_map<()[r, p, o] -> (r + p)> capacity [20] strides [1]
  event.buffer @x transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [12, 8] strides [8, 1] in @x_memory
  event.buffer @q transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [12, 8] strides [8, 1] in @q_memory
  event.buffer @k state : f32 extents affine_map<()[r, p, o] -> (r + p, 4)> capacity [20, 4] strides [4, 1] in @k_memory {layers = 2 : i64, layer_stride = 80 : i64}
  event.buffer @v state : f32 extents affine_map<()[r, p, o] -> (r + p, 4)> capacity [20, 4] strides [4, 1] in @v_memory {layers = 2 : i64, layer_stride = 80 : i64}
  event.buffer @a transient : f32 extents affine_map<()[r, p, o] -> (r, 8)> capacity [12, 8] strides [8, 1] in @a_memory
  event.buffer @h transient : f32 extents affine_map<()[r, p, o] -> (r, 12)> capacity [12, 12] strides [12, 1] in @h_memory
  event.buffer @logits transient : f32 extents affine_map<()[r, p, o] -> (o, 10)> capacity [3, 10] strides [12, 1] in @logits_memory
  event.tensor @embedded shape affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [3] count affine_map<()[r, p, o] -> (1)>
  event.tensor @projected shape affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [3] count affine_map<()[r, p, o] -> (4)>
  event.tensor @attended shape affine_map<()[r, p, o] -> (r ceildiv 2)> capacity [6] count affine_map<()[r, p, o] -> (2)>
  event.tensor @mixed shape affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [3] count affine_map<()[r, p, o] -> (2)>
  event.tensor @gated shape affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [3] count affine_map<()[r, p, o] -> (3)>
  event.tensor @finished shape affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [3] count affine_map<()[r, p, o] -> (2)>
  event.tensor @scored shape affine_map<()[r, p, o] -> ()> capacity [] count affine_map<()[r, p, o] -> ((o ceildiv 2) * 3)>
  event.segment "start" repeat 1 {
    event.phase "embed" grid affine_map<()[r, p, o] -> (r ceildiv 4)> capacity [3]
      accesses [#event.access<read @tokens, (m)[r, p, o] -> (p + m * 4) to (m)[r, p, o] -> (p + m * 4 + 4)>,
                #event.access<write @x, (m)[r, p, o] -> (m * 4, 0) to (m)[r, p, o] -> (m * 4 + 4, 8)>]
      notifies <@embedded, (m)[r, p, o] -> (m)> {
    }
  }
  event.segment "block" repeat 2 {
    event.phase "project" grid affine_map<()[r, p, o] -> (r ceildiv 4, 4)> capacity [3, 4]
      accesses [#event.access<read @x, (m, n)[r, p, o] -> (m * 4, 0) to (m, n)[r, p, o] -> (m * 4 + 4, 8)>,
                #event.access<write @q, (m, n)[r, p, o] -> (m * 4, n * 4) to (m, n)[r, p, o] -> (m * 4 + 4, n * 4 + 4)>,
                #event.access<write @k, (m, n)[r, p, o] -> (p + m * 4, n * 4 - 8) to (m, n)[r, p, o] -> (p + m * 4 + 4, n * 4 - 4)>,
                #event.access<write @v, (m, n)[r, p, o] -> (p + m * 4, n * 4 - 12) to (m, n)[r, p, o] -> (p + m * 4 + 4, n * 4 - 8)>]
      waits [#event.wait<@embedded, (m, n)[r, p, o] -> (m) to (m, n)[r, p, o] -> (m + 1)>,
             #event.wait<@finished distance 1, (m, n)[r, p, o] -> (m) to (m, n)[r, p, o] -> (m + 1)>]
      notifies <@projected, (m, n)[r, p, o] -> (m)> {
    }
    event.phase "attend" grid affine_map<()[r, p, o] -> (r ceildiv 2, 2)> capacity [6, 2]
      accesses [#event.access<read @q, (m, h)[r, p, o] -> (m * 2, h * 4) to (m, h)[r, p, o] -> (m * 2 + 2, h * 4 + 4)>,
                #event.access<read @k, (m, h)[r, p, o] -> (0, 0) to (m, h)[r, p, o] -> (p + m * 2 + 2, 4)>,
                #event.access<read @v, (m, h)[r, p, o] -> (0, 0) to (m, h)[r, p, o] -> (p + m * 2 + 2, 4)>,
                #event.access<write @a, (m, h)[r, p, o] -> (m * 2, h * 4) to (m, h)[r, p, o] -> (m * 2 + 2, h * 4 + 4)>]
      waits [#event.wait<@projected, (m, h)[r, p, o] -> (0) to (m, h)[r, p, o] -> ((m * 2 + 2) ceildiv 4)>]
      notifies <@attended, (m, h)[r, p, o] -> (m)> {
    }
    event.phase "mix" grid affine_map<()[r, p, o] -> (r ceildiv 4, 2)> capacity [3, 2]
      accesses [#event.access<read @a, (m, n)[r, p, o] -> (m * 4, 0) to (m, n)[r, p, o] -> (m * 4 + 4, 8)>,
                #event.access<read @x, (m, n)[r, p, o] -> (m * 4, n * 4) to (m, n)[r, p, o] -> (m * 4 + 4, n * 4 + 4)>,
                #event.access<write @x, (m, n)[r, p, o] -> (m * 4, n * 4) to (m, n)[r, p, o] -> (m * 4 + 4, n * 4 + 4)>]
      waits [#event.wait<@attended, (m, n)[r, p, o] -> (m * 2) to (m, n)[r, p, o] -> (m * 2 + 2)>]
      notifies <@mixed, (m, n)[r, p, o] -> (m)> {
    }
    event.phase "gate" grid affine_map<()[r, p, o] -> (r ceildiv 4, 3)> capacity [3, 3]
      accesses [#event.access<read @x, (m, n)[r, p, o] -> (m * 4, 0) to (m, n)[r, p, o] -> (m * 4 + 4, 8)>,
                #event.access<write @h, (m, n)[r, p, o] -> (m * 4, n * 4) to (m, n)[r, p, o] -> (m * 4 + 4, n * 4 + 4)>]
      waits [#event.wait<@mixed, (m, n)[r, p, o] -> (m) to (m, n)[r, p, o] -> (m + 1)>]
      notifies <@gated, (m, n)[r, p, o] -> (m)> {
    }
    event.phase "finish" grid affine_map<()[r, p, o] -> (r ceildiv 4, 2)> capacity [3, 2]
      accesses [#event.access<read @h, (m, n)[r, p, o] -> (m * 4, 0) to (m, n)[r, p, o] -> (m * 4 + 4, 12)>,
                #event.access<read @x, (m, n)[r, p, o] -> (m * 4, n * 4) to (m, n)[r, p, o] -> (m * 4 + 4, n * 4 + 4)>,
                #event.access<write @x, (m, n)[r, p, o] -> (m * 4, n * 4) to (m, n)[r, p, o] -> (m * 4 + 4, n * 4 + 4)>]
      waits [#event.wait<@gated, (m, n)[r, p, o] -> (m) to (m, n)[r, p, o] -> (m + 1)>]
      notifies <@finished, (m, n)[r, p, o] -> (m)> {
    }
  }
  event.segment "end" repeat 1 {
    event.phase "score" grid affine_map<()[r, p, o] -> (o ceildiv 2, 3)> capacity [2, 3]
      accesses [#event.access<read @x, (m, n)[r, p, o] -> (r - o + m * 2, 0) to (m, n)[r, p, o] -> (r - o + m * 2 + 2, 8)>,
                #event.access<write @logits, (m, n)[r, p, o] -> (m * 2, n * 4) to (m, n)[r, p, o] -> (m * 2 + 2, n * 4 + 4)>]
      waits [#event.wait<@finished, (m, n)[r, p, o] -> ((r - o + m * 2) floordiv 4) to (m, n)[r, p, o] -> ((r - o + m * 2 + 2) ceildiv 4)>]
      notifies <@scored, (m, n)[r, p, o] -> ()> {
    }
    event.phase "advance" grid affine_map<()[r, p, o] -> (1)> capacity [1]
      accesses [#event.access<read @logits, (m)[r, p, o] -> (0, 0) to (m)[r, p, o] -> (o, 10)>]
      waits [#event.wait<@scored, (m)[r, p, o] -> () to (m)[r, p, o] -> ()>] {
      event.advance @logits
    }
  }
}
