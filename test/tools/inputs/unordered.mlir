// A reader that waits for nobody.
event.program @p max_rows 4 max_seq 8 max_outputs 2 {
  event.storage @xs bytes 64
  event.storage @ys bytes 64
  event.buffer @x transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @xs
  event.buffer @y transient : f32 extents affine_map<()[rows, past, outputs] -> (rows, 4)> capacity [4, 4] strides [4, 1] in @ys
  event.tensor @e shape affine_map<()[rows, past, outputs] -> (rows)> capacity [4] count affine_map<()[rows, past, outputs] -> (1)>
  event.segment "s" repeat 1 {
    event.phase "a" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<write @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
      notifies <@e, (m)[rows, past, outputs] -> (m)> {
    }
    event.phase "b" grid affine_map<()[rows, past, outputs] -> (rows)> capacity [4]
      accesses [#event.access<read @x, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>,
                #event.access<write @y, (m)[rows, past, outputs] -> (m, 0) to (m)[rows, past, outputs] -> (m + 1, 4)>]
       {
    }
  }
}
